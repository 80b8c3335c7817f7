"""Public tables as files: samples as Parquet, CSV, folders and databases, and proxies read back."""
