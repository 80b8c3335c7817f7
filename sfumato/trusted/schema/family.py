"""What is public about a family of tables: persons, and the tables of rows that belong to them.

One table has a row for each person; every other table has a parent, and each of its rows belongs to one parent row.
"""

import itertools
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from sfumato.errors import SchemaError
from sfumato.trusted.schema.columns import Column, Part, Real, Whole
from sfumato.trusted.schema.constraint_checks import check_names, check_one, names_in
from sfumato.trusted.schema.constraints import Allowed, Constraint, Forbidden, Implication
from sfumato.trusted.schema.messages import LineOf, did_you_mean, explain
from sfumato.trusted.schema.relations import Inequality, parse_relation
from sfumato.trusted.schema.schema import Schema, Unit
from sfumato.trusted.schema.text import TextFormat

MOST_TABLES, MOST_LEVELS, MOST_ROWS = 16, 3, 10_000
MOST_ROWS_OF_PERSON = 1_000_000  # in one table
_NAME = re.compile(r"[^\W\d]\w*")
_ORDERED = ("integer", "number", "date", "datetime")
_ACROSS = (Inequality, Forbidden, Implication, Allowed)


class OrderColumn(Part):
    """A column that puts the rows of one parent row in order and is not released, such as a running number."""

    column: str = Field(min_length=1)
    type: Literal["integer", "number", "date", "datetime"]


