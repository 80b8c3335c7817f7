"""What the release of a family is worth, measured on private tables. For the custodian alone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.artefact.families.frames import with_order
from sfumato.artefact.families.release import FamilyRelease
from sfumato.errors import RequestError
from sfumato.evaluation.checking import ColumnCheck
from sfumato.evaluation.families.following import Following, compare_following
from sfumato.evaluation.families.learning import HistoryScore, learn_histories
from sfumato.evaluation.families.measures import Cells, LinkedDistances, compare_linked, number_shares
from sfumato.evaluation.families.reading import FamilyRows, LinkFacts, link_tables, read_private_family
from sfumato.evaluation.fidelity import Fidelity, fidelity
from sfumato.evaluation.raw_values import RawReader
from sfumato.evaluation.violations import Violation
from sfumato.fitting.families.between import between_schemas
from sfumato.fitting.violating_rows import find_violating_rows
from sfumato.trusted.arrays import FloatArray

NOTICE = "computed from private records, with no noise"
GOOD, FAIR = 0.03, 0.08
"""How much farther than test persons synthetic ones may be for a good, and for a fair grade."""
HOPELESS = 0.5
"""A distance that is poor, however far test persons are."""
AUC_GOOD, AUC_FAIR = 0.02, 0.06
_OF_DISTANCES = (
    "Synthetic persons are compared with the real ones, and so are test persons, who differ by chance alone. A topic "
    f"is good where the mean distance exceeds that of the test persons by less than {GOOD}, fair below {FAIR}, else "
    f"poor; above {HOPELESS} it is poor in any case."
)
_OF_LEARNING = (
    f"Learning is good where the area under the ROC curve is at most {AUC_GOOD} below that from real persons, fair up "
    f"to {AUC_FAIR}, else poor. Thresholds are conventions."
)
RULES = (_OF_DISTANCES, _OF_LEARNING)


@dataclass(frozen=True)
class FamilyFinding:
    """One topic: its grade and what was found."""

    topic: str
    grade: str
    words: str


@dataclass(frozen=True, eq=False)
class TableComparison:
    """One table: its columns and pairs, what of the private one does not fit the schema, and how rows hang together."""

    near: Fidelity
    floor: Fidelity
    checks: tuple[ColumnCheck, ...]
    rows: Mapping[str, int]
    linked: tuple[LinkedDistances, LinkedDistances] | None = None
    numbers: Mapping[str, FloatArray] = field(default_factory=dict)
    following: Mapping[str, Following] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class FamilyEvaluation:
    """The comparison, table by table, and what learners reach. Computed from private rows: not private."""

    dataset: str
    persons: Mapping[str, int]
    tables: Mapping[str, TableComparison]
    facts: tuple[LinkFacts, ...]
    violations: tuple[Violation, ...]
    scores: tuple[HistoryScore, ...]

    def __repr__(self) -> str:
        return f"<FamilyEvaluation of {self.dataset}: {self.headline}; {NOTICE}>"

    def _repr_html_(self) -> str:
        from sfumato.evaluation.notebook import notebook_view_of_family

        return str(notebook_view_of_family(self))

    @property
    def findings(self) -> tuple[FamilyFinding, ...]:
        """Every topic, from single columns to histories."""
        found = []
        for name, table in self.tables.items():
            found.append(_graded(f"{name}: columns", table.near.mean_column, table.floor.mean_column))
            if table.near.pairs:
                found.append(_graded(f"{name}: pairs of columns", table.near.mean_pair, table.floor.mean_pair))
            if table.linked is not None:
                near, floor = (one.means() for one in table.linked)
                found += [_graded(f"{name}: {topic}", near[topic], floor.get(topic, 0.0)) for topic in near]
        for score in self.scores:
            if score.real is not None and score.synthetic is not None:
                loss = score.real - score.synthetic
                grade = "good" if loss <= AUC_GOOD else "fair" if loss <= AUC_FAIR else "poor"
                words = f"area under the ROC curve {score.synthetic:.3f}; from real persons {score.real:.3f}"
                found.append(FamilyFinding(f"{score.table}: {score.target} {score.task}", grade, words))
        return tuple(found)

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        grades = [item.grade for item in self.findings]
        poor = [item.topic for item in self.findings if item.grade == "poor"]
        if grades.count("good") == len(grades):
            return f"all {len(grades)} topics are good"
        if not poor:
            return f"{grades.count('good')} of {len(grades)} topics are good, the others fair"
        return f"{len(poor)} of {len(grades)} topics are poor: {', '.join(poor[:4])}{' and more' * (len(poor) > 4)}"

    def to_dict(self) -> dict[str, Any]:
        """Plain content for a JSON file."""
        return {
            "notice": NOTICE,
            "dataset": self.dataset,
            "verdict": {"headline": self.headline, "findings": [vars(item) for item in self.findings], "rules": RULES},
            "persons": dict(self.persons),
            "links": [vars(one) for one in self.facts],
            "tables": {name: _plain_table(table) for name, table in self.tables.items()},
            "violations": [vars(one) for one in self.violations],
            "learning": [vars(one) for one in self.scores],
        }


def _graded(topic: str, near: float, floor: float) -> FamilyFinding:
    excess = near - floor
    grade = "good" if excess < GOOD else "fair" if excess < FAIR else "poor"
    if near > HOPELESS:
        grade = "poor"
    return FamilyFinding(topic, grade, f"apart by {near:.3f}; test persons {floor:.3f}")


def _plain_table(table: TableComparison) -> dict[str, Any]:
    columns = {
        name: {"distance": near.share, "distance_of_test_rows": table.floor.columns[name].share}
        for name, near in table.near.columns.items()
    }
    found: dict[str, Any] = {
        "rows": dict(table.rows),
        "columns": columns,
        "mean_pair": table.near.mean_pair,
        "mean_pair_of_test_rows": table.floor.mean_pair,
        "misread": {check.column: check.misread_share for check in table.checks},
    }
    if table.linked is not None:
        near, floor = table.linked
        found["linked"] = {"synthetic": near.means(), "test": floor.means()}
        found["numbers_of_rows"] = {which: shares.tolist() for which, shares in table.numbers.items()}
        found["following"] = {
            column: {"values": list(one.labels), **{which: counts.tolist() for which, counts in one.counts.items()}}
            for column, one in table.following.items()
        }
        for kind in ("above_by_row", "above_by_person", "steps", "persons"):
            pairs = getattr(near, kind)
            found[kind] = [
                {"pair": list(pair), "synthetic": value, "test": getattr(floor, kind).get(pair)}
                for pair, value in pairs.items()
            ]
    return found


def evaluate_family(
    release: FamilyRelease,
    real: Any,
    test: Any,
    *,
    persons: int | None = None,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> FamilyEvaluation:
    """Compare a family's release with private tables: see `sfumato.evaluate`.

    real, test   the tables that were released, and those of other persons, in any form that `sfumato.release` takes
    persons      synthetic persons to compare and to train on; as many as the real ones by default
    """
    if persons is not None and (isinstance(persons, bool) or not isinstance(persons, int) or persons < 1):
        raise RequestError(f"{persons!r} synthetic persons cannot be compared; give a positive integer")
    family = release.schema
    progress("reading the private tables")
    held = {which: read_private_family(data, family, which) for which, data in (("real", real), ("test", test))}
    progress("drawing synthetic persons")
    count = persons or held["real"].persons
    drawn = release.sample(count, seed=seed, output="arrow")
    ordered = {name: with_order(drawn[name], release.layout.tables[name]) for name in family.tables}
    held["synthetic"] = link_tables(ordered, family)
    progress("comparing columns, rows above and rows before")
    cells = Cells(held["real"])
    tables = {name: _compare_table(release, held, cells, name) for name in family.in_order}
    progress("training learners on real and on synthetic histories")
    scores = learn_histories(release, held["real"], held["synthetic"], held["test"])
    return FamilyEvaluation(
        family.name,
        {which: rows.persons for which, rows in held.items()},
        tables,
        held["real"].facts,
        _violations(release, held),
        scores,
    )


def _compare_table(release: FamilyRelease, held: Mapping[str, FamilyRows], cells: Cells, name: str) -> TableComparison:
    schema = release.schema.schema_of(name)
    reader = RawReader(schema)
    read = {which: reader.read_batches(_batches(rows.stored[name])) for which, rows in held.items()}
    near, floor = (fidelity(read["real"][0], read[which][0], schema) for which in ("synthetic", "test"))
    rows = {which: one.stored[name].num_rows for which, one in held.items()}
    linked, numbers, following = None, {}, {}
    if name != release.schema.root:
        pair = tuple(compare_linked(held["real"], held[which], cells, name) for which in ("synthetic", "test"))
        linked = (pair[0], pair[1])
        numbers = {which: number_shares(one, name) for which, one in held.items()}
        following = compare_following(held, name)
    return TableComparison(near, floor, read["real"][1], rows, linked, numbers, following)


def _batches(table: pa.Table) -> list[pa.RecordBatch]:
    batches: list[pa.RecordBatch] = table.combine_chunks().to_batches(max_chunksize=1 << 16)
    return batches


def _violations(release: FamilyRelease, held: Mapping[str, FamilyRows]) -> tuple[Violation, ...]:
    """The share of the rows that break each constraint, of tables and between them."""
    found: dict[str, list[float]] = {}
    for which in ("real", "synthetic"):
        for name in release.schema.in_order:
            for rule, broken in _broken(release, held[which], name).items():
                found.setdefault(rule, []).append(broken)
    return tuple(Violation(rule, *shares) for rule, shares in found.items() if len(shares) == 2)


def _broken(release: FamilyRelease, rows: FamilyRows, name: str) -> dict[str, float]:
    schema, stored, own = release.schema.schema_of(name), rows.stored, rows.rows(name)
    columns = list(schema.by_name)
    found = find_violating_rows(schema, stored[name].select(columns)) if schema.constraints else {}
    shares = {f"{name}: {rule}": _share(broken) for rule, broken in found.items()}
    between = between_schemas(release.schema).get(name)
    if between is not None:
        table: dict[str, pa.ChunkedArray] = {}
        for above in release.schema.path(name):
            is_parent = above == release.schema.tables[name].parent
            at = slice(None) if above == name else own.parent if is_parent else own.person
            places = pa.array(rows.stored_rows(above)[at])
            for column in release.schema.schema_of(above).by_name:
                table[f"{above}.{column}"] = stored[above].column(column).take(places)
        shares |= {rule: _share(broken) for rule, broken in find_violating_rows(between, pa.table(table)).items()}
    return shares


def _share(broken: Any) -> float:
    return float(np.mean(broken)) if len(broken) else 0.0
