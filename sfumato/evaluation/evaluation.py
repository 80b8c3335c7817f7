"""The whole evaluation: columns and pairs of columns as they are, learners, sub-groups."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.artefact.drawing import draw_records
from sfumato.artefact.release import Release
from sfumato.errors import RequestError
from sfumato.evaluation.checking import ColumnCheck
from sfumato.evaluation.fidelity import Fidelity, fidelity
from sfumato.evaluation.learners import Learner, design, errors, learners, score, weigh_classes
from sfumato.evaluation.raw_values import RawReader, RawTable
from sfumato.evaluation.records import read_all, values_of
from sfumato.evaluation.violations import Violation, find_violations
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.encoding import Batch, CategoricalCodec, Encoder
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
_MISREAD = 0.05  # share of a column from which on it is remarked
_FEWEST_IN_GROUP = 50
_MOST_IN_GROUPING = 20
_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Score:
    """What a learner reaches on the real test rows, by what it was trained on."""

    learner: str
    trained_on: str
    value: float | None


@dataclass(frozen=True)
class Group:
    """A sub-group of the test rows: how many, and the mean error of a learner trained on real or synthetic rows."""

    column: str
    value: str
    rows: int
    error_real: float
    error_synthetic: float


@dataclass(frozen=True)
class Evaluation:
    """All results. Private."""

    dataset: str
    target: str | None
    measure: str
    scores: tuple[Score, ...]
    groups: tuple[Group, ...]
    fidelity: Fidelity
    floor: Fidelity
    checks: tuple[ColumnCheck, ...]
    violations: tuple[Violation, ...] = ()

    @property
    def remarks(self) -> dict[str, str]:
        """What went wrong and how to cure it, for each column of which the schema misreads much; the worst first."""
        found = [one for one in self.checks if one.misread_share >= _MISREAD]
        return {
            one.column: f"{one.describe()}; run `sfumato check`" for one in sorted(found, key=lambda one: -one.misread)
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain content, the notice first."""
        return {
            "notice": NOTICE,
            "dataset": self.dataset,
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
        }

    def _column(self, check: ColumnCheck) -> dict[str, Any]:
        here, floor = (found.columns[check.column] for found in (self.fidelity, self.floor))
        return {
            "column": check.column,
            "measure": here.measure,
            "distance": here.share,
            "distance_of_test_rows": floor.share,
            "wasserstein": here.moved,
            "wasserstein_of_test_rows": floor.moved,
            "misread": check.misread_share,
            "remark": self.remarks.get(check.column),
            "hints": list(check.hints),
        }