class FamilyTable(Part):
    """One table of a family: its columns, and how its rows hang together with those of its parent.

    Edge cases
        See `FamilySchema`, which checks how the tables fit together.
    """

    columns: tuple[Annotated[Column, Field(discriminator="type")], ...] = Field(min_length=1)
    key: str | None = Field(
        default=None, min_length=1, description="the column that names each row; in the first table, each person"
    )
    unique_key: bool = Field(
        default=False,
        description="whether no two persons have rows of this table with the same key; for rows that are named by it",
    )
    parent: str | None = Field(default=None, description="the table whose rows these rows belong to")
    foreign_key: str | None = Field(
        default=None, min_length=1, description="the column that names the parent row; default: the parent's key"
    )
    person: str | None = Field(
        default=None,
        min_length=1,
        description="the column that names the person, in a table whose parent is not the table of persons",
    )
    rows: tuple[Whole, Whole] | None = Field(
        default=None, description="fewest and most rows of one parent row; of more, so many are chosen by lot"
    )
    order: str | OrderColumn | None = Field(
        default=None, description="the column by which the rows of one parent row follow each other"
    )
    gap: tuple[Real, Real] | None = Field(
        default=None,
        description="bounds of the distance from one row to the next: days of dates, seconds of datetimes",
    )
    target: str | None = Field(default=None, description="the column that users will predict")
    leave_out: tuple[str, ...] = Field(default=(), description="columns that are not read on purpose")
    types: Mapping[str, str] = Field(default_factory=dict, description="as in the schema of a single table")
    constraints: tuple[Constraint, ...] = Field(
        default=(), max_length=1_000, description="what is known of several columns of this table at once"
    )

    @field_validator("rows", "gap", mode="before")
    @classmethod
    def _is_a_pair(cls, value: object) -> object:
        if value is not None and not (isinstance(value, list | tuple) and len(value) == 2):
            raise ValueError(f"write two numbers, such as [0, 20]; {value!r} is no pair")
        return value

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that are read as ids."""
        found = (self.key, self.foreign_key, self.person)
        return tuple(dict.fromkeys(name for name in found if name is not None))

    @model_validator(mode="after")
    def _fits(self) -> Self:
        names = {name: column for column in self.columns for name in column.names}
        for name in self.keys:
            if name in names:
                raise ValueError(f"{name!r} is a key and must not be released; take it off the columns")
            if name in self.leave_out:
                raise ValueError(f"{name!r} is a key and is read; take it off leave_out")
        if isinstance(self.order, OrderColumn) and self.order.column in names:
            raise ValueError(f"order: {self.order.column!r} is among the columns; write its name alone")
        if isinstance(self.order, str):
            if self.order not in names:
                raise ValueError(
                    f"order: {self.order!r} is not a column{did_you_mean(self.order, names)}; name one, or write "
                    "{column: NAME, type: TYPE} for one that is not released"
                )
            if names[self.order].type not in _ORDERED:
                raise ValueError(f"order: {self.order!r} is of type {names[self.order].type}, which has no order")
        if self.gap is not None and not (isinstance(self.order, str) and 0 <= self.gap[0] < self.gap[1]):
            raise ValueError(
                "gap: is for tables in the order of a released column: two numbers from 0 on, lowest first"
            )
        if self.rows is not None and not (0 <= self.rows[0] <= self.rows[1] <= MOST_ROWS and self.rows[1] > 0):
            raise ValueError(
                f"rows: write [fewest, most], lowest first and at most {MOST_ROWS:,} rows of one parent row; "
                f"{list(self.rows)} is not so"
            )
        return self

    def to_schema(self, name: str, text: TextFormat) -> Schema:
        """The schema of this table alone."""
        own = Schema(
            sfumato=1,
            name=name,
            columns=self.columns,
            target=self.target,
            leave_out=self.leave_out,
            types=self.types,
            text=text,
            constraints=self.constraints,
        )
        order = (self.order.column, self.order.type) if isinstance(self.order, OrderColumn) else None
        return own.with_keys(self.keys, order)


class FamilySchema(Part):
    """The public knowledge of several tables that belong together.

    Edge cases
        No table of persons or two, a parent that is no table, a circle of parents, more than three levels, a table
        that lacks a key or the number of its rows, bounds or values that are not known: `SchemaError`.
    """

    sfumato: Literal[2] = Field(description="version of this format: 2 for a family of tables")
    name: str = Field(min_length=1, max_length=200, description="the dataset's name in the ledger")
    tables: Mapping[str, FamilyTable] = Field(min_length=1, max_length=MOST_TABLES)
    share: Mapping[str, Annotated[float, Field(gt=0, le=1_000)]] = Field(
        default_factory=dict, description="of the budget, for what is measured first of each table; by default alike"
    )
    text: TextFormat = Field(default=TextFormat(), description="how text is written in the files")
    constraints: tuple[Constraint, ...] = Field(
        default=(),
        max_length=100,
        description="what is known of columns of a table and of those above it: TABLE.COLUMN",
    )

    @model_validator(mode="before")
    @classmethod
    def _is_of_a_family(cls, content: Any) -> Any:
        if isinstance(content, dict):
            if "unit" in content:
                raise _at(("unit",), "a family protects whoever the key of its first table names; remove unit")
            if "columns" in content:
                raise _at(("columns",), "columns stand under their table: tables: {NAME: {columns: ...}}")
        return content

    @model_validator(mode="after")
    def _tables_hang_together(self) -> Self:
        for name, table in self.tables.items():
            if not _NAME.fullmatch(name) or len(name) > 60:
                raise _at(("tables", name), f"{name!r} is no name of a table; use letters, digits and _, at most 60")
            if table.parent is not None and table.parent not in self.tables:
                hint = did_you_mean(table.parent, self.tables)
                raise _at(("tables", name, "parent"), f"{table.parent!r} is not a table{hint}; name one of the tables")
        roots = [name for name, table in self.tables.items() if table.parent is None]
        for name in self.tables:
            self._check_path(name)
        if len(roots) != 1:
            raise _at(
                ("tables",),
                f"{' and '.join(map(repr, roots))} have no parent, which only the table with a row for each person may "
                "lack; name the parents of the others",
            )
        for name, table in self.tables.items():
            (self._check_root if table.parent is None else self._check_child)(name, table)
        for name in self.share:
            if name not in self.tables:
                raise _at(("share", name), f"{name!r} is not a table{did_you_mean(name, self.tables)}; name a table")
        return self

    def _check_path(self, name: str) -> None:
        path = list(itertools.islice(self._upwards(name), MOST_LEVELS + len(self.tables)))
        if len(path) > len(self.tables):
            circle = " -> ".join(map(repr, path[: path.index(name, 1) + 1])) if name in path[1:] else repr(name)
            raise _at(("tables", name, "parent"), f"{circle} goes round in a circle; a family is a tree of tables")
        if len(path) > MOST_LEVELS:
            raise _at(
                ("tables", name, "parent"),
                f"{name!r} is on level {len(path)}, and {MOST_LEVELS} are the most; join it with its parent first",
            )

    def _upwards(self, name: str) -> Iterator[str]:
        at: str | None = name
        while at is not None:
            yield at
            at = self.tables[at].parent

    def _check_root(self, name: str, table: FamilyTable) -> None:
        if table.key is None:
            raise _at(("tables", name, "key"), "the table of persons needs a key, the column that names each person")
        for key in ("foreign_key", "person", "rows", "order", "gap"):
            if getattr(table, key) is not None:
                raise _at(("tables", name, key), "this key is for tables with a parent; remove it")

    def _check_child(self, name: str, table: FamilyTable) -> None:
        parent = self.tables[table.parent or ""]
        if parent.key is None:
            raise _at(
                ("tables", table.parent or ""), f"needs a key, the column that {name!r} names its rows by: key: COLUMN"
            )
        if table.rows is None:
            raise _at(
                ("tables", name, "rows"), "is required and not there; write [fewest, most] rows of one parent row"
            )
        most = table.rows[1] * (parent.rows[1] if parent.rows is not None else 1)
        if most > MOST_ROWS_OF_PERSON:
            raise _at(
                ("tables", name, "rows"),
                f"somebody could have {most:,} rows, and {MOST_ROWS_OF_PERSON:,} are the most; allow fewer here or "
                f"in {table.parent}",
            )
        names = [column for part in table.columns for column in part.names]
        if self.foreign_key_of(name) in (*names, *table.leave_out):
            raise _at(
                ("tables", name),
                f"{self.foreign_key_of(name)!r} names the parent row and must not be released; take it off the columns "
                "and leave_out, or name another foreign_key",
            )
        if parent.parent is not None and table.person is None and not parent.unique_key:
            raise _at(
                ("tables", name),
                f"its rows name a row of {table.parent!r} by {self.foreign_key_of(name)!r} alone, and count for every "
                f"person who has that key; if no two persons share one, write unique_key: true under {table.parent}, "
                "else add the column that names the person here, person: COLUMN",
            )
        if table.person is not None and parent.parent is None:
            raise _at(("tables", name, "person"), "the foreign key names the person already; remove it, or rename it")

    @model_validator(mode="after")
    def _tables_are_whole(self) -> Self:
        for name in self.tables:
            try:
                schema = self._build_schema(name)
            except ValidationError as error:
                (item, *_) = error.errors()
                place = ("constraints", item["ctx"]["place"]) if item["type"] == "constraint" else ()
                told = item["ctx"].get("error", item["msg"]) if "ctx" in item else item["msg"]
                raise _at(("tables", name, *place), str(told)) from None
            if not schema.is_complete:
                column = (*schema.estimated, *schema.discovered)[0]
                raise _at(
                    ("tables", name),
                    f"column {column!r} has bounds or values that are to be bought, which is for single tables; write "
                    "them from the code book",
                )
        return self

    @model_validator(mode="after")
    def _constraints_fit(self) -> Self:
        for place, one in enumerate(self.constraints):
            try:
                self._check_constraint(one)
            except ValueError as error:
                raise _at(("constraints", place), str(error)) from None
        return self

    def _check_constraint(self, one: Any) -> None:
        parsed = parse_relation(one) if isinstance(one, str) else one
        if not isinstance(parsed, _ACROSS):
            raise ValueError(  # noqa: TRY004 - pydantic turns a ValueError into ours
                "only `TABLE.COLUMN >= TABLE.COLUMN`, forbid, if and allow can stand between tables; write other "
                "constraints under their table"
            )
        lowest = self.lowest_of(parsed)
        path = set(self.path(lowest))
        above = {name: column for name, column in self.columns.items() if name.split(".", 1)[0] in path}
        for name in names_in(parsed):
            if homes := [table for table in self.tables if "." not in name and f"{table}.{name}" in self.columns]:
                raise ValueError(f"{name!r} names no table; write {homes[0]}.{name}")
        check_names(parsed, self.columns, set())
        if outside := [name for name in names_in(parsed) if name not in above]:
            raise ValueError(
                f"{outside[0]!r} is not above {lowest!r}; compare a table with its parent, or with persons"
            )
        if len({name.split(".", 1)[0] for name in names_in(parsed)}) < 2:
            raise ValueError(f"all columns are of {lowest!r}; write the constraint under that table")
        check_one(parsed, self.columns, None)

    def lowest_of(self, constraint: Any) -> str:
        """The table farthest from the persons of those that a constraint names."""
        parsed = parse_relation(constraint) if isinstance(constraint, str) else constraint
        named = [name.split(".", 1)[0] for name in names_in(parsed)]
        return max((name for name in named if name in self.tables), key=self.level, default=self.root)

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        """Every column of every table, as TABLE.COLUMN."""
        return {
            f"{table}.{name}": column.model_copy(update={"name": f"{table}.{name}"})
            for table in self.tables
            for name, column in self.schema_of(table).by_name.items()
        }

    @property
    def root(self) -> str:
        """The table with a row for each person."""
        return next(name for name, table in self.tables.items() if table.parent is None)

    def path(self, name: str) -> tuple[str, ...]:
        """The tables from that of persons down to this one."""
        return tuple(self._upwards(name))[::-1]

    def level(self, name: str) -> int:
        """1 for the table of persons, 2 for its children, 3 for theirs."""
        return len(self.path(name))

    def children(self, name: str) -> tuple[str, ...]:
        """The tables whose parent this is, in the order of the schema."""
        return tuple(child for child, table in self.tables.items() if table.parent == name)

    @property
    def in_order(self) -> tuple[str, ...]:
        """All tables, each after its parent."""
        return tuple(sorted(self.tables, key=self.level))

    def rows_of(self, name: str) -> tuple[int, int]:
        """Fewest and most rows of one parent row."""
        return self.tables[name].rows or (1, 1)

    def foreign_key_of(self, name: str) -> str:
        """The column that names the parent row of a table with a parent."""
        table = self.tables[name]
        return table.foreign_key or self.tables[table.parent or ""].key or ""

    @property
    def has_shared_keys(self) -> bool:
        """Whether rows of some table are named by a key alone, which rows of two persons may have."""
        return any(self.level(name) == MOST_LEVELS and table.person is None for name, table in self.tables.items())

    def schema_of(self, name: str) -> Schema:
        """The schema of one table, with its keys."""
        return self._schemas[name]

    @cached_property
    def _schemas(self) -> Mapping[str, Schema]:
        return {name: self._build_schema(name) for name in self.tables}

    def _build_schema(self, name: str) -> Schema:
        table = self.tables[name]
        linked = table if table.parent is None else table.model_copy(update={"foreign_key": self.foreign_key_of(name)})
        return linked.to_schema(f"{self.name}: {name}"[:200], self.text)

    @property
    def unit(self) -> Unit:
        """Whom the promise protects: a person, with all rows of all tables; see `PersonLevel`."""
        return Unit(column=self.tables[self.root].key or "", records=1)

    @classmethod
    def load(cls, path: str | Path | Mapping[str, Any]) -> "FamilySchema":
        """The schema of a YAML file, or of its content as a dictionary. Raises `SchemaError`."""
        from sfumato.trusted.schema.file import read_schema

        return cls._of_family(read_schema(path))

    @classmethod
    def from_yaml(cls, text: str, where: str = "schema") -> "FamilySchema":
        """The schema of a YAML text; `where` names it in errors. Raises `SchemaError`."""
        from sfumato.trusted.schema.file import parse_schema

        return cls._of_family(parse_schema(text, where))

    @staticmethod
    def _of_family(found: object) -> "FamilySchema":
        if isinstance(found, FamilySchema):
            return found
        raise SchemaError("the schema is of a single table, and one of a family of tables is asked for here")

    @classmethod
    def from_dict(cls, content: object, where: str = "schema", line_of: LineOf = lambda _: None) -> Self:
        """The family of plain lists and dictionaries; `line_of` tells errors in which line of a file a key stands.

        Raises `SchemaError`.
        """
        if not isinstance(content, dict):
            raise SchemaError(f"{where}: is empty or not a mapping; begin with `sfumato: 2`, `name:` and `tables:`")
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            raise SchemaError(explain(error, where, content, line_of)) from None

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and dictionaries, as in a JSON file; defaults are left out."""
        return self.model_dump(mode="json", exclude_defaults=True, by_alias=True)

    def to_yaml(self) -> str:
        """The YAML file that `read_schema` reads back to an equal schema."""
        from sfumato.trusted.schema.file import write_schema

        return write_schema(self)

    def __repr__(self) -> str:
        from sfumato.trusted.schema.display import list_some, shorten

        return f"<FamilySchema of {shorten(self.name)}: {len(self.tables)} tables ({list_some(self.tables)})>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from sfumato.trusted.schema.display import html_of_family_schema

        return html_of_family_schema(self)


def _at(place: tuple[str | int, ...], message: str) -> PydanticCustomError:
    """An error at a place of the file."""
    return PydanticCustomError("place", "{message}", {"message": message, "place": place})
