"""The framework: every choice of its parts is a release, those of the library among them, and each part is proven."""

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.artefact.check import Outcome
from sfumato.artefact.verify import verify
from sfumato.errors import BundleError, RequestError
from sfumato.fitting.generators.evidence import Histograms, Waves
from sfumato.fitting.generators.loss import Loss
from sfumato.fitting.mechanisms.counts.classes import Classes
from sfumato.fitting.mechanisms.counts.one_way import OneWay, OneWays
from sfumato.fitting.mechanisms.framework.histograms import HistogramEvidence
from sfumato.fitting.mechanisms.framework.parts import CHOICES
from sfumato.fitting.mechanisms.framework.plan import plan_framework
from sfumato.fitting.mechanisms.framework.waves import EmbeddingEvidence
from sfumato.fitting.mechanisms.mechanism import restore_plan
from sfumato.fitting.retraining.evidence import evidence_of
from sfumato.fitting.stored_plan import StoredPlan
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.feature_maps import Grid
from tests.mechanisms.every import Case, every_case, short_training

SIZES = (3, 4, 5)


def case(**parts) -> Case:
    mixed = every_case()["tables"]
    return Case(mixed.schema, mixed.table.slice(0, 300), {"mechanism": "3a", **parts})


def outcomes(release) -> dict[str, Outcome]:
    with short_training():
        return {check.what: check.outcome for check in verify(release)}


@pytest.mark.parametrize(
    ("mechanism", "parts"),
    [
        ("tables", {}),
        ("slices", {"anonymize": "slices", "approximate": "generator", "adapt": "released"}),
    ],
)
def test_the_mechanisms_of_the_library_are_choices_of_it(mechanism, parts):
    one = Case(case().schema, case().table, {"mechanism": mechanism}).release()
    other = case(**parts).release()
    mine, theirs = one.plan.plan, other.plan.plan
    assert {name: theirs[name] for name in mine} == mine
    assert len(one.measurements) == len(other.measurements)
    assert all(np.array_equal(a.values, b.values) for a, b in zip(one.measurements, other.measurements, strict=True))
    assert one.fitted.distance(other.fitted) == 0.0
    assert (one.fitted.labeller is None) == (other.fitted.labeller is None)
    assert np.array_equal(one.fitted.labeller.model.coefficients, other.fitted.labeller.model.coefficients)


COMBINED = [
    ("tables", "mixture", "leaves"),
    ("tables", "generator", "gradients"),
    ("slices", "mixture", "gradients"),
    ("slices", "generator", "none"),
    ("kernel", "mixture", "released"),
    ("kernel", "generator", "leaves"),
]


def test_every_choice_is_tried():
    for tried, choices in zip(zip(*COMBINED, strict=True), CHOICES.values(), strict=True):
        assert set(tried) == set(choices)


@pytest.mark.parametrize("parts", COMBINED, ids=", ".join)
def test_parts_go_together_and_the_release_is_verified(parts, tmp_path):
    release = case(**dict(zip(CHOICES, parts, strict=True))).release()
    release.save(tmp_path / "a.sfumato")
    opened = sfumato.open(tmp_path / "a.sfumato")
    found = outcomes(opened)
    assert found.pop("noise from a cryptographic source") == Outcome.FAILS  # it has a seed
    assert set(found.values()) == {Outcome.HOLDS}
    assert sum(item.mu**2 for item in opened.measurements) == pytest.approx(opened.statement.mu**2, rel=1e-6)
    assert opened.plan.plan["parts"] == dict(zip(CHOICES, parts, strict=True))
    assert opened.sample(50, seed=1).num_rows == 50
    probabilities = opened.predict_proba(case().table.slice(0, 20))
    assert np.allclose(np.sum(probabilities, axis=1), 1)


@pytest.mark.parametrize("adapt", ["gradients", "leaves"])
@pytest.mark.parametrize("share", [None, 0.1, 0.5])
@pytest.mark.parametrize("anonymize", CHOICES["anonymize"])
def test_the_share_is_what_adapt_spends(anonymize, share, adapt):
    budget, asked = Budget(1.0, 1e-5), {"anonymize": anonymize, "adapt": adapt, "share": share}
    plan = plan_framework(case().schema, budget, Adjacency.ADD_REMOVE, asked)
    spent = sum(mu**2 for mu in plan.mu_target_left) / budget.mu**2
    assert spent == pytest.approx(0.23 / 1.03 if share is None else share, rel=1e-6)
    assert (plan.mu_pairs is None) == (plan.mu_embedding is not None) == (anonymize == "kernel")
    assert (plan.mu_directions is not None) == (anonymize == "slices")
    assert (plan.mu_steps == ()) == (adapt == "leaves")