def evaluate(
    release: Release,
    real: Any,
    test: Any,
    *,
    rows: int | None = None,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> Evaluation:
    """Compare a release with private records: those it was made from, and others that it never saw.

    real    the table that was released, in any form that `release` takes
    test    rows of the same kind that were kept apart
    rows    synthetic rows to train on; the noisy number of records by default
    seed    of the synthetic rows

    Returns what is printed and drawn: the distance of every column and pair of columns from the private rows as they
    are stored, what of them the schema misreads, how many rows break each rule of the schema and, where it has a
    target, prediction, for which both are read through the schema. Its numbers are computed from private records and
    are not private. Raises `RequestError` for a table without rows, and `DataError` where columns are missing or a
    table cannot be read.

    Example
        >>> found = evaluate(release, private, held_out, rows=500)
        >>> 0 <= found.fidelity.mean_column <= 1
        True
    """
    schema = release.schema
    taught = learners(schema, _classes(schema)) if schema.target is not None and schema.features else {}
    progress("drawing synthetic rows")
    rng = np.random.default_rng(seed)
    drawn, synthetic = draw_records(release.model, schema, release.size if rows is None else rows, rng, {})
    progress("comparing all columns and pairs with the private tables")
    near, floor, checks = _compared(schema, real, test, synthetic)
    violations = find_violations(schema, real, synthetic)
    scores: tuple[Score, ...] = ()
    groups: tuple[Group, ...] = ()
    measure = ""
    if taught:
        progress("training learners on real and on synthetic rows")
        batches = {"real": read_all(real, schema), "test": read_all(test, schema), "synthetic": drawn}
        scores, groups, measure = _trained(release, batches, taught)
    return Evaluation(schema.name, schema.target, measure, scores, groups, near, floor, checks, violations)


def _compared(
    schema: Schema, real: Any, test: Any, drawn: pa.Table
) -> tuple[Fidelity, Fidelity, tuple[ColumnCheck, ...]]:
    """How far the synthetic and the test rows are from the real ones, and what of these does not fit the schema."""
    reader = RawReader(schema)
    (private, checks), (held_out, _) = (reader.read(data) for data in (real, test))
    if any(_rows(table) == 0 for table in (private, held_out)):
        raise RequestError("a table without rows cannot be compared with; give the real and the test rows")
    synthetic, _ = reader.read_batches(drawn.combine_chunks().to_batches(_ROWS_AT_ONCE))
    near, floor = (fidelity(private, table, schema) for table in (synthetic, held_out))
    return near, floor, checks


def _rows(table: RawTable) -> int:
    return len(next(iter(table.values())).values)


def _classes(schema: Schema) -> int | None:
    """How many the target has; None: it is a number."""
    codes = Encoder(schema).columns[str(schema.target)]
    return codes.size if isinstance(codes, CategoricalCodec) else None


def _trained(
    release: Release,
    batches: Mapping[str, Batch],
    taught: Mapping[str, Learner],
) -> tuple[tuple[Score, ...], tuple[Group, ...], str]:
    schema, target, classes = release.schema, str(release.schema.target), _classes(release.schema)
    tables = {name: values_of(batch, schema) for name, batch in batches.items()}
    labelled = {name: _with_label(values, target, classes) for name, values in tables.items()}
    features = {name: design(values, schema)[kept] for name, (values, kept, _) in labelled.items()}
    truth = labelled["test"][2]
    found, predictions = [], {}
    told = release.predict_encoded(batches["synthetic"])
    for name, learn in taught.items():
        for source, rows in (("real", "real rows"), ("synthetic", "synthetic rows")):
            predicted = learn(features[source], labelled[source][2], None)(features["test"])
            predictions[name, source] = predicted
            found.append(Score(name, rows, score(predicted, truth)))
        predicted = learn(*weigh_classes(design(tables["synthetic"], schema), told))(features["test"])
        found.append(Score(name, "synthetic rows, weighted", score(predicted, truth)))
    own = release.predict_encoded(batches["test"])[labelled["test"][1]]
    found.append(Score("the release itself", "", score(own, truth)))
    groups = _groups(
        tables["test"],
        labelled["test"][1],
        schema,
        errors(predictions["LightGBM", "real"], truth),
        errors(predictions["LightGBM", "synthetic"], truth),
    )
    return tuple(found), tuple(groups), "R squared" if classes is None else "area under the ROC curve"


def _with_label(
    values: Mapping[str, FloatArray], target: str, classes: int | None
) -> tuple[Mapping[str, FloatArray], NDArray[np.bool_], NDArray[Any]]:
    """The table, which rows have a label (a missing class is one), and the labels of those."""
    label = values[target]
    if classes is not None:
        return values, np.ones(len(label), dtype=bool), np.where(np.isnan(label), classes - 1, label).astype(np.int64)
    return values, ~np.isnan(label), label[~np.isnan(label)]


def _groups(
    values: Mapping[str, FloatArray], kept: NDArray[np.bool_], schema: Schema, real: FloatArray, synthetic: FloatArray
) -> list[Group]:
    found = []
    columns = Encoder(schema).columns
    for name in schema.features:
        codes = columns[name]
        if not isinstance(codes, CategoricalCodec) or codes.size > _MOST_IN_GROUPING:
            continue
        label = [*(str(value) for value in codes.words or codes.values), *(["missing"] if codes.nullable else [])]
        place = np.where(np.isnan(values[name]), len(codes.values), values[name]).astype(int)[kept]
        for number, value in enumerate(label):
            here = place == number
            if here.sum() >= _FEWEST_IN_GROUP:
                found.append(
                    Group(name, value, int(here.sum()), float(real[here].mean()), float(synthetic[here].mean()))
                )
    return found
