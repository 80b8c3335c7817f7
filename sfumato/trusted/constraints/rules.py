"""Rules on combinations of values as codes of the measured columns that never occur together.

A code may stand for an interval of values. A combination holds every code of which some value breaks the rule, so that
no record of the other codes ever does.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.trusted.arrays import BoolArray, CodeArray, FloatArray
from sfumato.trusted.constraints.gaps import Gap
from sfumato.trusted.constraints.joints import MOST_COMBINATIONS, Joint
from sfumato.trusted.encoding import Batch, CategoricalCodec, Codes, NumericCodec
from sfumato.trusted.schema import Schema
from sfumato.trusted.schema.bounds import constant_of
from sfumato.trusted.schema.constraint_checks import names_in
from sfumato.trusted.schema.constraints import Allowed, Forbidden, Implication, NullTogether
from sfumato.trusted.schema.schema import Combination, Runs

if TYPE_CHECKING:
    from sfumato.trusted.constraints.layout import Layout


class Set(NamedTuple):
    """Some values of a column of the table, as masks of measured codes: those with some of them, those with only."""

    column: str  # that is measured
    some: BoolArray
    only: BoolArray

    def complement(self) -> "Set":
        """All other values."""
        return Set(self.column, ~self.only, ~self.some)


def forbidden_combinations(layout: "Layout") -> tuple[Combination, ...]:
    """Of all rules of a schema, but for those that columns keep which are measured as one."""
    joined = {name for one in layout.made.values() if isinstance(one, Joint) for name in one.names}
    left = [rule for rule in _rules(layout) if not set(names_in(rule)) <= joined]
    return tuple(_combinations(left, _Sets(layout)))


def joined_columns(layout: "Layout") -> Iterator[Joint]:
    """Groups of listed columns that rules tie together, each with few combinations that are allowed."""
    rules = _rules(layout)
    for group in _groups([set(names_in(rule)) for rule in rules]):
        names = tuple(name for name in layout.schema.by_name if name in group)
        if not all(_is_free(layout, name) for name in names):
            continue
        codecs = [layout.codes[name] for name in names]
        shape = tuple(codec.size for codec in codecs)
        if math.prod(shape) > MOST_COMBINATIONS**2:
            continue
        allowed = np.ones(shape, dtype=bool)
        for rule in _combinations([rule for rule in rules if set(names_in(rule)) <= group], _Listed(layout)):
            masks = [mask_of(rule.get(name), codec.size) for name, codec in zip(names, codecs, strict=True)]
            allowed[np.ix_(*masks)] = False
        if 0 < allowed.sum() <= MOST_COMBINATIONS:
            yield Joint(names, tuple(codec for codec in codecs if isinstance(codec, CategoricalCodec)), allowed)


def _rules(layout: "Layout") -> list[Any]:
    return [
        one for one in layout.schema.constraints if isinstance(one, Forbidden | Implication | NullTogether | Allowed)
    ]


def _groups(sets: list[set[str]]) -> list[set[str]]:
    """The sets joined with all that they share an element with."""
    groups: list[set[str]] = []
    for one in sets:
        met = [group for group in groups if group & one]
        groups = [*(group for group in groups if group not in met), one.union(*met)]
    return groups


def _is_free(layout: "Layout", name: str) -> bool:
    """Whether a column is listed, and nothing but rules is known of it."""
    learnt = {other for pair in layout.functions for other in pair}
    behind = {other for one in layout.derived.values() for other in one.reads}
    known = name in learnt or name in layout.derived or name in behind or name == layout.schema.target
    return isinstance(layout.codes[name], CategoricalCodec) and not known


def _combinations(rules: Iterable[Any], sets: "_Listed") -> list[Combination]:
    """What rules forbid."""
    found: list[Combination] = []
    for one in rules:
        match one:
            case Forbidden():
                found += _crossed(sets.of(name, wanted) for name, wanted in one.forbid.items())
            case Implication():
                when = [sets.of(name, wanted) for name, wanted in one.when.items()]
                for name, wanted in one.then.items():
                    found += _crossed([*when, sets.of(name, wanted).complement()])
            case NullTogether():
                first, *others = one.null_together
                for name in others:
                    pair = [sets.of(first, None), sets.of(name, None)]
                    found += _crossed([pair[0], pair[1].complement()])
                    found += _crossed([pair[0].complement(), pair[1]])
            case Allowed():
                found += _others(sets, one.allow, one.table, [])
    return found


def _crossed(sets: Iterable[Set]) -> list[Combination]:
    """The codes that break a rule, column by column; none where no code does."""
    masks: dict[str, BoolArray] = {}
    for one in sets:
        masks[one.column] = masks.get(one.column, np.ones(len(one.some), dtype=bool)) & one.some
    return [{name: runs_of(mask) for name, mask in masks.items()}] if all(mask.any() for mask in masks.values()) else []


def _others(
    sets: "_Listed", names: Sequence[str], rows: Sequence[tuple[Any, ...]], before: list[Set]
) -> Iterator[Combination]:
    """What is not among the rows: values that stand in none; then, for values with the same rest, what is not there.

    A null stands beside anything.
    """
    first, rest = names[0], names[1:]
    by_value: dict[Any, set[tuple[Any, ...]]] = {}
    for row in rows:
        by_value.setdefault(row[0], set()).add(row[1:])
    listed = sets.of(first, [*by_value, *([None] if sets.is_nullable(first) else [])])
    yield from _crossed([*before, listed.complement()])
    if not rest:
        return
    alike: dict[frozenset[tuple[Any, ...]], list[Any]] = {}
    for value, ends in by_value.items():
        alike.setdefault(frozenset(ends), []).append(value)
    for same, values in alike.items():
        yield from _others(sets, rest, sorted(same, key=repr), [*before, sets.of(first, values)])


class _Listed:
    """Values of the table's columns as sets of their own codes."""

    def __init__(self, layout: "Layout") -> None:
        self._layout = layout

    def is_nullable(self, name: str) -> bool:
        """Whether a column of the table may be missing."""
        return self._layout.schema[name].missing

    def of(self, name: str, wanted: Any) -> Set:
        """The values of a column that a rule names."""
        return Set(name, *masks_of(self._layout.schema, name, wanted, self._layout.codes[name]))


