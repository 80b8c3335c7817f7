"""`slices`: what it asks, what it spends, and what a generator makes of it."""

import dataclasses
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.artefact.check import Outcome
from sfumato.artefact.verify import verify
from sfumato.auditing.gdp import answers, mu_lower_bound
from sfumato.auditing.transcript import mu_between
from sfumato.errors import RequestError
from sfumato.evaluation.records import read_all
from sfumato.fitting.mechanisms.slices.plan import plan_slices
from sfumato.fitting.retraining import fit as fitting
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget, noise_scale
from sfumato.trusted.curator import Curator
from sfumato.trusted.noise import SecureNoise
from sfumato.trusted.privacy_filter import PrivacyFilter
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source
from sfumato.trusted.statistics import Slices
from tests.auditing.test_transcript import NEIGHBOURS, SCHEMA, whole
from tests.conftest import MIXED, make_table
from tests.mechanisms.every import every_case, short_training

PLANE = Schema.from_yaml(
    "{sfumato: 1, name: t, columns: [{name: x, type: number, bounds: [-1.2, 1.2]},"
    " {name: y, type: number, bounds: [-1.2, 1.2]}]}"
)


def sliced(rows, schema, epsilon=1.0, epochs=5, **more) -> sfumato.Release:
    with short_training(epochs):
        return sfumato.release(
            rows, schema, epsilon=epsilon, delta=1e-5, mechanism="slices", ledger=None, types="declared", **more
        )


def eight_gaussians(rows: int) -> tuple[pa.Table, np.ndarray]:
    rng, angle = np.random.default_rng(0), np.arange(8) * np.pi / 4
    modes = 0.8 * np.column_stack([np.cos(angle), np.sin(angle)])
    points = modes[rng.integers(0, 8, rows)] + 0.05 * rng.normal(size=(rows, 2))
    return pa.table({"x": points[:, 0], "y": points[:, 1]}), modes


def modes_found(release: sfumato.Release, modes: np.ndarray) -> tuple[int, float]:
    """Modes with more than 2 % of a sample within 0.2, and the share of the sample that is near any."""
    made = release.sample(10_000, seed=0, output="arrow")
    far = np.linalg.norm(np.column_stack([made["x"], made["y"]])[:, None] - modes, axis=2)
    near = far.min(axis=1) < 0.2
    return int((np.bincount(far.argmin(axis=1)[near], minlength=8) > 200).sum()), float(near.mean())


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["slices", "tables"])
@pytest.mark.parametrize("name", ["mlp", pytest.param("residual", marks=pytest.mark.slow)])
def test_eight_gaussians_keep_their_modes_whatever_is_trained_on_whichever_bundle(mechanism, name):
    rows, modes = eight_gaussians(20_000)
    with short_training():
        release = sfumato.release(
            rows, PLANE, epsilon=1.0, delta=1e-5, mechanism=mechanism, ledger=None, types="declared"
        )
    found, near = modes_found(release.retrain(name, 300, 0), modes)
    assert found == 8
    assert near > (0.8 if mechanism == "slices" else 0.4)  # directions are finer than pairs


@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_plan_spends_the_budget_and_looks_at_nothing_but_the_schema(adjacency):
    budget = Budget(1.0, 1e-5)
    plan = plan_slices(Schema.from_yaml(MIXED), budget, adjacency)
    zoomed = 0.03
    spent = [plan.mu_zoom or 0.0, plan.mu_one_way, plan.mu_pairs, plan.mu_directions]
    assert np.linalg.norm(spent) == pytest.approx(budget.mu, rel=1e-6)
    assert np.square(spent) / budget.mu**2 == pytest.approx([zoomed, 0.40 - zoomed, 0.45, 0.15], rel=1e-4)


@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_answers_spend_nearly_the_claim_and_never_more(adjacency):
    here, there = NEIGHBOURS[adjacency]
    spent = []
    for rows in (here, there):
        release = sliced(rows, SCHEMA, adjacency=adjacency)
        spent.append(
            mu_between(
                release.measurements,
                open_source(here, SCHEMA, declared=True),
                open_source(there, SCHEMA, declared=True),
            )
        )
    assert max(spent) <= Budget(1.0, 1e-5).mu
    assert max(spent) >= 0.85 * Budget(1.0, 1e-5).mu


