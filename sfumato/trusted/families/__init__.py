"""Families of tables: which records are measured of a person's rows in several tables."""

from sfumato.trusted.families.layout import FamilyLayout, TableLayout, family_layout_of
from sfumato.trusted.families.views import View, ViewColumn

__all__ = ["FamilyLayout", "TableLayout", "View", "ViewColumn", "family_layout_of"]
