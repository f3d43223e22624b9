"""Blocks of the Transformer, as layers and as the layers of a functional model."""