@pytest.mark.slow
def test_an_attacker_at_the_door_comes_within_a_tenth_of_the_claim():
    here, there = NEIGHBOURS[Adjacency.ADD_REMOVE]
    release = sliced(here, SCHEMA, epsilon=6.0)
    mu, sides = release.statement.mu, []
    for rows in (there, here):
        curator = Curator(
            open_source(rows, SCHEMA, declared=True),
            Adjacency.ADD_REMOVE,
            PrivacyFilter(Budget(9.0, 1e-3).units),
            SecureNoise(),
        )
        sides.append(answers(curator.measure(whole(release, 80_000), mu)))
    turned = [side[::-1] for side in sides]  # the other half chooses the threshold, now and then a poor one
    assert 0.90 <= max(mu_lower_bound(*sides), mu_lower_bound(*turned)) / mu <= 1.0


class Unpaid(Slices):
    """Slices that forget to pay for all directions but one."""

    def sensitivity(self, adjacency):
        return super().sensitivity(adjacency) / np.sqrt(len(self.ends))


def test_directions_left_unpaid_are_caught():
    here, there = NEIGHBOURS[Adjacency.ADD_REMOVE]
    release = sliced(here, SCHEMA)
    *others, last = release.measurements
    fields = {field.name: getattr(last.statistic, field.name) for field in dataclasses.fields(Slices)}
    unpaid = Unpaid(**fields)
    cheat = dataclasses.replace(
        last, statistic=unpaid, sigma=noise_scale(unpaid.sensitivity(Adjacency.ADD_REMOVE), last.mu)
    )
    assert (
        mu_between(
            [*others, cheat], open_source(here, SCHEMA, declared=True), open_source(there, SCHEMA, declared=True)
        )
        > Budget(1.0, 1e-5).mu
    )


def test_a_release_survives_its_bundle_and_verifies(tmp_path):
    release = sliced(make_table(1_500), Schema.from_yaml(MIXED), seed=3)
    release.save(tmp_path / "b.sfumato")
    again = sfumato.open(tmp_path / "b.sfumato")
    assert again.fitted.settings == {"generator": "mlp", "epochs": 5, "seed": 0, "divergence": "chi-squared"}
    assert all(check.holds for check in verify(again) if "cryptographic" not in check.what)
    assert again.sample(50, seed=1).equals(release.sample(50, seed=1))
    assert again.predict_proba(make_table(20)).shape == (20, 2)
    assert np.isfinite(again.condition({"age": (20, 60)}).log_prob(make_table(5).select(["job"]))).all()


def test_another_question_than_the_recorded_is_refused():
    release = sliced(make_table(400), Schema.from_yaml(MIXED))
    *others, last = release.measurements
    moved = dataclasses.replace(last.statistic, ends=last.statistic.ends + 500)
    broken = dataclasses.replace(release, measurements=(*others, dataclasses.replace(last, statistic=moved)))
    assert not all(check.holds for check in verify(broken) if check.what.startswith("model"))


@pytest.mark.parametrize(
    ("columns", "target"),
    [
        ("{name: x, type: number, bounds: [0, 1]}", None),  # one axis, no other direction
        ("{name: y, type: boolean}", "y"),  # a target and nothing else
        ("{name: x, type: number, bounds: [0, 1]}, {name: y, type: boolean}", "y"),
        ("{name: x, type: number, bounds: [0, 1]}, {name: z, type: integer, bounds: [5, 5]}", None),  # constant
        ("{name: x, type: number, bounds: [0, 1]}, {name: z, type: number, bounds: [0, 1]}", "z"),  # numeric target
        ("{name: x, type: category, values: [only]}, {name: y, type: boolean}", "y"),
    ],
)
@pytest.mark.parametrize("rows", [0, 1, 300])
def test_narrow_constant_and_empty_tables_are_released_too(columns, target, rows):
    schema = Schema.from_yaml(f"{{sfumato: 1, name: t, columns: [{columns}]{f', target: {target}' if target else ''}}}")
    rng = np.random.default_rng(0)
    values = {
        "number": rng.random(rows),
        "integer": np.full(rows, 5),
        "boolean": rng.random(rows) < 0.5,
        "category": np.full(rows, "only"),
    }
    table = pa.table({column.name: pa.array(values[column.type]) for column in schema.columns})
    release = sliced(table, schema)
    assert release.sample(10, output="arrow").num_rows == 10
    assert {len(item.statistic.blocks) > 0 for item in release.measurements} == {True}


def test_rows_beyond_the_bounds_are_drawn_inside():
    table = pa.table({"x": np.full(400, 1e9), "y": np.full(400, np.nan)})
    made = sliced(table, PLANE, epochs=40).sample(200, output="arrow")
    assert made["x"].to_numpy().max() <= 1.2


