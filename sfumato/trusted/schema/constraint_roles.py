"""Whether the constraints of a schema fit each other: a column is measured in one way, and something is left of it."""

from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from typing import Any

from sfumato.trusted.schema.bounds import shown_bounds, tightened
from sfumato.trusted.schema.constraint_checks import Columns, check_names, check_one, names_in
from sfumato.trusted.schema.constraints import Allowed, Forbidden, Function, Implication, Place, Total
from sfumato.trusted.schema.relations import Equation, Inequality, Limit, parse_relation

_SAID = {
    "above": "bounded by another column",
    "computed": "computed",
    "learnt": "a function of another column",
    "part": "a part of a total",
    "half": "half of a place",
}


class ConstraintError(ValueError):
    """What is wrong with the constraint at this place of the list."""

    def __init__(self, place: int, message: str) -> None:
        super().__init__(message)
        self.place = place


def check_constraints(constraints: Iterable[Any], columns: Columns, target: str | None, unread: Iterable[str]) -> None:
    """Refuse constraints that name what is not there, do not fit its type, or contradict each other.

    `unread` are columns that are known and not released, such as that of the unit.
    """
    listed = [parse_relation(one) if isinstance(one, str) else one for one in constraints]
    roles = _Roles(columns, target)
    for place, one in enumerate(listed):
        try:
            check_names(one, columns, set(unread))
            check_one(one, columns, target)
            roles.enter(one)
        except ValueError as error:
            raise ConstraintError(place, str(error)) from None
    for place, one in enumerate(listed):
        try:
            roles.check(one)
        except ValueError as error:
            raise ConstraintError(place, str(error)) from None
    _check_cycles(listed)
    _check_bounds(listed, columns)


class _Roles:
    """How each column is measured; a column can be measured in one other way at most."""

    def __init__(self, columns: Columns, target: str | None) -> None:
        self.columns, self.target = columns, target
        self.role: dict[str, str] = {}
        self.computed: dict[str, tuple[str, ...]] = {}
        self.above: set[str] = set()

    def enter(self, one: Any) -> None:
        match one:
            case Equation():
                self._take(one.column, "computed")
                self.computed[one.column] = one.sources
            case Function():
                self._take(one.column, "learnt" if one.table is None else "computed")
                if one.table is not None:
                    self.computed[one.column] = (one.of,)
            case Inequality():
                if self.role.setdefault(one.greater, "above") != "above":
                    raise ValueError(self._twice(one.greater))
            case Total():
                for name in one.of:
                    self._take(name, "part")
            case Place():
                for name in one.place:
                    self._take(name, "half")

    def _take(self, name: str, role: str) -> None:
        if name in self.role:
            raise ValueError(self._twice(name))
        self.role[name] = role
        if name == self.target and role in ("computed", "learnt"):
            raise ValueError(f"{name!r} is the target, which is measured as it is; name another target")

    def _twice(self, name: str) -> str:
        return f"{name!r} follows from another constraint already; keep one of the two"

    def single(self, name: str) -> str | None:
        """The column that alone decides this one, if there is one."""
        if self.role.get(name) == "learnt":
            return None
        while name in self.computed:
            if len(self.computed[name]) > 1:
                return None
            (name,) = self.computed[name]
        return None if self.role.get(name) in ("above", "part") else name

    def check(self, one: Any) -> None:
        """What depends on the roles of other columns."""
        match one:
            case Inequality():
                self._may_be(one.columns, "above", "and cannot be compared; compare the columns behind it")
            case Limit():
                self._may_be(one.columns, "above", "and its bounds count; change them instead")
            case Total():
                total = [one.total] if isinstance(one.total, str) else []
                self._may_be(total, "above", "and cannot be a total; name a column that is measured")
            case Function() if one.table is None:
                self._may_be((one.column, one.of), "learnt", "and a function of it cannot be learnt; write a table")
            case Forbidden() | Implication() | Allowed():
                self._rule(one)

    def _may_be(self, names: Iterable[str], role: str, what: str) -> None:
        for name in names:
            if self.role.get(name, role) != role:
                raise ValueError(f"{name!r} is {_SAID[self.role[name]]}, {what}")

    def _rule(self, one: Forbidden | Implication | Allowed) -> None:
        for name, value in _values_in(one):
            only_missing = value is None or (isinstance(value, dict) and "missing" in value)
            if self.single(name) is None and not (only_missing and self.role.get(name) == "above"):
                raise ValueError(
                    f"{name!r} follows from several columns, and a rule on its values cannot be kept; write the rule "
                    "for the columns behind it"
                )


def _values_in(one: Forbidden | Implication | Allowed) -> Iterator[tuple[str, Any]]:
    """The columns of a rule, each with the values that it names."""
    match one:
        case Forbidden():
            yield from one.forbid.items()
        case Implication():
            yield from (*one.when.items(), *one.then.items())
        case Allowed():
            yield from ((name, ...) for name in one.allow)


def _check_cycles(listed: list[Any]) -> None:
    follows: dict[str, set[str]] = {}
    places: dict[str, int] = {}
    for place, one in enumerate(listed):
        if isinstance(one, Equation | Function | Inequality):
            name = one.greater if isinstance(one, Inequality) else one.column
            sources = {one.lesser} if isinstance(one, Inequality) else set(names_in(one)) - {name}
            follows.setdefault(name, set()).update(sources)
            places[name] = place
    try:
        TopologicalSorter(follows).prepare()
    except CycleError as error:
        circle = error.args[1]
        raise ConstraintError(
            max(places[name] for name in circle if name in places),
            f"{' -> '.join(map(repr, reversed(circle)))} goes round in a circle; take one of these constraints off",
        ) from None


def _check_bounds(listed: list[Any], columns: Columns) -> None:
    """Refuse constraints that no record can keep, or that leave a column one value."""
    for place in range(len(listed)):
        for name, (low, high) in tightened(listed[: place + 1], columns).items():
            if low > high or (low == high and columns[name].type == "number"):
                raise ConstraintError(
                    place,
                    f"no value of column {name!r} is left, whose bounds are {shown_bounds(columns[name])}; "
                    "widen bounds, or take a constraint off",
                )
