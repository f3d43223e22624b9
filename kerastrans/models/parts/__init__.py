"""What architectures share: blocks, projections, the normalized window, checks, the ensemble."""
