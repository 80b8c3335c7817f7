"""The measures behind `experiments.families` on tiny families, and its quick path on a made one."""

import itertools
from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import pytest
from experiments import families
from experiments.families_data import Family, Label, Questions, clinic, divide, hospital, two_levels, whole_number
from experiments.families_designs import DELTA, flat_of, flat_rows, run_apart, share_of, with_counts
from experiments.families_measures import Judge, link

from sfumato.trusted.budget import mu_of

PARENT, CHILD = ("sex", "age"), ("kind", "cost")


def tiny(seed: int, persons: int = 30) -> Family:
    """Persons of a key of their own with 0 to 4 rows, stored in no order; some values are missing."""
    rng = np.random.default_rng(seed)
    keys = 100 + rng.permutation(persons)
    owner = np.repeat(keys, rng.integers(0, 5, persons))
    rows = len(owner)
    parents = pd.DataFrame({"who": keys, "sex": rng.choice(["f", "m"], persons), "age": rng.integers(0, 90, persons)})
    number = np.concatenate([np.arange(held) for held in Counter(owner.tolist()).values()]) if rows else []
    cost = np.where(rng.random(rows) < 0.1, np.nan, rng.exponential(10, rows).round(1))
    children = pd.DataFrame({"who": owner, "number": number, "kind": rng.choice(list("abc"), rows), "cost": cost})
    known = [{"name": "sex", "type": "category", "values": ["f", "m"]}, whole_number("age", 0, 90)]
    own = [
        {"name": "kind", "type": "category", "values": ["a", "b", "c"]},
        {"name": "cost", "type": "number", "bounds": [0, 200], "missing": True},
    ]
    order = {"column": "number", "type": "integer"}
    content = two_levels("tiny", ("persons", "who", known), ("visits", own), rows=[0, 4], order=order)
    asked = Questions(Label("kind", ("a",)), Label("cost", edge=8.0), Label("kind", ("b",)))
    frames = {"persons": parents, "visits": children.sample(frac=1, random_state=seed)}
    return Family("tiny", frames, content, {"visits": asked})


def histories(family: Family) -> list[tuple[dict, list[dict]]]:
    """Every person with their rows in order, as plain dictionaries."""
    rows = defaultdict(list)
    for row in sorted(family.frames["visits"].to_dict("records"), key=lambda row: row["number"]):
        rows[row["who"]].append(row)
    return [(person, rows[person["who"]]) for person in family.frames["persons"].to_dict("records")]


def slow_edges(truth):
    columns = {"age": truth.frames["persons"]["age"], "cost": truth.frames["visits"]["cost"].dropna()}
    return {name: {np.quantile(column, eighth / 8) for eighth in range(1, 8)} for name, column in columns.items()}


def slow_cell(name, value, edges):
    if value != value:
        return "missing"
    return sum(edge < value for edge in edges[name]) if name in edges else value


def slow_apart(counts):
    shares = []
    for held in counts:
        total = sum(held.values())
        shares.append({cell: value / total for cell, value in held.items()})
    return sum(abs(shares[0].get(cell, 0) - shares[1].get(cell, 0)) for cell in {*shares[0], *shares[1]}) / 2


def slow_pairs(truth, other, pairs, found_in):
    """The mean over pairs of the total variation of what `found_in` yields: (one value, another, weight)."""
    apart, edges = [], slow_edges(truth)
    for one, two in pairs:
        counts = []
        for family in (truth, other):
            held = Counter()
            for first, second, weight in found_in(family, one, two):
                held[slow_cell(one, first, edges), slow_cell(two, second, edges)] += weight
            counts.append(held)
        apart.append(slow_apart(counts))
    return np.mean(apart)


def across(family, one, two):
    return ((person[one], row[two], 1) for person, rows in histories(family) for row in rows)


def across_by_person(family, one, two):
    return ((person[one], row[two], 1 / len(rows)) for person, rows in histories(family) for row in rows)


def inside(family, one, two):
    return ((row[one], row[two], 1) for _, rows in histories(family) for row in rows)


def steps(family, one, two):
    return ((before[one], row[two], 1) for _, rows in histories(family) for before, row in itertools.pairwise(rows))


