"""A family from its tables to linked samples, answers, prediction, a bundle and back."""

import dataclasses
import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato
from sfumato.archive.members import read_members
from sfumato.artefact.bundle import _from_members, open_table
from sfumato.artefact.families.release import FamilyRelease
from sfumato.artefact.verify import verify
from sfumato.errors import BudgetError, BundleError, DataError, RequestError
from sfumato.fitting.families.plan import plan_family
from sfumato.fitting.violating_rows import find_violating_rows
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.families import family_layout_of
from sfumato.trusted.ledger import Ledger
from sfumato.trusted.schema import FamilySchema
from tests.families.hospital import broken_tables, schema, tables


def release(data=None, family=None, epsilon=4.0, **options) -> FamilyRelease:
    made = sfumato.release(
        tables(1_500) if data is None else data,
        family or schema(),
        epsilon=epsilon,
        **{"types": "declared", "ledger": None, "seed": 1, **options},
    )
    assert isinstance(made, FamilyRelease)
    return made


@pytest.fixture(scope="module")
def hospital() -> FamilyRelease:
    return release()


@pytest.fixture(scope="module")
def sampled(hospital) -> dict[str, pd.DataFrame]:
    return hospital.sample(1_500, seed=3, output="pandas")


def test_keys_match_and_rows_follow_their_order(sampled):
    patients, stays, diagnoses = sampled["patients"], sampled["stays"], sampled["diagnoses"]
    assert patients.patient_id.tolist() == list(range(1, 1_501))
    assert stays.stay_id.is_unique
    assert set(stays.patient_id) <= set(patients.patient_id)
    assert set(diagnoses.stay_id) <= set(stays.stay_id)
    assert (stays.groupby("patient_id").admitted.diff().dropna() >= pd.Timedelta(0)).all()
    assert stays.groupby("patient_id").size().max() <= 20
    assert diagnoses.groupby("stay_id").size().max() <= 9


def test_ties_hold_within_and_across_tables(hospital, sampled):
    stays = sampled["stays"].merge(sampled["patients"], on="patient_id")
    assert (stays.discharged >= stays.admitted).all()
    assert (stays.admitted >= stays.born).all()
    assert (stays.discharged[stays.died.notna()] <= stays.died[stays.died.notna()]).all()
    assert (stays[stays.ward == "maternity"].sex == "f").all()
    for name in hospital.schema.tables:
        rows = pa.Table.from_pandas(sampled[name], preserve_index=False)
        assert not any(broken.any() for broken in find_violating_rows(hospital.schema.schema_of(name), rows).values())


def test_names_order_and_types_come_back(hospital):
    found = hospital.sample(50, seed=1)
    for name, table in tables(1_500).items():
        assert isinstance(found[name], pa.Table)
        assert found[name].column_names == table.column_names
        for column in hospital.schema.schema_of(name).by_name:
            here, there = found[name].schema.field(column).type, table.schema.field(column).type
            assert here == there or (pa.types.is_dictionary(here) and pa.types.is_dictionary(there))
    assert isinstance(hospital.sample(2, output="polars")["stays"], pl.DataFrame)


def test_numbers_of_rows_and_dependences_are_near_the_truth(sampled):
    """At this budget they are seen; the bounds are wide, as noise is."""
    real = {name: table.to_pandas() for name, table in tables(1_500).items()}
    for here, there in ((real, sampled),):
        per = [len(t["stays"]) / len(t["patients"]) for t in (here, there)]
        assert per[1] == pytest.approx(per[0], rel=0.25)
        per = [len(t["diagnoses"]) / len(t["stays"]) for t in (here, there)]
        assert per[1] == pytest.approx(per[0], rel=0.2)
    kept = [_stays_in_ward(t["stays"]) for t in (real, sampled)]
    mixed = [
        _stays_in_ward(t["stays"].sample(frac=1, random_state=0).assign(patient_id=t["stays"].patient_id.to_numpy()))
        for t in (real,)
    ]
    assert kept[1] > (kept[0] + mixed[0]) / 2  # nearer to the truth than rows that nothing links


def _stays_in_ward(stays: pd.DataFrame) -> float:
    same = stays.ward.astype(str) == stays.groupby("patient_id").ward.shift(1).astype(str)
    later = stays.groupby("patient_id").cumcount() > 0
    return float(same[later].mean())


