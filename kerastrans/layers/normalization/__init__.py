"""Normalization of windows and their parts."""
