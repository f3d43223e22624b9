"""Reverso."""