def of_persons(family, one, two):
    return ((person[one], person[two], 1) for person, _ in histories(family))


def slow_ks(one, two):
    ends = [[value for value in values if value == value] for values in (one, two)]
    return max(
        abs(np.mean([value <= at for value in ends[0]]) - np.mean([value <= at for value in ends[1]]))
        for at in ends[0] + ends[1]
    )


def costs(family, figure):
    known = [
        [row["cost"] for row in rows if row["cost"] == row["cost"]] for _, rows in histories(family) if len(rows) > 1
    ]
    return [figure(values) if values else float("nan") for values in known]


@pytest.mark.parametrize("seed", range(3))
def test_distances_are_what_a_slow_count_says(seed):
    truth, other = tiny(seed), tiny(100 + seed, persons=20)
    found = Judge(truth, truth).score(other, "visits")
    slow = {
        "parent-child, by row": slow_pairs(truth, other, itertools.product(PARENT, CHILD), across),
        "parent-child, by person": slow_pairs(truth, other, itertools.product(PARENT, CHILD), across_by_person),
        "child-child, by row": slow_pairs(truth, other, [CHILD], inside),
        "consecutive, all pairs": slow_pairs(truth, other, itertools.product(CHILD, CHILD), steps),
        "consecutive, same column": slow_pairs(truth, other, [(name, name) for name in CHILD], steps),
        "parent pairs": slow_pairs(truth, other, [PARENT], of_persons),
        "number of rows": slow_apart([Counter(len(rows) for _, rows in histories(one)) for one in (truth, other)]),
        "KS of means": slow_ks(costs(truth, np.mean), costs(other, np.mean)),
        "KS of maxima": slow_ks(costs(truth, max), costs(other, max)),
        "KS of a count": slow_ks(*(counts_of_b(one) for one in (truth, other))),
        "rows to true rows": (len(other.frames["visits"]) / 20) / (len(truth.frames["visits"]) / 30),
    }
    assert found == pytest.approx(slow)


def counts_of_b(family):
    return [sum(row["kind"] == "b" for row in rows) for _, rows in histories(family) if len(rows) > 1]


def test_a_family_is_nowhere_apart_from_itself():
    truth = tiny(5)
    found = Judge(truth, truth).score(truth, "visits")
    assert found.pop("rows to true rows") == 1
    assert set(found.values()) == {0.0}


def test_rows_without_links_have_no_histories():
    truth = tiny(6)
    found = Judge(truth, truth).score(flat_of(truth), "visits")
    assert found["parent-child, by row"] == 0
    assert found["child-child, by row"] == 0
    assert set(found) == {"parent-child, by row", "parent-child, by person", "child-child, by row", "parent pairs"}


def test_rows_of_three_levels_find_the_rows_above_them():
    family = hospital(60, 3)
    rows = link(family, "diagnoses")
    stays = family.frames["stays"].set_index("stay_id")
    patients = family.frames["patients"].set_index("patient_id")
    place = {stay: place for place, stay in enumerate(stays.index)}
    slow = Counter()
    for one in family.frames["diagnoses"].itertuples():
        stay = stays.loc[one.stay_id]
        nights = (stay["discharged"] - stay["admitted"]).days
        slow[place[one.stay_id], one.code, stay["cost"], nights, patients.loc[stay["patient_id"], "region"]] += 1
    above = rows.above[["cost", "nights", "region"]].itertuples(index=False)
    found = Counter((at, code, *upper) for at, code, upper in zip(rows.parent, rows.own["code"], above, strict=True))
    assert found == slow
    held = family.frames["diagnoses"]["stay_id"].value_counts()
    assert rows.held.tolist() == [int(held.get(stay, 0)) for stay in stays.index]


def test_learners_find_what_there_is_to_find():
    truth = clinic(400, 1)
    judge = Judge(truth, clinic(300, 2))
    found = judge.learn(truth, "visits")
    assert found["AUC event"] > 0.65
    assert found["AUC next"] > 0.7
    alike = truth.with_frames({**truth.frames, "visits": truth.frames["visits"].assign(emergency=False, cost=1.0)})
    assert judge.learn(alike, "visits") == {"AUC event": 0.5, "AUC next": 0.5}


