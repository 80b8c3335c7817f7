"""Eight Gaussians and two moons in the plane, within [-1, 1]: what is made of them, and how many clouds are found.

A cloud counts as found if more than 2 % of the points lie within 0.2 of it. `near` is the share of points within 0.2 of
any cloud, `distance` a mean of one-dimensional Wasserstein distances to fresh records over 32 directions.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sfumato_papers.baselines import RIVALS, Rival, Table

import sfumato
from experiments.slicing.methods import DELTA, slicers
from sfumato.trusted.arrays import FloatArray, IntArray

RECORDS, QUICK_RECORDS, DRAWN, QUICK_DRAWN = 20_000, 2_000, 400, 100
EPSILONS = (0.2, 1.0, 5.0)
CLOUDS, AROUND, SPREAD = 8, 0.75, 0.05
WITHIN, FOUND = 0.2, 0.02
DIRECTIONS, SEED = 32, 0
METHODS = ("slices", "SliceWass", "slicing as published", "DP-MERF")
Points = tuple[FloatArray, IntArray]


def centres() -> FloatArray:
    """Of the eight clouds."""
    angles = 2 * np.pi * np.arange(CLOUDS) / CLOUDS
    return AROUND * np.column_stack((np.cos(angles), np.sin(angles)))


def eight_gaussians(rng: np.random.Generator, records: int) -> Points:
    """Clouds on a circle; neighbours have different labels."""
    cloud = rng.integers(CLOUDS, size=records)
    return (centres()[cloud] + SPREAD * rng.standard_normal((records, 2))).clip(-1, 1), cloud % 2


def moons(rng: np.random.Generator, records: int) -> Points:
    """Two half circles that reach into each other, a label each."""
    y, angle = rng.integers(2, size=records), np.pi * rng.random(records)
    upper = np.column_stack((np.cos(angle), np.sin(angle))) - (0.5, 0.25)
    moon = np.where((y == 1)[:, None], -upper, upper)
    return (0.55 * moon + 0.04 * rng.standard_normal((records, 2))).clip(-1, 1), y


TOYS: dict[str, Callable[[np.random.Generator, int], Points]] = {"eight Gaussians": eight_gaussians, "moons": moons}


def made(name: str, method: str, epsilon: float, records: int = RECORDS) -> FloatArray:
    """Points made up by a method at its default setting."""
    points, label = TOYS[name](np.random.default_rng(SEED), records)
    if method == "slices":
        return of_release(points, label, epsilon, "slices")
    rival: Rival = {**RIVALS, **slicers()}[method]
    table = Table((points + 1) / 2, label, (0, 0), 2)
    return 2 * rival(np.random.default_rng(SEED), table, epsilon, DELTA).X - 1


def of_release(points: FloatArray, label: IntArray, epsilon: float, mechanism: str) -> FloatArray:
    """Points drawn from a release of this library, whose schema says that they lie within [-1, 1]."""
    columns = [{"name": name, "type": "number", "bounds": [-1.0, 1.0]} for name in ("x", "y")]
    columns.append({"name": "label", "type": "category", "values": [0, 1]})
    schema = sfumato.Schema.from_dict({"sfumato": 1, "name": "toy", "columns": columns, "target": "label"})
    release = sfumato.release(
        pa.table({"x": points[:, 0], "y": points[:, 1], "label": label}),
        schema,
        epsilon=epsilon,
        delta=DELTA,
        mechanism=mechanism,
        adjacency="replace",
        ledger=None,
        seed=SEED,
        types="declared",
    )
    drawn = release.sample(len(points), seed=SEED, output="arrow")
    return np.column_stack([drawn.column(name).to_numpy() for name in ("x", "y")])


def clouds_found(points: FloatArray) -> int:
    """How many of the eight."""
    away = np.linalg.norm(points[:, None] - centres(), axis=2)
    return int(((away < WITHIN).mean(axis=0) > FOUND).sum())


def near(points: FloatArray) -> float:
    """The share of points that belong to a cloud."""
    away = np.linalg.norm(points[:, None] - centres(), axis=2)
    return float((away.min(axis=1) < WITHIN).mean())


def sliced_distance(points: FloatArray, others: FloatArray) -> float:
    """Mean over directions at equal angles."""
    from scipy.stats import wasserstein_distance

    angles = np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    slices = np.stack((np.cos(angles), np.sin(angles)))
    return float(np.mean([wasserstein_distance(*pair) for pair in zip((points @ slices).T, (others @ slices).T)]))  # noqa: B905


def judged(name: str, points: FloatArray) -> dict[str, Any]:
    """The figures of a panel, and some of its points to draw."""
    fresh, _ = TOYS[name](np.random.default_rng(SEED + 1), len(points))
    found: dict[str, Any] = {"distance": round(sliced_distance(points, fresh), 4)}
    if name == "eight Gaussians":
        found |= {"clouds": clouds_found(points), "near": round(near(points), 3)}
    return found | {"points": points[:DRAWN].round(2).tolist()}


class Panels:
    """What was made of each toy by each method; finished panels are kept in a file, if there is one."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.found: dict[str, dict[str, Any]] = json.loads(path.read_text()) if path and path.exists() else {}

    def of(self, name: str, method: str, epsilon: float | None = None) -> dict[str, Any]:
        """Figures and points, or `why` there are none; of the records themselves without an epsilon."""
        return self.found.get(key_of(name, method, epsilon), {"why": "time"})

    def run(self, methods: Sequence[str] = METHODS, quick: bool = False) -> None:
        """All panels that are not there yet; one that failed is tried again."""
        for name in TOYS:
            truth = TOYS[name](np.random.default_rng(SEED), RECORDS)[0]
            self._add(key_of(name, "records", None), judged(name, truth))
            for method in methods:
                for epsilon in EPSILONS[1:2] if quick else EPSILONS:
                    key = key_of(name, method, epsilon)
                    if "points" not in self.found.get(key, {}):
                        self._add(key, _tried(name, method, epsilon, QUICK_RECORDS if quick else RECORDS))
                        shown = {word: value for word, value in self.found[key].items() if word != "points"}
                        print(f"{key}: {shown}", flush=True)

    def _add(self, key: str, found: dict[str, Any]) -> None:
        self.found[key] = found
        if self.path is not None:
            lines = [f" {json.dumps(one)}: {json.dumps(what)}" for one, what in sorted(self.found.items())]
            draft = self.path.with_suffix(".draft")
            draft.write_text("{\n" + ",\n".join(lines) + "\n}\n")
            draft.replace(self.path)


def key_of(name: str, method: str, epsilon: float | None) -> str:
    """What a panel is called in the file."""
    return f"{name}, {method}" + ("" if epsilon is None else f", {epsilon:g}")


def _tried(name: str, method: str, epsilon: float, records: int) -> dict[str, Any]:
    try:
        return judged(name, made(name, method, epsilon, records))
    except Exception as error:  # noqa: BLE001 - one panel that fails must not take the others with it
        return {"why": f"{type(error).__name__}: {error}"}
