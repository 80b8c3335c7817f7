"""What a user asks of persons: values of their own row, or of at least one of their rows in another table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import RequestError
from sfumato.fitting.conditions import Condition, conditions_of
from sfumato.fitting.families.drawn_rows import DrawnRows
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.trusted.arrays import BoolArray
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.encoding.code_arrays import Limits
from sfumato.trusted.families import FamilyLayout
from sfumato.trusted.schema.messages import did_you_mean


def by_table(given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Conditions on `table.column`, as a command line has them, by table."""
    found: dict[str, dict[str, Any]] = {}
    for name, wanted in given.items():
        table, dot, column = name.partition(".")
        if not dot:
            raise RequestError(f"{name!r} names no table; write TABLE.COLUMN=value, such as patients.sex=f")
        found.setdefault(table, {})[column] = wanted
    return found


@dataclass(frozen=True, eq=False)
class FamilyConditions:
    """Conditions on each table: a person's own row, and at least one row of each child table, must meet them all."""

    tables: Mapping[str, tuple[Condition, ...]]
    layout: FamilyLayout

    @classmethod
    def of(cls, given: Mapping[str, Any] | None, layout: FamilyLayout) -> "FamilyConditions":
        """The conditions of {"patients": {"sex": "f"}, "stays": {"ward": "surgery"}}. Raises `RequestError`."""
        if given is not None and not isinstance(given, Mapping):
            raise RequestError(
                "conditions are a dictionary by table, such as {'patients': {'sex': 'f'}}; "
                f"a {type(given).__name__} was given"
            )
        found = {}
        for name, wanted in (given or {}).items():
            if name not in layout.tables:
                hint = did_you_mean(str(name), layout.tables)
                raise RequestError(
                    f"there is no table {name!r}{hint}; write {{TABLE: {{COLUMN: value}}}} with one of "
                    f"{', '.join(layout.tables)}"
                )
            found[name] = conditions_of(wanted, Encoder(layout.tables[name].schema).columns)
        return cls(found, layout)

    @property
    def _root(self) -> str:
        return self.layout.family.root

    @property
    def of_persons(self) -> list[Condition]:
        """Those on columns of persons that are measured as they are: their model can be conditioned."""
        root = self.layout.tables[self._root]
        own = Encoder(root.schema).columns
        return [one for one in self.tables.get(self._root, ()) if root.codes.get(one.column) is own[one.column]]

    def restrict(self, model: TableMixture) -> TableMixture:
        """The model of persons given what can be conditioned on. Raises `RequestError` where it has no probability."""
        return model.restrict([(f"{self._root}.{one.column}", one.runs) for one in self.of_persons])

    @property
    def limits(self) -> dict[str, Limits]:
        """The ends of ranges of persons' columns, so that no step of a scale spills over them."""
        return {one.column: (one.low, one.high) for one in self.of_persons}

    @property
    def are_met_always(self) -> bool:
        """Whether all persons that the conditioned model draws meet them."""
        return set(self.tables) <= {self._root} and len(self.of_persons) == len(self.tables.get(self._root, ()))

    def met_by(self, drawn: Mapping[str, DrawnRows]) -> BoolArray:
        """Whether each person meets them all."""
        met = np.ones(len(drawn[self._root]), dtype=bool)
        for name, conditions in self.tables.items():
            rows = drawn[name]
            held = np.ones(len(rows), dtype=bool)
            codecs = Encoder(self.layout.tables[name].schema).columns
            for one in conditions:
                codes = codecs[one.column].encode(rows.values.column(one.column).combine_chunks())
                held &= np.logical_or.reduce([(codes >= start) & (codes < stop) for start, stop in one.runs])
            met &= np.bincount(rows.person[held], minlength=len(met)) > 0
        return met
