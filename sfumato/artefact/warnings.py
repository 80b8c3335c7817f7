"""What should make somebody stop before or after a release is made: a pure function of public numbers."""

import math

LARGE_EPSILON = 10.0


def warn_of(
    epsilon: float,
    delta: float,
    rows: float | None = None,
    smallest_group: float | None = None,
    protected: str = "record",
) -> tuple[str, ...]:
    """Warnings for a release that is planned or has been made; none where all is well.

    epsilon, delta   the whole budget
    rows             the number of records, estimated or noisy, if it is known
    smallest_group   the smallest group that survives the noise, see `sfumato.artefact.verdict.Quality`
    protected        what rows are of: record, or person in a family of tables

    Returns sentences; each names the value, the rule and the cure.

    Example
        >>> warn_of(1, 1e-6, 50_000)
        ()
        >>> len(warn_of(100, 1e-3, 5_000))
        2
    """
    found = (
        _of_epsilon(epsilon),
        _of_delta(delta, rows, protected),
        _of_rows(rows, smallest_group, protected),
    )
    return tuple(words for words in found if words)


def _of_epsilon(epsilon: float) -> str:
    if epsilon <= LARGE_EPSILON:
        return ""
    return (
        f"epsilon {epsilon:g} is above {LARGE_EPSILON:g}: it promises next to nothing to anybody; lower it, say to 1, "
        "or see with --risk what an attacker gains"
    )


def _of_delta(delta: float, rows: float | None, protected: str) -> str:
    if rows is None or delta * rows <= 1:
        return ""
    return (
        f"delta {delta:g} is above 1 over the {rows:,.0f} {protected}s: it would allow to publish a {protected} as it "
        f"is; use {_below(1 / rows)} or less"
    )


def _below(number: float) -> str:
    """The power of ten that is a tenth of a number, or the next one below."""
    return f"{10.0 ** math.floor(math.log10(number / 10)):.0e}"


def _of_rows(rows: float | None, smallest_group: float | None, protected: str) -> str:
    if rows is None or smallest_group is None:
        return ""
    if smallest_group >= rows:
        return (
            f"{rows:,.0f} {protected}s drown in the noise: even a group that holds all of them may be counted wrong by "
            "half; raise epsilon, or measure fewer columns"
        )
    if smallest_group * 10 >= rows:
        return (
            f"groups below {smallest_group:,.0f} of the {rows:,.0f} {protected}s drown in the noise; raise epsilon, or "
            "measure fewer columns"
        )
    return ""