def test_a_seed_repeats_a_sample_and_parts_go_on(hospital, monkeypatch):
    monkeypatch.setattr("sfumato.artefact.families.release._PERSONS_AT_ONCE", 200)
    one, two = hospital.sample(40, seed=9), hospital.sample(40, seed=9)
    assert all(one[name].equals(two[name]) for name in one)
    assert not one["patients"].equals(hospital.sample(40, seed=10)["patients"])
    parts = list(hospital.sample_tables(500, seed=1))
    assert len(parts) > 1
    keys = np.concatenate([part["stays"].column("stay_id").to_numpy() for part in parts])
    assert (np.diff(keys) == 1).all()
    named = np.concatenate([part["diagnoses"].column("stay_id").to_numpy() for part in parts])
    assert named.min() >= 1
    assert named.max() <= keys.max()
    assert {table.num_rows for table in hospital.sample(0).values()} == {0}


def test_conditions_on_persons_and_on_their_rows(hospital):
    found = hospital.sample(
        80,
        given={
            "patients": {"sex": "f", "born": ("1950-01-01", "1990-12-31")},
            "stays": {"ward": ["cardiology", "surgery"]},
        },
        seed=2,
        output="pandas",
    )
    patients, stays = found["patients"], found["stays"]
    assert len(patients) == 80
    assert set(patients.sex) == {"f"}
    assert patients.born.between("1950-01-01", "1990-12-31").all()
    met = stays[stays.ward.isin(["cardiology", "surgery"])]
    assert set(met.patient_id) == set(patients.patient_id)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"patientz": {}}, "no table 'patientz' .did you mean 'patients'"),
        ({"stays": {"wards": "x"}}, "no column 'wards' .did you mean 'ward'"),
        ({"stays": {"ward": "kitchen"}}, "has no value 'kitchen'"),
        ({"patients": {"sex": "m"}, "stays": {"ward": "maternity"}}, "hardly any person meets"),
        ([1], "a dictionary by table"),
    ],
)
def test_conditions_that_cannot_be(hospital, given, words, monkeypatch):
    monkeypatch.setattr("sfumato.artefact.families.release._TRIED", 1 << 10)
    monkeypatch.setattr("sfumato.artefact.families.release._MOST_DRAWN", 1 << 11)
    monkeypatch.setattr("sfumato.artefact.families.release._PERSONS_AT_ONCE", 200)
    with pytest.raises(RequestError, match=words):
        hospital.sample(5, given=given)


def test_rare_persons_are_drawn_where_that_ends_and_refused_where_it_would_take_hours(hospital, monkeypatch):
    rare = {"patients": {"sex": "f"}, "stays": {"ward": "maternity"}}
    monkeypatch.setattr("sfumato.artefact.families.release._PERSONS_AT_ONCE", 100)
    monkeypatch.setattr("sfumato.artefact.families.release._TRIED", 200)
    assert len(hospital.sample(200, given=rare)["patients"]) == 200
    monkeypatch.setattr("sfumato.artefact.families.release._MOST_DRAWN", 400)
    monkeypatch.setattr("sfumato.artefact.families.release._RAREST", 1)
    with pytest.raises(RequestError, match=r"\(\d+ of 200 drawn ones\), and \d+ more would take too long"):
        hospital.sample(200, given=rare)


def test_answers_by_row_and_by_person(hospital, monkeypatch):
    monkeypatch.setattr("sfumato.artefact.families.release._ANSWERING", 1 << 13)
    stays = tables(1_500)["stays"].to_pandas()
    persons = hospital["patients"].count()
    assert persons.low <= 1_500 <= persons.high
    rows = hospital["stays"].count()
    assert rows.low <= len(stays) <= rows.high
    assert hospital.count("stays") == rows
    each = hospital["stays"].per_person()
    assert each.mean == pytest.approx(rows.mean / persons.mean, rel=1e-6)
    for by in ("row", "person"):
        answer = hospital["stays"].mean("emergency", by=by)
        assert answer.low <= answer.mean <= answer.high
        shares = hospital["stays"].marginal("ward", by=by, output="pandas")
        assert shares.probability.sum() == pytest.approx(1.0)
        assert ((shares.low <= shares.probability) & (shares.probability <= shares.high)).all()
    assert hospital["stays"].mean("cost", by="row").mean != hospital["stays"].mean("cost", by="person").mean
    older = hospital["stays"].mean("emergency", given={"patients": {"born": (None, "1950-01-01")}})
    assert 0 <= older.mean <= 1
    cost = hospital["stays"].marginal("cost", output="pandas")
    assert cost.probability.sum() == pytest.approx(1.0)
    assert (cost["first"] <= cost["last"]).all()
    assert hospital["stays"].quantile("cost", 0.25) <= hospital["stays"].quantile("cost", 0.75)
    assert np.isnan(hospital["stays"].mean("discharged").low)  # it follows from other columns
    assert hospital["patients"].mean("born").low < hospital["patients"].mean("born").high


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda r: r["wards"], "there is no table 'wards'"),
        (lambda r: r["stays"].mean("ward"), "are no numbers"),
        (lambda r: r["stays"].mean("costs"), "did you mean 'cost'"),
        (lambda r: r["stays"].mean("cost", by="table"), "use 'row' or 'person'"),
        (lambda r: r["stays"].quantile("ward", 0.5), "have no order"),
        (lambda r: r.sample(-1), "number of persons"),
        (lambda r: r.sample(2**40), "do not fit into memory"),
        (lambda r: r.predict_proba({}, "diagnoses"), "tables with a target: stays"),
        (lambda r: r.predict_proba({"stays": tables()["stays"]}), "rows of 'patients' are needed"),
        (
            lambda r: r.predict_proba({**tables(), "stays": tables()["stays"].drop_columns(["admitted"])}),
            "'stays' have no column 'admitted'",
        ),
        (lambda r: r.predict_proba({**tables(), "stays": 3}), "is not a table"),
    ],
)
def test_questions_that_cannot_be_answered(hospital, ask, words):
    with pytest.raises(RequestError, match=words):
        ask(hospital)


