"""Utilities shared by all modules: backends, checks, files, precision and devices."""
