"""Reading CSV files."""
