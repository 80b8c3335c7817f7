"""Marginal densities of released classes, beside the histogram of their records and the fit without privacy."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from scipy.stats import norm
from sfumato_papers.liu import Fitted, Mixture, divergence

from experiments.cells import progress, table
from experiments.liu.data import Units
from experiments.liu.figure import Request
from experiments.liu.methods import LAPLACE, NOTE, PROPOSED, PUBLISHED, STROKES, WHOLE, fitted_to
from experiments.mixture_data import Records, mixture_of, released
from experiments.pictures import Axis, Panel, Stroke, curve, sheet
from sfumato.charts import svg
from sfumato.fitting.models.gaussian_mixture.model import GaussianMixture

EPSILON = 2.0  # of both figures
FIT, FIT_STROKE, BAR = "fit without privacy", Stroke("#2f2a26", 1.3, "4 2"), "#d9d2c6"
HAZE = 40
Content = dict[str, Any]


class Run(NamedTuple):
    """A released mixture, how far it is from the fit, and others that are as plausible."""

    kl: float
    mixture: Mixture
    haze: Sequence[Mixture] = ()


@dataclass(frozen=True)
class DensityFigure:
    """A panel for each class and feature. Of some releases by each method the middle one by KL is drawn."""

    number: int
    title: str
    records: Callable[[], Records]
    units: Callable[[Records], Units]
    features: Sequence[int]
    feature_names: Sequence[str]
    class_names: Sequence[str]
    releases: int
    says: Callable[[Content], tuple[str, str]]
    methods: Sequence[str] = (PROPOSED, LAPLACE, WHOLE)

    @property
    def name(self) -> str:
        return f"figure_{self.number}"

    def run(self, request: Request) -> tuple[str, Markup]:
        path = request.folder / f"{self.name}.json" if request.folder else None
        content = json.loads(path.read_text()) if path and path.exists() else self._start()
        asked = [name for name in self.methods if _part(name) in request.parts]
        for name in asked if request.fresh else [name for name in asked if name not in content["KL"]]:
            self._measure(content, name, 3 if request.quick else self.releases)
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(content) + "\n")
        return self._table(content), self._picture(content)

    def sentences(self, folder: Path) -> tuple[str, str]:
        return self.says(json.loads((folder / f"{self.name}.json").read_text()))

    def _start(self) -> Content:
        records = self.records()
        scaled = self.units(records).of_records(records)
        curves = {FIT: self._curve(fitted_to(scaled))}
        return {"epsilon": EPSILON, "seeds": {}, "KL": {}, "curves": curves, "records": self._bars(scaled)}

    def _measure(self, content: Content, name: str, releases: int) -> None:
        records = self.records()
        units = self.units(records)
        scaled = units.of_records(records)
        runs = [
            _proven(records, units) if name == WHOLE else _published(name, scaled, seed)
            for seed in progress(range(releases), f"{self.name}: {name}")
        ]
        runs.sort(key=lambda run: run.kl)
        middle = runs[releases // 2]
        content["seeds"][name] = list(range(releases))
        content["KL"][name] = {
            "median": middle.kl,
            "quartiles": [runs[releases // 4].kl, runs[3 * releases // 4].kl],
            "by column": [divergence(*_column(middle.mixture, scaled, j)).total for j in range(scaled.columns)],
        }
        content["curves"][name] = self._curve(middle.mixture)
        if middle.haze and len(self.features) == 1:  # in small panels it would only blur
            content["curves"][name]["haze"] = [self._curve(one) for one in middle.haze]

    def _curve(self, mixture: Mixture) -> Content:
        """Means and standard deviations by class and shown feature."""
        features = list(self.features)
        spreads = np.sqrt(np.diagonal(mixture.covariances, axis1=1, axis2=2))
        return {
            name: np.round(values[:, features], 4).tolist()
            for name, values in (("mean", mixture.means), ("sd", spreads))
        }

    def _bars(self, scaled: Records) -> Content:
        """The histogram of each class and feature, over a range that holds nearly all."""
        shown = scaled.numbers[:, list(self.features)]
        low, high = np.quantile(shown, (0.002, 0.998)) + np.array([-0.4, 0.4])
        edges = np.linspace(low, high, 37)
        density = [
            [
                np.round(np.histogram(shown[scaled.label == k, j], edges, density=True)[0], 3).tolist()
                for j in range(shown.shape[1])
            ]
            for k in range(scaled.classes)
        ]
        return {"edges": np.round(edges, 4).tolist(), "density": density, "counts": np.bincount(scaled.label).tolist()}

    def _table(self, content: Content) -> str:
        rows = [
            [name, f"{kl['median']:.3g} ({kl['quartiles'][0]:.3g}-{kl['quartiles'][1]:.3g})"]
            for name, kl in content["KL"].items()
        ]
        return f"figure {self.number}: {self.title}\n" + table(["", "KL"], rows)

    def _picture(self, content: Content) -> Markup:
        marks: list[Markup] = []
        across, down = len(self.class_names), len(self.features)
        width, height = (225.0, 215.0) if down == 1 else (128.0, 54.0)
        for k in range(across):
            for j in range(down):
                left, top = 50 + (width + 26) * k, 78 + (height + (14 if down > 1 else 0)) * j
                marks += self._panel(content, k, j, (left, top, width, height))
            marks.append(svg.text(50 + (width + 26) * k + width / 2, 68, self._class_name(content, k), "middle", 11))
        for j, name in enumerate(self.feature_names):
            marks.append(svg.text(14, 78 + (height + 14) * (j + 0.5), name, size=10, fill=svg.FAINT))
        key = {name: STROKES[name] for name in self.methods} | {FIT: FIT_STROKE}
        bottom = 78 + (height + (14 if down > 1 else 0)) * down + 52
        title = f"Figure {self.number}. {self.title}"
        return sheet(50 + (width + 26) * across, bottom, marks, title, key, note=NOTE)

    def _class_name(self, content: Content, k: int) -> str:
        return f"{self.class_names[k]} ({content['records']['counts'][k]} records)"

    def _panel(self, content: Content, k: int, j: int, frame: tuple[float, float, float, float]) -> list[Markup]:
        edges, bars = content["records"]["edges"], content["records"]["density"][k][j]
        curves = content["curves"]
        most = 1.25 * max(*bars, norm.pdf(0) / curves[FIT]["sd"][k][j])
        panel = Panel(*frame, Axis(edges[0], edges[-1], logarithmic=False), Axis(0, most, logarithmic=False))
        marks = []
        for density, low, high in zip(bars, edges[:-1], edges[1:], strict=True):
            (x0, y0), (x1, y1) = panel.at(low, min(density, most)), panel.at(high, 0)
            marks.append(svg.box(x0, y0, x1 - x0 - 0.5, y1 - y0, BAR))
        faint = Stroke(STROKES[WHOLE].colour, 1.0)
        shown = [name for name in self.methods if name in curves]
        marks += [_gaussian(panel, one, k, j, faint, 0.12) for name in shown for one in curves[name].get("haze", ())]
        marks += [_gaussian(panel, curves[name], k, j, STROKES[name]) for name in shown]
        marks.append(_gaussian(panel, curves[FIT], k, j, FIT_STROKE))
        marks.append(svg.line(*panel.at(edges[0], 0), *panel.at(edges[-1], 0)))
        for tick in range(int(np.ceil(edges[0])), int(edges[-1]) + 1):
            x, y = panel.at(tick, 0)
            marks.append(svg.line(x, y, x, y + 3))
            if j == len(self.features) - 1:
                marks.append(svg.text(x, y + 15, tick, "middle", 10))
        return marks


def _part(name: str) -> str:
    return "whole" if name == WHOLE else "published"


def _gaussian(panel: Panel, one: Content, k: int, j: int, stroke: Stroke, opacity: float = 1.0) -> Markup:
    x = np.linspace(panel.x.low, panel.x.high, 121)
    density = np.minimum(norm.pdf(x, one["mean"][k][j], one["sd"][k][j]), panel.y.high)
    return curve([panel.at(*pair) for pair in zip(x, density, strict=True)], stroke, opacity)


def _column(mixture: Mixture, scaled: Records, j: int) -> tuple[Mixture, Fitted]:
    """A release and the fit as if there were one column only."""
    alone = Mixture(mixture.weights, mixture.means[:, [j]], mixture.covariances[:, [j]][:, :, [j]])
    return alone, fitted_to(scaled._replace(numbers=scaled.numbers[:, [j]]))


def _published(name: str, scaled: Records, seed: int) -> Run:
    found = PUBLISHED[name](scaled, EPSILON, seed)
    return Run(divergence(found, fitted_to(scaled)).total, found)


def _proven(records: Records, units: Units) -> Run:
    """The haze is what the release leaves open."""
    release, _ = released(records, EPSILON)
    found, model = mixture_of(release, records), release.fitted
    if not isinstance(model, GaussianMixture):
        raise TypeError("not a mixture")
    span = records.high - records.low
    pairs = zip(model.draws.means[:HAZE], model.draws.covs[:HAZE], strict=True)
    haze = [Mixture(found.weights, records.low + span * m, c * np.outer(span, span)) for m, c in pairs]
    return Run(
        divergence(found, fitted_to(records)).total, units.of_mixture(found), [units.of_mixture(one) for one in haze]
    )
