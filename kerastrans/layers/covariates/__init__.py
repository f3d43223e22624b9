"""Layers for covariates and missing values."""
