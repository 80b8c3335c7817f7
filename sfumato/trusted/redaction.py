"""Nothing that happens among the rows may speak: neither an exception's text nor a warning."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np

from sfumato.errors import DataError

P = ParamSpec("P")
R = TypeVar("R")


_LIBRARIES = {
    *(
        "builtins",
        "pyarrow",
        "numpy",
        "pandas",
        "polars",
        "duckdb",
        "sqlite3",
        "adbc_driver_manager",
        "pyspark",
        "py4j",
    ),
    *("zipfile", "zlib", "xml", "sfumato"),
}


def public_name(kind: type[BaseException]) -> str:
    """The name of an error's class, or of its nearest base from a library: any other name may be made of rows."""
    return next(cls.__name__ for cls in kind.__mro__ if str(cls.__module__).split(".")[0] in _LIBRARIES)


def redact_errors(work: Callable[P, R]) -> Callable[P, R]:
    """Replace any error by one that quotes nothing, and keep numpy from warning of values.

    The error is raised after the `except` block has ended: it has no context, so that no traceback, debugger or log can
    show the first one, whose text may hold a cell.
    """

    @functools.wraps(work)
    def quiet(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with np.errstate(all="ignore"):
                return work(*args, **kwargs)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - whatever it is, it may quote a row; polars panics are no Exception
            kind = public_name(type(error))
        raise DataError(
            f"the private table could not be read to its end ({kind}); check the storage, its format, the connection "
            "and the room for temporary files. Details are withheld because they could quote a row"
        )

    return quiet
