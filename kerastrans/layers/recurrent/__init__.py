"""Recurrent layers and state spaces."""
