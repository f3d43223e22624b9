"""TinyCast."""
