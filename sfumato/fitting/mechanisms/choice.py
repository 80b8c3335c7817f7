"""Which mechanism a request means, and what may be asked of it."""

from collections.abc import Mapping
from typing import Any, TypedDict

from sfumato.errors import RequestError
from sfumato.fitting.devices import CPU
from sfumato.fitting.families.tuning import FAMILY
from sfumato.fitting.mechanisms.mechanism import mechanism_names
from sfumato.fitting.mechanisms.subspace.plan import is_wide
from sfumato.trusted.schema import Schema


class Settings(TypedDict, total=False):
    """What may be chosen of a mechanism beside its name; see `sfumato.release`. None: nothing is asked for."""

    components: int | None
    anonymize: str | None
    approximate: str | None
    adapt: str | None
    share: float | None


def check_settings(mechanism: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked for of a mechanism, without what was not; a setting of another mechanism is refused."""
    asked = {name: value for name, value in settings.items() if value is not None}
    if "components" in asked and mechanism != "mixture":
        raise RequestError("components are for mechanism mixture; leave them out")
    if mechanism != "3a" and (parts := asked.keys() - {"components"}):
        raise RequestError(f"{', '.join(sorted(parts))}: for mechanism 3a alone; ask for it, or leave them out")
    return asked


def refuse_for_family(mechanism: str, settings: Mapping[str, Any], device: str = CPU) -> None:
    """Refuse what was asked for of a single table's mechanism, where the schema is that of a family."""
    if mechanism not in ("auto", FAMILY) or any(value is not None for value in settings.values()):
        raise RequestError("a family of tables has a mechanism of its own; leave out mechanism and its settings")
    if device != CPU:
        raise RequestError("a family of tables is fitted on the processor; leave device out")


def choose_mechanism(name: str, measured: Schema) -> str:
    """The mechanism that is asked for; "auto" looks at the columns that would be measured.

    Edge cases
        An unknown name: `RequestError`.
    """
    known = ["auto", *mechanism_names()]
    if name not in known:
        raise RequestError(f"mechanism is {name!r}; use one of {', '.join(known)}")
    if name != "auto":
        return name
    return "subspace" if is_wide(measured) else "tables"
