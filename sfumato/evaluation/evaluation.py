"""The whole evaluation: verdict, columns and pairs of columns as they are, correlations, learners, sub-groups."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np

from sfumato.artefact.drawing import draw_records
from sfumato.artefact.release import Release
from sfumato.errors import RequestError
from sfumato.evaluation.checking import ColumnCheck
from sfumato.evaluation.column_units import ColumnUnit
from sfumato.evaluation.correlations import Correlation, compare_correlations
from sfumato.evaluation.fidelity import Fidelity, fidelity
from sfumato.evaluation.figures import Figures, figures_of
from sfumato.evaluation.metrics_library import HOW_TO_GET, LibraryScores, library_scores
from sfumato.evaluation.overlays import Overlay, overlay_lists, overlay_numbers
from sfumato.evaluation.private_tables import ComparedTables, read_tables
from sfumato.evaluation.records import read_all
from sfumato.evaluation.training import Group, Score, Training, find_learners, train
from sfumato.evaluation.verdict import MISREAD, RULES, EvaluationVerdict, State, judge, state_of
from sfumato.evaluation.violations import Violation, find_violations
from sfumato.trusted.encoding import CategoricalCodec, Encoder, NumericCodec
from sfumato.trusted.schema import Schema

NOTICE = "contains private results: computed on private records without noise; not for publication"
COMPARED_NOTE = (
    "Columns and pairs of columns are compared with the private rows as they are stored: values that are not in the "
    "schema's list, out of bounds or unreadable count as themselves."
)
LEARNERS_NOTE = (
    "Learners see the private rows as the schema reads them: values that do not fit are clamped or replaced, in what "
    "they train on and in what they are tested on."
)


@dataclass(frozen=True)
class ComparedColumn:
    """One column of the real, the synthetic and the test rows: its distribution and, of numbers, its figures.

    unit      what its numbers are; None for a list
    figures   of the real, the synthetic and the test rows; None where a table has no number
    """

    overlay: Overlay
    unit: ColumnUnit | None = None
    figures: tuple[Figures | None, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain content."""
        if self.unit is None:
            return {"distribution": self.overlay.to_dict()}
        found = [None if one is None else one.to_dict(self.unit) for one in self.figures]
        figures = dict(zip(("real", "synthetic", "test"), found, strict=True))
        return {"figures": figures, "distribution": self.overlay.to_dict()}


@dataclass(frozen=True)
class Evaluation:
    """All results. Private.

    dataset       the schema's name
    target        what learners predict, with `measure` as their score; None where the schema has no target
    scores        what each learner reaches, by what it was trained on
    groups        sub-groups of the test rows and how wrong a learner is there
    fidelity      how far the synthetic rows are from the real ones; `floor` is how far the test rows are: by chance
    checks        what of the real rows the schema misreads
    violations    how many rows break each constraint of the schema
    rows          of the real, the synthetic and the test table
    columns       the distribution of every column in all three
    correlations  of every two columns that have numbers or two values
    library       scores of SDMetrics; None where it is not installed
    seconds       how long each part took
    """

    dataset: str
    target: str | None
    measure: str
    scores: tuple[Score, ...]
    groups: tuple[Group, ...]
    fidelity: Fidelity
    floor: Fidelity
    checks: tuple[ColumnCheck, ...]
    violations: tuple[Violation, ...] = ()
    rows: Mapping[str, int] = field(default_factory=dict)
    columns: Mapping[str, ComparedColumn] = field(default_factory=dict)
    correlations: tuple[Correlation, ...] = ()
    library: LibraryScores | None = None
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)

    @cached_property
    def verdict(self) -> EvaluationVerdict:
        """What the release is worth on this table, by the rules of `verdict.RULES`."""
        figures = {name: column.figures for name, column in self.columns.items() if column.unit is not None}
        training = Training(self.scores, self.groups, self.measure)
        return judge(
            self.fidelity,
            self.floor,
            self.checks,
            self.violations,
            figures,
            self.correlations,
            training,
            self.target,
            self.rows,
        )

    def state(self, column: str) -> State:
        """Whether a column is near the real one, distorted or ruined."""
        compared = self.columns.get(column)
        return state_of(self.fidelity.columns[column], self.floor.columns[column], compared.figures if compared else ())

    @property
    def remarks(self) -> dict[str, str]:
        """What went wrong and how to cure it, for each column of which the schema misreads much; the worst first."""
        found = [one for one in self.checks if one.misread_share >= MISREAD]
        return {
            one.column: f"{one.describe()}; run `sfumato check`" for one in sorted(found, key=lambda one: -one.misread)
        }

    def __repr__(self) -> str:
        return f"<Evaluation of {self.dataset!r}, private: {self.verdict.headline}>"

    def _repr_html_(self) -> str:
        from sfumato.evaluation.notebook import notebook_view

        return str(notebook_view(self))

    def to_dict(self) -> dict[str, Any]:
        """Plain content, the notice first."""
        return {
            "notice": NOTICE,
            "dataset": self.dataset,
            "verdict": self._verdict(),
            "rows": dict(self.rows),
            "library": self._library(),
            "target": self.target,
            "measure": self.measure,
            "learners": LEARNERS_NOTE if self.scores else "",
            "scores": [vars(item) for item in self.scores],
            "groups": [vars(item) for item in self.groups],
            "compared": COMPARED_NOTE,
            "mean_column": self.fidelity.mean_column,
            "mean_column_of_test_rows": self.floor.mean_column,
            "mean_pair": self.fidelity.mean_pair,
            "mean_pair_of_test_rows": self.floor.mean_pair,
            "violations": [vars(item) for item in self.violations],
            "columns": [self._column(check) for check in self.checks],
            "pairs": [
                {"columns": list(pair), "total_variation": value, "of_test_rows": self.floor.pairs[pair]}
                for pair, value in self.fidelity.pairs.items()
            ],
            "correlations": [{**vars(item), "columns": list(item.columns)} for item in self.correlations],
        }

    def _verdict(self) -> dict[str, Any]:
        found = self.verdict
        return {
            "headline": found.headline,
            "findings": [vars(item) for item in found.findings],
            "ruined": list(found.ruined),
            "distorted": list(found.distorted),
            "cautions": list(found.cautions),
            "rules": list(RULES),
        }

    def _library(self) -> dict[str, Any]:
        if self.library is None:
            return {"missing": HOW_TO_GET}
        found = {"synthetic": self.library.synthetic, "test": self.library.test}
        return {"library": self.library.library, **{name: vars(scores) for name, scores in found.items()}}

    def _column(self, check: ColumnCheck) -> dict[str, Any]:
        here, floor = (found.columns[check.column] for found in (self.fidelity, self.floor))
        return {
            "column": check.column,
            "state": self.state(check.column),
            "measure": here.measure,
            "distance": here.share,
            "distance_of_test_rows": floor.share,
            "wasserstein": here.moved,
            "wasserstein_of_test_rows": floor.moved,
            "misread": check.misread_share,
            "remark": self.remarks.get(check.column),
            "hints": list(check.hints),
            **self.columns[check.column].to_dict(),
        }