def test_without_torch_nothing_is_spent(monkeypatch, tmp_path):
    import sys

    monkeypatch.setitem(sys.modules, "torch", None)
    ledger = sfumato.Ledger(tmp_path / "l.sqlite")
    with pytest.raises(RequestError, match=r"sfumato\[generators\]"):
        sfumato.release(
            make_table(50), Schema.from_yaml(MIXED), epsilon=1.0, mechanism="slices", ledger=ledger, types="declared"
        )
    assert not ledger.entries()


def test_without_torch_a_generator_is_not_checked_and_not_wrong(monkeypatch):
    import sys

    release = every_case()["slices"].release()
    monkeypatch.setitem(sys.modules, "torch", None)
    (check,) = [one for one in verify(release) if one.what == "model follows from the measurements"]
    assert check.outcome == Outcome.UNCHECKED
    assert "sfumato[generators]" in check.detail


@pytest.mark.slow
@pytest.mark.parametrize("case", ["slices", "tables", "mixture", "mixture without classes"])
def test_generators_train_on_any_bundle_and_the_ledger_does_not_move(case, tmp_path):
    ledger = tmp_path / "ledger.sqlite"
    release = every_case()[case].release(ledger=ledger)
    before = ledger.read_bytes()
    release.save(tmp_path / "b.sfumato")
    models = [sfumato.open(tmp_path / "b.sfumato").retrain(name, 20, 1) for name in ("mlp", "residual")]
    models.append(release.retrain("mlp", 20, 2))
    for model in models:
        assert model.statement == release.statement
        assert model.sample(30, output="arrow").num_rows == 30
    assert models[0].fitted.distance(models[1].fitted) > 0
    assert ledger.read_bytes() == before
    models[1].save(tmp_path / "c.sfumato")
    again = sfumato.open(tmp_path / "c.sfumato")
    assert all(check.holds for check in verify(again) if "cryptographic" not in check.what)


def test_waves_tell_how_columns_are_spread_in_each_class():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 4_000)
    table = pa.table({"x": rng.normal(20 + 40 * kind, 5), "kind": np.array(["a", "b"])[kind]})
    schema = Schema.from_yaml(
        "{sfumato: 1, name: t, target: kind, columns: [{name: x, type: number, bounds: [0, 100]},"
        " {name: kind, type: category, values: [a, b]}]}"
    )
    release = sfumato.release(table, schema, epsilon=4.0, mechanism="mixture", ledger=None, types="declared")
    made = release.retrain(epochs=300).sample(4_000, seed=0, output="arrow")
    for place, name in enumerate("ab"):
        values = made["x"].to_numpy()[np.array(made["kind"].to_pylist()) == name]
        assert values.mean() == pytest.approx(20 + 40 * place, abs=6)  # spread evenly both would be 50
        assert values.std() < 12  # a few waves of low frequency; spread evenly it would be 29


TWELVE = Schema.from_yaml(
    "{sfumato: 1, name: t, target: y, columns: [{name: 'x_{0..11}', type: number, bounds: [-3, 3]},"
    " {name: y, type: category, values: [a, b]}]}"
)


