"""Tests of differences between forecasts, and of the calibration of intervals."""
