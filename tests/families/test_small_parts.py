"""Small parts of the fitting of families: weights of pairs, schemas between tables, drawn rows, conditions."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import RequestError
from sfumato.fitting.families.between import between_schemas
from sfumato.fitting.families.conditions import FamilyConditions, by_table
from sfumato.fitting.families.drawn_rows import DrawnRows, break_rules, concat
from sfumato.fitting.families.pair_weights import Tuning, pair_weights
from sfumato.fitting.families.view_curator import ViewCurator, per_person
from sfumato.fitting.mechanisms.counts.plan import Tuning as Planning
from sfumato.trusted.families import family_layout_of
from sfumato.trusted.schema import FamilySchema
from sfumato.trusted.statistics.person_level import PARTS
from tests.families.hospital import schema

LAYOUT = family_layout_of(schema())
STEPS = [view for name, view in LAYOUT.views.items() if name != "persons" and view.having is None]


@pytest.mark.parametrize("view", STEPS, ids=lambda view: view.name)
def test_a_pair_weighs_by_where_its_columns_come_from(view):
    found = pair_weights(view)
    assert len(found) == len(list(itertools.combinations(view.columns, 2)))
    for one, other in itertools.combinations(view.columns, 2):
        own = (one.which == "own") + (other.which == "own")
        previous = "previous" in (one.which, other.which)
        habit = previous and one.column == other.column
        expected = [Tuning.context, Tuning.habit if habit else Tuning.cross if previous else Tuning.setting, Tuning.own]
        assert found[one.name, other.name] == expected[own]


def test_of_very_many_pairs_the_heaviest_are_kept(monkeypatch):
    view = LAYOUT.views["stays, next"]
    whole = pair_weights(view)
    monkeypatch.setattr(Planning, "most_pairs", 30)
    kept = pair_weights(view)
    assert len(kept) == 30
    assert min(kept.values()) >= max(weight for pair, weight in whole.items() if pair not in kept)
    assert list(kept) == [pair for pair in whole if pair in kept]


def test_constraints_between_tables_are_those_of_one_wide_table():
    (name,) = found = between_schemas(schema())
    assert name == "stays"
    assert len(found[name].constraints) == 3
    tables = {column.split(".")[0] for column in found[name].by_name}
    assert tables == {"patients", "stays"}
    plain = FamilySchema.from_dict({key: part for key, part in schema().to_dict().items() if key != "constraints"})
    assert between_schemas(plain) == {}


def test_a_constraint_stands_with_the_lowest_table_that_it_names():
    rules = ["stays.admitted >= patients.born", {"forbid": {"diagnoses.code": "birth", "patients.sex": "m"}}]
    found = between_schemas(FamilySchema.from_dict({**schema().to_dict(), "constraints": rules}))
    assert {name: len(one.constraints) for name, one in found.items()} == {"stays": 1, "diagnoses": 1}
    assert "stays.ward" in found["diagnoses"].by_name


def rows_of(parents: list[int], places: list[int], codes: list[int]) -> DrawnRows:
    numbers = [np.array(one, dtype=np.int64) for one in (parents, parents, places)]
    held = np.array(codes, dtype=np.int32)
    return DrawnRows(*numbers, {"a": held}, pa.table({"a": held}), held.astype(float))


ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 9)), min_size=1, max_size=20)


@given(ROWS, ROWS)
def test_rows_are_put_together_and_in_order(one, two):
    whole = concat([rows_of(*map(list, zip(*part, strict=True))) for part in (one, two)]).in_order()
    slow = sorted([*one, *two], key=lambda row: row[:2])
    assert list(zip(whole.parent, whole.place, strict=True)) == [row[:2] for row in slow]
    assert whole.codes["a"].tolist() == whole.values.column("a").to_pylist() == [row[2] for row in slow]
    assert whole.order.tolist() == [row[2] for row in slow]
    assert len(whole) == len(one) + len(two)


RUNS = st.tuples(st.integers(0, 4), st.integers(1, 4)).map(lambda run: (run[0], sum(run)))
COMBINATIONS = st.dictionaries(st.sampled_from("ab"), st.lists(RUNS, min_size=1, max_size=2), min_size=1)
RULES = st.lists(COMBINATIONS, max_size=3)


@given(RULES, st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=15))
def test_broken_rules_are_what_a_slow_search_says(rules, records):
    codes = {name: np.array([record[place] for record in records], dtype=np.int32) for place, name in enumerate("ab")}
    slow = [
        any(
            all(any(start <= record["ab".index(name)] < stop for start, stop in runs) for name, runs in rule.items())
            for rule in rules
        )
        for record in records
    ]
    assert break_rules(codes, rules, len(records)).tolist() == slow


def test_conditions_of_a_command_line_are_sorted_by_table():
    assert by_table({"stays.ward": "surgery", "patients.sex": "f", "stays.cost": (1, 2)}) == {
        "stays": {"ward": "surgery", "cost": (1, 2)},
        "patients": {"sex": "f"},
    }
    with pytest.raises(RequestError, match="names no table"):
        by_table({"ward": "surgery"})


def test_conditions_on_measured_columns_of_persons_need_no_trying():
    def conditions(given):
        return FamilyConditions.of(given, LAYOUT)

    assert conditions(None).are_met_always
    assert conditions({"patients": {"sex": "f", "born": (None, "1960-01-01")}}).are_met_always
    assert not conditions({"stays": {"ward": "surgery"}}).are_met_always
    assert set(conditions({"patients": {"sex": "f"}, "stays": {"ward": "surgery"}}).limits) == {"sex"}


def test_a_person_meets_conditions_by_one_row_that_meets_all_of_them(hospital):
    drawn = hospital.answering
    wanted = {"ward": "cardiology", "emergency": True}
    met = FamilyConditions.of({"patients": {"smoker": True}, "stays": wanted}, hospital.layout).met_by(drawn)
    stays = drawn["stays"].values.to_pandas().assign(person=drawn["stays"].person)
    theirs = stays[(stays.ward == "cardiology") & stays.emergency].person
    smokers = np.flatnonzero(drawn["patients"].values.column("smoker").to_numpy(zero_copy_only=False))
    assert set(np.flatnonzero(met)) == set(smokers) & set(theirs)
    apart = set(stays[stays.ward == "cardiology"].person) & set(stays[stays.emergency].person) & set(smokers)
    assert apart > set(np.flatnonzero(met))  # two rows that meet one each are not enough


def test_restricted_persons_meet_their_conditions(hospital):
    conditions = FamilyConditions.of({"patients": {"sex": "m", "region": ["east", "west"]}}, hospital.layout)
    model = conditions.restrict(hospital.fitted.persons)
    assert model.marginal("patients.sex")[-1] == pytest.approx(1)
    codes = model.sample(200, np.random.default_rng(0)).codes
    assert set(codes["patients.sex"]) == {1}
    assert set(codes["patients.region"]) <= {2, 3}


def test_answers_are_given_in_units_of_one_person(hospital):
    item = hospital.measurements[0]
    assert per_person(item).sigma == item.sigma / PARTS
    assert np.array_equal(per_person(item).values, item.values / PARTS)
    assert per_person(item).statistic == item.statistic.statistic
    with pytest.raises(TypeError, match="asked by person"):
        per_person(per_person(item))
    with pytest.raises(RequestError, match="are private"):
        ViewCurator(None, "persons").features(["sex"])
