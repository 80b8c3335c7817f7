"""Classes of pictures told by their edges: the formulas, and a whole release of small pictures."""

import dataclasses
import json

import numpy as np
import pyarrow as pa
import pytest
from scipy.linalg import eigh

import sfumato
from sfumato.encoding import Encoder
from sfumato.mechanisms.subspace import plan_subspace
from sfumato.mechanisms.subspace.labeller import parting_directions, whitened
from sfumato.models.picture_labeller import PictureLabeller
from sfumato.models.subspace import SubspaceModel
from sfumato.models.subspace_maths import log_normals
from sfumato.privacy.accounting import Budget
from sfumato.privacy.adjacency import Adjacency
from sfumato.statistics import Oriented
from sfumato.statistics.pictures import Pictures
from sfumato.verification import verify

SIDE = 8
NAMES = [f"p_{j}" for j in range(SIDE * SIDE)]
LABELS = ["bar", "line", "slope"]


def schema(image: bool = True, target: bool = True) -> sfumato.Schema:
    run = {"name": f"p_{{0..{SIDE * SIDE - 1}}}", "type": "integer", "bounds": [0, 255]}
    kind = [{"name": "kind", "type": "category", "values": LABELS}] if target else []
    columns = [run | ({"image": [SIDE, SIDE]} if image else {}), *kind]
    content = {"sfumato": 1, "name": "shapes", "columns": columns} | ({"target": "kind"} if target else {})
    return sfumato.Schema.from_content(content)


