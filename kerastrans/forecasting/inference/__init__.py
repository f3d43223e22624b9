"""The fitted state of a Forecaster, and forecasts made from it."""