class _Sets(_Listed):
    """Values of the table's columns as sets of measured codes."""

    def __init__(self, layout: "Layout") -> None:
        super().__init__(layout)
        self._measured = layout.measured_codes

    def of(self, name: str, wanted: Any) -> Set:
        """The values of a column that a rule names."""
        if name in self._measured:
            return Set(name, *masks_of(self._layout.schema, name, wanted, self._measured[name]))
        for made, one in self._layout.made.items():
            if isinstance(one, Gap) and one.column == name:  # of such a column only whether it is missing
                missing = np.arange(self._measured[made].size) == self._measured[made].missing
                asked = missing if _asks_for_nulls(wanted) else ~missing
                return Set(made, asked, asked)
        return self._derived(name, wanted)

    def _derived(self, name: str, wanted: Any) -> Set:
        """The values of a column that follows from one measured column: what each code of that leads to."""
        source, codes = decided_by(self._layout, name, self._layout.codes[name])
        some, only = masks_of(self._layout.schema, name, wanted, self._layout.codes[name])
        return Set(source, some[codes], only[codes])


def decided_by(layout: "Layout", name: str, codes: Codes) -> tuple[str, CodeArray]:
    """The measured column that alone decides a column of the table, and which of `codes` each of its codes leads to."""
    source = name
    while source in layout.derived:
        (source,) = layout.derived[source].reads
    made = next((made for made, one in layout.made.items() if source in one.gives), source)
    every = np.arange(layout.measured_codes[made].size, dtype=np.int32)
    values = layout.decode(Batch(len(every), {made: every}), _Middle(), {}).column(name)
    return made, codes.encode(pa.concat_arrays(values.chunks))


class _Middle:
    """In the place of chance: the middle."""

    def random(self, size: int, /) -> FloatArray:
        return np.full(size, 0.5)


def _asks_for_nulls(wanted: Any) -> bool:
    return wanted is None or (isinstance(wanted, dict) and bool(wanted.get("missing")))


def masks_of(schema: Schema, name: str, wanted: Any, codes: Codes) -> tuple[BoolArray, BoolArray]:
    """The codes with some, and with only, values that a rule names."""
    places = np.arange(codes.size)
    if isinstance(wanted, dict) and "missing" in wanted:
        mask = (places == codes.missing) == wanted["missing"]
        return mask, mask
    if isinstance(wanted, dict) and "not" in wanted:
        some, only = masks_of(schema, name, wanted["not"], codes)
        return ~only, ~some
    if isinstance(wanted, dict):
        assert isinstance(codes, NumericCodec)  # noqa: S101 - the schema has been checked
        ends = [constant_of(schema[name], wanted[end]) if end in wanted else None for end in ("from", "to")]
        return _between(codes, *ends)
    some, only = np.zeros(codes.size, dtype=bool), np.zeros(codes.size, dtype=bool)
    for value in wanted if isinstance(wanted, list) else [wanted]:
        if value is None or isinstance(codes, CategoricalCodec):
            code = codes.code_of(value)
            if code is not None:
                some[code] = only[code] = True
        else:
            number = constant_of(schema[name], value)
            found = _between(codes, number, number)  # type: ignore[arg-type]
            some, only = some | found[0], only | found[1]
    return some, only


def _between(codes: NumericCodec, low: float | None, high: float | None) -> tuple[BoolArray, BoolArray]:
    """The codes with some, and with only, values from one number to another."""
    ends = np.array([-np.inf if low is None else low, np.inf if high is None else high])
    first, last = ends if codes.unit is None else codes.unit.counts(ends)
    steps = codes.ends(np.arange(codes.steps + 1))
    left, right = steps[:-1], steps[1:] - codes.whole
    atoms, nothing = np.array(codes.atoms), np.zeros(int(codes.nullable), dtype=bool)
    exact = (first <= atoms) & (atoms <= last)
    some = np.concatenate(((right >= first) & (left <= last), exact, nothing))
    only = np.concatenate(((left >= first) & (right <= last), exact, nothing))
    return some, only


def mask_of(runs: Runs | None, size: int) -> BoolArray:
    """The mask of runs; of none, all codes."""
    mask = np.full(size, runs is None)
    for start, stop in runs or ():
        mask[start:stop] = True
    return mask


def runs_of(mask: BoolArray) -> Runs:
    """The codes of a mask as runs."""
    edges = np.flatnonzero(np.diff(mask.astype(np.int8), prepend=0, append=0)).tolist()
    return tuple(zip(edges[::2], edges[1::2], strict=True))
