"""Pictures that are aligned: the frame, a whole release of small pictures, and the model that it makes."""

import dataclasses
import json
import math

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import multivariate_normal

import sfumato
from sfumato.artefact.verify import verify
from sfumato.fitting.mechanisms.subspace.alignment import frame_of, together, worth_aligning
from sfumato.fitting.mechanisms.subspace.classes import Counts
from sfumato.fitting.mechanisms.subspace.gaussians import Subspace
from sfumato.fitting.mechanisms.subspace.plan import SubspacePlan, plan_subspace
from sfumato.fitting.mechanisms.subspace.release import refit_subspace
from sfumato.fitting.models.subspace.alignment import AlignedImageModel
from sfumato.fitting.models.subspace.model import SubspaceModel
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.feature_maps import AlignedImages
from sfumato.trusted.feature_maps.alignment import MOVES, ImageFrame, align_images
from sfumato.trusted.privacy_filter import units_of

SIDE = 12
NAMES = [f"p_{j}" for j in range(SIDE * SIDE)]
LABELS = ["cross", "ring"]
UNTRUSTED = ["noise from a cryptographic source"]


def schema(image: bool = True, target: bool = True) -> sfumato.Schema:
    run = {"name": f"p_{{0..{SIDE * SIDE - 1}}}", "type": "integer", "bounds": [0, 255]}
    kind = [{"name": "kind", "type": "category", "values": LABELS}] if target else []
    columns = [run | ({"image": [SIDE, SIDE]} if image else {}), *kind]
    content = {"sfumato": 1, "name": "shapes", "columns": columns} | ({"target": "kind"} if target else {})
    return sfumato.Schema.from_dict(content)


