"""Recurrent layers and state space models."""