def test_a_split_keeps_persons_whole():
    whole = hospital(80, 4)
    parts = divide(whole, 0)
    for table, rows in whole.frames.items():
        both = pd.concat([part.frames[table] for part in (parts.released, parts.held_out)])
        assert Counter(map(str, both.itertuples(index=False))) == Counter(map(str, rows.itertuples(index=False)))
    stays = [set(part.frames["stays"]["stay_id"]) for part in (parts.released, parts.held_out)]
    assert parts.released.persons == 60
    assert set(parts.released.frames["diagnoses"]["stay_id"]) <= stays[0]
    assert not stays[0] & stays[1]


def test_several_releases_share_one_budget():
    assert 2 * mu_of(share_of(1.0, 2), DELTA) ** 2 == pytest.approx(mu_of(1.0, DELTA) ** 2, rel=1e-9)
    assert share_of(3.0, 1) == 3.0


def test_flat_rows_and_counts():
    family = tiny(7)
    flat = flat_rows(family, "visits")
    assert list(flat) == ["who", *PARENT, *CHILD]
    assert len(flat) == len(family.frames["visits"])
    rows, columns = with_counts(family, "persons")
    assert rows["number_of_visits"].tolist() == [len(rows) for _, rows in histories(family)]
    assert columns[-1] == {"name": "number_of_visits", "type": "integer", "bounds": [0, 4]}


def test_tables_apart_are_joined_by_the_numbers_drawn():
    family = hospital(150, 5)
    drawn = run_apart(family, 3.0, 0).tables
    for child, parent, key in (("stays", "patients", "patient_id"), ("diagnoses", "stays", "stay_id")):
        held = drawn.frames[child][key].value_counts()
        owners = drawn.frames[parent].set_index(key)[f"number_of_{child}"]
        assert held.reindex(owners.index, fill_value=0).tolist() == owners.tolist()


def test_the_quick_path_measures_every_design(capsys):
    designs = (families.REAL, families.UNLINKED, *families.DESIGNS)
    runs = list(families.measure("clinic", 0, (1.0,), designs, 150))
    assert [(design, epsilon) for design, epsilon, _ in runs] == [
        (families.REAL, None),
        (families.UNLINKED, None),
        *((design, 1.0) for design in families.DESIGNS),
    ]
    by_design = {design: figures["visits"] for design, _, figures in runs}
    linked = set(families.TITLES) - {"AUC event, by the release"}
    assert set(by_design["family"]) == set(families.TITLES)
    assert set(by_design["apart"]) == linked
    assert set(by_design["real rows"]) == linked - {"fit", "draw"}
    assert all(
        0 <= value <= 1 for key, value in by_design["family"].items() if key not in ("fit", "draw", "rows to true rows")
    )
    found = families.gather("clinic", [*runs, *runs])
    assert {one["seeds"] for one in found} == {2}
    assert all(value == 0 for one in found for value in one["deviation"].values())
    families.show(found)
    printed = capsys.readouterr().out
    assert "**clinic: visits**" in printed
    assert len([line for line in printed.splitlines() if line.startswith("|")]) == 2 + len(designs)


def test_new_results_take_the_place_of_old_ones():
    old = [{"family": "a", "design": design, "epsilon": 1.0, "table": "t", "seeds": 1} for design in ("x", "y")]
    new = [{"family": "a", "design": "y", "epsilon": 1.0, "table": "t", "seeds": 3}]
    assert families.kept(old, new) == [old[0], new[0]]


def test_families_without_data_are_left_out(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path / "nowhere"))
    assert families.available(["diabetes", "clinic"]) == ["clinic"]
    assert "left out: diabetes; no real data" in capsys.readouterr().out


def test_a_missing_peer_is_said(monkeypatch, capsys):
    monkeypatch.delenv("SFUMATO_SDV_PYTHON", raising=False)
    assert list(families.measure("clinic", 0, (), ("HMA",), 150)) == []
    assert "clinic, HMA: left out, no interpreter with SDV" in capsys.readouterr().out
