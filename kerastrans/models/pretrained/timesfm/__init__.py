"""TimesFM."""
