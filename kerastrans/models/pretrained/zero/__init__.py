"""kerastrans_zero, pretrained on synthetic series."""