def test_what_was_paid_for_labels_the_records_of_a_sample():
    labels = {adapt: case(adapt=adapt).release().fitted.labeller for adapt in CHOICES["adapt"]}
    assert labels.pop("none") is None
    assert {adapt: one.of_samples for adapt, one in labels.items()} == {
        "gradients": True,
        "leaves": True,
        "released": False,
    }


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"anonymize": "masks"}, "anonymize is 'masks'; use one of tables, slices, kernel"),
        ({"approximate": "copula"}, "approximate is 'copula'; use one of mixture, generator"),
        ({"adapt": "prayer"}, "adapt is 'prayer'; use one of gradients, leaves, released, none"),
        ({"share": 1.0}, "above 0 and below 1"),
        ({"share": 0.0}, "above 0 and below 1"),
        ({"adapt": "none", "share": 0.2}, "costs nothing; leave out share"),
        ({"mechanism": "tables", "adapt": "none"}, "adapt: for mechanism 3a alone"),
        ({"mechanism": "auto", "share": 0.1}, "share: for mechanism 3a alone"),
        ({"components": 3}, "components are for mechanism mixture"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_spent(settings, words, tmp_path):
    book = sfumato.Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(RequestError, match=words):
        case(**settings).release(ledger=book)
    assert not book.entries()


@pytest.mark.parametrize("parts", [None, {}, {"anonymize": "masks", "approximate": "mixture", "adapt": "none"}])
def test_a_stored_plan_of_other_parts_is_refused(parts):
    schema, budget = case().schema, Budget(1.0, 1e-5)
    content = plan_framework(schema, budget, Adjacency.ADD_REMOVE, {}).to_dict()
    stored = StoredPlan({**content, "parts": parts}, {}, {})
    with pytest.raises(BundleError, match="does not fit the schema"):
        restore_plan(stored, "3a", schema, Adjacency.ADD_REMOVE)


def test_without_a_target_there_is_nothing_to_adapt_to():
    schema = sfumato.Schema.from_dict({**case().schema.to_dict(), "target": None})
    plain = Case(schema, case().table, {"mechanism": "3a", "anonymize": "kernel"})
    release = plain.release()
    assert release.plan.plan["parts"]["adapt"] == "none"
    assert release.sample(5, seed=1).num_rows == 5
    with pytest.raises(RequestError, match="no target"):
        plain.release(adapt="gradients")


@pytest.mark.parametrize("parts", [{"anonymize": "kernel"}, {"approximate": "generator"}])
def test_rules_are_kept_or_refused(parts):
    towns = every_case()["tables, constraints"]
    with pytest.raises(RequestError, match="cannot keep rules"):
        towns.release(mechanism="3a", **parts)


def test_one_column_has_nothing_but_its_axis():
    table = pa.table({"x": [1, 2, 3] * 50, "y": [True, False, True] * 50})
    columns = "[{name: x, type: integer, bounds: [1, 3]}, {name: y, type: boolean}]"
    schema = sfumato.Schema.from_yaml(f"{{sfumato: 1, name: t, columns: {columns}, target: y}}")
    release = Case(schema, table, {"mechanism": "3a", "anonymize": "kernel"}).release()
    assert not any("embedding" in item.statistic.title for item in release.measurements)
    assert release.sample(5, seed=1).num_rows == 5


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("parts", COMBINED, ids=", ".join)
def test_columns_in_which_nothing_varies_are_released(parts):
    """No angle is beyond what 32 bits hold."""
    rows = pa.table({"a": ["p"] * 60, "b": ["q"] * 60, "y": [True, False, True] * 20})
    columns = "[{name: a, type: category, values: [p]}, {name: b, type: category, values: [q]}, "
    schema = sfumato.Schema.from_yaml(
        f"{{sfumato: 1, name: t, columns: {columns}{{name: y, type: boolean}}], target: y}}"
    )
    release = Case(schema, rows, {"mechanism": "3a", **dict(zip(CHOICES, parts, strict=True))}).release()
    assert release.sample(5, seed=1).column("a").to_pylist() == ["p"] * 5
    assert set(outcomes(release).values()) == {Outcome.HOLDS, Outcome.FAILS}


def test_a_release_is_fitted_and_trained_anew():
    release = case(anonymize="kernel", adapt="leaves").release()
    again = release.refit(components=2, steps=20)
    assert again.fitted.settings["components"] == 2
    assert set(outcomes(again).values()) == {Outcome.HOLDS, Outcome.FAILS}
    trained = release.retrain("mlp", 3)
    assert trained.fitted.labeller.of_samples
    assert outcomes(trained)["model follows from the measurements"] == Outcome.HOLDS
    with pytest.raises(RequestError, match="no components to set"):
        case(approximate="generator").release().refit(components=2)


def some_columns(rng: np.random.Generator, classes: int = 2) -> OneWays:
    columns = {}
    for number, cells in enumerate(SIZES):
        counts = rng.uniform(50, 100, (cells, classes))
        columns[f"c{number}"] = OneWay(Grid.of_cells(np.arange(cells)), counts, 5.0, np.arange(cells), 0)
    return OneWays(columns, Classes(np.arange(classes), np.ones(classes)), np.array([400.0, 300.0]), 5.0)


def some_waves(rng: np.random.Generator) -> Waves:
    shares = 0.3 * (rng.normal(size=(2, 6)) + 1j * rng.normal(size=(2, 6)))
    return Waves(rng.normal(size=(6, 12)), shares, rng.uniform(10, 20, (2, 1)))


def some_histograms(rng: np.random.Generator) -> Histograms:
    ends = np.sort(rng.normal(size=(4, 5)), axis=1)
    outer = np.stack((ends[:, 0] - 2, ends[:, -1] + 2), axis=1)
    return Histograms(rng.normal(size=(4, 12)), ends, outer, rng.uniform(0, 0.2, (4, 6, 2)), 1e-4)


def wholes(rng: np.random.Generator):
    one_way = some_columns(rng)
    return [EmbeddingEvidence(some_waves(rng), one_way, 3.0), HistogramEvidence.of(some_histograms(rng), one_way)]


def some_mixture(rng: np.random.Generator):
    theta = np.concatenate([rng.dirichlet(np.ones(size), 5) for size in SIZES], axis=1)
    return theta, rng.dirichlet(np.ones(5)), np.eye(2)[[0, 0, 1, 1, 1]]


@pytest.mark.parametrize("kind", [0, 1], ids=["waves", "histograms"])
def test_gradients_agree_with_differences(kind):
    rng = np.random.default_rng(1)
    seen = wholes(rng)[kind]
    theta, pi, member = some_mixture(rng)

    def error(theta, pi):
        return seen.add_error(theta, pi, member, np.zeros_like(theta), np.zeros_like(pi))

    by_theta, by_pi = np.zeros_like(theta), np.zeros_like(pi)
    seen.add_error(theta, pi, member, by_theta, by_pi)
    for array, slope in ((theta, by_theta), (pi, by_pi)):
        for place in [(0, 0), (2, 5), (4, 11)] if array.ndim == 2 else [0, 3]:
            there = array.copy()
            there[place] += 1e-4
            back = array.copy()
            back[place] -= 1e-4
            found = [error(*((one, pi) if array is theta else (theta, one))) for one in (there, back)]
            assert slope[place] == pytest.approx((found[0] - found[1]) / 2e-4, rel=2e-2, abs=1e-2)


def test_the_embedding_of_a_product_is_the_mean_over_its_records():
    """By adding up every combination of groups."""
    rng = np.random.default_rng(2)
    one_way, seen = some_columns(rng), some_waves(rng)
    theta, pi, member = some_mixture(rng)
    expected = np.zeros((2, 6), dtype=complex)
    parts = np.split(np.arange(12), np.cumsum(SIZES)[:-1])
    for k in range(5):
        for a in parts[0]:
            for b in parts[1]:
                for c in parts[2]:
                    chance = pi[k] * theta[k, a] * theta[k, b] * theta[k, c]
                    expected[member[k].argmax()] += chance * np.exp(1j * seen.angles[:, [a, b, c]].sum(axis=1))
    error = EmbeddingEvidence(seen, one_way, 3.0).add_error(theta, pi, member, np.zeros((5, 12)), np.zeros(5))
    assert error == pytest.approx(0.5 * (seen.precision * np.abs(expected - seen.shares) ** 2).sum(), rel=1e-4)


@pytest.mark.parametrize("kind", ["waves", "histograms"])
def test_a_mixture_and_a_generator_read_the_same_evidence_alike(kind):
    """The loss of points whose weights are those of a generator, by either; a generator holds an eighth back."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    one_way = some_columns(rng)
    waves, histograms = some_waves(rng), some_histograms(rng)
    plain = evidence_of(one_way, None, None)
    seen = {"waves": waves} if kind == "waves" else {"histograms": histograms}
    whole = EmbeddingEvidence(waves, one_way, 3.0) if kind == "waves" else HistogramEvidence.of(histograms, one_way)
    theta, _, _ = some_mixture(rng)
    owner = np.array([0, 0, 1, 1, 1])
    pi = (one_way.totals / one_way.size / np.bincount(owner))[owner]
    objective = Loss(type(plain)(plain.columns, plain.totals, plain.marginals, 0.0, (), None, **seen), "cpu")
    logits = torch.tensor(np.log(theta), dtype=torch.float32)
    made = sum(float(objective.loss(logits, torch.tensor(owner), held_back)) for held_back in (False, True))
    expected = whole.add_error(theta, pi, np.eye(2)[owner], np.zeros((5, 12)), np.zeros(5))
    assert made == pytest.approx(expected, rel=1e-3)


def test_an_embedding_sees_what_three_columns_tell_together():
    """A parity of three: every two of them are independent."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 4_000)).astype(bool)
    table = pa.table({"a": a, "b": b, "c": a ^ b})
    columns = ", ".join(f"{{name: {name}, type: boolean}}" for name in "abc")
    schema = sfumato.Schema.from_yaml(f"{{sfumato: 1, name: t, columns: [{columns}]}}")
    release = Case(schema, table, {"mechanism": "3a", "anonymize": "kernel"}).release(epsilon=8.0)
    drawn = release.sample(2_000, seed=1)
    x, y, z = (drawn.column(name).to_numpy(zero_copy_only=False) for name in "abc")
    assert np.mean(x ^ y == z) > 0.9
