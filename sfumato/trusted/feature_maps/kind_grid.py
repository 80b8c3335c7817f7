"""The kinds of a column's values as cells: see `sfumato.trusted.encoding.kinds`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from sfumato.trusted.encoding import NumericCodec
from sfumato.trusted.encoding.codes import codes_of
from sfumato.trusted.encoding.kinds import Kinds, kinds_of
from sfumato.trusted.feature_maps.grid import CellMap, Grid
from sfumato.trusted.schema import Column

_COLUMN: TypeAdapter[Column] = TypeAdapter(Column)


@dataclass(frozen=True)
class KindGrid:
    """A cell for each kind of value of a column on a scale. As a `Grid`, but written as the column's definition."""

    column: Column

    def __post_init__(self) -> None:
        if not isinstance(codes_of(self.column), NumericCodec):
            raise TypeError("the values of a list have no kinds")

    @property
    def kinds(self) -> Kinds:
        """The kind of every code."""
        codes = codes_of(self.column)
        assert isinstance(codes, NumericCodec)  # noqa: S101 - checked above
        return kinds_of(codes)

    @property
    def codes(self) -> int:
        """How many codes there are."""
        return codes_of(self.column).size

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.kinds.size

    def cells_of(self, codes: NDArray[np.int32]) -> NDArray[np.int32]:
        """The cell of each of these codes."""
        return self.kinds.of_code.take(codes, mode="wrap").astype(np.int32)

    def follows(self, column: Column) -> bool:
        """Whether its cells are of just the codes of this column."""
        return self.column == column

    def to_dict(self) -> dict[str, Any]:
        """The column as its schema has it."""
        return {"kinds_of": self.column.model_dump(mode="json", exclude_defaults=True)}


def cell_map_from_dict(content: dict[str, Any]) -> CellMap:
    """What `to_dict` wrote."""
    return KindGrid(_COLUMN.validate_python(content["kinds_of"])) if "kinds_of" in content else Grid.from_dict(content)
