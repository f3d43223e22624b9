"""Exercises of the lessons, one module per lesson."""
