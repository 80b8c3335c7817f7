"""The whole `subspace` release: what it asks, what it spends, what it finds, and what it refuses."""

import math

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.artefact.verify import verify
from sfumato.auditing.transcript import mu_between
from sfumato.errors import BudgetError, SchemaError
from sfumato.fitting.mechanisms.subspace.plan import is_wide, plan_subspace
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.sources import open_source
from sfumato.trusted.statistics import Cells, Scatter

COLUMNS, CLASSES = 30, 3
NAMES = [f"x_{j}" for j in range(COLUMNS)]


def wide_schema(columns: int = COLUMNS, target: bool = True, kind: str = "number", high: float = 1) -> sfumato.Schema:
    content = {
        "sfumato": 1,
        "name": "wide",
        "columns": [
            {"name": f"x_{{0..{columns - 1}}}", "type": kind, "bounds": [0, high]},
            *([{"name": "y", "type": "category", "values": ["a", "b", "c"]}] if target else []),
        ],
        **({"target": "y"} if target else {}),
    }
    return sfumato.Schema.from_dict(content)


def records(rows: int, seed: int = 0, at_bounds: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Three classes in three directions of thirty columns; with bounds, most values are 0."""
    rng = np.random.default_rng(seed)
    public = np.random.default_rng(99)
    basis, centres = public.standard_normal((3, COLUMNS)), public.standard_normal((CLASSES, COLUMNS))
    y = rng.choice(CLASSES, rows, p=[0.5, 0.3, 0.2])
    latent = rng.standard_normal((rows, 3)) * np.array([1.0, 0.7, 0.4])
    x = 0.45 + 0.1 * centres[y] + 0.06 * latent @ basis + 0.02 * rng.standard_normal((rows, COLUMNS))
    return np.clip(x - 0.4 * at_bounds, 0, 1), y


def table(x: np.ndarray, y: np.ndarray | None) -> pa.Table:
    columns = {name: x[:, j] for j, name in enumerate(NAMES)}
    return pa.table(columns | ({} if y is None else {"y": np.array(["a", "b", "c"])[y]}))


def released(rows: int = 20_000, epsilon: float = 4.0, **more) -> sfumato.Release:
    x, y = records(rows, at_bounds=more.pop("at_bounds", False))
    return sfumato.release(
        table(x, y), wide_schema(), epsilon=epsilon, delta=1e-5, mechanism="subspace", ledger=None, seed=1, **more
    )


@pytest.fixture(scope="module")
def release():
    return released()


def test_it_finds_the_directions_that_stand_above_the_noise(release):
    model, (x, y) = released(epsilon=0.3).fitted, records(20_000)
    assert 3 <= model.basis.shape[1] <= 10
    assert release.fitted.basis.shape[1] > 10  # at a larger budget even small directions do
    covariance = np.cov((x - np.array([x[y == k].mean(axis=0) for k in range(CLASSES)])[y]).T)
    vectors = np.linalg.eigh(covariance)[1]
    leading = vectors[:, -3:]
    span = np.linalg.qr(model.basis)[0]
    assert np.linalg.norm(span.T @ leading) ** 2 > 2.9


def test_it_finds_counts_and_means(release):
    x, y = records(20_000)
    assert release.size == pytest.approx(20_000, rel=0.02)
    assert release.fitted.weights == pytest.approx([0.5, 0.3, 0.2], abs=0.02)
    means = np.array([x[y == k].mean(axis=0) for k in range(CLASSES)])
    found = release.fitted.means + release.fitted.centres @ release.fitted.basis.T
    assert np.abs(found - means).mean() < 0.01


@pytest.mark.parametrize(
    ("rows", "epsilon", "at_bounds"), [(20_000, 1.0, False), (20_000, 4.0, True), (2_000, 1.0, False)]
)
def test_intervals_of_class_means_hold_them(rows, epsilon, at_bounds):
    """Of the class's own records; records beyond the radius are pulled back, which must not show."""
    held = []
    for seed in range(4):
        x, y = records(rows, seed, at_bounds)
        made = sfumato.release(
            table(x, y),
            wide_schema(),
            epsilon=epsilon,
            delta=1e-5,
            mechanism="subspace",
            ledger=None,
            seed=seed,
            types="declared",
        )
        found = made.parameters(level=0.9, output="pandas")
        own = np.concatenate([x[y == k].mean(axis=0) for k in range(CLASSES)])
        held.append(((found["low"] <= own) & (own <= found["high"])).mean())
    assert 0.75 < np.mean(held) < 0.99


def test_a_column_has_a_mean_with_an_interval(release):
    x, _ = records(20_000)
    mean, low, high = release.mean("x_3")
    assert low < mean < high
    assert low - 0.02 < x[:, 3].mean() < high + 0.02
    first = release.mean("x_3", given={"y": "a"})
    assert first.mean != mean


def test_the_rest_of_a_record_is_filled_in(release):
    """Given half of its columns, the other half is nearer than the class mean."""
    x, y = records(200, seed=9)
    errors, plain = [], []
    for n in range(6):
        given = {name: float(x[n, j]) for j, name in enumerate(NAMES[:15])} | {"y": "abc"[y[n]]}
        filled = release.sample(300, given=given, seed=1, output="pandas")
        assert np.allclose(filled["x_3"], x[n, 3], atol=1e-5)
        assert set(filled["y"]) == {"abc"[y[n]]}
        errors.append(np.abs(filled[NAMES[15:]].mean().to_numpy() - x[n, 15:]).mean())
        whole = records(20_000)
        plain.append(np.abs(whole[0][whole[1] == y[n]][:, 15:].mean(axis=0) - x[n, 15:]).mean())
    assert np.mean(errors) < 0.6 * np.mean(plain)


def test_it_tells_classes_of_fresh_records(release):
    x, y = records(2_000, seed=5)
    told = release.predict_proba(table(x, None)).argmax(axis=1)
    assert np.mean(told == y) > 0.97


def test_a_learner_of_its_rows_tells_classes_too(release):
    lightgbm = pytest.importorskip("lightgbm")
    rows = release.sample(4_000, seed=2, output="pandas")
    learner = lightgbm.LGBMClassifier(n_estimators=30, verbose=-1, n_jobs=1).fit(rows[NAMES], rows["y"])
    x, y = records(2_000, seed=5)
    import pandas as pd

    assert np.mean(learner.predict(pd.DataFrame(x, columns=NAMES)) == np.array(["a", "b", "c"])[y]) > 0.9


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("at_bounds", [False, True])
def test_the_whole_budget_is_spent_and_verified(tmp_path, adjacency, at_bounds):
    made = released(5_000, adjacency=adjacency, at_bounds=at_bounds)
    checks = verify(made)
    assert [check.what for check in checks if not check.holds] == ["noise from a cryptographic source"]
    assert made.statement.units_spent <= made.statement.units_budget
    assert len(made.measurements) == 10
    made.save(tmp_path / "b.sfumato")
    again = sfumato.open(tmp_path / "b.sfumato")
    assert again.fitted.distance(made.fitted) < 1e-5
    assert again.sample(10, seed=3).equals(made.sample(10, seed=3))


def test_marginals_are_asked_where_many_values_lie_on_a_bound(release):
    bound = released(at_bounds=True)
    assert bound.fitted.marginals is not None
    assert any(isinstance(one.statistic, Cells) for one in bound.measurements)
    assert release.fitted.marginals is None
    assert sum(isinstance(one.statistic, Scatter) for one in release.measurements) == 3
    x, _ = records(20_000, at_bounds=True)
    sampled = np.column_stack(
        [column.to_numpy() for column in bound.sample(4_000, seed=1, output="arrow").columns[:-1]]
    )
    assert np.mean(sampled == 0) == pytest.approx(np.mean(x == 0), abs=0.05)


@pytest.mark.parametrize("adjacency", Adjacency)
def test_no_neighbour_found_costs_more_than_the_claim(adjacency):
    x, y = records(3_000)
    schema, budget = wide_schema(), Budget(1.0, 1e-5)
    made = sfumato.release(
        table(x, y),
        schema,
        epsilon=1.0,
        delta=1e-5,
        mechanism="subspace",
        adjacency=adjacency,
        ledger=None,
        seed=1,
        types="declared",
    )
    here = open_source(table(x, y), schema, declared=True)
    found = []
    for n in range(12):
        other_x, other_y = x.copy(), y.copy()
        if adjacency == Adjacency.ADD_REMOVE:
            other_x, other_y = np.delete(x, n, axis=0), np.delete(y, n)
        else:
            other_y[n] = (y[n] + 1) % 3
            if adjacency == Adjacency.REPLACE:
                other_x[n] = n % 2 if n < 6 else 1 - x[n]
        found.append(mu_between(made.measurements, here, open_source(table(other_x, other_y), schema, declared=True)))
    assert max(found) <= budget.mu
    assert max(found) > 0.5 * budget.mu


def test_a_table_without_labels_is_released():
    x, _ = records(5_000)
    made = sfumato.release(
        table(x, None),
        wide_schema(target=False),
        epsilon=2,
        delta=1e-5,
        mechanism="subspace",
        ledger=None,
        seed=1,
        types="declared",
    )
    assert made.fitted.target is None
    sampled = np.column_stack([column.to_numpy() for column in made.sample(3_000, seed=1, output="arrow").columns])
    assert np.abs(sampled.mean(axis=0) - x.mean(axis=0)).max() < 0.05


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_few_records_or_none_take_the_same_path(rows):
    made = released(rows, epsilon=0.5)
    assert len(made.measurements) == 10
    assert made.sample(5, seed=0).num_rows == 5


def test_a_class_without_records_is_no_error():
    x, _ = records(2_000)
    made = sfumato.release(
        table(x, np.zeros(2_000, dtype=int)),
        wide_schema(),
        epsilon=1,
        delta=1e-5,
        mechanism="subspace",
        ledger=None,
        seed=1,
        types="declared",
    )
    assert made.fitted.weights[0] > 0.9
    assert all(math.isfinite(value) for value in made.log_prob(table(x[:20], None)))


def test_auto_takes_it_for_wide_tables_of_numbers():
    assert not is_wide(wide_schema(63))
    assert is_wide(wide_schema(64))
    assert is_wide(wide_schema(64, target=False))
    content = wide_schema(64).to_dict()
    content["columns"].append({"name": "sex", "type": "category", "values": ["f", "m"]})
    assert not is_wide(sfumato.Schema.from_dict(content))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "sex", "type": "category", "values": ["f", "m"]}, "one category as target.* mechanism tables"),
        ({"name": "gap", "type": "number", "bounds": [0, 1], "missing": True}, "may be missing"),
    ],
)
def test_a_table_with_other_columns_is_refused(change, message):
    content = wide_schema().to_dict()
    content["columns"].append(change)
    with pytest.raises(SchemaError, match=message):
        plan_subspace(sfumato.Schema.from_dict(content), Budget(1.0, 1e-5), Adjacency.ADD_REMOVE)


def test_what_has_no_subspace_is_refused():
    with pytest.raises(SchemaError, match="2 to 5000"):
        plan_subspace(wide_schema(1), Budget(1.0, 1e-5), Adjacency.ADD_REMOVE)
    with pytest.raises(SchemaError, match="label adjacency"):
        plan_subspace(wide_schema(target=False), Budget(1.0, 1e-5), Adjacency.LABEL)
    with pytest.raises(BudgetError, match="raise epsilon"):
        plan_subspace(wide_schema(), Budget(1e-6, 1e-5), Adjacency.ADD_REMOVE)


def test_whole_numbers_come_back_whole():
    x, y = records(4_000)
    pixels = np.rint(255 * x).astype(np.int64)
    made = sfumato.release(
        table(pixels, y),
        wide_schema(kind="integer", high=255),
        epsilon=2,
        delta=1e-5,
        mechanism="subspace",
        ledger=None,
        seed=1,
        types="declared",
    )
    sampled = made.sample(500, seed=1, output="arrow")
    assert pa.types.is_integer(sampled.schema.field("x_0").type)
    assert min(column.to_numpy().min() for column in sampled.columns[:-1]) >= 0
    assert max(column.to_numpy().max() for column in sampled.columns[:-1]) <= 255
