"""Which two tables count as neighbours: the change that nobody may notice."""

from enum import StrEnum


class Adjacency(StrEnum):
    """One change of the private table.

    add-remove   one record more or less; the number of records is private
    replace      one record takes any other values; the number of records is public
    label        one record's target takes any other value; everything else is public
    """

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"
    LABEL = "label"
