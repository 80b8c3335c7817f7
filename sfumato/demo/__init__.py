"""The demonstrations: an embedded table of invented hospital stays, a family of three tables, and their schemas."""

from pathlib import Path

TABLE = Path(__file__).with_name("clinic.parquet")
SCHEMA = Path(__file__).with_name("clinic.yaml")
FAMILY = Path(__file__).with_name("hospital")
FAMILY_SCHEMA = Path(__file__).with_name("hospital.yaml")