def pictures(rows: int, seed: int = 0, dark: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Crosses and rings, slanted and stretched by chance, on blank paper."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, rows)
    across, down, slant = rng.normal(0, 0.7, rows), rng.normal(0, 0.7, rows), rng.normal(0, 0.4, rows)
    stretch = np.exp(rng.normal(0, 0.2, (2, rows)))
    y, x = (axis[:, :, None] - (SIDE - 1) / 2 for axis in np.mgrid[0:SIDE, 0:SIDE])
    v = (y - down) / stretch[0]
    u = (x - across - slant * (y - down)) / stretch[1]
    ring = np.exp(-((np.hypot(u, v) - 3) ** 2))
    cross = np.exp(-2 * np.minimum(np.abs(u), np.abs(v)) ** 2) * (np.maximum(np.abs(u), np.abs(v)) < 3.5)
    ink = np.where(kind == 1, ring, cross)
    ink = np.where(ink < 0.1, 0, ink)
    grey = np.rint(255 * (1 - ink if dark else ink)).astype(np.uint8)
    return np.moveaxis(grey, 2, 0).reshape(rows, -1), kind


def table(rows: int, seed: int = 0, dark: bool = False) -> pa.Table:
    x, kind = pictures(rows, seed, dark)
    return pa.table({**{name: x[:, j] for j, name in enumerate(NAMES)}, "kind": np.array(LABELS)[kind]})


def released(data: pa.Table, which: sfumato.Schema | None = None, **more) -> sfumato.Release:
    asked = {"epsilon": 1.0, "delta": 1e-5, "mechanism": "subspace", "ledger": None, "seed": 1, **more}
    return sfumato.release(data, which or schema(), **asked)


@pytest.fixture(scope="module")
def release() -> sfumato.Release:
    return released(table(8_000), epsilon=2.0)


def accuracy(made: sfumato.Release, dark: bool = False) -> float:
    told = made.predict_proba(table(2_000, seed=9, dark=dark).drop_columns("kind"))
    return float((told.argmax(axis=1) == pictures(2_000, seed=9)[1]).mean())


def failures(made: sfumato.Release) -> list[str]:
    return [one.what for one in verify(made) if not one.holds]


def test_aligned_pictures_are_told_better_than_pixels_are():
    data = table(1_000)
    aligned, plain = released(data), released(data, schema(image=False))
    assert plain.fitted.aligned is None
    assert len(plain.measurements) == 10
    assert accuracy(aligned) > max(0.95, accuracy(plain) + 0.01)


def test_dark_ink_on_light_paper_is_as_good():
    made = released(table(3_000, dark=True))
    assert made.fitted.aligned.frame.dark
    assert accuracy(made, dark=True) > 0.95
    drawn = made.sample(200, seed=0, output="pandas")[NAMES].to_numpy()
    assert np.median(drawn) > 230


def test_the_whole_budget_is_asked_and_no_more(release):
    assert len(release.measurements) == 22
    spent = sum(one.mu**2 for one in release.measurements)
    assert spent == pytest.approx(Budget(2.0, 1e-5).mu ** 2, rel=1e-6)
    assert spent <= Budget(2.0, 1e-5).mu ** 2
    assert [isinstance(one.statistic.view.places, AlignedImages) for one in release.measurements[10:]] == [True] * 12
    assert failures(release) == UNTRUSTED


def test_pictures_that_are_too_few_are_pixels_with_the_whole_budget():
    """As good as if the schema said nothing of pictures: the same questions at nearly the same noise."""
    few = released(table(60))
    assert few.fitted.aligned is None
    assert few.sample(30, seed=0, output="pandas").shape == (30, SIDE * SIDE + 1)
    assert failures(few) == UNTRUSTED
    plain = released(table(60), schema(image=False)).measurements
    for one, other in zip(few.measurements, plain, strict=True):
        assert type(one.statistic) is type(other.statistic)
        assert one.mu == pytest.approx(other.mu, rel=0.15)


@pytest.mark.parametrize("adjacency", [Adjacency.ADD_REMOVE, Adjacency.REPLACE])
def test_what_is_aligned_follows_from_records_and_mu(adjacency):
    """At so many records of a class the noise of its mean along a direction is 4.5 % of the radius."""
    plan = plan_subspace(schema(), Budget(1.0, 1e-5), adjacency)
    moved = 1 if adjacency == Adjacency.ADD_REMOVE else 2  # how far one record moves a sum, in radii
    enough = moved / (0.045 * plan.aligned.means)
    assert worth_aligning(plan, Counts(np.full(2, 1.01 * enough), 1.0), plan.aligned)
    assert not worth_aligning(plan, Counts(np.full(2, 0.99 * enough), 1.0), plan.aligned)
    half = dataclasses.replace(plan.aligned, means=plan.aligned.means / 2)
    assert not worth_aligning(plan, Counts(np.full(2, 1.01 * enough), 1.0), half)
    assert worth_aligning(plan, Counts(np.full(2, 2.02 * enough), 1.0), half)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 7.3])
def test_both_ways_begin_alike_and_neither_costs_more_than_the_budget(epsilon):
    budget = Budget(epsilon, 1e-5)
    plan = plan_subspace(schema(), budget, Adjacency.ADD_REMOVE)
    assert (plan.mu.pilot, plan.mu.bounds) == (plan.alone.pilot, plan.alone.bounds)
    for way in ((plan.mu, plan.aligned), (plan.alone,)):
        cost = sum(units_of(mu) for table in way for mu in vars(table).values())
        assert budget.units - 100 < cost <= budget.units


def test_pictures_that_are_not_aligned_are_asked_what_plain_pixels_are():
    pictures, pixels = (
        plan_subspace(schema(image), Budget(1.0, 1e-5), Adjacency.ADD_REMOVE) for image in (True, False)
    )
    assert vars(pictures.alone) == pytest.approx(vars(pixels.mu), rel=1e-6)


def test_a_plan_of_an_earlier_version_aligns_all(release):
    """It knows of no choice, and what it asked is asked again."""
    plan = plan_subspace(schema(), Budget(2.0, 1e-5), Adjacency.ADD_REMOVE)
    content = {name: part for name, part in plan.to_dict().items() if name != "alone"}
    earlier = SubspacePlan.from_dict(content, schema(), Adjacency.ADD_REMOVE)
    assert earlier.alone is None
    assert earlier.to_dict() == content
    assert refit_subspace(release.measurements, earlier).distance(release.fitted) < 1e-5