def test_predictions_see_the_history_and_nothing_that_comes_after(hospital):
    given = tables(1_500)
    told = hospital.predict_proba(given)
    assert told.shape == (len(given["stays"]), 2)
    assert np.allclose(told.sum(axis=1), 1)
    stays = given["stays"].to_pandas()
    last = (stays.groupby("patient_id").cumcount(ascending=False) == 0).to_numpy()
    cut = {**given, "stays": given["stays"].filter(pa.array(~last))}
    again = hospital.predict_proba(cut)
    assert np.allclose(told[~last], again)  # taking later rows off changes nothing
    hidden = {**given, "stays": given["stays"].drop_columns(["emergency"])}
    first = (stays.groupby("patient_id").cumcount() == 0).to_numpy()
    assert np.allclose(hospital.predict_proba(hidden)[first], told[first])
    orphan = {**given, "patients": given["patients"].slice(0, 10)}
    alone = hospital.predict_proba(orphan)
    strangers = ~np.isin(stays.patient_id, given["patients"].slice(0, 10).column("patient_id").to_numpy())
    assert len(np.unique(alone[strangers].round(12), axis=0)) == 1
    assert hospital.classes("stays") == [False, True]
    assert set(hospital.predict(given)) <= {False, True}


def test_a_bundle_comes_back_and_is_verified(hospital, tmp_path):
    hospital.save(tmp_path / "h.sfumato")
    opened = sfumato.open(tmp_path / "h.sfumato")
    assert isinstance(opened, FamilyRelease)
    one, two = hospital.sample(30, seed=4), opened.sample(30, seed=4)
    assert all(one[name].equals(two[name]) for name in one)
    checks = verify(opened)
    assert [check.what for check in checks if not check.holds] == ["noise from a cryptographic source"]
    assert "2 tables" not in repr(opened)
    assert opened.statement.tables == ("patients", "stays", "diagnoses")
    assert "in the database" in dataclasses.replace(opened).statement.model_copy(update={"seeded": False}).promise
    assert "<b>Release of hospital</b>" in opened._repr_html_()
    with pytest.raises(RequestError, match="holds a family of tables"):
        open_table(tmp_path / "h.sfumato")


def test_a_changed_answer_is_noticed(hospital):
    """Another answer in the bundle, with hashes mended: the model no longer follows from it."""
    first = hospital.measurements[1]
    values = first.values + np.where(np.arange(len(first.values)) == 3, 10**6, 0)
    changed = dataclasses.replace(
        hospital,
        measurements=(hospital.measurements[0], dataclasses.replace(first, values=values), *hospital.measurements[2:]),
    )
    failed = {check.what for check in verify(changed) if str(check.outcome) == "fails"}
    assert "model follows from the measurements" in failed
    assert "statement is of this schema, header, plan and measurements" in failed


def test_measurements_of_a_view_that_is_not_there_are_refused(hospital):
    item = hospital.measurements[0]
    moved = dataclasses.replace(item, statistic=dataclasses.replace(item.statistic, view="wards, next"))
    file = io.BytesIO()
    dataclasses.replace(hospital, measurements=(moved, *hospital.measurements[1:])).write(file)
    with pytest.raises(BundleError, match="columns that are not in the schema"):
        _from_members(read_members(file.getvalue()))


