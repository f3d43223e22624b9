"""Errors and scores of forecasts: of arrays, of frames, of windows, of sample paths."""
