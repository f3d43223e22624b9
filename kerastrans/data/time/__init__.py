"""Time stamps: clock, frequency, seasons, dates and calendar."""
