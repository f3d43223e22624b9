"""Reading tables: CSV, Parquet and Excel files."""
