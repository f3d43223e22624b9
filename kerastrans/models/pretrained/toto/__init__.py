"""Toto."""
