"""Layers for periodic series: Fourier transforms, bases and lags."""
