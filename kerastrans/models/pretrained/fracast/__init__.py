"""Fracast."""
