"""The subspace model: what goes in and comes out, samples, densities, conditions, distances."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import multivariate_normal

from sfumato.bundle import from_arrow_file, from_json, to_arrow_file, to_json
from sfumato.conditions import conditions_of
from sfumato.encoding import Batch, Encoder
from sfumato.errors import RequestError
from sfumato.models.kinds import model_from_parts
from sfumato.models.subspace import CELLS, SubspaceModel
from sfumato.models.subspace_marginals import part_ends
from sfumato.models.subspace_parts import arrays_of
from sfumato.models.subspace_tables import class_means, mean_of, share_deviations
from sfumato.schema import Schema

TARGET = "  - {name: kind, type: category, values: [a, b, c]}\n"
COLUMNS = """
sfumato: 1
name: t
columns:
  - {name: height, type: number, bounds: [0, 100], atoms: [40]}
  - {name: dose, type: number, bounds: [1, 1000], scale: log}
  - {name: age, type: integer, bounds: [0, 99]}
  - {name: visits, type: integer, bounds: [0, 50], scale: log}
  - {name: "x_{0..2}", type: number, bounds: [-1, 1]}
"""
CODES = Encoder(Schema.from_yaml(f"{COLUMNS}{TARGET}target: kind\n")).columns
SCALES = {name: scale for name, scale in CODES.items() if name != "kind"}
UNLABELLED = Encoder(Schema.from_yaml(f"{COLUMNS}target: height\n")).columns
D, R, K = len(SCALES), 3, 3
EVERY = np.arange(D)
ROWS = 100_000


def cells(rng):
    """Random marginals; a cell that no value of a column falls into is empty."""
    filled = [[True, *(np.diff(part_ends(scale)) > 0), True] for scale in SCALES.values()]
    p = rng.dirichlet(np.ones(CELLS), D) * filled
    return p / p.sum(axis=1, keepdims=True)


def make(seed=0, classes=K, marginals=False, residual=1.0, directions=R, codes=CODES):
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.standard_normal((D, directions)))[0]
    spread = rng.uniform(0.1, 0.25, directions)
    halves = rng.standard_normal((classes, directions, 2 * directions)) / math.sqrt(2 * max(directions, 1))
    return SubspaceModel(
        scales={name: codes[name] for name in SCALES},
        target="kind" if classes > 1 else None,
        classes=classes,
        size=1000.0,
        weights=rng.dirichlet(np.full(classes, 8.0)),
        means=rng.uniform(0.4, 0.6, (classes, D)),
        basis=axes * spread,
        whitening=axes / spread,
        centres=0.3 * rng.standard_normal((classes, directions)),
        covs=halves @ halves.transpose(0, 2, 1) + 0.2 * np.eye(directions),
        residual=residual * rng.uniform(0.002, 0.006, D),
        mean_sds=rng.uniform(0.01, 0.02, (classes, D)),
        marginals=cells(rng) if marginals else None,
        count_sd=5.0,
        marginal_sd=0.01 if marginals else 0.0,
    )


@pytest.fixture(params=[False, True], ids=["clipped", "marginals"])
def model(request):
    return make(marginals=request.param)


def given(model, **wanted):
    return model.given_that(conditions_of(wanted, CODES))


def encoded(**columns):
    rows = len(next(iter(columns.values())))
    return Batch(rows, {name: CODES[name].encode(pa.array(values)) for name, values in columns.items()})


def chosen(batch, *names):
    return Batch(batch.rows, {name: batch.codes[name] for name in names})


def places_of(batch, names=tuple(SCALES)):
    return np.array([SCALES[name].places[batch.codes[name]] for name in names]).T


def numbers_of(batch, name, seed=0):
    inside = np.random.default_rng(seed).random(batch.rows)
    return CODES[name].decode(batch.codes[name], inside).to_numpy(zero_copy_only=False)


def dense(model):
    """Means and covariances of the classes, written out."""
    middles = [mean + model.basis @ centre for mean, centre in zip(model.means, model.centres, strict=True)]
    return np.array(middles), [model.basis @ cov @ model.basis.T + np.diag(model.residual) for cov in model.covs]


def log_joint(model, places, columns):
    """Slowly: log of weight times density."""
    middles, covs = dense(model)
    each = [
        multivariate_normal(middle[columns], cov[np.ix_(columns, columns)]).logpdf(places).reshape(len(places))
        for middle, cov in zip(middles, covs, strict=True)
    ]
    return np.log(model.weights) + np.array(each).T


def normalised(joint):
    shares = np.exp(joint - joint.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


class TestParts:
    def through_files(self, model):
        content, table = model.to_parts()
        return from_json(to_json(content), "model.json"), from_arrow_file(to_arrow_file(table), "model.arrow")

    @pytest.mark.parametrize("directions", [R, 0])
    def test_go_out_and_come_back(self, model, directions):
        model = replace(make(1, marginals=model.marginals is not None, directions=directions), settings={"a": 1})
        again = model_from_parts(*self.through_files(model), CODES)
        one, other = arrays_of(model), arrays_of(again)
        assert one.keys() == other.keys()
        assert all(np.array_equal(one[name], other[name]) for name in one)
        for name in ("size", "target", "classes", "columns", "count_sd", "marginal_sd", "settings"):
            assert getattr(again, name) == getattr(model, name)
        assert model.distance(again) < 1e-6

    def test_without_classes(self):
        again = model_from_parts(*self.through_files(make(classes=1)), UNLABELLED)
        assert (again.target, again.classes) == (None, 1)

    def test_what_has_been_asked_stays_out(self, model):
        content, table = given(model, x_1=0.3).to_parts()
        again = SubspaceModel.from_parts(content, table, CODES)
        assert again.given == ()
        assert again.distance(model) < 1e-6

    def test_it_is_small(self, model):
        _, table = model.to_parts()
        assert table.nbytes < 8 * (2 * D * R + K * (1 + 2 * D + R + R * R) + D * (1 + CELLS)) + 400

    @pytest.mark.parametrize(
        "change",
        [
            {"kind": "oracle"},
            {"columns": list(SCALES)[:-1]},
            {"columns": list(SCALES)[::-1]},
            {"target": None},
            {"target": "age"},
            {"target": "nobody"},
            {"classes": 2},
            {"classes": 0},
            {"directions": 2},
            {"directions": -3},
            {"size": 0},
            {"size": float("nan")},
            {"size": 2.0**60},
            {"count_sd": -1.0},
            {"marginal_sd": float("inf")},
            {"extra": 1},
        ],
        ids=str,
    )
    def test_unsound_content_is_refused(self, model, change):
        content, table = model.to_parts()
        with pytest.raises((ValueError, LookupError)):
            SubspaceModel.from_parts({**content, **change}, table, CODES)

    @pytest.mark.parametrize(
        ("part", "place", "value"),
        [
            ("weights", 0, 0.9),
            ("weights", 0, 0.0),
            ("weights", 0, math.nan),
            ("means", 5, math.inf),
            ("basis", 0, math.nan),
            ("whitening", 0, None),
            ("centres", 0, -math.inf),
            ("covs", 0, -0.1),
            ("covs", 1, 0.7),
            ("residual", 3, 0.0),
            ("residual", 3, -1e-3),
            ("mean_sds", 2, -1e-3),
            ("mean_sds", 2, math.nan),
            ("marginals", 2, 0.9),
            ("marginals", 2, -0.1),
        ],
    )
    def test_unsound_arrays_are_refused(self, part, place, value):
        content, table = make(marginals=True).to_parts()
        rows = {row["part"]: row["values"] for row in table.to_pylist()}
        rows[part][place] = value
        changed = pa.table({"part": list(rows), "values": pa.array(list(rows.values()), pa.list_(pa.float64()))})
        with pytest.raises(ValueError, match=r"must|whole"):
            SubspaceModel.from_parts(content, changed, CODES)

    def test_tables_of_another_shape_are_refused(self, model):
        content, table = model.to_parts()
        single = table.set_column(1, "values", table.column("values").cast(pa.list_(pa.float32())))
        nulls = table.set_column(1, "values", pa.nulls(len(table), pa.list_(pa.float64())))
        twice = pa.concat_tables([table, table.slice(0, 1)])
        shorter = (table.slice(0, len(table) - 2), table.slice(1), table.slice(0, 0), table.drop(["values"]))
        for other in (*shorter, twice, single, nulls, table.append_column("x", pa.nulls(len(table)))):
            with pytest.raises((ValueError, LookupError)):
                SubspaceModel.from_parts(content, other, CODES)

    def test_unsound_models_are_refused(self, model):
        missing = Encoder(Schema.from_yaml(COLUMNS.replace("atoms: [40]", "missing: true"))).columns
        with pytest.raises(ValueError, match="missing"):
            replace(model, scales={name: missing[name] for name in SCALES})
        with pytest.raises(ValueError, match="one class"):
            replace(model, target=None)
        with pytest.raises(ValueError, match="one class"):
            replace(model, target="age")
        with pytest.raises(ValueError, match="shape"):
            replace(model, basis=model.basis[:, :2])
        with pytest.raises(ValueError, match="shape"):
            replace(model, basis=model.basis[:, 0])
        with pytest.raises(ValueError, match="shape"):
            replace(model, means=model.means.astype(np.float32))


class TestSample:
    def test_stays_within_the_codes(self, model):
        batch = model.sample(20_000, np.random.default_rng(0))
        assert list(batch.codes) == [*SCALES, "kind"]
        for name, codes in batch.codes.items():
            assert codes.dtype == np.int32
            assert codes.min() >= 0
            assert codes.max() < CODES[name].size

    def test_has_the_moments_of_the_law(self):
        model = make(residual=0.3)
        batch = model.sample(ROWS, np.random.default_rng(0))
        middles, covs = dense(model)
        mean = model.weights @ middles
        away = middles - mean
        cov = np.einsum("k,kij->ij", model.weights, covs) + (model.weights[:, None] * away).T @ away
        places = places_of(batch)
        assert np.allclose(places.mean(axis=0), mean, atol=0.005)
        assert np.allclose(np.cov(places.T), cov, atol=0.05 * cov.diagonal().max())

    def test_the_label_is_the_likeliest_class_of_what_was_drawn(self, model):
        batch = model.sample(5_000, np.random.default_rng(0))
        places = places_of(batch)
        slowly = [
            math.log(weight) + multivariate_normal(centre, cov).logpdf((places - mean) @ model.whitening)
            for weight, mean, centre, cov in zip(model.weights, model.means, model.centres, model.covs, strict=True)
        ]
        assert np.array_equal(batch.codes["kind"], np.argmax(slowly, axis=0))
        told = model.told(batch, "kind", CODES["kind"])
        assert np.allclose(told, normalised(np.array(slowly).T))
        assert np.array_equal(told.argmax(axis=1), batch.codes["kind"])

    def test_every_column_has_its_marginal(self):
        model = make(marginals=True)
        batch = model.sample(ROWS, np.random.default_rng(0))
        for p, (name, scale) in zip(model.marginals, SCALES.items(), strict=True):
            codes = batch.codes[name]
            low, high = scale.codes_at(np.array([0.0, 1.0]))
            cell = 1 + np.clip(scale.places[codes] * (CELLS - 2), 0, CELLS - 3).astype(int)
            cell[codes == low], cell[codes == high] = 0, CELLS - 1
            assert np.allclose(np.bincount(cell, minlength=CELLS) / ROWS, p, atol=0.01)

    def test_marginals_keep_the_order_of_a_column(self):
        """One draw with and without marginals: no two records change places."""
        model = make(marginals=True, residual=1e-9)
        plain = replace(model, marginals=None, residual=np.full(D, 1e-18))
        bent, straight = (one.sample(3_000, np.random.default_rng(4)) for one in (model, plain))
        for name in ("height", "x_0", "x_1"):
            order = np.argsort(places_of(straight, [name])[:, 0], kind="stable")
            assert (np.diff(places_of(bent, [name])[order, 0]) >= -1e-5).all()  # but for steps

    def test_marginals_take_the_place_of_the_residual(self):
        """Two columns along one direction stay in step, however large the residual is."""
        model = make(classes=1, marginals=True, directions=1, residual=10.0, codes=UNLABELLED)
        places = places_of(model.sample(2_000, np.random.default_rng(0)))
        sign = np.sign(model.basis[4, 0] * model.basis[5, 0])
        ranks = np.argsort(np.argsort(places[:, [4, 5]] + 1e-9 * np.arange(2_000)[:, None], axis=0), axis=0)
        assert sign * np.corrcoef(ranks.T)[0, 1] > 0.8

    def test_a_column_outside_the_subspace_is_drawn_with_its_residual(self):
        model = make(marginals=True)
        basis = model.basis.copy()
        basis[4] = 0
        batch = replace(model, basis=basis).sample(20_000, np.random.default_rng(0))
        place = places_of(batch, ["x_0"])[:, 0]
        ends = np.linspace(0, 1, CELLS - 1)
        below = np.array([(place <= end).mean() for end in ends[:-1]])
        assert np.allclose(below, np.cumsum(model.marginals[4])[:-2], atol=0.02)

    def test_classes_are_in_proportion_before_they_are_told(self):
        far = replace(make(residual=1e-3), covs=np.tile(1e-3 * np.eye(R), (K, 1, 1)))
        share = np.bincount(far.sample(ROWS, np.random.default_rng(0)).codes["kind"], minlength=K) / ROWS
        assert np.allclose(share, far.weights, atol=0.01)

    @pytest.mark.parametrize("rows", [0, 1])
    def test_few_rows(self, model, rows):
        batch = model.sample(rows, np.random.default_rng(0))
        assert {len(codes) for codes in batch.codes.values()} == {rows}

    def test_in_parts_as_in_one(self, model, monkeypatch):
        batch = model.sample(300, np.random.default_rng(0))
        told, density = model.told(batch, "kind", CODES["kind"]), model.log_density(batch, CODES)
        monkeypatch.setattr("sfumato.models.subspace._NUMBERS_AT_ONCE", 50 * D)
        assert np.allclose(model.told(batch, "kind", CODES["kind"]), told)
        assert np.allclose(model.log_density(batch, CODES), density)
        assert model.sample(120, np.random.default_rng(0)).codes["age"].shape == (120,)

    def test_without_directions(self):
        model = make(directions=0)
        batch = model.sample(200, np.random.default_rng(0))
        assert (batch.codes["kind"] == model.weights.argmax()).all()
        assert np.isfinite(model.log_density(batch, CODES)).all()
        assert make(directions=0, marginals=True).sample(200, np.random.default_rng(0)).rows == 200


def spread(name, count=20_001):
    """Values of a number column, and how much of the column each stands for."""
    ends = SCALES[name].number_at(np.linspace(0, 1, count + 1))
    return (ends[1:] + ends[:-1]) / 2, np.diff(ends)


class TestDensity:
    @pytest.mark.parametrize("name", ["height", "dose", "age", "visits", "x_1"])
    def test_adds_up_to_1_in_one_column(self, model, name):
        """But for what lies beyond the bounds, or on them where the bounds have a probability of their own."""
        scale, j = SCALES[name], list(SCALES).index(name)
        if scale.whole:
            total = np.exp(model.log_density(encoded(**{name: np.arange(scale.high + 1)}), CODES)).sum()
            bounds = 0.0
        else:
            values, widths = spread(name)
            total = np.exp(model.log_density(encoded(**{name: values}), CODES)) @ widths
            bounds = np.exp(model.log_density(encoded(**{name: [scale.low, scale.high]}), CODES)).sum()
        if model.marginals is None:
            middles, covs = dense(model)
            ends = [
                weight * np.diff(multivariate_normal(middle[j], cov[j, j]).cdf([0.0, 1.0]))
                for weight, middle, cov in zip(model.weights, middles, covs, strict=True)
            ]
            assert total == pytest.approx(np.sum(ends), abs=6e-3)  # a step counts with its middle
        else:
            assert total + bounds == pytest.approx(1, abs=2e-3)
            p = model.marginals[j]
            first = np.exp(model.log_density(encoded(**{name: [scale.low, scale.high]}), CODES))
            assert first == pytest.approx(p[[0, -1]])

    def test_is_that_of_the_full_matrices(self):
        model = make()
        batch = model.sample(50, np.random.default_rng(1))
        for names in (tuple(SCALES), ("x_1", "height", "visits"), ("age",)):
            ordered = [name for name in SCALES if name in names]
            columns = np.array([list(SCALES).index(name) for name in ordered])
            joint = log_joint(model, places_of(batch, ordered), columns)
            slopes = sum(np.log(SCALES[name].slope(batch.codes[name])) for name in ordered)
            found = model.log_density(chosen(batch, *names), CODES)
            assert np.allclose(found, np.log(np.exp(joint).sum(axis=1)) + slopes)
            known = model.log_density(chosen(batch, *names, "kind"), CODES)
            assert np.allclose(known, joint[np.arange(50), batch.codes["kind"]] + slopes)

    def test_of_two_columns_adds_up(self):
        model = make(marginals=True)
        marginals = model.marginals.copy()
        marginals[:, [0, -1]] = 0  # all of it between the bounds
        model = replace(model, marginals=marginals / marginals.sum(axis=1, keepdims=True))
        side = 300
        values = -1 + (np.arange(side) + 0.5) * 2 / side
        x, y = (grid.ravel() for grid in np.meshgrid(values, values))
        total = np.exp(model.log_density(encoded(x_0=x, x_2=y), CODES)).sum() * (2 / side) ** 2
        assert total == pytest.approx(1, abs=0.01)

    def test_of_two_columns_is_that_of_a_sample(self):
        """With almost no residual, what is drawn has the density that is told; atoms included."""
        model = make(marginals=True, residual=1e-6, directions=5)
        batch = model.sample(ROWS, np.random.default_rng(0))
        x, y = (numbers_of(batch, name) for name in ("x_0", "x_2"))
        ends = np.linspace(-1, 1, 9)
        fine = np.linspace(-1, 1, 161)
        middles = (fine[1:] + fine[:-1]) / 2
        a, b = (grid.ravel() for grid in np.meshgrid(middles, middles, indexing="ij"))
        density = np.exp(model.log_density(encoded(x_0=a, x_2=b), CODES)).reshape(160, 160) * (2 / 160) ** 2
        told = density.reshape(8, 20, 8, 20).sum(axis=(1, 3))
        seen = np.histogram2d(x[(np.abs(x) < 1) & (np.abs(y) < 1)], y[(np.abs(x) < 1) & (np.abs(y) < 1)], [ends, ends])
        assert np.allclose(seen[0] / ROWS, told, atol=0.006)
        assert told.sum() == pytest.approx(((np.abs(x) < 1) & (np.abs(y) < 1)).mean(), abs=0.01)

    def test_a_value_in_an_empty_cell_is_excluded(self):
        model = make(marginals=True)
        marginals = model.marginals.copy()
        marginals[4] = [0.5, 0.5, 0, 0, 0, 0, 0, 0, 0, 0]
        model = replace(model, marginals=marginals)
        density = model.log_density(encoded(x_0=[-1.0, -0.9, 0.5, 1.0], height=[50.0] * 4), CODES)
        assert np.isfinite(density).tolist() == [True, True, False, False]
        with pytest.raises(RequestError, match="no probability"):
            given(model, x_0=0.5)

    def test_of_nobody(self, model):
        nobody = Batch(0, {name: np.empty(0, np.int32) for name in CODES})
        assert model.log_density(nobody, CODES).shape == (0,)
        assert model.told(nobody, "kind", CODES["kind"]).shape == (0, K)
        assert model.told(nobody, "age", CODES["age"]).shape == (0,)


class TestTold:
    def test_some_columns_by_bayes_rule(self, model):
        batch = model.sample(50, np.random.default_rng(3))
        names = ["dose", "visits", "x_2"]
        joint = log_joint(model, places_of(batch, names), np.array([1, 3, 6]))
        assert np.allclose(model.told(chosen(batch, *names), "kind", CODES["kind"]), normalised(joint))
        nothing = Batch(2, {"kind": np.zeros(2, np.int32)})
        assert np.allclose(model.told(nothing, "kind", CODES["kind"]), model.weights)

    def test_classes_that_are_left(self, model):
        batch = model.sample(50, np.random.default_rng(3))
        for known in (batch, chosen(batch, "age", "x_0")):
            told = model.told(known, "kind", CODES["kind"])
            told[:, 1] = 0
            left = given(model, kind=["a", "c"]).told(known, "kind", CODES["kind"])
            assert np.allclose(left, told / told.sum(axis=1, keepdims=True))

    def test_a_given_value_is_a_known_column(self, model):
        batch = model.sample(50, np.random.default_rng(3))
        whole = {name: codes for name, codes in batch.codes.items() if name != "kind"}
        fixed = {**whole, "age": np.full(50, 40, np.int32)}
        rest = Batch(50, {name: codes for name, codes in whole.items() if name != "age"})
        asked = given(model, age=40)
        told = model.told(Batch(50, fixed), "kind", CODES["kind"])
        assert np.allclose(asked.told(rest, "kind", CODES["kind"]), told)
        assert np.allclose(asked.told(Batch(50, whole), "kind", CODES["kind"]), told)

    def test_a_number_by_regression(self):
        """Against the Schur complement of the full matrix; far from the bounds nothing is clipped."""
        model = make(classes=1, codes=UNLABELLED)
        (middle,), (cov,) = dense(model)
        batch = model.sample(20, np.random.default_rng(0))
        known = EVERY[1:]
        slope = np.linalg.solve(cov[np.ix_(known, known)], cov[known, 0])
        means = middle[0] + (places_of(batch)[:, 1:] - middle[1:]) @ slope
        assert np.allclose(model.told(batch, "height", UNLABELLED["height"]), 100 * means, atol=0.05)

    @pytest.mark.parametrize("marginals", [False, True])
    @pytest.mark.parametrize("name", ["height", "dose", "age"])
    def test_the_mean_of_a_number_is_that_of_near_records(self, marginals, name):
        model = make(classes=1, codes=UNLABELLED, marginals=marginals, residual=1e-4)
        batch = model.sample(2 * ROWS, np.random.default_rng(0))
        values, x = numbers_of(batch, name), numbers_of(batch, "x_1")
        near = values[np.abs(x - 0.1) < 0.02]
        told = model.told(encoded(x_1=[0.1]), name, UNLABELLED[name])[0]
        assert told == pytest.approx(near.mean(), abs=5 * near.std() / math.sqrt(len(near)) + 0.03 * near.std())

    def test_a_number_where_the_class_is_known(self, model):
        for c, label in enumerate("abc"):
            alone = given(model, kind=label).told(encoded(x_1=[0.1]), "age", CODES["age"])
            known = model.told(encoded(x_1=[0.1], kind=[label]), "age", CODES["age"])
            assert known == pytest.approx(alone)
            other = given(model, kind="abc"[(c + 1) % 3])
            assert np.isfinite(other.told(encoded(x_1=[0.1], kind=[label]), "age", CODES["age"])).all()

    def test_a_number_that_was_given(self, model):
        assert given(model, age=40).told(encoded(x_1=[0.1]), "age", CODES["age"]) == pytest.approx([40])


class TestConditions:
    def test_values_are_exact(self, model):
        """Against the density: p(rest | values) = p(rest, values) / p(values)."""
        wanted = {"age": 50, "x_1": 0.25}
        conditioned = given(model, **wanted)
        rest = {"height": [43.0, 50.0], "dose": [5.0, 30.0], "kind": ["a", "b"]}
        values = {name: [value, value] for name, value in wanted.items()}
        joint = model.log_density(encoded(**rest, **values), CODES)
        alone = model.log_density(encoded(**values), CODES)
        assert np.allclose(conditioned.log_density(encoded(**rest), CODES), joint - alone)
        certain = conditioned.log_density(encoded(**rest, age=[50, 51]), CODES)
        assert certain == pytest.approx([joint[0] - alone[0], -np.inf])
        share = np.exp(model.log_density(encoded(age=[50] * 3, x_1=[0.25] * 3, kind=["a", "b", "c"]), CODES) - alone[0])
        assert np.allclose(conditioned.class_shares, share)

    def test_values_hold_in_a_sample(self, model):
        batch = given(model, age=50, x_1=0.25, height=100.0).sample(200, np.random.default_rng(0))
        for name, value in (("age", 50), ("x_1", 0.25), ("height", 100.0)):
            assert set(batch.codes[name]) == {CODES[name].code_of(value)}
        assert len(set(batch.codes["x_0"])) > 50

    @pytest.mark.parametrize("marginals", [False, True])
    def test_a_value_leaves_what_it_leaves_of_a_sample(self, marginals):
        model = make(marginals=marginals, residual=1e-3)
        batch = model.sample(3 * ROWS, np.random.default_rng(0))
        near = np.abs(numbers_of(batch, "x_1") - 0.1) < 0.01
        drawn = given(model, x_1=0.1).sample(ROWS, np.random.default_rng(1))
        for name in ("height", "age", "x_2"):
            left, found = numbers_of(batch, name)[near], numbers_of(drawn, name)
            error = left.std() / math.sqrt(len(left))
            assert found.mean() == pytest.approx(left.mean(), abs=6 * error + 0.02 * left.std())
            assert found.std() == pytest.approx(left.std(), rel=0.03 + 4 / math.sqrt(len(left)))
            assert given(model, x_1=0.1).mean(name) == pytest.approx(left.mean(), abs=6 * error + 0.02 * left.std())

    def test_classes(self, model):
        conditioned = given(model, kind={"a", "c"})
        share = model.weights[[0, 2]].sum()
        assert conditioned.size == pytest.approx(1000 * share)
        assert np.allclose(conditioned.class_shares, model.weights * [1, 0, 1] / share)
        assert set(conditioned.sample(500, np.random.default_rng(0)).codes["kind"]) <= {0, 2}
        known = encoded(age=[30, 30], kind=["a", "b"])
        density = conditioned.log_density(known, CODES)
        assert density == pytest.approx([model.log_density(known, CODES)[0] - math.log(share), -np.inf])

    def test_a_value_leaves_the_size(self, model):
        assert given(model, age=50).size == 1000
        assert given(model, age=50, kind="b").size == pytest.approx(1000 * model.weights[1])

    def test_nothing_asked_is_the_same(self, model):
        assert model.given_that(()).distance(model) < 1e-6

    def test_the_order_does_not_matter(self, model):
        wanted = {"kind": {"a", "b"}, "age": 40, "dose": 20.0, "x_0": -1.0}
        together = given(model, **wanted)
        for names in itertools.permutations(wanted):
            conditioned = model
            for name in names:
                conditioned = given(conditioned, **{name: wanted[name]})
            assert conditioned.size == pytest.approx(together.size)
            assert np.allclose(conditioned.class_shares, together.class_shares)
            assert conditioned.mean("height") == pytest.approx(together.mean("height"))

    def test_a_range_of_one_value_is_the_value(self, model):
        assert given(model, height=(40.0, 40.0)).mean("x_0") == given(model, height=40.0).mean("x_0")

    @pytest.mark.parametrize("wanted", [(30, 40), (None, 40), {30, 31}], ids=str)
    def test_ranges_and_several_values_are_refused(self, model, wanted):
        with pytest.raises(RequestError, match=r"column 'age'.*sample, and keep the rows"):
            given(model, age=wanted)

    @pytest.mark.parametrize("wanted", [({"age": 30}, {"age": 31}), ({"kind": "a"}, {"kind": "b"})])
    def test_an_impossible_condition_is_refused(self, model, wanted):
        with pytest.raises(RequestError, match="no probability"):
            given(given(model, **wanted[0]), **wanted[1])

    def test_all_columns_may_be_given(self, model):
        wanted = {"height": 50.0, "dose": 30.0, "age": 50, "visits": 7, "x_0": 0.1, "x_1": 0.0, "x_2": 0.0}
        batch = given(model, **wanted).sample(5, np.random.default_rng(0))
        assert all(set(batch.codes[name]) == {CODES[name].code_of(value)} for name, value in wanted.items())


class TestAsked:
    @pytest.mark.parametrize("name", SCALES)
    def test_cdf_and_quantile_are_those_of_a_large_sample(self, model, name):
        for asked in (model, given(model, kind=["a", "b"], **({} if name == "x_1" else {"x_1": 0.2}))):
            values = numbers_of(asked.sample(ROWS, np.random.default_rng(0)), name)
            shares = np.array([0.02, 0.3, 0.5, 0.9])
            found = asked.quantile(name, shares, CODES[name])
            up_to = asked.cdf(name, found, CODES[name])
            assert np.allclose(up_to, [(values <= value + 1e-5).mean() for value in found], atol=0.012)
            assert (up_to >= shares - 1e-9).all()
            if SCALES[name].whole:
                assert (asked.cdf(name, found - 1, CODES[name]) < shares + 1e-9).all()

    @pytest.mark.parametrize("name", SCALES)
    def test_cdf_ends_at_the_bounds(self, model, name):
        scale = SCALES[name]
        beyond = np.array([-np.inf, scale.low - 1e-9, scale.high, scale.high + 1, np.inf])
        assert model.cdf(name, beyond, scale).tolist() == [0, 0, 1, 1, 1]
        assert model.quantile(name, np.array([0.0, 1.0]), scale) == pytest.approx([scale.low, scale.high])

    def test_whole_numbers_of_a_marginal_are_counted_one_by_one(self):
        model = make(marginals=True)
        p, scale = model.marginals[2], SCALES["age"]
        at_low, before_high = model.cdf("age", np.array([0.0, 98.0]), scale)
        assert (at_low, before_high) == pytest.approx((p[0], 1 - p[-1]))
        assert model.quantile("age", np.array([p[0] - 1e-9, p[0] + 1e-9]), scale).tolist() == [0, 1]

    def test_a_given_value_is_a_step(self, model):
        asked = given(model, age=40)
        assert asked.cdf("age", np.array([39.0, 40.0]), CODES["age"]).tolist() == [0, 1]
        assert asked.quantile("age", np.array([0.1, 0.9]), CODES["age"]).tolist() == [40, 40]
        assert mean_of(asked, "age") == pytest.approx((40, 40, 40))
        asked = given(model, x_1=0.2)
        assert asked.cdf("x_1", np.array([0.2 - 1e-9, 0.2]), CODES["x_1"]) == pytest.approx([0, 1])
        assert asked.quantile("x_1", np.array([0.1, 0.9]), CODES["x_1"]) == pytest.approx([0.2, 0.2])

    @pytest.mark.parametrize("name", ["height", "dose", "age", "x_0"])
    def test_means_are_those_of_a_large_sample(self, model, name):
        for asked in (model, given(model, x_1=0.2)):
            values = numbers_of(asked.sample(ROWS, np.random.default_rng(0)), name)
            mean, low, high = mean_of(asked, name)
            assert low < mean < high
            assert mean == asked.mean(name)
            assert mean == pytest.approx(values.mean(), abs=5 * values.std() / math.sqrt(ROWS) + 0.005 * values.std())

    @pytest.mark.parametrize("name", CODES)
    def test_marginals_add_up_and_hold_their_bands(self, model, name):
        for asked in (model, given(model, x_1=0.2)):
            table = asked.described(name, CODES[name]).to_pandas()
            assert table["probability"].sum() == pytest.approx(1)
            assert ((table["low"] <= table["probability"]) & (table["probability"] <= table["high"])).all()
            assert table["low"].min() >= 0
            assert table["high"].max() <= 1
            if name == "kind":
                assert np.allclose(table["probability"], asked.class_shares)
            else:
                up_to = asked.cdf(name, table["last"].to_numpy(dtype=float), CODES[name])
                assert np.allclose(np.cumsum(table["probability"]), up_to, atol=1e-3)
            if name != "x_1":
                assert (table["low"] < table["high"]).any()

    def test_the_band_is_that_of_moved_means(self):
        """Against draws of the noise."""
        model = make()
        table = model.described("height", CODES["height"]).to_pandas()
        rng = np.random.default_rng(0)
        others = [
            replace(model, means=model.means + model.mean_sds * rng.standard_normal((K, D)))
            .described("height", CODES["height"])
            .column("probability")
            .to_numpy()
            for _ in range(300)
        ]
        spread = np.std(others, axis=0)
        many = table["probability"].to_numpy() > 0.02
        assert np.allclose((table["high"] - table["probability"])[many], 1.96 * spread[many], rtol=0.3, atol=5e-4)

    def test_the_band_of_a_mean_is_that_of_moved_means(self):
        model = make()
        rng = np.random.default_rng(0)
        others = [
            replace(model, means=model.means + model.mean_sds * rng.standard_normal((K, D))).mean("height")
            for _ in range(300)
        ]
        _, low, high = mean_of(model, "height")
        assert (high - low) / 2 == pytest.approx(1.96 * np.std(others), rel=0.15)

    def test_deviations_of_shares_are_those_of_noisy_counts(self):
        counts, height = np.array([200.0, 500.0, 300.0]), np.array([1.0, 0.2, 2.0])
        noisy = (counts + 5 * np.random.default_rng(0).standard_normal((100_000, 3))) * height
        shares = counts * height / (counts @ height)
        slowly = (noisy / noisy.sum(axis=1, keepdims=True)).std(axis=0)
        assert np.allclose(share_deviations(shares, counts, 5.0), slowly, rtol=0.02)

    def test_dependence_is_that_of_the_full_matrix(self, model):
        middles, covs = dense(model)
        away = middles - model.weights @ middles
        between = (model.weights[:, None] * away).T @ away
        cov = np.einsum("k,kij->ij", model.weights, covs) + between
        assert model.dependence("age", "x_1") == pytest.approx(abs(cov[2, 5]) / math.sqrt(cov[2, 2] * cov[5, 5]))
        assert model.dependence("kind", "age") == pytest.approx(math.sqrt(between[2, 2] / cov[2, 2]))
        assert model.dependence("age", "kind") == model.dependence("kind", "age")
        assert model.dependence("age", "age") == model.dependence("kind", "kind") == 1
        assert given(model, age=40).dependence("age", "x_1") == 0

    def test_class_means_are_in_the_units_of_the_columns(self, model):
        table = class_means(model, pa.array(["a", "b", "c"]), 0.9)
        rows = {(row["class"], row["column"]): row for row in table.to_pylist()}
        assert len(rows) == K * D
        middles, _ = dense(model)
        assert rows["b", "height"]["estimate"] == pytest.approx(100 * middles[1, 0])
        assert rows["b", "age"]["estimate"] == pytest.approx(100 * middles[1, 2] - 0.5)
        assert rows["c", "dose"]["estimate"] == pytest.approx(math.log(1000) * middles[2, 1])
        assert rows["a", "x_2"]["high"] - rows["a", "x_2"]["estimate"] == pytest.approx(
            1.6449 * 2 * model.mean_sds[0, 6], rel=1e-4
        )
        with pytest.raises(RequestError, match="without a condition"):
            class_means(given(model, kind="a"), pa.array(["a", "b", "c"]), 0.9)


class TestDistance:
    def turned(self, model, seed=7):
        """The same law with the directions of the subspace turned, one of them the other way round."""
        turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((R, R)))[0] * [1, -1, 1]
        return replace(
            model,
            basis=model.basis @ turn,
            whitening=model.whitening @ turn,
            centres=model.centres @ turn,
            covs=turn.T @ model.covs @ turn,
        )

    def test_of_turned_directions_is_nothing(self, model):
        assert model.distance(self.turned(model)) < 1e-5

    def test_of_other_last_digits_is_nothing(self, model):
        rng = np.random.default_rng(0)
        shaken = {
            name: array * (1 + 1e-12 * rng.standard_normal(array.shape)) for name, array in arrays_of(model).items()
        }
        shaken["weights"] /= shaken["weights"].sum()
        shaken["covs"] = (shaken["covs"] + shaken["covs"].transpose(0, 2, 1)) / 2
        assert model.distance(replace(model, **shaken)) < 1e-4

    @pytest.mark.parametrize(
        "name", ["means", "basis", "whitening", "centres", "covs", "residual", "mean_sds", "size", "count_sd"]
    )
    def test_of_anything_else_is_seen(self, model, name):
        part = getattr(model, name)
        moved = np.array(part, dtype=np.float64)
        moved.ravel()[0] += 0.2 * np.abs(moved).max()
        other = replace(model, **{name: moved if moved.ndim else float(moved)})
        assert model.distance(other) > 0.02

    def test_of_weights_and_marginals_is_seen(self):
        model = make(marginals=True)
        assert model.distance(replace(model, weights=model.weights[[1, 2, 0]])) > 0.02
        assert model.distance(replace(model, marginals=model.marginals[:, ::-1])) > 0.02
        assert model.distance(replace(model, marginal_sd=0.02)) > 0.02

    def test_of_another_form_is_1(self, model):
        others = [
            make(classes=1, marginals=model.marginals is not None),
            make(directions=2, marginals=model.marginals is not None),
            make(marginals=model.marginals is None),
            replace(model, scales=dict(reversed(model.scales.items()))),
            replace(model, target="other"),
        ]
        assert [model.distance(other) for other in others] == [1.0] * 5
