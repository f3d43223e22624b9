"""Layers that look for periods: transforms, bases, lags."""