def twelve(rows: int, seed: int) -> pa.Table:
    """A class that hangs a little on each of twelve columns."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 12))
    likely = 1 / (1 + np.exp(-x.sum(axis=1)))
    y = np.array(["a", "b"])[(rng.random(rows) < likely).astype(int)]
    return pa.table({**{f"x_{j}": x[:, j] for j in range(12)}, "y": y})


@pytest.mark.slow
def test_predictions_are_better_than_those_of_the_latent_points():
    release = sliced(twelve(5_000, 0), TWELVE, epsilon=2.0, epochs=150)
    fresh = read_all(twelve(5_000, 1), TWELVE)
    told = [
        model.class_probabilities(fresh, "y")
        for model in (release.model, dataclasses.replace(release.model, labeller=None))
    ]
    ours, mixture = (-np.log(p[np.arange(5_000), fresh.codes["y"]]).mean() for p in told)
    assert ours < mixture - 0.05  # nats
    assert ours < 0.6  # knowing nothing is 0.69


@pytest.mark.slow
def test_a_retrained_bundle_of_tables_keeps_what_gradients_told_and_samples_are_the_generators_own(tmp_path):
    release = sfumato.release(
        twelve(5_000, 0), TWELVE, epsilon=2.0, delta=1e-5, mechanism="tables", ledger=None, types="declared"
    )
    fresh, retrained = twelve(3_000, 1), release.retrain(epochs=100)
    told = [one.predict_proba(fresh)[:, 1] for one in (release, retrained)]
    assert np.corrcoef(*told)[0, 1] > 0.95
    bare = dataclasses.replace(retrained, fitted=dataclasses.replace(retrained.fitted, labeller=None))
    retrained.save(tmp_path / "b.sfumato")
    for one in (retrained, sfumato.open(tmp_path / "b.sfumato")):
        assert one.sample(300, seed=0, output="arrow").equals(bare.sample(300, seed=0, output="arrow"))


def test_numbers_of_numpy_are_kept_as_plain_ones(tmp_path):
    release = every_case()["slices"].release().retrain("mlp", np.int64(3), np.int32(1))
    release.save(tmp_path / "b.sfumato")
    kept = {"generator": "mlp", "epochs": 3, "seed": 1, "divergence": "chi-squared"}
    assert sfumato.open(tmp_path / "b.sfumato").fitted.settings == kept
    with pytest.raises(RequestError, match="whole numbers"):
        release.retrain(epochs=True)


@pytest.mark.slow
def test_images_train_convolutions():
    case = every_case()["subspace of pictures"]
    release = sliced(case.table, case.schema, epsilon=4.0)
    made = release.retrain("convolutional", 60, 0)
    assert made.sample(20, output="arrow").num_rows == 20
    with pytest.raises(RequestError, match="one image"):
        every_case()["slices"].release().retrain("convolutional", 5)


def test_a_generator_of_ones_own_cannot_be_verified_without_it():
    import torch

    class Own(torch.nn.Linear):
        def sample(self, z):
            return self(z)

    release = sliced(make_table(300), Schema.from_yaml(MIXED))
    own = release.retrain(lambda layout: Own(16 + layout.classes, layout.width), 5)
    assert own.fitted.settings["generator"] == fitting.OWN
    (check,) = [check for check in verify(own) if check.what.startswith("model")]
    assert check.outcome == Outcome.UNCHECKED
    assert not check.holds
    assert "does not bring" in check.detail


def test_questions_that_nobody_asks_are_found_behind_a_generator_too():
    release = every_case()["mixture"].release().retrain(epochs=3)
    first = release.measurements[0]
    maps = tuple(dataclasses.replace(one, frequencies=3 * one.frequencies + 7) for one in first.statistic.maps)
    forged = dataclasses.replace(first, statistic=dataclasses.replace(first.statistic, maps=maps))
    broken = dataclasses.replace(release, measurements=(forged, *release.measurements[1:]))
    (check,) = [check for check in verify(broken) if check.what.startswith("model")]
    assert not check.holds
    for case in ("slices", "tables"):
        release = every_case()[case].release().retrain(epochs=3)
        more = dataclasses.replace(release, measurements=(*release.measurements, release.measurements[-1]))
        (check,) = [check for check in verify(more) if check.what.startswith("model")]
        assert not check.holds
        assert "other measurements" in check.detail


@pytest.mark.parametrize(
    "settings", [{"epochs": 10**400}, {"epochs": 10**12}, {"generator": 5}, {"seed": "a"}, {"divergence": ["kl"]}]
)
def test_hostile_settings_are_a_failed_check_and_no_more(settings):
    release = sliced(make_table(200), Schema.from_yaml(MIXED))
    model = dataclasses.replace(release.fitted, settings={**release.fitted.settings, **settings})
    (check,) = [check for check in verify(dataclasses.replace(release, fitted=model)) if check.what.startswith("model")]
    assert not check.holds


def test_what_was_asked_of_a_mixture_stays_with_it():
    release = every_case()["mixture without classes"].release(components=2)
    again = release.retrain(epochs=3)
    assert again.plan.settings["components"] == 2
    assert again.refit().fitted.distance(release.fitted) < 1e-6
    assert all(check.holds for check in verify(again) if "cryptographic" not in check.what)


def test_slices_have_none_of_the_settings_of_tables():
    with pytest.raises(RequestError, match="no components to set"):
        every_case()["slices"].release().refit(components=3)


def test_many_wide_categories_need_no_square_of_memory():
    rng, values = np.random.default_rng(0), [f"v{value}" for value in range(50)]
    columns = [{"name": f"c{place}", "type": "category", "values": values} for place in range(60)]
    schema = Schema.from_dict({"sfumato": 1, "name": "t", "columns": columns})
    table = pa.table({column["name"]: np.array(values)[rng.integers(0, 50, 20_000)] for column in columns})
    tracemalloc.start()
    release = sliced(table, schema, epsilon=8.0, epochs=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(len(pieces.starts) for pieces in release.fitted.columns.values()) == 3_000
    assert peak < 600e6


def test_a_subspace_has_nothing_to_train_on():
    with pytest.raises(
        RequestError, match="depends on the rest of the record; use a release by slices, tables or mixture"
    ):
        every_case()["subspace"].release().retrain(epochs=5)
