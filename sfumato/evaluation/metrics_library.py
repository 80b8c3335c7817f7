"""The scores of SDMetrics' quality report, by that library, where it is installed."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np

from sfumato.evaluation.raw_values import RawColumn, RawTable
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.encoding import Codes, Encoder, NumericCodec
from sfumato.trusted.schema import Schema

HOW_TO_GET = 'SDMetrics is not installed, so its quality score is left out: pip install "sfumato[metrics]"'
MOST_ROWS = 20_000
"""Rows of each table that the library compares; where there are more, some at random."""
MOST_COLUMNS = 50
"""Columns that the library compares, the first ones: it looks at every two of them."""
_TABLE = "table"
_SDTYPES = {
    "number": "numerical",
    "integer": "numerical",
    "date": "datetime",
    "datetime": "datetime",
    "boolean": "boolean",
    "category": "categorical",
}


@dataclass(frozen=True)
class QualityScore:
    """The headline numbers of SDMetrics' quality report, each from 0, the worst, to 1; None where it has none.

    shapes    "Column Shapes": how alike single columns are
    trends    "Column Pair Trends": how alike every two columns go together
    overall   their mean
    """

    shapes: float | None
    trends: float | None
    overall: float | None


@dataclass(frozen=True)
class LibraryScores:
    """The scores of the synthetic rows, and of the test rows: what chance alone leaves."""

    library: str
    synthetic: QualityScore
    test: QualityScore


def library_scores(real: RawTable, synthetic: RawTable, test: RawTable, schema: Schema) -> LibraryScores | None:
    """Compare tables as SDMetrics does; None where it is not installed.

    A value that is not listed counts as a value of its own, and one that cannot be read as missing.
    """
    if find_spec("sdmetrics") is None:
        return None
    names = list(schema.by_name)[:MOST_COLUMNS]
    columns = {"columns": {name: {"sdtype": _SDTYPES[schema[name].type]} for name in names}}
    frames = [_frame(table, names, schema) for table in (real, synthetic, test)]
    return LibraryScores(
        f"SDMetrics {version('sdmetrics')}",
        *(_generate(frames[0], frame, {"tables": {_TABLE: columns}}) for frame in frames[1:]),
    )


def _generate(real: Any, other: Any, metadata: dict[str, Any]) -> QualityScore:
    from sdmetrics.reports import QualityReport

    report = QualityReport()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the library about itself
        report.generate({_TABLE: real}, {_TABLE: other}, metadata, verbose=False)
        found = dict(report.get_properties().itertuples(index=False))
        overall = report.get_score()
    return QualityScore(_known(found["Column Shapes"]), _known(found["Column Pair Trends"]), _known(overall))


def _known(score: float) -> float | None:
    return float(score) if np.isfinite(score) else None


def _frame(table: RawTable, names: Sequence[str], schema: Schema) -> Any:
    import pandas as pd

    codes, rows = Encoder(schema).columns, len(next(iter(table.values())).values)
    kept = np.arange(rows)
    if rows > MOST_ROWS:
        kept = np.sort(np.random.default_rng(0).choice(rows, MOST_ROWS, replace=False))
    return pd.DataFrame({name: _series(table[name], kept, codes[name], schema[name].type) for name in names})


def _series(column: RawColumn, kept: Any, codes: Codes, kind: str) -> Any:
    values: FloatArray = column.values[kept]
    if isinstance(codes, NumericCodec):
        numbers = codes.in_units(values)
        return _moments(numbers, kind) if kind in ("date", "datetime") else numbers
    labels = np.full(len(values), None, dtype=object)
    there = ~np.isnan(values)
    labels[there] = values[there].astype(int) == 1 if kind == "boolean" else values[there].astype(int).astype(str)
    return labels


def _moments(numbers: FloatArray, kind: str) -> Any:
    """Days or seconds since 1970 as moments; what a moment cannot hold is missing."""
    seconds = numbers * (86_400 if kind == "date" else 1)
    held = np.isfinite(seconds) & (np.abs(seconds) < 9e9)  # nanoseconds of 64 bits
    moments = np.full(len(seconds), np.datetime64("NaT", "ns"))
    moments[held] = seconds[held].astype(np.int64).astype("datetime64[s]")
    return moments
