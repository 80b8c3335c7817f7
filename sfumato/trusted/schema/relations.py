"""Relations between columns as people write them: `discharged >= admitted`, `age = 2026 - birth_year`.

An operator stands between spaces, because names may hold signs as well; a name that holds an operator between spaces
stands in backticks.
"""

import re
from dataclasses import dataclass
from functools import partial

_SIDES = re.compile(r"\s+(>=|<=|>|<|=)\s+")
_SIGNS = re.compile(r"\s+([+-])\s+")
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_CONSTANT = re.compile(rf"{_NUMBER}|\d{{4}}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?")
_TIMES = re.compile(rf"({_NUMBER})\s*\*\s*(.+)")
_OVER = re.compile(rf"(.+?)\s*/\s*({_NUMBER})")
_YEARS = re.compile(r"years\((.+)\)")
_QUOTED = re.compile(r"`([^`]+)`")
_ASIDE = re.compile("\x00(\\d+)\x00")
_FORMS = "write `a >= b`, `a > b + 1`, `a <= 100`, or `a = 2 * b - c`, with spaces around the signs"


@dataclass(frozen=True)
class Inequality:
    """greater >= lesser + offset, or > if strict, wherever both have a value."""

    greater: str
    lesser: str
    offset: float
    strict: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that it names."""
        return self.greater, self.lesser


@dataclass(frozen=True)
class Limit:
    """A column that is never below (or above) a constant, which is as it was written."""

    column: str
    constant: str
    below: bool  # whether the column lies below it
    strict: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that it names."""
        return (self.column,)


@dataclass(frozen=True)
class Equation:
    """column = constant + sum of factor x column; or the full years from one date to another."""

    column: str
    constant: float
    terms: tuple[tuple[float, str], ...]
    years: bool = False

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that it is computed from."""
        return tuple(name for _, name in self.terms)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that it names."""
        return self.column, *self.sources


Relation = Inequality | Limit | Equation


def parse_relation(text: str) -> Relation:
    """The relation that a text stands for. Raises `ValueError` for one that stands for none."""
    sides = _SIDES.split(text.strip())
    if len(sides) != 3:
        raise ValueError(f"{text!r} is not a relation between columns; {_FORMS}")
    left, sign, right = sides
    if sign == "=":
        return _equation(_name(left, text), right, text)
    return _inequality(left, right, sign, text)


def _inequality(left: str, right: str, sign: str, text: str) -> Relation:
    below, strict = sign.startswith("<"), len(sign) == 1
    if _is_constant(left):
        left, right, below = right, left, not below
    if _is_constant(right):
        return Limit(_name(left, text), right, below, strict)
    terms, offset = _sum(right, text)
    if len(terms) != 1 or terms[0][0] != 1:
        raise ValueError(f"{text!r} compares with more than one column and a constant; {_FORMS}")
    name, other = _name(left, text), terms[0][1]
    return Inequality(other, name, -offset, strict) if below else Inequality(name, other, offset, strict)


def _equation(column: str, right: str, text: str) -> Equation:
    years = _YEARS.fullmatch(right.strip())
    terms, constant = _sum(years[1] if years else right, text)
    if not terms:
        raise ValueError(f"{text!r} computes a column from none; {_FORMS}")
    if len({name for _, name in terms}) < len(terms):
        raise ValueError(f"{text!r} names a column twice; add up its factors")
    if years and (constant or sorted(factor for factor, _ in terms) != [-1, 1]):
        raise ValueError(f"{text!r}: years are between two dates; write `years(later - earlier)`")
    return Equation(column, constant, terms, bool(years))


def _sum(text: str, whole: str) -> tuple[tuple[tuple[float, str], ...], float]:
    """The terms of a sum, and its constant."""
    quoted: list[str] = []
    parts = _SIGNS.split(" " + _QUOTED.sub(partial(_set_aside, quoted), text.strip()))
    terms, constant = [], 0.0
    for sign, part in zip(("+", *parts[1::2]), parts[::2], strict=True):
        factor, name = _term(_ASIDE.sub(lambda found: quoted[int(found[1])], part.strip()), whole)
        signed = -factor if sign == "-" else factor
        if name is None:
            constant += signed
        else:
            terms.append((signed, name))
    return tuple(terms), constant


def _set_aside(quoted: list[str], found: re.Match[str]) -> str:
    """A quoted name must not be taken apart."""
    quoted.append(found[0])
    return f"\x00{len(quoted) - 1}\x00"


def _term(part: str, whole: str) -> tuple[float, str | None]:
    if re.fullmatch(_NUMBER, part):
        return float(part), None
    if times := _TIMES.fullmatch(part):
        return float(times[1]), _name(times[2], whole)
    over = _OVER.fullmatch(part)
    if over and float(over[2]) != 0:
        return 1 / float(over[2]), _name(over[1], whole)
    return 1.0, _name(part, whole)


def _name(text: str, whole: str) -> str:
    quoted = _QUOTED.fullmatch(text.strip())
    name = quoted[1] if quoted else text.strip()
    if not name or (not quoted and re.search(r"[`*()]", name)):
        raise ValueError(f"{whole!r} is not a relation between columns; {_FORMS}")
    return name


def _is_constant(text: str) -> bool:
    return _CONSTANT.fullmatch(text.strip()) is not None