def pictures(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Strokes that about stand, lie or slope, anywhere, light on dark or dark on light."""
    rng = np.random.default_rng(seed)
    kind, place = rng.integers(0, 3, rows), rng.uniform(1, 6, (2, rows))
    angle = np.array([0.0, np.pi / 2, np.pi / 4])[kind] + 0.15 * rng.standard_normal(rows)
    down, across = (axis[:, :, None] for axis in np.mgrid[0:SIDE, 0:SIDE])
    far = np.cos(angle) * (across - place[0]) + np.sin(angle) * (down - place[1])
    ink = np.moveaxis(np.exp(-(far**2)), 2, 0)
    ink = np.where(rng.random((rows, 1, 1)) < 0.5, ink, 1 - ink)
    ink += 0.2 * rng.standard_normal(ink.shape)
    return np.rint(255 * np.clip(ink, 0, 1)).astype(np.uint8).reshape(rows, -1), kind


def table(rows: int, seed: int = 0) -> pa.Table:
    x, kind = pictures(rows, seed)
    return pa.table({**{name: x[:, j] for j, name in enumerate(NAMES)}, "kind": np.array(LABELS)[kind]})


def released(data: pa.Table, which: sfumato.Schema | None = None, **more) -> sfumato.Release:
    asked = {"epsilon": 1.0, "delta": 1e-5, "mechanism": "subspace", "ledger": None, "seed": 1, **more}
    return sfumato.release(data, which or schema(), **asked)


@pytest.fixture(scope="module")
def release() -> sfumato.Release:
    return released(table(2_000))


def accuracy(made: sfumato.Release) -> float:
    x, kind = pictures(2_000, seed=9)
    told = made.predict_proba(pa.table({name: x[:, j] for j, name in enumerate(NAMES)}))
    return float((told.argmax(axis=1) == kind).mean())


def test_edges_tell_what_pixels_do_not(release):
    """Strokes anywhere, light or dark, have hardly a mean; their edges do."""
    plain = released(table(2_000), schema(image=False))
    assert len(plain.measurements) == 9
    assert plain.fitted.labeller is None
    assert accuracy(release) > 0.94
    assert accuracy(release) > accuracy(plain) + 0.03


def test_the_whole_budget_is_asked_and_no_more(release):
    assert len(release.measurements) == 15
    spent = sum(one.mu**2 for one in release.measurements)
    assert spent == pytest.approx(Budget(1.0, 1e-5).mu ** 2, rel=1e-6)
    assert spent <= Budget(1.0, 1e-5).mu ** 2
    assert [isinstance(one.statistic.view.places, Oriented) for one in release.measurements[9:]] == [True] * 6
    assert [one.what for one in verify(release) if not one.holds] == ["noise from a cryptographic source"]


def test_without_classes_there_is_nothing_to_tell():
    assert plan_subspace(schema(target=False), Budget(1.0, 1e-5), Adjacency.ADD_REMOVE).edges is None
    made = released(table(500).drop_columns("kind"), schema(target=False))
    assert made.fitted.labeller is None


def test_what_is_missing_or_drawn_is_told_by_the_gaussians(release):
    rows = table(200, seed=3)
    whole = release.predict_proba(rows.drop_columns("kind"))
    without = release.predict_proba(rows.drop_columns(["kind", "p_0"]))
    assert np.allclose(without.sum(axis=1), 1)
    assert not np.allclose(whole, without)
    drawn = release.sample(500, seed=4, frame="arrow")
    codes = Encoder(release.schema).encode(drawn.combine_chunks().to_batches()[0], NAMES)
    label = release.fitted._drawn_probabilities(codes).argmax(axis=1)
    assert [LABELS[one] for one in label] == drawn.column("kind").to_pylist()


def test_conditions_rule_out_classes(release):
    told = release.condition({"kind": ["bar", "line"]}).predict_proba(table(50, seed=5).drop_columns("kind"))
    assert np.allclose(told[:, 2], 0)
    assert np.allclose(told.sum(axis=1), 1)


def test_any_cut_gives_the_same_answers_to_the_last_bit():
    rows = table(900)
    whole = released(rows)
    parts = pa.concat_tables([rows.slice(600, 300), rows.slice(0, 1), rows.slice(1, 599)])
    for one, other in zip(whole.measurements, released(parts).measurements, strict=True):
        assert one.statistic.to_content() == other.statistic.to_content()
        assert np.array_equal(one.values, other.values)


@pytest.mark.parametrize(("adjacency", "rows", "epsilon"), [*zip(Adjacency, (0, 3, 3), (0.05, 0.05, 8.0), strict=True)])
def test_few_rows_and_blank_pictures_are_released(adjacency, rows, epsilon):
    blank = pa.table({**{name: np.zeros(rows, dtype=np.uint8) for name in NAMES}, "kind": ["bar"] * rows})
    made = released(blank, epsilon=epsilon, adjacency=adjacency)
    assert len(made.measurements) == 15
    assert [one.what for one in verify(made) if not one.holds] == ["noise from a cryptographic source"]
    told = made.predict_proba(made.sample(20, seed=0, frame="arrow").drop_columns("kind"))
    assert np.allclose(told.sum(axis=1), 1)


def test_another_processor_finds_the_same_model(release, monkeypatch):
    """Eigenvectors worked out in another order of the columns differ in their last digits."""
    plain = np.linalg.eigh

    def turned(matrix):
        order = np.random.default_rng(0).permutation(matrix.shape[-1])
        values, vectors = plain(matrix[..., order, :][..., order])
        back = np.empty_like(vectors)
        back[..., order, :] = vectors
        return values, -back

    monkeypatch.setattr(np.linalg, "eigh", turned)
    assert [one.what for one in verify(release) if not one.holds] == ["noise from a cryptographic source"]


def test_a_bundle_keeps_it(release, tmp_path):
    release.save(tmp_path / "b.sfumato")
    again = sfumato.open(tmp_path / "b.sfumato")
    rows = table(100, seed=6).drop_columns("kind")
    assert np.array_equal(again.predict_proba(rows), release.predict_proba(rows))
    assert again.fitted.distance(release.fitted) < 1e-5


def labeller(seed: int = 0, classes: int = 3, directions: int = 2) -> PictureLabeller:
    rng, shape = np.random.default_rng(seed), Pictures(((0, SIDE, SIDE),))
    roots = rng.normal(size=(classes, directions, directions))
    return PictureLabeller(
        shape,
        rng.random(shape.size),
        rng.normal(size=(shape.size, directions)),
        rng.normal(size=(classes, directions)),
        roots @ roots.transpose(0, 2, 1) + np.eye(directions),
    )


def test_densities_are_those_of_normal_laws():
    one, x = labeller(), pictures(10)[0] / 255
    edges = one.pictures(np.rint(x.T * 2**21)).T / 2**21
    along = (edges - one.start) @ one.directions
    assert np.allclose(one.log_densities(x), log_normals(along, one.centres, np.linalg.cholesky(one.covs)))


@pytest.mark.parametrize(
    "change",
    [
        {"start": np.zeros(3)},
        {"centres": np.zeros((3, 4))},
        {"start": np.full(256, np.nan)},
        {"covs": -np.tile(np.eye(2), (3, 1, 1))},
    ],
)
def test_parts_that_do_not_fit_are_refused(change):
    with pytest.raises(ValueError, match="labeller"):
        dataclasses.replace(labeller(), **change)


def test_models_that_label_otherwise_are_apart(release):
    model = release.fitted
    assert model.labeller is not None
    other = dataclasses.replace(model.labeller, centres=model.labeller.centres + 0.5)
    assert model.distance(dataclasses.replace(model, labeller=other)) > 0.02
    turned = dataclasses.replace(model.labeller, directions=-model.labeller.directions, centres=-model.labeller.centres)
    assert model.labeller.distance(turned) < 1e-9
    assert model.labeller.distance(labeller(classes=2)) == 1
    assert model.distance(dataclasses.replace(model, labeller=None)) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"labeller": {"pictures": [[0, 4, 8]], "directions": 2}},
        {"labeller": {"pictures": [[0, SIDE, SIDE]], "directions": 3}},
        {"labeller": None},
    ],
)
def test_content_that_was_changed_is_refused(release, change):
    content, arrays = release.fitted.to_parts()
    columns = Encoder(release.schema).columns
    assert SubspaceModel.from_parts(json.loads(json.dumps(content)), arrays, columns).distance(release.fitted) < 1e-5
    with pytest.raises(ValueError, match=r"labeller|array"):
        SubspaceModel.from_parts(content | change, arrays, columns)


def test_a_labeller_of_other_columns_or_classes_is_refused(release):
    with pytest.raises(ValueError, match="labeller"):
        dataclasses.replace(release.fitted, labeller=labeller(classes=2))


def test_whitened_edges_have_unit_variance_within_classes():
    rng = np.random.default_rng(0)
    edges, classes = rng.random((10, 10)) @ rng.random((10, 5_000)), rng.integers(0, 3, 5_000).astype(np.int32)
    edges += 5 * np.eye(10)[:3].T @ np.eye(3)[classes].T
    white = whitened(edges, classes, 4)
    means = np.array([edges[:, classes == k].mean(axis=1) for k in range(3)])
    z = white.whitening.T @ (edges - means[classes].T)
    assert np.allclose(z @ z.T / 5_000, np.eye(4), atol=1e-6)
    assert np.allclose(white.basis.T @ white.whitening, np.eye(4))
    assert np.allclose(white.start, edges.mean(axis=1))


def test_parting_directions_are_those_of_discriminant_analysis():
    rng = np.random.default_rng(1)
    means, half = rng.normal(size=(4, 6)), rng.normal(size=(6, 9))
    within, weights = half @ half.T, rng.dirichlet(np.full(4, 5.0))
    found = parting_directions(means, weights, within, 0.0)
    away = means - weights @ means
    slow = eigh((weights * away.T) @ away, within)[1][:, ::-1][:, :3]
    along = np.sum(found * slow, axis=0) / np.linalg.norm(found, axis=0) / np.linalg.norm(slow, axis=0)
    assert np.allclose(np.abs(along), 1, atol=1e-4)
    assert np.allclose(found.T @ within @ found, np.eye(3), atol=1e-4)
    noisy = parting_directions(means, weights, within, 10.0)
    assert np.linalg.norm(noisy) < np.linalg.norm(found)
