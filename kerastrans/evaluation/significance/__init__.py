"""Which differences between forecasts are more than chance, and which intervals are calibrated."""
