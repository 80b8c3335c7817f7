"""The demonstration: an embedded table of invented hospital stays, and its schema."""

from pathlib import Path

TABLE = Path(__file__).with_name("clinic.parquet")
SCHEMA = Path(__file__).with_name("clinic.yaml")
