"""Columns that are drawn from another: city from postcode, and nothing else tells more of the city.

A tied column, the *child*, is independent of all others given its *parent*, in every component alike:

    p(child piece c | parent piece p, anything else) = table[p, c]

so its distribution in component k is theta_k,parent table, which its own pieces hold. All that asks for a child without
its parent and without another child of that parent needs nothing more; whatever asks for several of a family does.
A parent is nobody's child, so that a family is a star.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from sfumato.fitting.models.table_mixture.model import Pieces, Runs

MOST_TIED = 10_000_000  # entries of a table
_MOST_OF_ALL = 8 * MOST_TIED  # of the tables that a bundle does not spell out
_DIGITS = 1e-6  # by which a child's pieces may differ from what parent and table say


@dataclass(frozen=True, eq=False)
class Tie:
    """The parent of a column, and table[p, c]: how likely the column's piece c is given the parent's piece p."""

    parent: str
    table: FloatArray

    def __post_init__(self) -> None:
        table = self.table
        if table.ndim != 2 or not table.size or not (np.isfinite(table).all() and (table >= 0).all()):
            raise ValueError("a tie needs a table of probabilities")
        if not np.allclose(table.sum(axis=1), 1):
            raise ValueError("a tie needs a distribution for every piece of the parent")

    def to_dict(self) -> dict[str, Any]:
        """Plain content; of a function only where each piece of the parent goes."""
        if ((self.table == 0) | (self.table == 1)).all():
            return {"parent": self.parent, "pieces": self.table.shape[1], "to": self.table.argmax(axis=1).tolist()}
        return {"parent": self.parent, "table": self.table.tolist()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], pieces: int) -> "Tie":
        """The tie that `to_dict` wrote, of a column with so many pieces."""
        if set(content) == {"parent", "table"}:
            return cls(content["parent"], np.array(content["table"], dtype=np.float64))
        if set(content) != {"parent", "pieces", "to"} or content["pieces"] != pieces:
            raise ValueError("a tie has a parent and a table, and nothing else")
        to = content["to"]
        if not isinstance(to, list) or not all(type(piece) is int and 0 <= piece < pieces for piece in to):
            raise ValueError("a tie leads to pieces that its column does not have")
        if len(to) * pieces > MOST_TIED:
            raise ValueError("the table of a tie is too large")
        return cls(content["parent"], function_table(np.array(to, dtype=np.int64), pieces))


def function_table(to: IntArray, pieces: int) -> FloatArray:
    """The table of a function, from where each piece of the parent goes."""
    table = np.zeros((len(to), pieces))
    table[np.arange(len(to)), to] = 1.0
    return table


Columns = Mapping[str, "Pieces"]
Codes = Mapping[str, NDArray[np.integer[Any]]]
Ties = Mapping[str, Tie]
"""The tie of every child."""


def read_ties(content: Any, columns: Columns) -> dict[str, Tie]:
    """The ties of a bundle, of columns with these pieces."""
    if not isinstance(content, dict) or not all(isinstance(one, dict) for one in content.values()):
        raise ValueError("the ties of a model must be of its columns")
    if not set(content) <= set(columns) or not all(isinstance(one.get("parent"), str) for one in content.values()):
        raise ValueError("a tie must be between two columns")
    functions = {child: one["to"] for child, one in content.items() if isinstance(one.get("to"), list)}
    if sum(len(to) * len(columns[child].starts) for child, to in functions.items()) > _MOST_OF_ALL:
        raise ValueError("the tables of the ties are too large")
    return {child: Tie.from_dict(one, len(columns[child].starts)) for child, one in content.items()}


def check_ties(columns: Columns, ties: Ties) -> None:
    """Refuse ties that are not between these columns, or that say otherwise than the columns."""
    for child, tie in ties.items():
        if child not in columns or tie.parent not in columns or tie.parent in ties or tie.parent == child:
            raise ValueError("a tie must be between two columns, and its parent untied")
        parent, own = columns[tie.parent].theta, columns[child].theta
        if tie.table.shape != (parent.shape[1], own.shape[1]):
            raise ValueError("the table of a tie needs a row for each piece of the parent and a column for each own")
        if not np.allclose(parent @ tie.table, own, atol=_DIGITS):
            raise ValueError("a tied column has another distribution than its tie says")


def children_of(ties: Ties, parent: str) -> list[str]:
    """All columns that are drawn from this one."""
    return [child for child, tie in ties.items() if tie.parent == parent]


def family_of(ties: Ties, name: str) -> tuple[str, ...]:
    """The column itself, or its parent first and then all children of that."""
    parent = ties[name].parent if name in ties else name
    return (parent, *children_of(ties, parent))


def tie_columns(columns: Columns, ties: Ties) -> dict[str, "Pieces"]:
    """The columns, where every child has the distribution that parent and table say."""
    made = {
        child: replace(columns[child], theta=_normalised(columns[tie.parent].theta @ tie.table))
        for child, tie in ties.items()
    }
    return {name: made.get(name, pieces) for name, pieces in columns.items()}


def family_density(columns: Columns, ties: Ties, codes: Codes, family: Sequence[str]) -> FloatArray:
    """The probability of the codes of a family, of which some are given, in every component (records x components)."""
    parent, given = family[0], [name for name in family if name in codes]
    if len(given) == 1:
        return columns[given[0]].density(codes[given[0]])
    if parent in given:  # a child is the same in every component, given the parent
        place, _ = columns[parent].place(codes[parent])
        density = columns[parent].density(codes[parent])
        for child in given[1:]:
            piece, share = columns[child].place(codes[child])
            density = density * (ties[child].table[place, piece] * share)[:, None]
        return density
    distinct, place = np.unique(np.stack([codes[name] for name in given]), axis=1, return_inverse=True)
    told = _told_of_parent(columns, ties, dict(zip(given, distinct, strict=True)))
    density = told @ columns[parent].theta.T
    return density[place.reshape(-1)]


def parent_given(columns: Columns, ties: Ties, before: FloatArray, codes: Codes, family: Sequence[str]) -> FloatArray:
    """The probability of every piece of the parent given codes of its family (records x pieces), up to a factor.

    before   the same without them
    """
    parent, children = family[0], {name: codes[name] for name in family[1:] if name in codes}
    told = before * _told_of_parent(columns, ties, children) if children else before
    if parent not in codes:
        return told
    place, share = columns[parent].place(codes[parent])
    here: FloatArray = told * (place[:, None] == np.arange(told.shape[1])) * (share > 0)[:, None]
    return here


def _told_of_parent(columns: Columns, ties: Ties, codes: Codes) -> FloatArray:
    """The probability of the codes of children given every piece of their parent (records x pieces)."""
    parts = []
    for child, own in codes.items():
        piece, share = columns[child].place(own)
        parts.append(ties[child].table.T[piece] * share[:, None])
    told: FloatArray = np.prod(parts, axis=0)
    return told


def family_pair(columns: Columns, ties: Ties, marginal: FloatArray, first: str, second: str) -> FloatArray:
    """The joint probability of the groups of two columns of a family, from the probability of the parent's pieces."""
    tables = [ties[name].table if name in ties else np.eye(len(marginal)) for name in (first, second)]
    left, right = (columns[name].by_group(table) for name, table in zip((first, second), tables, strict=True))
    joint: FloatArray = left.T @ (marginal[:, None] * right)
    return joint


