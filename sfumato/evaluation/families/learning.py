"""Learners on histories: the target of a row from the rows above it, its own columns and the row before it."""

from dataclasses import dataclass

import numpy as np

from sfumato.artefact.families.release import FamilyRelease
from sfumato.evaluation.families.reading import FamilyRows
from sfumato.evaluation.learners import Learner, learners, score
from sfumato.evaluation.training import MOST_TRAINED
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import CategoricalCodec
from sfumato.trusted.schema import Schema

WHOLE, HISTORY = "from its own columns and its history", "from its history alone"
_LEARNER = "LightGBM"


@dataclass(frozen=True)
class HistoryScore:
    """What is reached on real test persons, by what was trained on; None where it cannot be told."""

    table: str
    target: str
    task: str
    real: float | None
    synthetic: float | None
    release: float | None


def learn_histories(
    release: FamilyRelease, real: FamilyRows, synthetic: FamilyRows, test: FamilyRows
) -> tuple[HistoryScore, ...]:
    """Train on real and on synthetic persons, test on persons that the release never saw."""
    found = []
    for table, target in release.targets.items():
        codes = release.layout.tables[table].codes.get(target)
        if not isinstance(codes, CategoricalCodec):
            continue
        for task in (WHOLE, HISTORY):
            if task == HISTORY and release.layout.family.level(table) == 1:
                continue
            taught = _learner(codes.size)
            tested, truth = _labelled(test, table, target, task)
            scores = []
            for rows in (real, synthetic):
                features, label = _labelled(rows, table, target, task)
                some = _some(len(label))
                there = len(label) > 0 and len(truth) > 0 and features.shape[1] > 0
                scores.append(score(taught(features[some], label[some], None)(tested), truth) if there else None)
            own = _own_score(release, test, table, target) if task == WHOLE else None
            found.append(HistoryScore(table, target, task, scores[0], scores[1], own))
    return tuple(found)


def _some(rows: int) -> IntArray:
    return (
        np.arange(rows) if rows <= MOST_TRAINED else np.random.default_rng(0).choice(rows, MOST_TRAINED, replace=False)
    )


def _columns(rows: FamilyRows, table: str, target: str, task: str) -> dict[str, FloatArray]:
    """Everything that a learner sees of each row: rows above it, itself, the row before it, and rows below it."""
    layout, own = rows.layout, rows.rows(table)
    found: dict[str, FloatArray] = {}
    for above in layout.family.path(table)[:-1]:
        at = own.parent if above == layout.family.tables[table].parent else own.person
        found |= {f"{above}.{name}": rows.numbers(above, name)[at] for name in layout.tables[above].measured}
    for name in layout.tables[table].measured:
        numbers = rows.numbers(table, name)
        if name != target and task == WHOLE:
            found[f"{table}.{name}"] = numbers
        if layout.family.rows_of(table)[1] > 1:
            found[f"previous {table}.{name}"] = np.where(own.place > 0, np.roll(numbers, 1), np.nan)
    if layout.family.rows_of(table)[1] > 1:
        found[f"{table} (place)"] = own.place.astype(np.float64)
    return found | (_rows_below(rows, table) if task == WHOLE else {})


def _rows_below(rows: FamilyRows, table: str) -> dict[str, FloatArray]:
    """How many rows each row has in every child table, and the means of their columns."""
    found: dict[str, FloatArray] = {}
    for child in rows.layout.family.children(table):
        parent, size = rows.rows(child).parent, len(rows.rows(table).person)
        found[f"number of {child}"] = np.bincount(parent, minlength=size).astype(np.float64)
        for name in rows.layout.tables[child].measured:
            numbers = rows.numbers(child, name)
            known = ~np.isnan(numbers)
            held = np.bincount(parent[known], minlength=size)
            total = np.bincount(parent[known], weights=numbers[known], minlength=size)
            found[f"mean {child}.{name}"] = np.where(held > 0, total / np.maximum(held, 1), np.nan)
    return found


def _labelled(rows: FamilyRows, table: str, target: str, task: str) -> tuple[FloatArray, IntArray]:
    columns = _columns(rows, table, target, task)
    label = rows.rows(table).codes[target].astype(np.int64)
    features = np.column_stack([*columns.values()]) if columns else np.zeros((len(label), 0))
    if task == HISTORY and rows.layout.family.rows_of(table)[1] > 1:
        later = rows.rows(table).place > 0
        return features[later], label[later]
    return features, label


def _learner(classes: int) -> Learner:
    """LightGBM, which takes numbers as they are; its schema is asked for categories of linear models alone."""
    any_schema = Schema.from_dict({"sfumato": 1, "name": "x", "columns": [{"name": "x", "type": "boolean"}]})
    return learners(any_schema, classes)[_LEARNER]


def _own_score(release: FamilyRelease, test: FamilyRows, table: str, target: str) -> float | None:
    """What the release itself predicts, of every row as it is stored."""
    stored, layout = test.stored[table], release.layout.tables[table]
    if not stored.num_rows:
        return None
    (records,) = stored.select(list(layout.layout.reads([target]))).combine_chunks().to_batches()
    truth = layout.layout.encode(records, [target]).codes[target].astype(np.int64)
    return score(release.predict_proba(dict(test.stored), table), truth)
