"""Which mechanism a request means."""

from sfumato.errors import RequestError
from sfumato.fitting.mechanisms.mechanism import mechanism_names
from sfumato.fitting.mechanisms.subspace.plan import is_wide
from sfumato.trusted.schema import Schema


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
