"""Attention layers, their masks and positions."""