@pytest.mark.parametrize("change", [{"pilot": 0.1}, {"bounds": 0.1}])
def test_a_plan_whose_ways_begin_otherwise_is_refused(change):
    content = plan_subspace(schema(), Budget(2.0, 1e-5), Adjacency.ADD_REMOVE).to_dict()
    assert SubspacePlan.from_dict(content, schema(), Adjacency.ADD_REMOVE).to_dict() == content
    with pytest.raises(ValueError, match="begin"):
        SubspacePlan.from_dict(content | {"alone": content["alone"] | change}, schema(), Adjacency.ADD_REMOVE)
    with pytest.raises(ValueError, match="begin"):
        SubspacePlan.from_dict(content | {"aligned": None}, schema(), Adjacency.ADD_REMOVE)


def test_drawn_pictures_lean_and_grow_as_real_ones_do(release):
    """The moves of a class, and the ink of each pixel, as in the table."""
    drawn = release.sample(4_000, seed=3, output="pandas")
    x, kind = pictures(8_000)
    frame = release.fitted.aligned.frame
    for one, label in enumerate(LABELS):
        mine = align_images(drawn.loc[drawn["kind"] == label, NAMES].to_numpy().T / 255, frame)[-MOVES:]
        real = align_images(x[kind == one].T / 255, frame)[-MOVES:]
        assert np.abs(mine.mean(axis=1) - real.mean(axis=1)).max() < 0.06
        assert (mine.std(axis=1) / real.std(axis=1)).min() > 0.5
        assert (mine.std(axis=1) / real.std(axis=1)).max() < 1.8
    assert np.abs(drawn[NAMES].to_numpy().mean(axis=0) - x.mean(axis=0)).mean() < 12


def test_a_blank_rim_stays_blank(release):
    drawn = release.sample(2_000, seed=5, output="pandas")[NAMES].to_numpy().reshape(-1, SIDE, SIDE)
    assert (drawn[:, 0, 0] > 0).mean() < 0.02


def test_classes_that_are_given_are_drawn(release):
    assert set(release.sample(50, given={"kind": "ring"}, seed=1, output="pandas")["kind"]) == {"ring"}
    told = release.condition({"kind": "ring"}).predict_proba(table(50, seed=5).drop_columns("kind"))
    assert np.allclose(told[:, 1], 1)


