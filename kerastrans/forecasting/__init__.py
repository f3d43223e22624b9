"""From frames to frames: the Forecaster, and what is made with it."""
