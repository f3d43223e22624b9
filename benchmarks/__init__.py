"""What is measured; README.md says how. Each is run from the root, by `python -m`."""
