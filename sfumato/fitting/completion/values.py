"""Lists of values that nobody knows: one question for each column."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from sfumato.fitting.completion.tuning import Tuning
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.schema import OTHER, CategoryColumn, Schema
from sfumato.trusted.statistics import KeyCounts


class Discovering(Protocol):
    """Where a list is asked for: the curator, or a record of what it once answered."""

    def discover(self, question: KeyCounts, mu: float) -> Measurement:
        """The values that stand out."""


def discover_values(
    curator: Discovering, schema: Schema, mus: Sequence[float], delta: float, records: int
) -> Mapping[str, Mapping[str, Any]]:
    """Ask, and write the list of every column of the schema that has none, and where all other values go."""
    answers = {
        name: curator.discover(KeyCounts(name, delta, records), mu)
        for name, mu in zip(schema.discovered, mus, strict=True)
    }
    return {
        column.name: _written(column, [answers[name] for name in column.names], schema.target)
        for column in schema.columns
        if isinstance(column, CategoryColumn) and column.names[0] in answers
    }


def _written(column: CategoryColumn, answers: Sequence[Measurement], target: str | None) -> Mapping[str, Any]:
    """The list and its `otherwise`; the columns of a run share all that was found in any."""
    counts: dict[str, int] = {}
    for answer in answers:
        assert isinstance(answer.statistic, KeyCounts)  # noqa: S101 - what was asked
        for key, count in zip(answer.statistic.keys, answer.values.tolist(), strict=True):
            counts[key] = counts.get(key, 0) + count
    most = Tuning.most_classes if target in column.names else Tuning.most_values
    listed = sorted(sorted(counts, key=lambda key: (-counts[key], key))[: most - 1])
    rest = other_than(listed) if column.otherwise is None else column.otherwise
    return {"values": listed if rest in listed else [*listed, rest], "otherwise": rest}


def other_than(listed: Sequence[str]) -> str:
    """A name for all values that are not listed, which none of those has."""
    name = OTHER
    while name in listed:
        name += "_"
    return name


def fallback_list(column: CategoryColumn) -> Mapping[str, Any]:
    """The list of a column of which nothing stands out."""
    return _written(column, (), None)


def longest_list(column: CategoryColumn, target: str | None) -> Mapping[str, Any]:
    """A list as long as any that may be found, for plans."""
    most = Tuning.most_classes if target in column.names else Tuning.most_values
    return {"values": [str(place) for place in range(most)], "otherwise": "0"}
