"""Whether a constraint fits the columns that it names. What is refused here never meets a table."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sfumato.trusted.schema.bounds import constant_of, kind_of, shown_bounds, span_of
from sfumato.trusted.schema.columns import BooleanColumn, CategoryColumn, Column, is_unknown, text_of
from sfumato.trusted.schema.constraints import (
    Allowed,
    Forbidden,
    Function,
    Implication,
    Key,
    NullTogether,
    Place,
    Total,
)
from sfumato.trusted.schema.messages import did_you_mean
from sfumato.trusted.schema.relations import Equation, Inequality, Limit

Columns = Mapping[str, Column]


def names_in(one: Any) -> tuple[str, ...]:
    """The columns of the table that a constraint names."""
    match one:
        case Inequality() | Limit() | Equation():
            return one.columns
        case Function():
            return one.column, one.of
        case Forbidden():
            return tuple(one.forbid)
        case Implication():
            return *one.when, *one.then
        case Allowed():
            return one.allow
        case Total():
            return (*one.of, *([one.total] if isinstance(one.total, str) else []))
        case NullTogether():
            return one.null_together
        case Place():
            return one.place
    return ()


def check_names(one: Any, columns: Columns, unread: set[str]) -> None:
    """Refuse names that are no columns, or whose bounds or values are not known yet."""
    if isinstance(one, Key):
        if one.key in columns or one.key in unread:
            raise ValueError(f"{one.key!r} is read, and a key is not; take it off the columns, or name another key")
        return
    named = names_in(one)
    for name in named:
        if name not in columns:
            raise ValueError(f"{name!r} is not a column{did_you_mean(name, columns)}; name one of the columns")
        if is_unknown(columns[name]):
            raise ValueError(
                f"{name!r} has bounds or values that are to be bought, and a constraint must know them; write them"
            )
    distinct = named if isinstance(one, Inequality | Equation | Function | Allowed | Total | Place) else ()
    if len(set(distinct)) < len(distinct):
        raise ValueError("a column stands on both sides or twice; name each once")


def check_one(one: Any, columns: Columns, target: str | None) -> None:
    """Refuse a constraint that does not fit the columns that it names."""
    match one:
        case Total():
            _check_total(one, columns, target)
        case Place():
            _check_place(one, columns, target)
        case Implication():
            _check_combination(one.when, columns)
            _check_combination(one.then, columns)
        case _:
            _CHECKS.get(type(one), _check_nothing)(one, columns)


def _check_nothing(one: Any, columns: Columns) -> None:
    """Of a key nothing but its name is known."""


def _check_inequality(one: Inequality, columns: Columns) -> None:
    kinds = {kind_of(columns[name]) for name in one.columns}
    if "list" in kinds or len(kinds) > 1:
        raise ValueError(_unlike(one.columns, columns, "compared"))


def _check_limit(one: Limit, columns: Columns) -> None:
    if kind_of(columns[one.column]) == "list":
        raise ValueError(f"column {one.column!r} has no order; forbid values of it instead")
    constant_of(columns[one.column], one.constant)


def _check_nulls(one: NullTogether, columns: Columns) -> None:
    for name in one.null_together:
        if not columns[name].missing:
            raise ValueError(f"column {name!r} is never missing; say `missing: true` there, or take it off")


def _unlike(names: Iterable[str], columns: Columns, what: str) -> str:
    shown = ", ".join(f"{name!r} is of type {columns[name].type}" for name in names)
    return f"{shown}; only numbers with numbers, dates with dates and datetimes with datetimes can be {what}"


def _check_equation(one: Equation, columns: Columns) -> None:
    kinds = [kind_of(columns[name]) for name in one.sources]
    own = kind_of(columns[one.column])
    dated = {kind for kind in (own, *kinds) if kind not in ("number", "list")}
    if "list" in (own, *kinds) or len(dated) > 1 or (one.years and (own != "number" or kinds != [*dated] * 2)):
        raise ValueError(_unlike(one.columns, columns, "added up"))
    moments = sum(factor for (factor, _), kind in zip(one.terms, kinds, strict=True) if kind != "number")
    if not one.years and moments != (own != "number"):
        raise ValueError(
            f"{one.column!r} would be a sum of dates; the difference of two dates is a number, and a date plus a "
            "number is a date"
        )


def _texts(column: Column) -> set[str]:
    values: tuple[Any, ...] = column.listed if isinstance(column, CategoryColumn | BooleanColumn) else ()
    truth = {"True", "False", "true", "false"} if isinstance(column, BooleanColumn) else set()
    return {text_of(value) for value in values} | truth


def _check_function(one: Function, columns: Columns) -> None:
    child, parent = columns[one.column], columns[one.of]
    for name, column in ((one.column, child), (one.of, parent)):
        if kind_of(column) != "list":
            raise ValueError(f"column {name!r} is of type {column.type}; a function is of one listed column to another")
    if one.table is None:
        return
    images, known = _texts(child), _texts(parent)
    for value, image in one.table:
        if text_of(value) not in known:
            raise ValueError(f"{text_of(value)!r} is not a value of column {one.of!r}; list it there, or take it off")
        if text_of(image) not in images:
            raise ValueError(f"{text_of(image)!r} is not a value of column {one.column!r}; list it there")
    told = {text_of(value) for value, _ in one.table}
    lacking = [text_of(value) for value in getattr(parent, "listed", ()) if text_of(value) not in told]
    if lacking and not child.missing:
        raise ValueError(
            f"the table says nothing of {one.of} {lacking[0]!r}; add a line, or say `missing: true` of {one.column!r}"
        )


def _check_combination(wanted: Mapping[str, Any], columns: Columns) -> None:
    for name, value in wanted.items():
        check_wanted(name, value, columns[name])


def check_wanted(name: str, wanted: Any, column: Column) -> None:
    """Refuse values of a rule that the column cannot have."""
    if isinstance(wanted, dict) and set(wanted) <= {"from", "to"}:
        if kind_of(column) == "list":
            raise ValueError(f"column {name!r} has no order; list its values")
        ends = [constant_of(column, wanted[end]) if end in wanted else None for end in ("from", "to")]
        low, high = span_of(column)
        first, last = (
            low if ends[0] is None else max(ends[0], low),
            high if ends[1] is None else min(ends[1], high),
        )
        if first > last:
            raise ValueError(f"column {name!r} has no value there; its bounds are {shown_bounds(column)}")
        return
    if isinstance(wanted, dict) and "missing" in wanted:
        if wanted["missing"] and not column.missing:
            raise ValueError(f"column {name!r} is never missing; say `missing: true` there, or take the rule off")
        return
    values = wanted["not"] if isinstance(wanted, dict) else wanted if isinstance(wanted, list) else [wanted]
    for value in values:
        _check_value(name, value, column)


def _check_value(name: str, value: Any, column: Column) -> None:
    if value is None:
        if not column.missing:
            raise ValueError(f"column {name!r} is never missing; say `missing: true` there, or take the rule off")
    elif kind_of(column) == "list":
        if text_of(value) not in _texts(column):
            hint = did_you_mean(text_of(value), _texts(column))
            raise ValueError(f"{value!r} is not a value of column {name!r}{hint}; name one that is listed")
    else:
        number = constant_of(column, value)
        low, high = span_of(column)
        if not low <= number <= high:
            raise ValueError(f"{value!r} lies outside the bounds of column {name!r}; write one within")


def _check_allowed(one: Allowed, columns: Columns) -> None:
    for row in one.table:
        if len(row) != len(one.allow):
            raise ValueError(f"a row of the table has {len(row)} values, and there are {len(one.allow)} columns")
        for name, value in zip(one.allow, row, strict=True):
            if kind_of(columns[name]) != "list":
                raise ValueError(f"column {name!r} is of type {columns[name].type}; a table lists values of categories")
            _check_value(name, value, columns[name])


def _check_total(one: Total, columns: Columns, target: str | None) -> None:
    named = (*one.of, *([one.total] if isinstance(one.total, str) else []))
    for name in named:
        if kind_of(columns[name]) != "number" or columns[name].missing:
            raise ValueError(f"column {name!r} must be a number that is never missing to be added up, or be a total")
        if name == target:
            raise ValueError(f"{name!r} is the target, which is measured as it is; name another target, or no total")
    most = span_of(columns[one.total])[1] if isinstance(one.total, str) else one.total
    for name in one.of:
        low, high = span_of(columns[name])
        if low != 0 or high < most:
            raise ValueError(
                f"bounds of {name!r}: a part of a total goes from 0 to {most:g} at least; write [0, {most:g}]"
            )
    if (
        len({getattr(columns[name], "spacing", None) for name in one.of}) > 1
        or len({columns[name].type for name in one.of}) > 1
    ):
        raise ValueError("the parts of a total must have one type and one step; write the same for each")
    if isinstance(one.total, float) and columns[one.of[0]].type == "integer" and not one.total.is_integer():
        raise ValueError(f"integers do not add up to {one.total:g}; write an integer")


def _check_place(one: Place, columns: Columns, target: str | None) -> None:
    for name in one.place:
        if columns[name].type != "number":
            raise ValueError(f"column {name!r} is of type {columns[name].type}; a place is two columns of type number")
        if name == target:
            raise ValueError(f"{name!r} is the target, which is measured as it is; name another target, or no place")
    if len({columns[name].missing for name in one.place}) > 1:
        raise ValueError("both columns of a place may be missing, or none; say the same `missing:` for both")


def _check_forbidden(one: Forbidden, columns: Columns) -> None:
    _check_combination(one.forbid, columns)


_CHECKS: dict[type, Callable[[Any, Columns], None]] = {
    Inequality: _check_inequality,
    Limit: _check_limit,
    Equation: _check_equation,
    Function: _check_function,
    Forbidden: _check_forbidden,
    Allowed: _check_allowed,
    NullTogether: _check_nulls,
}
