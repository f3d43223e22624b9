"""Shared parts of architectures: blocks, projections, normalized window, checks, ensemble."""