def test_nothing_about_a_person_is_in_the_bundle(tmp_path):
    """Keys and rows leave no trace: those of a canary are not among the bytes."""
    given = dict(tables(300))
    keys = pa.array([f"canary-{number}-pseudonym" for number in given["patients"].column("patient_id").to_pylist()])
    given["patients"] = given["patients"].set_column(0, "patient_id", keys)
    named = pa.array([f"canary-{number}-pseudonym" for number in given["stays"].column("patient_id").to_pylist()])
    given["stays"] = given["stays"].set_column(1, "patient_id", named)
    release(given, epsilon=1.0).save(tmp_path / "h.sfumato")
    assert b"canary" not in (tmp_path / "h.sfumato").read_bytes()


def test_the_budget_is_spent_and_entered(tmp_path):
    ledger = Ledger(tmp_path / "l.sqlite")
    made = release(tables(200), epsilon=1.0, ledger=ledger, seed=None)
    assert 0.8 * made.statement.units_budget < made.statement.units_spent <= made.statement.units_budget
    (account,) = [entry for entry in ledger.entries() if "family" in entry.detail]
    assert account.currency.unit == "patient_id"
    assert [check.what for check in verify(made, ledger=ledger) if not check.holds] == []


EMPTY = {name: table.slice(0, 0) for name, table in tables().items()}


@pytest.mark.parametrize(
    ("data", "adjacency"), [(broken_tables(), "add-remove"), (EMPTY, "replace")], ids=["broken", "empty"]
)
def test_rows_that_do_not_fit_together_are_no_error(data, adjacency):
    """Orphans, doubles, crowds, no rows at all: the same path, and what each question costs follows from the plan."""
    made = release(data, epsilon=1.0, adjacency=adjacency)
    plan = plan_family(family_layout_of(schema()), Budget(1.0, 1e-6), Adjacency(adjacency))
    planned = iter([mu for view in plan.views.values() for mu in _costs(view)])
    assert all(item.mu in planned for item in made.measurements)  # in this order; some may not be asked
    assert made.sample(5)["patients"].num_rows == 5


def _costs(view) -> list[float]:
    counts = [view.mu_zoom, view.mu_one_way, view.mu_totals, view.mu_pairs]
    return [mu for mu in (*counts, *(mu for mus in view.mu_labels.values() for mu in mus)) if mu is not None]


REFUSED = {
    "label": ({"adjacency": "label"}, RequestError, "label adjacency is not for families"),
    "mechanism": ({"mechanism": "tables"}, RequestError, "has a mechanism of its own"),
    "components": ({"components": 3}, RequestError, "has a mechanism of its own"),
    "undeclared": ({"types": None}, DataError, "table 'patients': column 'born' may not come from an Arrow table"),
    "too little": ({"epsilon": 1e-7}, BudgetError, "epsilon"),
}


@pytest.mark.parametrize(("options", "kind", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_before_anything_is_spent(options, kind, words, tmp_path):
    with pytest.raises(kind, match=words):
        release(tables(50), ledger=tmp_path / "l.sqlite", **options)
    assert not (tmp_path / "l.sqlite").exists() or not Ledger(tmp_path / "l.sqlite").entries()


MISSING = {
    "a table": (lambda t: {k: v for k, v in t.items() if k != "stays"}, "table 'stays' of the schema is not given"),
    "a name": (lambda t: {**t, "stay": t["stays"]}, "'stay' is no table of the schema .did you mean 'stays'"),
    "a column": (lambda t: {**t, "stays": t["stays"].drop_columns(["ward"])}, "table 'stays': .* no column 'ward'"),
    "a key": (lambda t: {**t, "stays": t["stays"].drop_columns(["stay_id"])}, "no column 'stay_id'"),
    "a folder": (lambda t: "nowhere", "nowhere is no folder"),
    "another thing": (lambda t: 7, "a int is no family of tables"),
}


@pytest.mark.parametrize(("spoil", "words"), MISSING.values(), ids=MISSING)
def test_data_that_lacks_something(spoil, words):
    with pytest.raises(DataError, match=words):
        release(spoil(tables(50)))


def test_shares_of_the_budget_follow_the_schema():
    layout = family_layout_of(schema())
    usual = plan_family(layout, Budget(1.0, 1e-6), Adjacency.ADD_REMOVE)
    more = FamilySchema.from_dict({**schema().to_dict(), "share": {"stays": 4}})
    heavy = plan_family(family_layout_of(more), Budget(1.0, 1e-6), Adjacency.ADD_REMOVE)
    assert heavy.views["stays, next"].mu_pairs > 1.3 * usual.views["stays, next"].mu_pairs
    assert heavy.views["persons"].mu_pairs < usual.views["persons"].mu_pairs
    assert sum(plan.mu_labels != {} for plan in usual.views.values()) == 2
    little = plan_family(layout, Budget(0.02, 1e-6), Adjacency.ADD_REMOVE)
    assert all(plan.mu_labels == {} for plan in little.views.values())  # gradients would leave the lattice
