"""Chronos-T5, Chronos-Bolt and Chronos-2."""
