"""What is public about a table: columns, types, bounds, categories, target, unit. The only source of public knowledge.

A schema is written by people, never read off the rows. `Schema.load` reads the YAML file; every error names the file,
the line, the key and the cure.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PrivateAttr, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from sfumato.errors import SchemaError
from sfumato.trusted.schema.columns import (
    MOST_COLUMNS,
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    DatetimeColumn,
    Part,
    is_unknown,
)
from sfumato.trusted.schema.constraint_roles import ConstraintError, check_constraints
from sfumato.trusted.schema.constraints import Constraint
from sfumato.trusted.schema.messages import LineOf, did_you_mean, explain
from sfumato.trusted.schema.text import SHORT_YEARS, TextFormat

STORED_TYPE = re.compile(r"u?int(8|16|32)|uint64|float16|float32|enum|(ordered )?category|zone [\w/+:-]+")


def _fits(stored: str, column: Column) -> bool:
    """Whether values of the column can be stored so."""
    if not STORED_TYPE.fullmatch(stored):
        return False
    if stored.startswith("zone "):
        return column.type == "datetime"
    if stored.startswith(("int", "uint", "float")):
        listed = column.listed if isinstance(column, CategoryColumn | BooleanColumn) else ()
        return column.type in ("integer", "number") or (listed != () and not any(isinstance(v, str) for v in listed))
    return isinstance(column, CategoryColumn | BooleanColumn) and column.listed != ()


Runs = tuple[tuple[int, int], ...]
"""Codes of a column, as runs of (start, stop) that go up."""

Combination = Mapping[str, Runs]
"""Some codes of some columns: the records that have one of them in each of these columns."""


class Unit(Part):
    """Whom the promise protects, where that is not one record."""

    column: str = Field(min_length=1, description="the column that says whose record it is; it is never released")
    records: int = Field(ge=1, description="how many records of one person may count")


class Schema(Part):
    """The public knowledge of a table.

    Edge cases
        An unknown key, a reversed bound, an empty list, a name given twice, a target that is no column: `SchemaError`.
    """

    sfumato: Literal[1] = Field(description="version of this format")
    name: str = Field(min_length=1, max_length=200, description="the dataset's name in the ledger")
    columns: tuple[Annotated[Column, Field(discriminator="type")], ...] = Field(min_length=1)
    target: str | None = Field(default=None, description="the column that users will predict")
    unit: Unit | None = None
    public_features: bool = Field(
        default=False, description="whether every column but the target may be published as it is; for label adjacency"
    )

    leave_out: tuple[str, ...] = Field(
        default=(), description="columns of the table that are not read on purpose: ids, free text"
    )
    types: Mapping[str, str] = Field(
        default_factory=dict,
        description="how a sample stores a column, where the type alone leaves it open: int16, float32, category, "
        "ordered category, enum, or the time zone of moments as `zone Europe/Berlin`",
    )
    text: TextFormat = Field(default=TextFormat(), description="how text is written in the files")
    constraints: tuple[Constraint, ...] = Field(
        default=(),
        max_length=1_000,
        description="what is known of several columns at once, and holds in every record of a sample",
    )
    _forbidden: tuple[Combination, ...] = PrivateAttr(default=())
    _functions: tuple[tuple[str, str], ...] = PrivateAttr(default=())
    _keys: tuple[str, ...] = PrivateAttr(default=())
    _order: tuple[str, str] | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        if sum(column.length for column in self.columns) > MOST_COLUMNS:
            raise ValueError(f"columns: there are more than {MOST_COLUMNS}; release parts of the table")
        names = [name for column in self.columns for name in column.names]
        if len(set(names)) < len(names):
            twice = Counter(names).most_common(1)[0][0]
            raise ValueError(f"columns: {twice!r} is named twice; name each column once")
        if self.target is not None and self.target not in names:
            raise ValueError(
                f"target: {self.target!r} is not a column{did_you_mean(self.target, names)}; name one, or leave it out"
            )
        if self.unit is not None and self.unit.column in names:
            raise ValueError(f"unit: {self.unit.column!r} must not be released; take it off the columns")
        for name in self.leave_out:
            if name in self.read:
                described = "the unit's" if name not in names else "described among the columns"
                raise ValueError(f"leave_out: {name!r} is {described} and is read; take it off one of the two")
        return self

    @model_validator(mode="after")
    def _types_fit(self) -> Self:
        columns = {name: column for column in self.columns for name in (column.name, *column.names) if self.types}
        for name, text in self.types.items():
            if name not in columns:
                raise ValueError(f"types: {name!r} is not a column{did_you_mean(name, columns)}; name one")
            if not _fits(text, columns[name]):
                raise ValueError(
                    f"types: {name}: {text!r} does not fit a column of type {columns[name].type}; use int8 to int32, "
                    "uint8 to uint64, float16 or float32 for numbers, category, ordered category or enum for "
                    "categories, and zone with a name for datetimes"
                )
        return self

    @model_validator(mode="after")
    def _short_years_fit(self) -> Self:
        for column in self.columns:
            if isinstance(column, DateColumn | DatetimeColumn) and "%y" in (self.text.format_of(column.type) or ""):
                first, last = SHORT_YEARS
                if not (first <= column.bounds[0].year and column.bounds[1].year <= last):
                    raise ValueError(
                        f"text: %y means the years {first} to {last}, and the bounds of column {column.name!r} go "
                        "beyond; write years with four digits (%Y), or narrow the bounds"
                    )
        return self

    @model_validator(mode="after")
    def _constraints_fit(self) -> Self:
        unread = [self.unit.column] if self.unit else []
        columns = {name: column for column in self.columns for name in column.names} if self.constraints else {}
        try:
            check_constraints(self.constraints, columns, self.target, unread)
        except ConstraintError as error:
            raise PydanticCustomError(
                "constraint", "{message}", {"message": str(error), "place": error.place}
            ) from None
        return self

    @cached_property
    def by_name(self) -> Mapping[str, Column]:
        """Every column by its own name, runs written out, in the order of the schema."""
        return {name: column for column in self.columns for name in column.names}

    @cached_property
    def stored_types(self) -> Mapping[str, str]:
        """How samples store columns, by their own names, where the schema says so."""
        of_runs = {
            name: text for column in self.columns if (text := self.types.get(column.name)) for name in column.names
        }
        return {**of_runs, **{name: text for name, text in self.types.items() if name in self.by_name}}

    @property
    def forbidden(self) -> tuple[Combination, ...]:
        """Combinations of codes that no record of a sample may have."""
        return self._forbidden

    @property
    def functions(self) -> tuple[tuple[str, str], ...]:
        """Pairs (child, parent): the child is a function of the parent that the release has to learn."""
        return self._functions

    def with_rules(self, forbidden: Iterable[Combination], functions: Iterable[tuple[str, str]] = ()) -> Self:
        """The same schema with rules that a model of its columns must keep."""
        ruled = self.model_copy()
        ruled._forbidden, ruled._functions = tuple(forbidden), tuple(functions)
        return ruled

    def with_keys(self, keys: Iterable[str], order: tuple[str, str] | None = None) -> Self:
        """The same schema of a table that also has columns of keys, which are read as ids and never released.

        `order` is the name and the type of a column that puts rows in order and is not released either.
        """
        linked = self.model_copy()
        linked._keys, linked._order = tuple(dict.fromkeys(keys)), order
        return linked

    def __getitem__(self, name: str) -> Column:
        return self.by_name[name]

    def __repr__(self) -> str:
        from sfumato.trusted.schema.display import describe_schema

        return describe_schema(self)

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from sfumato.trusted.schema.display import html_of_schema

        return html_of_schema(self)

    @property
    def estimated(self) -> tuple[str, ...]:
        """The columns whose bounds are to be bought."""
        return tuple(name for name, column in self.by_name.items() if is_unknown(column) and column.type != "category")

    @property
    def discovered(self) -> tuple[str, ...]:
        """The columns whose lists of values are to be bought."""
        return tuple(name for name, column in self.by_name.items() if is_unknown(column) and column.type == "category")

    @property
    def is_complete(self) -> bool:
        """Whether all is known that a release needs to know."""
        return not self.estimated and not self.discovered

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns by which the rows of linked tables name each other."""
        return self._keys

    @property
    def ids(self) -> tuple[str, ...]:
        """The columns that are read as ids: the one that says whose record it is, or the keys of a linked table."""
        return (*([self.unit.column] if self.unit else []), *self._keys)

    @property
    def order(self) -> tuple[str, str] | None:
        """The name and the type of the column that puts the rows of a linked table in order and is not released."""
        return self._order

    @property
    def linking(self) -> tuple[str, ...]:
        """The columns of a linked table that are read and not released: its keys, and that of its order."""
        return tuple(dict.fromkeys((*self._keys, *([] if self._order is None else self._order[:1]))))

    @property
    def read(self) -> tuple[str, ...]:
        """The columns that are read of a table: all that are named, its ids and its order."""
        return tuple(dict.fromkeys((*self.by_name, *self.ids, *self.linking)))

    @property
    def features(self) -> tuple[str, ...]:
        """The names of all columns but the target."""
        return tuple(name for name in self.by_name if name != self.target)

    @classmethod
    def load(cls, path: str | Path | Mapping[str, Any]) -> "Schema":
        """The schema of a YAML file, or of its content as a dictionary.

        Raises `SchemaError`, with the line where there is one, for anything that is no schema.

        Example
            >>> _ = (folder / "rain.yaml").write_text("{sfumato: 1, name: rain, columns: [{name: wet, type: boolean}]}")
            >>> sfumato.Schema.load(folder / "rain.yaml").name
            'rain'
        """
        from sfumato.trusted.schema.file import read_schema

        return cls._alone(read_schema(path))

    @classmethod
    def from_yaml(cls, text: str, where: str = "schema") -> "Schema":
        """The schema of a YAML text; `where` names it in errors. Raises `SchemaError`.

        Example
            >>> sfumato.Schema.from_yaml("{sfumato: 1, name: rain, columns: [{name: wet, type: boolean}]}").name
            'rain'
        """
        from sfumato.trusted.schema.file import parse_schema

        return cls._alone(parse_schema(text, where))

    @staticmethod
    def _alone(found: object) -> "Schema":
        if isinstance(found, Schema):
            return found
        raise SchemaError("the schema is of a family of tables, and one of a single table is asked for here")

    @classmethod
    def from_dict(cls, content: object, where: str = "schema", line_of: LineOf = lambda _: None) -> Self:
        """The schema of plain lists and dictionaries; `line_of` tells errors in which line of a file a key stands.

        Raises `SchemaError`.

        Example
            >>> columns = [{"name": "wet", "type": "boolean"}]
            >>> sfumato.Schema.from_dict({"sfumato": 1, "name": "rain", "columns": columns}).name
            'rain'
        """
        if not isinstance(content, dict):
            raise SchemaError(f"{where}: is empty or not a mapping; begin with `sfumato: 1`, `name:` and `columns:`")
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            raise SchemaError(explain(error, where, content, line_of)) from None

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and dictionaries, as in a JSON file; defaults are left out."""
        return self.model_dump(mode="json", exclude_defaults=True, by_alias=True)

    def to_yaml(self) -> str:
        """The YAML file that `from_yaml` reads back to an equal schema."""
        from sfumato.trusted.schema.file import write_schema

        return write_schema(self)