Restricted = tuple[FloatArray, dict[str, "Pieces"], dict[str, Tie]]


def restrict_family(columns: Columns, ties: Ties, name: str, allowed: "Runs") -> Restricted | None:
    """The probability of the allowed codes of a column in every component, and all columns and ties given them.

    None where no piece is left. A condition on a child is one on the parent, by how much of the child each piece of the
    parent leaves, and one on what is drawn from it.
    """
    made = _restrict_child(columns, ties, name, allowed) if name in ties else _restrict(columns, ties, name, allowed)
    if made is None:
        return None
    mass, changed, tables = made
    return mass, tie_columns({**columns, **changed}, tables), tables


def _restrict(columns: Columns, ties: Ties, name: str, allowed: "Runs") -> Restricted | None:
    mass, column = columns[name].within(allowed)
    if column is None:
        return None
    places = [place for _, _, place in sorted(columns[name].parts(allowed))]
    tables = {
        child: replace(tie, table=tie.table[places]) if tie.parent == name else tie for child, tie in ties.items()
    }
    return mass, {name: column}, tables


def _restrict_child(columns: Columns, ties: Ties, name: str, allowed: "Runs") -> Restricted | None:
    tie = ties[name]
    left, given = replace(columns[name], theta=tie.table).within(allowed)
    if given is None:
        return None
    parent = columns[tie.parent]
    theta = parent.theta * left
    mass = theta.sum(axis=1)
    # a component that allows nothing gets weight 0; it still needs some distribution
    kept = replace(parent, theta=_normalised(np.where(mass[:, None] > 0, theta, parent.theta)))
    child = replace(given, theta=_normalised(kept.theta @ given.theta))
    return mass, {tie.parent: kept, name: child}, {**ties, name: replace(tie, table=given.theta)}


def _normalised(theta: FloatArray) -> FloatArray:
    normalised: FloatArray = theta / theta.sum(axis=1, keepdims=True)
    return normalised
