"""Columns whose values are multiples of a step: prices in cents, temperatures in tenths, limits in thousands.

A number counts as the decimal that a person writes for it, 0.1 as one tenth, so that no rounding of floats decides
whether a bound is a multiple.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

MOST_DECIMALS = 15
_LARGEST_COUNT = 2**50  # of the smallest decimal unit: counts up to here come back from float64 arithmetic as they were


def written(number: float) -> Fraction:
    """The decimal that is written for a number, exactly."""
    return Fraction(repr(number))


def decimals_of(step: Fraction) -> int:
    """How many decimals the multiples of a step have, at most `MOST_DECIMALS` + 1."""
    return next(
        (digits for digits in range(MOST_DECIMALS + 1) if (step * 10**digits).denominator == 1), MOST_DECIMALS + 1
    )


def check_step(key: str, step: Fraction, bounds: Sequence[float]) -> None:
    """Refuse a step that is not positive, or so fine that a float64 cannot tell its multiples between the bounds."""
    if step <= 0:
        raise ValueError(f"{key}: {_shown(step)} is not above 0; write the distance between two values")
    digits = decimals_of(step)
    if digits > MOST_DECIMALS or max(abs(written(bound)) for bound in bounds) * 10**digits > _LARGEST_COUNT:
        raise ValueError(
            f"{key}: values up to {max(map(abs, bounds))} in steps of {float(step)} have more digits than a float64 "
            "keeps; write a coarser step, or leave it out"
        )


def check_multiples(key: str, step: Fraction, bounds: Sequence[float], points: Iterable[tuple[str, float]]) -> None:
    """Refuse bounds and other values of a column that are no multiples of its step."""
    low, high = (written(bound) / step for bound in bounds)
    if low.denominator > 1 or high.denominator > 1:
        wider = ", ".join(_shown(count * step) for count in (math.floor(low), math.ceil(high)))
        raise ValueError(
            f"bounds: {list(bounds)} are not multiples of {_shown(step)} ({key}); write [{wider}], or change {key}"
        )
    for name, value in points:
        if (written(value) / step).denominator > 1:
            near = _shown(round(written(value) / step) * step)
            raise ValueError(f"{name}: {value} is not a multiple of {_shown(step)} ({key}); write {near}, say")


def _shown(number: Fraction) -> str:
    return str(number.numerator if number.denominator == 1 else float(number))
