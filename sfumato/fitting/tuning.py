"""Constants that somebody may tune one day, and that a bundle therefore stores.

A release is a function of its measurements, its plan and these constants. Whoever verifies it later, with a version
that has other constants, replays it with those of its day.

    class Tuning(TuningConstants, group="tables.merging"):
        level = 0.99  # why

`Tuning.level` is this version's value, or inside `stored_constants(...)` the stored one.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from sfumato.errors import BundleError

Constants = Mapping[str, Mapping[str, Any]]
"""Values by group and name."""

_STORED: ContextVar[Constants] = ContextVar("_STORED", default={})  # noqa: B039 - never changed in place
_MOST_CHANGED = 10.0  # times that a stored constant may differ from this version's: a bound on time and memory


class _Lookup(type):
    """Look a constant up among the stored ones first."""

    def __getattribute__(cls, name: str) -> Any:
        own = super().__getattribute__(name)
        if name.startswith("_") or name == "group":
            return own
        return _STORED.get().get(super().__getattribute__("group"), {}).get(name, own)


class TuningConstants(metaclass=_Lookup):
    """The constants of one module: numbers, or tuples of numbers."""

    group: str

    def __init_subclass__(cls, group: str) -> None:
        super().__init_subclass__()
        cls.group = group


def current_constants(modules: Iterable[type[TuningConstants]]) -> dict[str, dict[str, Any]]:
    """The values that would be used now, as plain content."""
    return {one.group: {name: _plain(getattr(one, name)) for name in _names_of(one)} for one in modules}


def plain_constants(constants: Constants) -> dict[str, dict[str, Any]]:
    """Constants as plain content."""
    return {group: {name: _plain(value) for name, value in values.items()} for group, values in constants.items()}


@contextmanager
def stored_constants(constants: Constants) -> Iterator[None]:
    """Within this block these constants count."""
    token = _STORED.set(constants)
    try:
        yield
    finally:
        _STORED.reset(token)


def read_constants(content: Mapping[str, Any], modules: Iterable[type[TuningConstants]]) -> dict[str, dict[str, Any]]:
    """The constants of a bundle, as `current_constants` wrote them, for these modules.

    Edge cases
        One that this version does not have any more is kept, and used by nothing. One that it has and the bundle has
        not is this version's. One that is ten times larger or smaller than this version's: `BundleError`.
    """
    known = {one.group: vars(one) for one in modules}
    found: dict[str, dict[str, Any]] = {}
    for group, values in content.items():
        if not isinstance(values, dict):
            raise BundleError(f"the plan's constants of {group} are not a list of names and numbers")
        here: Mapping[str, Any] = known.get(group, {})
        found[group] = {
            name: _read(value, here[name], f"{group}.{name}") if name in here else _number(value, f"{group}.{name}")
            for name, value in values.items()
        }
    return found


def changed_constants(constants: Constants, modules: Iterable[type[TuningConstants]]) -> list[str]:
    """What differs between stored constants and those of this version, one line each."""
    lines = []
    for group, here in current_constants(modules).items():
        there = constants.get(group, {})
        lines += [
            f"{group}.{name} {_shown(there.get(name))}, here {_shown(value)}"
            for name, value in here.items()
            if _plain(there.get(name)) != value
        ]
    return lines


def _names_of(module: type[TuningConstants]) -> list[str]:
    return [name for name in vars(module) if not name.startswith("_") and name != "group"]


def _plain(value: Any) -> Any:
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value


def _shown(value: Any) -> str:
    return " ".join(map(_shown, value)) if isinstance(value, tuple | list) else str(value)


def _read(value: Any, own: Any, name: str) -> Any:
    """A stored value in the type of this version's."""
    if isinstance(own, tuple):
        if not isinstance(value, list) or len(value) != len(own):
            raise BundleError(f"the plan's constant {name} is not a list of {len(own)} numbers")
        return tuple(_read(one, mine, name) for one, mine in zip(value, own, strict=True))
    if type(own) is int and type(value) is not int:
        raise BundleError(f"the plan's constant {name} is not an integer")
    _number(value, name)
    near = abs(own) / _MOST_CHANGED <= abs(value) <= abs(own) * _MOST_CHANGED and value * own >= 0
    fraction = 0 < own < 1
    if not near or (fraction and value >= 1):  # a share, a power below 1, a chance
        raise BundleError(
            f"the plan's constant {name} is {value}, too far from this version's {own} to be replayed here"
        )
    return type(own)(value)


def _number(value: Any, name: str) -> Any:
    """A stored number, or list of numbers."""
    if isinstance(value, list):
        return tuple(_number(one, name) for one in value)
    if type(value) not in (int, float) or not math.isfinite(value):
        raise BundleError(f"the plan's constant {name} is not a number")
    return value
