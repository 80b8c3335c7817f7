"""Columns that are said to be functions of others, where the release has to learn which.

    city is a function of postcode, and state of city

The schema names such pairs (child, parent). A child hangs on one parent, which may hang on another; all that hang
together are a *family*, and what hangs on nothing is its root.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.errors import SchemaError
from sfumato.fitting.mechanisms.counts.grids import is_long
from sfumato.fitting.models.table_mixture.ties import MOST_TIED
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import Codes
from sfumato.trusted.schema import Schema

Functions = tuple[tuple[str, str], ...]
"""Pairs (child, parent), where every child occurs once and a parent that is a child before its own children."""


def functions_of(schema: Schema, codes: Mapping[str, Codes]) -> Functions:
    """The functions of a schema, each child with its nearest parent."""
    for name in {name for pair in schema.functions for name in pair}:
        _refuse_unfit(schema, codes, name)
    if sum(codes[child].size * codes[parent].size for child, parent in schema.functions) > MOST_TIED:
        raise SchemaError(
            "the functions to be learnt have too many values, each parent's by each child's; leave some out"
        )
    above = _all_above(schema.functions)
    nearest: dict[str, str] = {}
    for child in sorted(above, key=lambda name: len(above[name])):
        parents = {parent for one, parent in schema.functions if one == child}
        near = [parent for parent in parents if parents - {parent} <= above.get(parent, set())]
        if not near:
            raise SchemaError(
                f"column {child!r} is a function of {' and of '.join(map(repr, sorted(parents)))}, "
                "none of which is a function of the others; name one of them"
            )
        nearest[child] = near[0]
    return tuple(nearest.items())


def _all_above(functions: Sequence[tuple[str, str]]) -> dict[str, set[str]]:
    """Every column that a child is a function of, directly or not."""
    above = {child: {parent for one, parent in functions if one == child} for child, _ in functions}
    for _ in above:
        above = {child: names.union(*(above.get(name, set()) for name in names)) for child, names in above.items()}
    if circular := [child for child, names in above.items() if child in names]:
        raise SchemaError(f"column {circular[0]!r} is a function of itself, by way of others; leave one out")
    return above


def _refuse_unfit(schema: Schema, codes: Mapping[str, Codes], name: str) -> None:
    if name not in schema.features:
        raise SchemaError(f"{name!r} is the target or no column, and cannot be part of a function to be learnt")
    if is_long(codes[name]):
        raise SchemaError(f"column {name!r} has too many values to be part of a function to be learnt")


def families(functions: Functions) -> dict[str, str]:
    """The root of every column that is in some function."""
    root = {parent: parent for _, parent in functions}
    for child, parent in functions:
        root[child] = root[parent]
    return root


def learn_function(table: FloatArray, sigma: float, parents: FloatArray, children: FloatArray) -> IntArray:
    """The likeliest child of every parent.

    table              noisy counts, parents x children, with their deviation
    parents, children  noisy counts of either alone

    If all n records of a parent are of child c, the log-likelihood of c is n table[c] / sigma^2 up to a constant;
    before that, c is as likely as the records that are left to it. The largest parents choose first.
    """
    left, to = children.clip(1.0), np.zeros(len(parents), dtype=np.int64)
    for parent in np.argsort(-parents, kind="stable"):
        count = max(float(parents[parent]), 1.0)
        to[parent] = np.argmax(count * table[parent] / sigma**2 + np.log(left))
        left[to[parent]] = max(left[to[parent]] - count, 1.0)
    return to


def from_root(functions: Functions, learnt: Mapping[str, IntArray]) -> dict[str, tuple[str, IntArray]]:
    """For every child the root of its family, and where each value of that leads."""
    found: dict[str, tuple[str, IntArray]] = {}
    for child, parent in functions:
        root, before = found.get(parent, (parent, None))
        found[child] = (root, learnt[child] if before is None else learnt[child][before])
    return found
