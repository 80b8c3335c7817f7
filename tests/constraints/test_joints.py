"""Listed columns that rules tie together are measured as one."""

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.fitting.violating_rows import find_violating_rows
from sfumato.trusted.constraints import layout_of

COLUMNS = [
    {"name": "sex", "type": "category", "values": ["F", "M"], "missing": True},
    {"name": "pregnant", "type": "boolean"},
    {"name": "ward", "type": "category", "values": ["a", "b", "c"]},
    {"name": "shift", "type": "category", "values": ["day", "night"], "missing": True},
    {"name": "age", "type": "integer", "bounds": [0, 99]},
    {"name": "smoker", "type": "boolean"},
]
RULES = [
    {"if": {"pregnant": True}, "then": {"sex": "F"}},
    {"allow": ["ward", "shift"], "table": [["a", "day"], ["a", "night"], ["b", "day"]]},
    {"forbid": {"age": {"to": 9}, "smoker": True}},
]


def schema(*rules, **more):
    content = {"sfumato": 1, "name": "r", "columns": COLUMNS, "constraints": list(rules or RULES)}
    return sfumato.Schema.from_dict(content | more)


def people(rows=800, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "sex": pa.array(rng.choice(["F", "M"], rows), mask=rng.random(rows) < 0.1),
            "pregnant": rng.random(rows) < 0.3,
            "ward": rng.choice(["a", "b", "c"], rows),
            "shift": pa.array(rng.choice(["day", "night"], rows), mask=rng.random(rows) < 0.1),
            "age": rng.integers(0, 100, rows),
            "smoker": rng.random(rows) < 0.5,
        }
    )


def test_only_combinations_that_are_allowed_are_measured():
    layout = layout_of(schema())
    assert list(layout.measured.by_name) == ["sex & pregnant", "ward & shift", "age", "smoker"]
    assert layout.measured["sex & pregnant"].values == ("F / False", "F / True", "M / False", "missing / False")
    assert layout.measured["ward & shift"].values == ("a / day", "a / night", "a / missing", "b / day", "b / missing")
    (left,) = layout.measured.forbidden  # a rule on a number is the model's to keep
    assert set(left) == {"age", "smoker"}


def test_a_forbidden_combination_counts_as_the_first_that_agrees_with_most_of_it():
    rows = {
        "sex": ["M", None, "F"],
        "pregnant": [True, True, True],
        "ward": ["b", "c", "a"],
        "shift": ["night", "day", None],
    }
    table = pa.table({**rows, "age": [1, 2, 3], "smoker": [True, False, True]})
    layout = layout_of(schema())
    batch = layout.encode(table.combine_chunks().to_batches()[0])
    back = layout.decode(batch, np.random.default_rng(0), {}).to_pylist()
    assert [(row["sex"], row["pregnant"]) for row in back] == [("M", False), (None, False), ("F", True)]
    assert [(row["ward"], row["shift"]) for row in back] == [("b", "day"), ("a", "day"), ("a", None)]


@pytest.mark.parametrize("target", [None, "pregnant", "smoker", "ward"])
@pytest.mark.parametrize("epsilon", [0.2, 20.0])
def test_no_sample_breaks_a_rule(target, epsilon):
    ruled = schema(**({"target": target} if target else {}))
    release = sfumato.release(people(), ruled, epsilon=epsilon, ledger=None, types="declared")
    sample = release.sample(3_000)
    assert not any(broken.any() for broken in find_violating_rows(ruled, sample).values())
    if target:
        told = release.predict_proba(sample)
        assert np.allclose(told.sum(axis=1), 1)


def test_answers_are_of_the_columns():
    release = sfumato.release(people(6_000), schema(), epsilon=50.0, ledger=None, types="declared", seed=0)
    found = release.marginal("sex").to_pydict()
    shares = dict(zip(found["value"], found["probability"], strict=True))
    assert shares["F"] == pytest.approx(0.45, abs=0.03)
    given = release.condition({"ward": "b"})
    assert set(given.sample(200).column("shift").to_pylist()) <= {"day", None}
    whole = release.log_prob(people(300))
    broken = np.logical_or.reduce(list(find_violating_rows(schema(), people(300)).values()))
    assert np.array_equal(np.isneginf(whole), broken)


def test_a_target_and_columns_that_others_follow_from_are_measured_by_themselves():
    assert "sex & pregnant" not in layout_of(schema(target="sex")).measured.by_name
    more = [*COLUMNS, {"name": "kind", "type": "category", "values": ["x", "y"]}]
    table = {"a": "x", "b": "y", "c": "y"}
    content = {"sfumato": 1, "name": "r", "columns": more}
    followed = sfumato.Schema.from_dict(
        content | {"constraints": [*RULES, {"column": "kind", "of": "ward", "table": table}]}
    )
    assert "ward & shift" not in layout_of(followed).measured.by_name
