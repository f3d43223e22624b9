"""Keras layers, one idea a file."""

from kerastrans.layers.attention import CachedMultiHeadAttention
from kerastrans.layers.positional_encoding import LearntPositionalEncoding, PositionalEncoding

__all__ = ["CachedMultiHeadAttention", "LearntPositionalEncoding", "PositionalEncoding"]
