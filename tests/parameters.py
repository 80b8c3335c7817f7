"""Parameters of which the short run tries some, and `make slow` all."""

from collections.abc import Iterable
from typing import Any

import pytest


def mostly_slow(values: Iterable[Any], *quick: Any) -> list[Any]:
    """Every value; those that are not named run in `make slow` alone."""
    return [value if value in quick else pytest.param(value, marks=pytest.mark.slow) for value in values]
