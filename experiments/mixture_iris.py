"""The paper's pictures of Iris, as published beside proven at the same budget: `python -m experiments.mixture_iris`.

Figure 6 is the density of the sepal's length in each class, at epsilon 2 and delta 1e-5; figure 5 is KL by epsilon.
Of 21 releases by each mechanism the middle one by KL is drawn. As in the paper, its own mechanism gets columns of mean
0 and variance 1, which is one more thing that it tells of the records and does not pay for.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup
from scipy.stats import norm

from experiments.mixture_accuracy import EPSILONS, apart
from experiments.mixture_data import FloatArray, Records, iris, mixture_of, released
from experiments.mixture_pictures import FOLDER, OURS, PUBLISHEDS, Panel, Point, Series, decades, drawn_panel, sheet
from experiments.mixture_rivals import as_published
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.published.liu import Mixture
from sfumato.report import svg

RELEASES, DRAWN_AT = 21, 2.0
KINDS = ("setosa", "versicolor", "virginica")
OTHER, INK = "as published (not private)", "#2f2a26"
X = (3.6, 8.6)


class Run(NamedTuple):
    """A released mixture, how far it is from the fit, and densities that are as plausible as the released one."""

    kl: float
    mixture: Mixture
    others: Sequence[Mixture] = ()


def proven(records: Records, epsilon: float) -> Run:
    release, _ = released(records, epsilon)
    found, model = mixture_of(release, records), release.fitted
    if not isinstance(model, GaussianMixture):
        raise TypeError("not a mixture")
    span = records.high - records.low
    pairs = zip(model.draws.means[:60], model.draws.covs[:60], strict=True)
    others = [Mixture(found.weights, records.low + span * m, c * np.outer(span, span)) for m, c in pairs]
    return Run(apart(found, records)["kl"], found, others)


def published(records: Records, epsilon: float, seed: int) -> Run:
    middle, spread = records.numbers.mean(axis=0), records.numbers.std(axis=0)
    scaled = records._replace(numbers=(records.numbers - middle) / spread)
    found = as_published(scaled, epsilon, seed)
    back = Mixture(found.weights, middle + spread * found.means, found.covariances * np.outer(spread, spread))
    return Run(apart(back, records)["kl"], back)


def main() -> None:
    records = iris()
    runs = {(name, epsilon): _runs(records, name, epsilon) for name in ("proven", OTHER) for epsilon in EPSILONS}
    for (name, epsilon), mine in runs.items():
        low, middle, high = (mine[RELEASES * part // 4].kl for part in (1, 2, 3))
        print(f"{name}, epsilon {epsilon:g}: KL {middle:.3g} ({low:.3g}-{high:.3g})")
    FOLDER.mkdir(parents=True, exist_ok=True)
    drawn = {name: runs[name, DRAWN_AT][RELEASES // 2] for name in ("proven", OTHER)}
    (FOLDER / "mixture_iris.svg").write_text(str(densities(records, drawn)) + "\n", encoding="utf-8")
    (FOLDER / "mixture_iris_kl.svg").write_text(str(_by_epsilon(runs)) + "\n", encoding="utf-8")


def _runs(records: Records, name: str, epsilon: float) -> list[Run]:
    """Releases of the same records, the nearest to the fit first."""
    made = [
        proven(records, epsilon) if name == "proven" else published(records, epsilon, seed) for seed in range(RELEASES)
    ]
    return sorted(made, key=lambda run: run.kl)


def densities(records: Records, runs: dict[str, Run]) -> Markup:
    """A panel for each class: histogram, fit, and both releases; the haze is what the proven one leaves open."""
    marks: list[Markup] = []
    for k, kind in enumerate(KINDS):
        marks += _panel(50 + 255 * k, kind, records.numbers[records.label == k, 0], k, runs)
    title = f"Iris, length of the sepal in cm: density in each class at epsilon {DRAWN_AT:g}, delta 1e-5"
    return sheet(800, 350, marks, title, {"proven": OURS, OTHER: PUBLISHEDS, "fit without privacy": INK})


def _panel(left: float, kind: str, values: FloatArray, k: int, runs: dict[str, Run]) -> list[Markup]:
    width, top, height, most = 225.0, 80.0, 215.0, 1.5
    x = np.linspace(*X, 181)

    def at(value: float, density: float) -> tuple[float, float]:
        return left + width * (value - X[0]) / (X[1] - X[0]), top + height * (1 - min(density, most) / most)

    def curve(mixture: Mixture, colour: str, thick: float = 2.0, opacity: float = 1.0) -> Markup:
        density = norm.pdf(x, mixture.means[k, 0], np.sqrt(mixture.covariances[k, 0, 0]))
        points = [at(*pair) for pair in zip(x, density, strict=True)]
        path = "M" + "L".join(f"{px:.1f} {py:.1f}" for px, py in points)
        mark = Markup('<path d="{}" fill="none" stroke="{}" stroke-width="{}" stroke-opacity="{}"/>')
        return mark.format(path, colour, thick, opacity)

    marks = []
    share, ends = np.histogram(values, bins=np.arange(4.05, 8.2, 0.2), density=True)
    for density, low, high in zip(share, ends[:-1], ends[1:], strict=True):
        (x0, y0), (x1, y1) = at(low, density), at(high, 0.0)
        marks.append(svg.box(x0, y0, x1 - x0 - 1, y1 - y0, "#d9d2c6"))
    marks += [curve(one, OURS, 1.0, 0.12) for one in runs["proven"].others]
    fitted = Mixture(np.ones(k + 1), np.full((k + 1, 1), values.mean()), np.full((k + 1, 1, 1), values.var()))
    marks += [curve(runs[OTHER].mixture, PUBLISHEDS), curve(runs["proven"].mixture, OURS), curve(fitted, INK, 1.2)]
    marks.append(svg.line(*at(X[0], 0.0), *at(X[1], 0.0)))
    for tick in range(4, 9):
        px, py = at(float(tick), 0.0)
        marks += [svg.line(px, py, px, py + 4), svg.text(px, py + 17, tick, "middle", 11)]
    marks.append(svg.text(left + width / 2, top + height + 36, kind, "middle", 12))
    return marks


def _by_epsilon(runs: dict[tuple[str, float], list[Run]]) -> Markup:
    series = []
    for name, colour in (("proven", OURS), (OTHER, PUBLISHEDS)):
        points = []
        for epsilon in EPSILONS:
            low, middle, high = (runs[name, epsilon][RELEASES * part // 4].kl for part in (1, 2, 3))
            points.append(Point(epsilon, middle, low, high))
        series.append(Series(name, colour, points))
    panel = Panel(62, 62, 520, 300, (0.42, 9.5), decades([point for one in series for point in one.points]))
    title = "Iris: KL(released || fit) in nats; medians and quartiles of 21 releases"
    return sheet(
        620, 410, drawn_panel(panel, "epsilon", EPSILONS, series), title, {one.name: one.colour for one in series}
    )


if __name__ == "__main__":
    main()
