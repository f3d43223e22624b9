"""What comes with the package: trained presets, weights of our own, a data set."""
