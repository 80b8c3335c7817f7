"""The mixture on the scales of its columns: what goes in and comes out, conditions, actions, distances."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm

from sfumato.archive.members import from_arrow_file, from_json, to_arrow_file, to_json
from sfumato.artefact.frames import decode
from sfumato.errors import RequestError
from sfumato.fitting.conditions import conditions_of
from sfumato.fitting.models.gaussian_mixture.gaussians import Gaussians
from sfumato.fitting.models.gaussian_mixture.model import ACTIONS, Draws, GaussianMixture
from sfumato.fitting.models.gaussian_mixture.tables import mean_of, parameter_table
from sfumato.fitting.models.model import read_model
from sfumato.trusted.encoding import Batch, Encoder
from sfumato.trusted.schema import Schema

SCHEMA = Schema.from_yaml("""
sfumato: 1
name: t
target: kind
columns:
  - {name: height, type: number, bounds: [0, 100], atoms: [40]}
  - {name: kind, type: category, values: [a, b, c]}
  - {name: dose, type: number, bounds: [1, 1000], scale: log}
  - {name: age, type: integer, bounds: [0, 99]}
  - {name: visits, type: integer, bounds: [0, 50], scale: log}
""")
CODES = Encoder(SCHEMA).columns
SCALES = {name: CODES[name] for name in ("height", "dose", "age", "visits")}
ROWS = 100_000


def gaussians(seed, owner=(0, 1, 2), wider=1.0):
    rng = np.random.default_rng(seed)
    covs = []
    for _ in owner:
        root = rng.standard_normal((4, 4)) * 0.06
        covs.append(wider * (root @ root.T + 1e-3 * np.eye(4)))
    weights = rng.dirichlet(np.full(len(owner), 5.0))
    return Gaussians(np.array(owner), weights, rng.uniform(0.35, 0.65, (len(owner), 4)), np.array(covs))


def mixture(seed=0):
    rng = np.random.default_rng(seed)
    one = gaussians(seed)
    shape = (60, 3)
    draws = Draws(
        1000 * one.weights + rng.normal(0, 5, shape),
        one.means + rng.normal(0, 0.01, (*shape, 4)),
        one.covs * np.exp(rng.normal(0, 0.05, shape))[..., None, None],
    )
    actions = {"mixture": one, "wide": gaussians(seed, wider=1.2), "detailed": gaussians(seed + 50, (0, 1, 1, 2))}
    return GaussianMixture(SCALES, "kind", 3, 1000.0, actions, draws)


@pytest.fixture
def model():
    return mixture()


def given(model, **wanted):
    return model.condition(conditions_of(wanted, CODES))


def encoded(**columns):
    rows = len(next(iter(columns.values())))
    return Batch(rows, {name: CODES[name].encode(pa.array(values)) for name, values in columns.items()})


def decoded(batch, seed=1):
    return decode(batch, Encoder(SCHEMA).columns, np.random.default_rng(seed)).to_pandas()


def through_files(model):
    content, table = model.to_parts()
    return from_json(to_json(content), "model.json"), from_arrow_file(to_arrow_file(table), "model.arrow")


def same(one, other):
    parts = [(getattr(model.actions[action], part)) for model in (one, other) for action in ACTIONS for part in PARTS]
    parts += [getattr(model.draws, part) for model in (one, other) for part in ("counts", "means", "covs")]
    half = len(ACTIONS) * len(PARTS)
    left, right = parts[:half] + parts[-6:-3], parts[half : 2 * half] + parts[-3:]
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


PARTS = ("owner", "weights", "means", "covs")


class TestParts:
    def test_go_out_and_come_back(self, model):
        again = read_model(*through_files(model.choose_estimate("wide")), CODES)
        assert same(again, model)
        assert (again.action, again.size, again.target, again.columns) == ("wide", 1000.0, "kind", model.columns)
        assert model.distance(again) < 1e-7

    def test_what_has_been_asked_stays_out(self, model):
        content, table = given(model, age=(30, 50), kind="a").to_parts()
        again = GaussianMixture.from_parts(content, table, CODES)
        assert same(again, model)
        assert again.given == ()

    @pytest.mark.parametrize(
        "change",
        [
            {"kind": "oracle"},
            {"columns": ["height", "dose", "age"]},
            {"columns": ["dose", "height", "age", "visits"]},
            {"target": None},
            {"target": "age"},
            {"target": "nobody"},
            {"classes": 2},
            {"classes": 4},
            {"classes": 0},
            {"size": 0},
            {"size": float("nan")},
            {"size": 2.0**60},
            {"action": "oracle"},
            {"extra": 1},
        ],
        ids=str,
    )
    def test_unsound_content_is_refused(self, model, change):
        content, table = model.to_parts()
        with pytest.raises((ValueError, LookupError, ArithmeticError)):
            GaussianMixture.from_parts({**content, **change}, table, CODES)

    def changed(self, table, name, change):
        """The table with one column changed as a list."""
        values = table.column(name).to_pylist()
        change(values)
        return table.set_column(table.column_names.index(name), name, pa.array(values, table.schema.field(name).type))

    @pytest.mark.parametrize(
        ("name", "change"),
        [
            ("part", lambda part: part.__setitem__(0, "oracle")),
            ("part", lambda part: part.__setitem__(0, "wide")),
            ("part", lambda part: part.__setitem__(3, "draw")),
            ("class", lambda owner: owner.__setitem__(0, 1)),
            ("class", lambda owner: owner.__setitem__(0, 3)),
            ("class", lambda owner: owner.__setitem__(0, -1)),
            ("class", lambda owner: owner.__setitem__(-1, 0)),
            ("class", lambda owner: owner.__setitem__(0, None)),
            ("weight", lambda weight: weight.__setitem__(0, 0.9)),
            ("weight", lambda weight: weight.__setitem__(0, math.nan)),
            ("weight", lambda weight: weight.__setitem__(-1, -1.0)),
            ("weight", lambda weight: weight.__setitem__(-1, None)),
            ("mean", lambda mean: mean[0].__setitem__(0, math.inf)),
            ("mean", lambda mean: mean[-1].__setitem__(0, math.nan)),
            ("covariance", lambda cov: cov[0].__setitem__(0, -0.1)),
            ("covariance", lambda cov: cov[0].__setitem__(1, 10.0)),
            ("covariance", lambda cov: cov[-1].__setitem__(0, -0.1)),
        ],
    )
    def test_unsound_tables_are_refused(self, model, name, change):
        content, table = model.to_parts()
        with pytest.raises((ValueError, LookupError)):
            GaussianMixture.from_parts(content, self.changed(table, name, change), CODES)

    def test_tables_of_another_shape_are_refused(self, model):
        content, table = model.to_parts()
        for short in (table.slice(0, len(table) - 1), table.slice(1), table.slice(0, 0), table.drop(["mean"])):
            with pytest.raises((ValueError, LookupError)):
                GaussianMixture.from_parts(content, short, CODES)

    def test_unsound_models_are_refused(self, model):
        twice = Gaussians(np.zeros(3, dtype=np.int64), *(getattr(model.actions["mixture"], part) for part in PARTS[1:]))
        for change in ({"actions": {"mixture": twice}}, {"action": "x"}, {"actions": {**model.actions, "wide": twice}}):
            with pytest.raises(ValueError, match="mixture"):
                replace(model, **change)
        with pytest.raises(ValueError, match="draws and size"):
            replace(model, draws=Draws(model.draws.counts[:, :2], model.draws.means[:, :2], model.draws.covs[:, :2]))
        with pytest.raises(ValueError, match="every draw"):
            Draws(model.draws.counts[:5], model.draws.means, model.draws.covs)
        with pytest.raises(ValueError, match="symmetric"):
            replace(model.actions["mixture"], covs=np.triu(model.actions["mixture"].covs))


class TestSample:
    @pytest.mark.parametrize("action", ACTIONS)
    def test_stays_within_the_bounds(self, model, action):
        batch = model.choose_estimate(action).sample(20_000, np.random.default_rng(0))
        for name, codes in batch.codes.items():
            assert codes.dtype == np.int32
            assert codes.min() >= 0
            assert codes.max() < CODES[name].size
        frame = decoded(batch)
        assert frame["height"].between(0, 100).all()
        assert frame["dose"].between(1, 1000).all()
        assert frame["age"].dtype == frame["visits"].dtype == np.int64
        assert frame["age"].between(0, 99).all()
        assert frame["visits"].between(0, 50).all()
        assert set(frame["kind"]) == {"a", "b", "c"}

    def test_has_the_moments_of_the_mixture(self, model):
        batch = model.sample(ROWS, np.random.default_rng(0))
        places, _ = model._places(batch)
        mean, cov = model.gaussians.moments()
        assert np.allclose(places.mean(axis=0), mean, atol=0.005)
        assert np.allclose(np.cov(places.T), cov, atol=0.03 * np.diag(cov).max())
        share = np.bincount(batch.codes["kind"], minlength=3) / ROWS
        assert np.allclose(share, model.gaussians.by_class(3), atol=1e-4)

    def test_a_draw_beyond_the_bounds_is_set_to_the_bound(self, model):
        low = replace(model.actions["mixture"], means=np.full((3, 4), -5.0))
        frame = decoded(replace(model, actions={**model.actions, "mixture": low}).sample(10, np.random.default_rng(0)))
        assert (frame[["height", "age", "visits"]] == 0).all(axis=None)
        assert (frame["dose"] == 1).all()

    @pytest.mark.parametrize("rows", [0, 1])
    def test_few_rows(self, model, rows):
        assert model.sample(rows, np.random.default_rng(0)).codes["age"].shape == (rows,)


def spread(name, count=200_001):
    """Values of a number column, and how much of the column each stands for."""
    scale = SCALES[name]
    ends = scale.number_at(np.linspace(0, 1, count + 1))
    return (ends[1:] + ends[:-1]) / 2, np.diff(ends)


class TestDensity:
    @pytest.mark.parametrize("action", ACTIONS)
    def test_adds_up_to_1_in_one_column(self, model, action):
        """But for what lies beyond the bounds."""
        read = model.choose_estimate(action)
        for name in SCALES:
            j = model.columns.index(name)
            beyond = 1 - np.diff(read.gaussians.cdf(j, np.array([0.0, 1.0])))[0]
            if SCALES[name].whole:
                total = np.exp(read.log_density(encoded(**{name: np.arange(SCALES[name].high + 1)}), CODES)).sum()
            else:
                values, width = spread(name)
                total = np.exp(read.log_density(encoded(**{name: values}), CODES)) @ width
            assert total == pytest.approx(1 - beyond, abs=0.02 if name == "visits" else 0.002)  # visits: wide steps

    def test_is_the_normal_density_per_unit(self, model):
        one = model.actions["mixture"]
        mean, sd = one.means[:, 0], one.sds[:, 0]
        slowly = norm.pdf(0.4371, mean, sd) @ one.weights / 100
        assert np.exp(model.log_density(encoded(height=[43.71]), CODES))[0] == pytest.approx(slowly, rel=1e-4)
        mean, sd = one.means[:, 1], one.sds[:, 1]
        slowly = norm.pdf(math.log(20) / math.log(1000), mean, sd) @ one.weights / (20 * math.log(1000))
        assert np.exp(model.log_density(encoded(dose=[20.0]), CODES))[0] == pytest.approx(slowly, rel=1e-4)

    def test_columns_not_given_are_summed_out(self, model):
        """The class by hand, another column by adding up."""
        record = {"height": [43.0], "age": [50]}
        alone = np.exp(model.log_density(encoded(**record), CODES))[0]
        by_class = [np.exp(model.log_density(encoded(**record, kind=[kind]), CODES))[0] for kind in ("a", "b", "c")]
        assert sum(by_class) == pytest.approx(alone)
        values, width = spread("dose", 4_001)
        many = {name: np.full(len(values), value[0]) for name, value in record.items()}
        assert np.exp(model.log_density(encoded(**many, dose=values), CODES)) @ width == pytest.approx(alone, rel=1e-3)

    def test_the_class_alone_has_its_weight(self, model):
        found = np.exp(model.log_density(encoded(kind=["a", "b", "c"]), CODES))
        assert np.allclose(found, model.gaussians.by_class(3))

    def test_no_records(self, model):
        nobody = Batch(0, {"age": np.empty(0, np.int32), "kind": np.empty(0, np.int32)})
        assert model.log_density(nobody, CODES).shape == (0,)
        assert model.predict(nobody, "kind", CODES["kind"]).shape == (0, 3)


RANGES = {
    "numbers": ({"height": (40.0, 55.0)}, lambda row: row["height"].between(40, 55)),
    "whole": ({"age": (40, 50)}, lambda row: row["age"].between(40, 50)),
    "log": ({"dose": (None, 12.0)}, lambda row: row["dose"] <= 12),
    "whole log": ({"visits": (3, 9)}, lambda row: row["visits"].between(3, 9)),
    "up to the bound": ({"height": (60, None)}, lambda row: row["height"] >= 60),
    "two": (
        {"height": (40, 55), "visits": (3, 9)},
        lambda row: row["height"].between(40, 55) & row["visits"].between(3, 9),
    ),
    "a class and a range": (
        {"kind": {"a", "c"}, "age": (40, None)},
        lambda row: row["kind"].isin(["a", "c"]) & (row["age"] >= 40),
    ),
}


class TestConditions:
    @pytest.mark.parametrize(("wanted", "holds"), RANGES.values(), ids=RANGES)
    def test_a_condition_leaves_what_it_leaves_of_a_sample(self, model, wanted, holds):
        frame = decoded(model.sample(2 * ROWS, np.random.default_rng(0)))
        left = frame[holds(frame)]
        conditioned = given(model, **wanted)
        assert conditioned.size == pytest.approx(1000 * len(left) / len(frame), rel=0.05)
        drawn = decoded(conditioned.sample(ROWS, np.random.default_rng(1)))
        assert holds(drawn).mean() > 0.999  # a step of a number may stick out; a release cuts it
        for name in ("height", "age"):
            error = left[name].std() / math.sqrt(len(left))
            assert drawn[name].mean() == pytest.approx(left[name].mean(), abs=8 * error + 0.01 * left[name].std())
            assert drawn[name].std() == pytest.approx(left[name].std(), rel=0.02 + 4 / math.sqrt(len(left)))
            assert conditioned.mean(name) == pytest.approx(left[name].mean(), abs=8 * error + 0.02)
        assert conditioned.gaussians.by_class(3)[0] == pytest.approx((left["kind"] == "a").mean(), abs=0.02)

    @pytest.mark.parametrize(("wanted", "holds"), RANGES.values(), ids=RANGES)
    def test_a_sample_never_leaves_its_codes(self, model, wanted, holds):
        """Not even by a draw from the end of a slice: clamped to the bound it would be an atom."""
        for narrow in (wanted, {"height": (99.0, 99.9)}, {"dose": (1.5, 1.6)}):
            conditioned = given(model, **narrow)
            batch = conditioned.sample(20_000, np.random.default_rng(0))
            for condition in conditioned.given:
                codes = batch.codes[condition.column]
                assert all(any(start <= code < stop for start, stop in condition.runs) for code in np.unique(codes))

    def test_a_value_is_exact(self, model):
        """Against the density: p(rest | value) = p(rest, value) / p(value)."""
        conditioned = given(model, age=50)
        rest = {"height": [43.0, 50.0], "dose": [5.0, 30.0], "kind": ["a", "b"]}
        joint = model.log_density(encoded(**rest, age=[50, 50]), CODES)
        alone = model.log_density(encoded(age=[50, 50]), CODES)
        assert np.allclose(conditioned.log_density(encoded(**rest), CODES), joint - alone)
        assert np.allclose(conditioned.log_density(encoded(**rest, age=[50, 50]), CODES), joint - alone)
        assert np.allclose(conditioned.log_density(encoded(age=[50, 51]), CODES), [0, -np.inf])
        assert conditioned.size == pytest.approx(1000 * math.exp(alone[0]), rel=1e-3)
        assert (conditioned.sample(50, np.random.default_rng(0)).codes["age"] == 50).all()

    @pytest.mark.parametrize("value", [40.0, 41.7, 0.0, 100.0], ids=["atom", "step", "low", "high"])
    def test_a_number_is_its_step_or_atom(self, model, value):
        conditioned = given(model, height=value)
        assert set(conditioned.sample(50, np.random.default_rng(0)).codes["height"]) == {CODES["height"].code_of(value)}

    def test_any_of_several_values(self, model):
        """Each by its probability, also where units are of different width."""
        wanted = [1, 5, 20]
        conditioned = given(model, visits=wanted)
        probability = np.exp(model.log_density(encoded(visits=wanted), CODES))
        drawn = conditioned.sample(ROWS, np.random.default_rng(0)).codes["visits"]
        assert set(drawn) == set(wanted)
        share = np.array([(drawn == value).mean() for value in wanted])
        assert np.allclose(share, probability / probability.sum(), atol=0.005)
        assert np.allclose(np.exp(conditioned.log_density(encoded(visits=wanted), CODES)), share, atol=0.005)
        assert conditioned.size == pytest.approx(1000 * probability.sum(), rel=0.01)

    def test_a_range_is_bayes_rule_where_its_column_is_known(self, model):
        """log p(x | range) = log p(x) - log P(range), and -inf outside, with other ranges or without."""
        conditioned = given(model, age=(40, 60))
        ages = np.arange(35, 65)
        inside = np.exp(model.log_density(encoded(age=np.arange(40, 61)), CODES)).sum()
        found = np.exp(conditioned.log_density(encoded(age=ages), CODES))
        slowly = np.exp(model.log_density(encoded(age=ages), CODES)) / inside * ((ages >= 40) & (ages <= 60))
        assert np.allclose(found, slowly, rtol=1e-3)
        both = given(model, age=(40, 60), height=(40, 55))
        assert np.exp(both.log_density(encoded(age=ages), CODES)).sum() == pytest.approx(1, abs=1e-3)
        known = {"age": [45, 55], "height": [42.0, 50.0]}
        ratio = both.log_density(encoded(**known), CODES) - model.log_density(encoded(**known), CODES)
        assert ratio == pytest.approx(-math.log(both.size / 1000), abs=1e-3)

    def test_a_narrow_range_holds_what_lies_in_it(self, model):
        inside = given(model, height=(43.00001, 43.00002)).log_density(encoded(height=[43.000015, 44.0]), CODES)
        assert np.isfinite(inside).tolist() == [True, False]

    def test_a_range_elsewhere_is_integrated(self, model):
        """p(age | height in range) by adding up over heights."""
        conditioned = given(model, height=(40, 50))
        ages = np.arange(20, 80)
        heights = np.linspace(40, 50, 201)
        heights = (heights[1:] + heights[:-1]) / 2
        cells = encoded(age=np.repeat(ages, 200), height=np.tile(heights, 60))
        slowly = np.exp(model.log_density(cells, CODES)).reshape(60, 200).sum(axis=1)
        everything = encoded(age=np.repeat(np.arange(100), 200), height=np.tile(heights, 100))
        slowly /= np.exp(model.log_density(everything, CODES)).sum()
        assert np.allclose(np.exp(conditioned.log_density(encoded(age=ages), CODES)), slowly, atol=1e-4)

    def test_the_order_does_not_matter(self, model):
        wanted = {"kind": {"a", "b"}, "age": (40, 60), "dose": 20.0, "height": (40.0, None)}
        one_by_one = []
        for names in list(itertools.permutations(wanted))[::5]:
            conditioned = model
            for name in names:
                conditioned = given(conditioned, **{name: wanted[name]})
            one_by_one.append(conditioned)
        together = given(model, **wanted)
        for conditioned in one_by_one:
            assert conditioned.size == pytest.approx(together.size, rel=1e-9)
            for part in ("weights", "means", "covs"):
                assert np.allclose(getattr(conditioned.gaussians, part), getattr(together.gaussians, part), atol=1e-9)

    def test_two_ranges_of_a_column_are_one(self, model):
        twice, once = given(given(model, age=(30, 60)), age=(40, 80)), given(model, age=(40, 60))
        assert twice.size == pytest.approx(once.size)
        assert np.allclose(twice.gaussians.means, once.gaussians.means)

    def test_many_ranges_keep_the_memory(self, model):
        asked = given(model, height=(35, 70), dose=(2, 300), age=(30, 70), visits=(1, 30))
        assert len(asked.gaussians.weights) <= 4096
        frame = decoded(model.sample(ROWS, np.random.default_rng(0)))
        kept = (
            frame["height"].between(35, 70)
            & frame["dose"].between(2, 300)
            & frame["age"].between(30, 70)
            & frame["visits"].between(1, 30)
        )
        assert asked.size == pytest.approx(1000 * kept.mean(), rel=0.05)
        assert asked.mean("age") == pytest.approx(frame["age"][kept].mean(), abs=0.3)

    @pytest.mark.parametrize(
        "wanted",
        [
            ({"age": (30, 40)}, {"age": (50, 60)}),
            ({"age": 30}, {"age": 31}),
            ({"age": 30}, {"age": (40, 50)}),
            ({"kind": "a"}, {"kind": "b"}),
        ],
    )
    def test_an_impossible_condition_is_refused(self, model, wanted):
        with pytest.raises(RequestError, match="no probability"):
            given(given(model, **wanted[0]), **wanted[1])


class TestAsked:
    def test_classes_are_told_by_bayes_rule(self, model):
        batch = model.sample(50, np.random.default_rng(3))
        rest = {name: codes for name, codes in batch.codes.items() if name != "kind"}
        likely = np.exp(
            [model.log_density(Batch(50, {**rest, "kind": np.full(50, kind, np.int32)}), CODES) for kind in range(3)]
        ).T
        assert np.allclose(model.predict(batch, "kind", CODES["kind"]), likely / likely.sum(axis=1, keepdims=True))
        two = given(model, kind=["a", "b"]).predict(batch, "kind", CODES["kind"])
        likely[:, 2] = 0
        assert np.allclose(two, likely / likely.sum(axis=1, keepdims=True))

    def test_a_known_column_needs_no_slices(self, model):
        """The range of a column that the record has tells nothing of its class, another range does."""
        record = encoded(age=[45, 50, 55])
        plain = model.predict(record, "kind", CODES["kind"])
        assert np.allclose(given(model, age=(40, 60)).predict(record, "kind", CODES["kind"]), plain)
        both = given(model, age=(40, 60), height=(40, 45)).predict(record, "kind", CODES["kind"])
        assert np.allclose(both, given(model, height=(40, 45)).predict(record, "kind", CODES["kind"]), atol=0.01)

    @pytest.mark.parametrize("name", ["height", "dose", "age"])
    def test_the_mean_of_a_number_is_that_of_its_values(self, model, name):
        """On a log scale, too: not the number at the mean place. The records near a place, from a large sample."""
        batch = model.sample(2 * ROWS, np.random.default_rng(0))
        other = "visits"
        frame = decoded(batch)
        at = np.array([4, 9, 14])
        found = model.predict(encoded(**{other: at}), name, CODES[name])
        for value, told in zip(at, found, strict=True):
            near = frame[name][frame[other] == value]
            assert told == pytest.approx(near.mean(), abs=5 * near.std() / math.sqrt(len(near)) + 0.01 * near.std())

    @pytest.mark.parametrize("name", SCALES)
    def test_cdf_and_quantile_are_those_of_a_large_sample(self, model, name):
        for asked in (model, given(model, height=(40, 55)), given(model, kind="b", age=(40, 60))):
            frame = decoded(asked.sample(ROWS, np.random.default_rng(0)))
            shares = np.array([0.02, 0.3, 0.5, 0.9])
            values = asked.quantile(name, shares, CODES[name])
            up_to = asked.cdf(name, values, CODES[name])
            seen = np.array([(frame[name] <= value).mean() for value in values])
            assert np.allclose(up_to, seen, atol=0.01)
            assert (up_to >= shares - 1e-9).all()
            if SCALES[name].whole:
                assert (asked.cdf(name, values - 1, CODES[name]) < shares).all()
            else:
                assert np.allclose(up_to, shares, atol=1e-9)

    @pytest.mark.parametrize("name", SCALES)
    def test_cdf_ends_at_the_bounds(self, model, name):
        scale = SCALES[name]
        beyond = np.array([-np.inf, scale.low - 1e-9, scale.high, scale.high + 1, np.inf])
        assert model.cdf(name, beyond, scale).tolist() == [0, 0, 1, 1, 1]
        assert model.quantile(name, np.array([0.0]), scale) == pytest.approx(scale.low, abs=1e-12)

    def test_cdf_ends_at_a_range(self, model):
        asked = given(model, age=(40, 60), height=(40, 55))
        assert asked.cdf("age", np.array([39.0, 39.9, 60.0]), CODES["age"]).tolist() == [0, 0, 1]
        assert asked.cdf("height", np.array([39.999, 55.0]), CODES["height"]).tolist() == [0, 1]
        assert asked.quantile("age", np.array([0.0, 1.0]), CODES["age"]).tolist() == [40, 60]
        assert asked.quantile("height", np.array([0.0, 1.0]), CODES["height"]) == pytest.approx([40, 55])

    @pytest.mark.parametrize("name", ["kind", *SCALES])
    def test_marginals_add_up_and_hold_their_bands(self, model, name):
        for asked in (model, given(model, age=(40, 60))):
            table = asked.describe(name, CODES[name]).to_pandas()
            assert table["probability"].sum() == pytest.approx(1)
            assert ((table["low"] <= table["probability"]) & (table["probability"] <= table["high"])).all()
            if name == "kind":
                assert np.allclose(table["probability"], asked.gaussians.by_class(3))
            else:
                up_to = asked.cdf(name, table["last"].to_numpy(dtype=float), CODES[name])
                assert np.allclose(np.cumsum(table["probability"]), up_to, atol=1e-4)

    def test_a_draw_without_the_condition_is_left_out(self, model):
        """Some draws of the posterior may exclude what the model allows."""
        covs = model.draws.covs.copy()
        covs[::2] *= 1e-8
        model = replace(model, draws=replace(model.draws, covs=covs))
        asked = given(model, height=(90, None))
        mean, low, high = mean_of(asked, "age")
        assert low <= mean <= high
        assert asked.describe("age", CODES["age"]).column("probability").to_numpy().sum() == pytest.approx(1)

    def test_means_are_those_of_a_large_sample(self, model):
        for action in ACTIONS:
            frame = decoded(model.choose_estimate(action).sample(ROWS, np.random.default_rng(0)))
            for name in ("height", "dose", "age"):
                mean, low, high = mean_of(model.choose_estimate(action), name)
                assert low <= mean <= high
                assert mean == pytest.approx(frame[name].mean(), abs=5 * frame[name].std() / math.sqrt(ROWS))

    def test_parameters_are_in_the_units_of_the_columns(self, model):
        rows = parameter_table(model, CODES, 0.9).to_pylist()
        assert len(rows) == 3 * (1 + 4 + 10)
        found = {(row["class"], row["parameter"], row["column"], row["with"]): row for row in rows}
        one = model.actions["mixture"]
        assert found["b", "weight", None, None]["estimate"] == pytest.approx(one.weights[1])
        assert found["b", "mean", "height", None]["estimate"] == pytest.approx(100 * one.means[1, 0])
        assert found["b", "mean", "age", None]["estimate"] == pytest.approx(100 * one.means[1, 2] - 0.5)
        assert found["b", "mean", "dose", None]["estimate"] == pytest.approx(math.log(1000) * one.means[1, 1])
        assert found["c", "covariance", "height", "dose"]["estimate"] == pytest.approx(
            100 * math.log(1000) * one.covs[2, 0, 1]
        )
        assert all(row["low"] <= row["estimate"] <= row["high"] for row in rows)
        ends = np.quantile(100 * model.draws.means[:, 1, 0], [0.05, 0.95])
        assert found["b", "mean", "height", None]["low"] == pytest.approx(ends[0])
        assert found["b", "mean", "height", None]["high"] == pytest.approx(ends[1])

    def test_parameters_under_a_condition_are_refused(self, model):
        with pytest.raises(RequestError, match="without a condition"):
            parameter_table(given(model, kind="a"), CODES, 0.9)

    def test_dependence(self, model):
        _, cov = model.gaussians.moments()
        slowly = abs(cov[0, 2]) / math.sqrt(cov[0, 0] * cov[2, 2])
        assert model.dependence("height", "age") == pytest.approx(slowly)
        assert model.dependence("age", "height") == pytest.approx(slowly)
        assert model.dependence("age", "age") == 1
        places, _ = model._places(batch := model.sample(ROWS, np.random.default_rng(0)))
        centres = np.array([places[batch.codes["kind"] == kind, 1].mean() for kind in range(3)])
        between = np.var(centres[batch.codes["kind"]]) / np.var(places[:, 1])
        assert model.dependence("kind", "dose") == pytest.approx(math.sqrt(between), abs=0.02)


class TestActions:
    def test_each_reads_its_own_gaussians(self, model):
        for action in ACTIONS:
            assert model.choose_estimate(action).gaussians is model.actions[action]
        assert model.choose_estimate("detailed").choose_estimate("mixture").gaussians is model.gaussians

    def test_an_unknown_one_is_refused(self, model):
        with pytest.raises(RequestError, match="use one of mixture, wide, detailed"):
            model.choose_estimate("oracle")


class TestApart:
    def test_kl_is_exact_or_nearly(self, model):
        other = mixture(7)
        exact = model.kl(other)
        assert exact > 0.1
        assert model.kl(model) == pytest.approx(0, abs=1e-12)
        records = model.sample(ROWS, np.random.default_rng(0))
        apart = model.log_density(records, CODES) - other.log_density(records, CODES)
        assert exact == pytest.approx(apart.mean(), abs=0.02 * exact + 5 * apart.std() / math.sqrt(ROWS))

    @pytest.mark.parametrize(
        "wanted", [{"kind": "b"}, {"age": 50}, {"age": (40, 60)}, {"age": (40, 60), "dose": 20.0, "kind": {"a", "b"}}]
    )
    def test_kl_under_a_condition(self, model, wanted):
        other = mixture(7)
        mine, theirs = given(model, **wanted), given(other, **wanted)
        assert mine.kl(mine) == pytest.approx(0, abs=1e-9)
        records = mine.sample(ROWS, np.random.default_rng(0))
        apart = mine.log_density(records, CODES) - theirs.log_density(records, CODES)
        error = 5 * apart.std() / math.sqrt(ROWS)
        assert mine.kl(theirs) == pytest.approx(apart.mean(), abs=0.03 * apart.mean() + error)

    def test_kl_to_what_excludes_records_is_infinite(self, model):
        assert model.kl(given(model, kind="b")) == math.inf
        assert model.kl(given(model, age=(40, 60))) == math.inf
        assert given(model, age=(40, 60)).kl(given(model, age=(50, 60))) == math.inf
        assert given(model, age=50).kl(given(model, age=51)) == math.inf
        assert given(model, age=(50, 60)).kl(given(model, age=(40, 60))) > 0

    def test_kl_of_other_columns_is_refused(self, model):
        scales = {**SCALES, "age": Encoder(Schema.from_yaml(
            "{sfumato: 1, name: t, columns: [{name: age, type: integer, bounds: [0, 120]}]}"
        )).columns["age"]}  # fmt: skip
        for other in (replace(model, scales=scales), replace(model, target=None)):
            with pytest.raises(RequestError, match="same schema"):
                model.kl(other)

    def test_distance(self, model):
        assert model.distance(model) < 1e-7
        assert model.distance(mixture(7)) > 0.2
        assert model.distance(replace(model, size=2000.0)) == pytest.approx(0.5)
        assert model.distance(replace(model, target=None)) == 1

    @pytest.mark.parametrize("part", ["counts", "means", "covs"])
    def test_distance_sees_the_draws(self, model, part):
        draws = replace(model.draws, **{part: getattr(model.draws, part) * 1.5})
        assert model.distance(replace(model, draws=draws)) > 0.05
        fewer = Draws(*(getattr(model.draws, name)[:30] for name in ("counts", "means", "covs")))
        assert model.distance(replace(model, draws=fewer)) == 1

    @pytest.mark.parametrize("action", ACTIONS)
    def test_distance_sees_every_action(self, model, action):
        for part in ("means", "covs"):
            moved = replace(model.actions[action], **{part: getattr(model.actions[action], part) * 1.2})
            assert model.distance(replace(model, actions={**model.actions, action: moved})) > 0.05

    def test_distance_to_a_flat_one_is_no_error(self, model):
        flat = replace(model.actions["wide"], covs=np.full((3, 4, 4), 0.01))
        assert model.distance(replace(model, actions={**model.actions, "wide": flat})) == math.inf
