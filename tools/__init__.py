"""What makes and checks the site, the tables, the presets and the releases."""
