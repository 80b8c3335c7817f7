"""The picture of a mixture: how many panels and outlines, and what is not drawn."""

import re
from dataclasses import replace

import numpy as np
import pytest

from sfumato.fitting.models.gaussian_mixture.gaussians import Gaussians
from sfumato.fitting.models.gaussian_mixture.model import ACTIONS, Draws, GaussianMixture
from sfumato.reports.ellipses import SHADES, ellipse_chart
from sfumato.trusted.encoding.codes import codes_of
from sfumato.trusted.schema import Schema
from tests.reports.test_public import parsed

HAZE = 12


def mixture(columns: int, classes: int, *, draws: int = 20, target: str | None = "y") -> GaussianMixture:
    """Classes side by side, told apart by the last column best."""
    numbers = [{"name": f"x{j}", "type": "number", "bounds": [0, 100]} for j in range(columns)]
    schema = Schema.from_dict({"sfumato": 1, "name": "t", "columns": numbers})
    means = np.full((classes, columns), 0.5)
    means[:, -1] = np.linspace(0.2, 0.8, classes)
    covs = np.tile(0.01 * np.eye(columns), (classes, 1, 1))
    weights = np.arange(1.0, classes + 1)
    gaussians = Gaussians(np.arange(classes), weights / weights.sum(), means, covs)
    drawn = Draws(np.ones((draws, classes)), np.tile(means, (draws, 1, 1)), np.tile(covs, (draws, 1, 1, 1)))
    scales = {name: codes_of(column) for name, column in schema.by_name.items()}
    return GaussianMixture(scales, target, classes, 1000.0, dict.fromkeys(ACTIONS, gaussians), drawn)


def labels(model: GaussianMixture) -> list[str]:
    return [f"label {k}" for k in range(model.classes)]


def outlines(picture: str) -> int:
    return len(re.findall("<path ", picture))


@pytest.mark.parametrize(("columns", "panels"), [(2, 1), (3, 3), (4, 6)])
@pytest.mark.parametrize("classes", [1, 3])
def test_every_two_columns_have_a_panel_with_every_class_and_its_haze(columns, panels, classes):
    model = mixture(columns, classes)
    picture = ellipse_chart(model, labels(model))
    parsed(picture)
    assert outlines(picture) == panels * classes * (1 + HAZE)
    assert all(f"label {k} " in picture for k in range(classes))
    assert all(f">x{j}<" in picture for j in range(columns))


def test_one_column_has_no_picture():
    model = mixture(1, 3)
    assert ellipse_chart(model, labels(model)) == ""


def test_few_draws_make_a_thin_haze():
    model = mixture(2, 3, draws=5)
    assert outlines(ellipse_chart(model, labels(model))) == 3 * (1 + 5)


def test_of_many_columns_those_that_tell_the_class_are_drawn():
    model = mixture(7, 2)
    picture = ellipse_chart(model, labels(model))
    assert ">x6<" in picture
    assert outlines(picture) == 6 * 2 * (1 + HAZE)


def test_without_a_target_the_first_columns_are_drawn():
    model = mixture(7, 2, target=None)
    picture = ellipse_chart(model, labels(model))
    assert all((f">x{j}<" in picture) == (j < 4) for j in range(7))


def test_of_many_classes_the_largest_are_drawn():
    model = mixture(2, 15)
    picture = ellipse_chart(model, labels(model))
    assert outlines(picture) == 10 * (1 + HAZE)
    assert all((f">label {k} " in picture) == (k >= 5) for k in range(15))
    assert set(re.findall('stroke="(#[0-9a-f]+)"', picture)) == set(SHADES)


def test_a_class_without_records_has_its_ellipse_and_does_not_widen_the_view():
    model = mixture(2, 2)
    few = replace(model.gaussians, weights=np.array([1 - 1e-9, 1e-9]))
    far = replace(few, means=np.array([[0.5, 0.5], [30.0, 30.0]]))
    lonely = replace(model, actions=dict.fromkeys(ACTIONS, far))
    picture = ellipse_chart(lonely, labels(model))
    parsed(picture)
    assert outlines(picture) == 2 * (1 + HAZE)
    assert "0.0%" in picture
    assert picture.count(">25<") == picture.count(">75<") == 2  # the ends of both axes


def test_parts_of_a_class_are_drawn_in_its_shade():
    model = mixture(2, 2)
    parts = Gaussians(
        np.array([0, 0, 1]), np.full(3, 1 / 3), np.full((3, 2), 0.5), np.tile(0.01 * np.eye(2), (3, 1, 1))
    )
    detailed = replace(model, actions={**model.actions, "detailed": parts}).choose_estimate("detailed")
    picture = ellipse_chart(detailed, labels(model))
    assert outlines(picture) == 2 * HAZE + 3
    solid = re.findall('stroke="(#[0-9a-f]+)" stroke-width="1.6"', picture)
    assert solid == [SHADES[0], SHADES[0], SHADES[1]]


def test_a_label_cannot_write_html():
    model = mixture(2, 1)
    assert "<script>" not in ellipse_chart(model, ["<script>alert(1)</script>"])


def test_classes_all_in_one_place_still_have_a_view():
    model = mixture(2, 2)
    point = Gaussians(np.arange(2), np.full(2, 0.5), np.full((2, 2), 1.0), np.tile(2.0**-48 * np.eye(2), (2, 1, 1)))
    picture = ellipse_chart(replace(model, actions=dict.fromkeys(ACTIONS, point)), labels(model))
    assert "nan" not in picture
    assert outlines(picture) == 2 * (1 + HAZE)