def evaluate_table(
    release: Release,
    real: Any,
    test: Any,
    *,
    rows: int | None = None,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> Evaluation:
    """Compare the release of a table with private records: see `sfumato.evaluate`."""
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):
        raise RequestError(f"{rows!r} synthetic rows cannot be compared; give a positive integer")
    schema, clock = release.schema, _Clock(progress)
    taught = find_learners(schema)
    clock.start("drawing synthetic rows")
    rng = np.random.default_rng(seed)
    drawn, synthetic = draw_records(release.model, schema, release.size if rows is None else rows, rng, {})
    clock.start("comparing all columns and pairs with the private tables")
    tables = read_tables(schema, real, test, synthetic)
    near, floor = (fidelity(tables.real, table, schema) for table in (tables.synthetic, tables.test))
    columns = {name: _compared(tables, name, schema) for name in schema.by_name}
    correlations = compare_correlations(tables.real, tables.synthetic, tables.test, schema)
    violations = find_violations(schema, real, synthetic)
    clock.start("computing the scores of SDMetrics")
    library = library_scores(tables.real, tables.synthetic, tables.test, schema)
    training = Training()
    if taught:
        clock.start("training learners on real and on synthetic rows")
        batches = {"real": read_all(real, schema), "test": read_all(test, schema), "synthetic": drawn}
        training = train(release, batches, taught)
    return Evaluation(
        schema.name,
        schema.target,
        training.measure,
        training.scores,
        training.groups,
        near,
        floor,
        tables.checks,
        violations,
        tables.rows,
        columns,
        correlations,
        library,
        clock.stop(),
    )


def _compared(tables: ComparedTables, name: str, schema: Schema) -> ComparedColumn:
    codes, columns = Encoder(schema).columns[name], tables.column(name)
    if isinstance(codes, NumericCodec):
        unit = ColumnUnit.of(schema[name])
        figures = tuple(figures_of(codes.in_units(column.values)) for column in columns)
        return ComparedColumn(overlay_numbers(columns, codes, unit), unit, figures)
    return ComparedColumn(overlay_lists(columns, cast("CategoricalCodec", codes)))  # a released schema knows its lists


class _Clock:
    """Says what begins, and measures how long it takes."""

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress, self._seconds = progress, dict[str, float]()
        self._stage, self._since = "", time.perf_counter()

    def start(self, stage: str) -> None:
        self.stop()
        self._progress(stage)
        self._stage = stage

    def stop(self) -> dict[str, float]:
        now = time.perf_counter()
        if self._stage:
            self._seconds[self._stage] = now - self._since
        self._since = now
        return self._seconds
