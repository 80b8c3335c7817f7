"""What a custodian asks: how near is a release, of a table or of a family, to the private rows?"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict, Unpack, overload

from sfumato.artefact.bundle import open_release
from sfumato.artefact.families.release import FamilyRelease
from sfumato.artefact.release import Release
from sfumato.evaluation.evaluation import Evaluation, evaluate_table
from sfumato.evaluation.families.evaluation import FamilyEvaluation, evaluate_family


class Options(TypedDict, total=False):
    """What may be said of a comparison; see `evaluate`."""

    rows: int | None
    seed: int
    progress: Callable[[str], None]


@overload
def evaluate(release: Release, real: Any, test: Any, **options: Unpack[Options]) -> Evaluation: ...


@overload
def evaluate(release: FamilyRelease, real: Any, test: Any, **options: Unpack[Options]) -> FamilyEvaluation: ...


@overload
def evaluate(release: str | Path, real: Any, test: Any, **options: Unpack[Options]) -> Any: ...


def evaluate(
    release: Release | FamilyRelease | str | Path,
    real: Any,
    test: Any,
    *,
    rows: int | None = None,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> Evaluation | FamilyEvaluation:
    """Compare a release with private records: those it was made from, and others that it never saw.

    release   the release, or the path of its bundle
    real      the table that was released, in any form that `sfumato.release` takes; of a family all its tables
    test      rows of the same kind that were kept apart; with fewer than 20 the verdict is that they cannot judge. Of a
              family the rows of other persons
    rows      synthetic rows to compare and to train on; the noisy number of records by default. Of a family persons, by
              default as many as the real ones
    seed      of the synthetic rows

    Returns what is printed and drawn: a verdict; the distance of every column and pair of columns from the private
    rows as they are stored, beside the chance level, which is that of the test rows; distributions, means, quantiles
    and correlations; what of the rows the schema misreads, how many break each rule of the schema and, where it has a
    target, prediction, for which both are read through the schema. Its numbers are computed from private records and
    are not private. Raises `BundleError` for a path that holds no bundle, `RequestError` for a table without rows or
    for fewer than 1 synthetic row, and `DataError` where columns are missing or a table cannot be read; the last two
    say which table is meant.

    Example
        >>> found = evaluate(release, private, held_out, rows=500)
        >>> 0 <= found.fidelity.mean_column <= 1
        True
    """
    opened = release if isinstance(release, Release | FamilyRelease) else open_release(release)
    if isinstance(opened, FamilyRelease):
        return evaluate_family(opened, real, test, persons=rows, seed=seed, progress=progress)
    return evaluate_table(opened, real, test, rows=rows, seed=seed, progress=progress)
