"""kerastrans_zero, trained on made series."""
