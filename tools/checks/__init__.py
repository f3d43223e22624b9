"""What a release is checked by: the site, the wheel, the stubs."""
