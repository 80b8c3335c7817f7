"""Learners that are trained on real and on synthetic rows, tested on real ones; and who loses by it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.artefact.release import Release
from sfumato.evaluation.learners import Learner, design, errors, learners, score, weigh_classes
from sfumato.evaluation.records import values_of
from sfumato.trusted.arrays import AnyIntArray, FloatArray
from sfumato.trusted.encoding import Batch, CategoricalCodec, Encoder
from sfumato.trusted.schema import Schema

REAL, SYNTHETIC, WEIGHTED = "real rows", "synthetic rows", "synthetic rows, weighted"
MOST_TRAINED = 100_000
"""Rows that a learner is trained on; where there are more, some at random."""
_GROUPED_BY = "LightGBM"
_FEWEST_IN_GROUP = 50
_MOST_IN_GROUPING = 20


@dataclass(frozen=True)
class Score:
    """What a learner reaches on the real test rows, by what it was trained on."""

    learner: str
    trained_on: str
    value: float | None


@dataclass(frozen=True)
class Group:
    """A sub-group of the test rows: how many, and the mean error of a learner trained on real or synthetic rows.

    margin   three standard errors of the difference of the two: what chance alone rarely exceeds
    """

    column: str
    value: str
    rows: int
    error_real: float
    error_synthetic: float
    margin: float = 0.0

    @property
    def loss(self) -> float:
        """How much larger the error from synthetic rows is."""
        return self.error_synthetic - self.error_real


@dataclass(frozen=True)
class Training:
    """Scores of all learners, errors of sub-groups, and what scores measure."""

    scores: tuple[Score, ...] = ()
    groups: tuple[Group, ...] = ()
    measure: str = ""


@dataclass(frozen=True)
class _Labelled:
    """A table whose target is known: features, and which class or number each row has."""

    features: FloatArray
    label: NDArray[Any]

    def some(self, rows: int) -> "_Labelled":
        """At most so many rows, at random."""
        kept = _choose(len(self.label), rows)
        return _Labelled(self.features[kept], self.label[kept])


def find_learners(schema: Schema) -> dict[str, Learner]:
    """The learners for the schema's target; none where it has none, or nothing to predict it from."""
    return learners(schema, _classes(schema)) if schema.target is not None and schema.features else {}


def train(release: Release, batches: Mapping[str, Batch], taught: Mapping[str, Learner]) -> Training:
    """Train every learner on real, on synthetic and on weighted synthetic rows, and test it on the test rows.

    batches   the tables "real", "synthetic" and "test" as codes
    taught    learners by their names, of `find_learners`
    """
    schema, target, classes = release.schema, str(release.schema.target), _classes(release.schema)
    tables = {name: values_of(batch, schema) for name, batch in batches.items()}
    known = {name: _has_label(values, target, classes) for name, values in tables.items()}
    labelled = {name: _labelled(values, known[name], target, classes, schema) for name, values in tables.items()}
    truth, tested = labelled["test"].label, labelled["test"].features
    weighted = _weighted(release, batches["synthetic"], design(tables["synthetic"], schema))
    scores, wrong = [], {}
    for name, learn in taught.items():
        for source, rows in (("real", REAL), ("synthetic", SYNTHETIC)):
            part = labelled[source].some(MOST_TRAINED)
            predicted = learn(part.features, part.label, None)(tested)
            if name == _GROUPED_BY:
                wrong[source] = errors(predicted, truth)
            scores.append(Score(name, rows, score(predicted, truth)))
        scores.append(Score(name, WEIGHTED, score(learn(*weighted)(tested), truth)))
    own = release.predict_encoded(batches["test"])[known["test"]]
    scores.append(Score("the release itself", "", score(own, truth)))
    groups = _groups(tables["test"], known["test"], schema, wrong["real"], wrong["synthetic"])
    return Training(tuple(scores), tuple(groups), "R squared" if classes is None else "area under the ROC curve")


def _choose(rows: int, most: int) -> AnyIntArray:
    return np.arange(rows) if rows <= most else np.random.default_rng(0).choice(rows, most, replace=False)


def _weighted(
    release: Release, drawn: Batch, features: FloatArray
) -> tuple[FloatArray, NDArray[Any], FloatArray | None]:
    """Synthetic rows with what the release knows of their target."""
    kept = _choose(drawn.rows, 2 * MOST_TRAINED // max(2, _classes(release.schema) or 2))  # a row for each class
    told = release.predict_encoded(Batch(len(kept), {name: codes[kept] for name, codes in drawn.codes.items()}))
    return weigh_classes(features[kept], told)


def _classes(schema: Schema) -> int | None:
    """How many the target has; None: it is a number."""
    codes = Encoder(schema).columns[str(schema.target)]
    return codes.size if isinstance(codes, CategoricalCodec) else None


def _has_label(values: Mapping[str, FloatArray], target: str, classes: int | None) -> NDArray[np.bool_]:
    """Which rows have one; a missing class is a class."""
    label = values[target]
    return np.ones(len(label), dtype=bool) if classes is not None else ~np.isnan(label)


def _labelled(
    values: Mapping[str, FloatArray], known: NDArray[np.bool_], target: str, classes: int | None, schema: Schema
) -> _Labelled:
    label = values[target][known]
    if classes is not None:
        label = np.where(np.isnan(label), classes - 1, label).astype(np.int64)
    return _Labelled(design(values, schema)[known], label)


def _groups(
    values: Mapping[str, FloatArray], kept: NDArray[np.bool_], schema: Schema, real: FloatArray, synthetic: FloatArray
) -> list[Group]:
    found, columns = [], Encoder(schema).columns
    for name in schema.features:
        codes = columns[name]
        if not isinstance(codes, CategoricalCodec) or codes.size > _MOST_IN_GROUPING:
            continue
        labels = [*codes.texts, *(["missing"] if codes.nullable else [])]
        place = np.where(np.isnan(values[name]), len(codes.values), values[name]).astype(int)[kept]
        for number, value in enumerate(labels):
            here = place == number
            if here.sum() >= _FEWEST_IN_GROUP:
                found.append(_group(name, value, real[here], synthetic[here]))
    return found


def _group(column: str, value: str, real: FloatArray, synthetic: FloatArray) -> Group:
    margin = 3 * float((synthetic - real).std(ddof=1)) / float(np.sqrt(len(real)))
    return Group(column, value, len(real), float(real.mean()), float(synthetic.mean()), margin)
