"""What of a family's private tables does not fit its schema, before anything is spent. For the custodian alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.evaluation.checking import ColumnCheck
from sfumato.evaluation.families.reading import LinkFacts, read_private_family
from sfumato.evaluation.raw_values import RawReader
from sfumato.trusted.schema import FamilySchema


@dataclass(frozen=True)
class FamilyCheck:
    """The columns of every table, and which rows are linked."""

    columns: Mapping[str, tuple[ColumnCheck, ...]]
    links: tuple[LinkFacts, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain content for a JSON file."""
        return {
            "tables": {name: [one.to_dict() for one in checks] for name, checks in self.columns.items()},
            "links": [vars(one) for one in self.links],
        }


def check_family(data: Any, family: FamilySchema) -> FamilyCheck:
    """Look at the private tables, in any form that `release` takes. Raises `DataError` where one is not there."""
    held = read_private_family(data, family, "private")
    checks = {
        name: RawReader(family.schema_of(name)).read_batches(held.stored[name].to_batches())[1]
        for name in family.in_order
    }
    return FamilyCheck(checks, held.facts)