def test_pixels_that_are_given_stay_and_the_rest_is_filled_in(release):
    x, _ = pictures(1, seed=7)
    upper = {f"p_{j}": int(x[0, j]) for j in range(SIDE * SIDE // 2)}
    filled = release.sample(20, given=upper, seed=1, output="pandas")
    assert (filled[list(upper)].to_numpy() == x[0, : SIDE * SIDE // 2]).all()


def test_what_is_drawn_does_not_depend_on_how_many_are_warped_at_once(release, monkeypatch):
    model = dataclasses.replace(release.fitted)
    whole = release.fitted.sample(40, np.random.default_rng(0))
    monkeypatch.setattr("sfumato.fitting.models.subspace.images._NUMBERS_AT_ONCE", 5_000)
    for name, codes in model.sample(40, np.random.default_rng(0)).codes.items():
        assert np.abs(codes - whole.codes[name]).max() <= 1  # last digits of products, at the end of a step


def test_part_of_a_picture_is_told_by_its_pixels(release):
    rows = table(200, seed=3).drop_columns("kind")
    part = release.predict_proba(rows.drop_columns("p_0"))
    assert np.allclose(part.sum(axis=1), 1)
    assert not np.allclose(part, release.predict_proba(rows))


def test_pictures_without_classes_are_drawn():
    made = released(table(2_000).drop_columns("kind"), schema(target=False))
    assert made.fitted.aligned is not None
    assert failures(made) == UNTRUSTED
    assert made.sample(30, seed=0, output="pandas").shape == (30, SIDE * SIDE)


def test_pictures_of_many_shades_are_pixels():
    """Few values on a bound: there is no paper, so that none is moved, and the whole budget is for pixels."""
    rng = np.random.default_rng(0)
    y, x = (axis[:, :, None] - (SIDE - 1) / 2 for axis in np.mgrid[0:SIDE, 0:SIDE])
    light = 0.5 + 0.05 * (rng.normal(size=2_000) * y + rng.normal(size=2_000) * x) / 2
    grey = np.rint(255 * np.clip(light, 0.01, 0.99)).reshape(SIDE * SIDE, -1).astype(np.uint8)
    data = pa.table({**{name: grey[j] for j, name in enumerate(NAMES)}, "kind": rng.choice(LABELS, 2_000)})
    made = released(data, epsilon=3.0)
    assert made.fitted.marginals is None
    assert made.fitted.aligned is None
    drawn = made.sample(1_000, seed=0, output="pandas")[NAMES].to_numpy()
    assert np.abs(drawn.mean(axis=0) - grey.mean(axis=1)).mean() < 15
    slope = np.corrcoef(grey[0], grey[-1])[0, 1]
    assert np.corrcoef(drawn[:, 0], drawn[:, -1])[0, 1] == pytest.approx(slope, abs=0.35)


def test_any_cut_gives_the_same_answers_to_the_last_bit():
    rows = table(900)
    whole = released(rows)
    parts = pa.concat_tables([rows.slice(600, 300), rows.slice(0, 1), rows.slice(1, 599)])
    for one, other in zip(whole.measurements, released(parts).measurements, strict=True):
        assert one.statistic.to_dict() == other.statistic.to_dict()
        assert np.array_equal(one.values, other.values)


@pytest.mark.parametrize(("adjacency", "rows", "epsilon"), [*zip(Adjacency, (0, 3, 3), (0.05, 0.05, 8.0), strict=True)])
@pytest.mark.parametrize("value", [0, 255])
def test_few_rows_and_flat_pictures_are_released(adjacency, rows, epsilon, value):
    flat = pa.table({**{name: np.full(rows, value, dtype=np.uint8) for name in NAMES}, "kind": ["ring"] * rows})
    made = released(flat, epsilon=epsilon, adjacency=adjacency)
    assert len(made.measurements) == 10
    assert failures(made) == UNTRUSTED
    told = made.predict_proba(made.sample(20, seed=0, output="arrow").drop_columns("kind"))
    assert np.allclose(told.sum(axis=1), 1)


def test_another_processor_finds_the_same_model(release, monkeypatch):
    """Eigenvectors worked out in another order of the columns differ in their last digits and their signs."""
    plain = np.linalg.eigh

    def turned(matrix):
        order = np.random.default_rng(0).permutation(matrix.shape[-1])
        values, vectors = plain(matrix[..., order, :][..., order])
        back = np.empty_like(vectors)
        back[..., order, :] = vectors
        return values, -back

    monkeypatch.setattr(np.linalg, "eigh", turned)
    assert failures(release) == UNTRUSTED


def test_a_bundle_keeps_it(release, tmp_path):
    release.save(tmp_path / "b.sfumato")
    again = sfumato.open(tmp_path / "b.sfumato")
    rows = table(100, seed=6).drop_columns("kind")
    assert np.array_equal(again.predict_proba(rows), release.predict_proba(rows))
    assert again.sample(50, seed=2, output="arrow").equals(release.sample(50, seed=2, output="arrow"))
    assert again.fitted.distance(release.fitted) < 1e-5


def test_models_of_other_pictures_are_apart(release):
    model, aligned = release.fitted, release.fitted.aligned
    other = dataclasses.replace(aligned, centres=aligned.centres + 0.5)
    assert model.distance(dataclasses.replace(model, aligned=other)) > 0.02
    moved = dataclasses.replace(aligned, means=aligned.means + 0.1)
    assert model.distance(dataclasses.replace(model, aligned=moved)) > 0.02
    assert model.distance(dataclasses.replace(model, aligned=None)) == 1
    narrower = {name: getattr(aligned, name)[..., :1] for name in ("basis", "whitening", "centres")}
    assert aligned.distance(dataclasses.replace(aligned, covs=aligned.covs[:, :1, :1], **narrower)) == 1


@pytest.mark.parametrize("change", [{"frame": {"high": 6}}, {"directions": 3}, {"gone": None}])
def test_content_that_was_changed_is_refused(release, change):
    content, arrays = release.fitted.to_parts()
    columns = Encoder(release.schema).columns
    assert SubspaceModel.from_parts(json.loads(json.dumps(content)), arrays, columns).distance(release.fitted) < 1e-5
    aligned = content["aligned"]
    other = aligned | {"frame": aligned["frame"] | change["frame"]} if "frame" in change else aligned | change
    with pytest.raises(ValueError, match=r"aligned|array"):
        SubspaceModel.from_parts(content | {"aligned": None if "gone" in change else other}, arrays, columns)


@pytest.mark.parametrize(
    "change",
    [
        {"residual": np.zeros(3)},
        {"residual": np.full(SIDE * SIDE, -1.0)},
        {"paper": 1.5},
        {"means": np.full((2, SIDE * SIDE + MOVES), np.nan)},
        {"covs": None},
    ],
)
def test_parts_that_do_not_fit_are_refused(release, change):
    aligned = release.fitted.aligned
    with pytest.raises(ValueError, match="aligned"):
        dataclasses.replace(aligned, **(change if "covs" not in change else {"covs": -aligned.covs}))


def test_aligned_pictures_of_other_classes_are_refused(release):
    aligned = release.fitted.aligned
    one = {name: getattr(aligned, name)[:1] for name in ("means", "centres", "covs")}
    with pytest.raises(ValueError, match="aligned"):
        dataclasses.replace(release.fitted, aligned=dataclasses.replace(aligned, **one))


def test_densities_are_those_of_normal_laws(release):
    aligned: AlignedImageModel = release.fitted.aligned
    places = pictures(10)[0] / 255
    slow = np.empty((10, 2))
    for c in range(2):
        for n, one in enumerate(places):
            along = (align_images(one[:, None], aligned.frame)[:, 0] - aligned.means[c]) @ aligned.whitening
            slow[n, c] = multivariate_normal(aligned.centres[c], aligned.covs[c]).logpdf(along)
    assert np.allclose(aligned.log_densities(places), slow)


def test_directions_of_pictures_and_moves_stand_side_by_side():
    rng = np.random.default_rng(0)
    parts = ((7, 4, 3, [0, 1, 1, 0]), (5, 2, 2, [2, 2]))
    shapes, moves = (
        Subspace(rng.normal(size=(d, r)), rng.normal(size=(d, r)), own, np.array(parting))
        for d, r, own, parting in parts
    )
    both = together(shapes, moves)
    assert both.own == 5
    assert both.kinds.tolist() == [0, 1, 1, 2, 2, 0]
    assert both.basis.shape == both.whitening.shape == (12, 6)
    assert np.array_equal(both.basis[:7, [0, 1, 2, 5]], shapes.basis)
    assert np.array_equal(both.whitening[7:, 3:5], moves.whitening)
    assert not both.basis[7:, [0, 1, 2, 5]].any()
    assert not both.basis[:7, 3:5].any()


def average(dark: bool = False, slant: float = 0.3) -> np.ndarray:
    y, x = np.mgrid[0:30, 0:20]
    v, u = y - 13.5, x - 10.5
    ink = 0.8 * np.exp(-(((u - slant * v) / 2.5) ** 2 + (v / 4) ** 2) / 2)
    return 1 - ink if dark else ink


@pytest.mark.parametrize("dark", [False, True])
def test_a_frame_is_how_the_average_picture_lies(dark):
    frame = frame_of(average(dark), still=False)
    assert (frame.high, frame.wide, frame.dark) == (30, 20, dark)
    found = (frame.across, frame.down, frame.slant, frame.width, frame.height)
    assert found == pytest.approx((1.0, -1.0, 0.3, 2.5, 4.0), abs=0.05)


@pytest.mark.parametrize("level", [0.0, 0.3, 1.0])
def test_a_flat_average_has_a_frame(level):
    frame = frame_of(np.full((10, 8), level), still=False)
    assert isinstance(frame, ImageFrame)
    assert math.isfinite(frame.slant)
    assert 0 < frame.width <= 8 / 3
