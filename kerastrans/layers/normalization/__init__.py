"""Normalization and decomposition of windows."""
