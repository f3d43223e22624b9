"""What every room uses and no user needs: backends, checks, files, precision, devices."""
