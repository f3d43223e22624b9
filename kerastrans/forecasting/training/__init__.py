"""Training data, the training loop and what surrounds it."""
