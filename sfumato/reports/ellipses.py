"""The picture of a Gaussian mixture: an ellipse for every class, over a band of draws from the posterior."""

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from sfumato.charts import svg
from sfumato.fitting.models.gaussian_mixture.model import GaussianMixture
from sfumato.trusted.arrays import FloatArray

SHADES = ("#a55a42", "#5b6b6f", "#b08d63", "#7a6a58", "#8c4a5a", "#6b7f4f", "#46627f", "#c08a3e")
_PANEL, _GAP = 168.0, 26.0
_MOST_COLUMNS = 4
_MOST_CLASSES = 10
_HAZE = 12  # draws from the posterior
_CORNERS = 48
_LETTERS = 30  # of a line of a class's name
_TWO_OF_THREE = 1.5  # standard deviations: two of three records of a Gaussian class lie inside


def ellipse_chart(model: GaussianMixture, labels: Sequence[str]) -> Markup:
    """A panel for every two columns; with one column, there is nothing to draw."""
    names = _chosen(model)
    if len(names) < 2:
        return Markup("")
    weights = model.gaussians.by_class(model.classes)
    classes = sorted(np.argsort(-weights)[:_MOST_CLASSES].tolist())
    pairs = [(a, b) for b in range(1, len(names)) for a in range(b)]
    marks = [mark for a, b in pairs for mark in _panel(model, names[a], names[b], a, b - 1, classes)]
    side, x = len(names) - 1, _PANEL + _GAP + 24  # the names of the classes fill the empty corner
    y = 8.0
    for k in classes:
        words = f"{labels[k]}  {weights[k]:.1%}"
        lines = len(svg.lines_of(words, _LETTERS))
        marks.append(svg.box(x, y - 5, 10, 10, SHADES[k % len(SHADES)], 0.8))
        marks.append(svg.label(x + 16, y + (lines - 1) * svg.LINE * 11 / 2, words, _LETTERS))
        y += 18 + (lines - 1) * svg.LINE * 11
    width = max(side * (_PANEL + _GAP) + 10, x + 190)
    return svg.picture(width, side * (_PANEL + _GAP) + 14, marks, "The classes as ellipses")


def _chosen(model: GaussianMixture) -> list[str]:
    """The columns that tell most of the class, or the first ones."""
    if model.target is None or len(model.columns) <= _MOST_COLUMNS:
        return model.columns[:_MOST_COLUMNS]
    telling = sorted(model.columns, key=lambda name: -model.dependence(name, str(model.target)))[:_MOST_COLUMNS]
    return [name for name in model.columns if name in telling]


def _panel(model: GaussianMixture, across: str, up: str, column: int, row: int, classes: Sequence[int]) -> list[Markup]:
    at = [model.columns.index(across), model.columns.index(up)]
    x0, y0 = column * (_PANEL + _GAP) + 16, row * (_PANEL + _GAP) + 2
    low, high = _view(model, at)

    def placed(points: FloatArray) -> list[tuple[float, float]]:
        share = np.clip((points - low) / (high - low), -0.02, 1.02)
        return [(x0 + x * _PANEL, y0 + (1 - y) * _PANEL) for x, y in share]

    marks = [svg.box(x0, y0, _PANEL, _PANEL, "#f6f1ea")]
    for k in classes:
        shade = SHADES[k % len(SHADES)]
        for mean, cov in zip(model.draws.means[:_HAZE, k], model.draws.covs[:_HAZE, k], strict=True):
            marks.append(svg.outline(placed(_ellipse(mean[at], cov[np.ix_(at, at)])), shade, 0.4, shade, 0.04))
    gaussians = model.gaussians
    for k, mean, cov in zip(gaussians.owner.tolist(), gaussians.means, gaussians.covs, strict=True):
        if k in classes:
            shade = SHADES[k % len(SHADES)]
            marks.append(svg.outline(placed(_ellipse(mean[at], cov[np.ix_(at, at)])), shade, 1.6))
    scales = [model.scales[name] for name in (across, up)]
    ends = [scale.in_units(scale.number_at(np.array([low[i], high[i]]))) for i, scale in enumerate(scales)]
    marks += [
        svg.text(x0 + _PANEL / 2, y0 + _PANEL + 12, svg.shorten(across, 24), "middle"),
        svg.text(x0 - 4, y0 + _PANEL / 2, svg.shorten(up, 24), "middle", turn=-90),
        svg.text(x0, y0 + _PANEL + 12, f"{ends[0][0]:.3g}", size=9, fill=svg.FAINT),
        svg.text(x0 + _PANEL, y0 + _PANEL + 12, f"{ends[0][1]:.3g}", "end", 9, svg.FAINT),
        svg.text(x0 - 4, y0 + _PANEL, f"{ends[1][0]:.3g}", "start", 9, svg.FAINT, -90),
        svg.text(x0 - 4, y0, f"{ends[1][1]:.3g}", "end", 9, svg.FAINT, -90),
    ]
    return marks


def _view(model: GaussianMixture, at: list[int]) -> tuple[FloatArray, FloatArray]:
    """The part of the scales where the classes lie, within the bounds."""
    gaussians = model.gaussians
    heavy = gaussians.weights > 0.002
    reach = 2.5 * gaussians.sds[heavy][:, at]
    means = gaussians.means[heavy][:, at]
    low, high = np.clip((means - reach).min(axis=0), 0, 1), np.clip((means + reach).max(axis=0), 0, 1)
    return low, np.maximum(high, low + 1e-6)


def _ellipse(mean: FloatArray, cov: FloatArray) -> FloatArray:
    angle = np.linspace(0, 2 * np.pi, _CORNERS, endpoint=False)
    values, vectors = np.linalg.eigh(cov)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    points: FloatArray = mean + _TWO_OF_THREE * np.stack([np.cos(angle), np.sin(angle)], axis=1) @ root.T
    return points
