"""Embeddings of values, channels, positions and time."""
