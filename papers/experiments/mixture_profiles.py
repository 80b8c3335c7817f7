"""Load profiles that nobody labelled, from end to end: 1,159 houses, 12 hours, the logarithm of kWh.

Three quarters of the houses are released, the others say how likely they are: held-out log-likelihood of a house. One
Gaussian and expectation and maximisation without privacy are fitted to the same three quarters.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa
from scipy.stats import ks_2samp, multivariate_normal

import sfumato
from experiments.cells import Cell, Figures, Results, shown, table
from experiments.liu.data import CLUSTERS, load_profiles
from experiments.mixture_data import DELTA
from sfumato.artefact.release import Release
from sfumato.trusted.arrays import FloatArray

PART = "profiles"
EPSILONS = (1.0, 2.0, 4.0, 8.0)
SPLITS = 5
ASKED = {f"components={CLUSTERS}": CLUSTERS, "components=1": 1, "no number": None}
DRAWS = 20_000


def split_houses(seed: int) -> tuple[FloatArray, FloatArray]:
    """Houses to release, and houses to judge by."""
    numbers = load_profiles().numbers
    order = np.random.default_rng([5, seed]).permutation(len(numbers))
    cut = 3 * len(numbers) // 4
    return numbers[order[:cut]], numbers[order[cut:]]


def hours(numbers: FloatArray) -> pa.Table:
    return pa.table({f"h{hour:02d}": numbers[:, hour] for hour in range(numbers.shape[1])})


def schema() -> sfumato.Schema:
    """What everybody knows of a house: no hour is below 0 nor above 50 kWh."""
    records = load_profiles()
    low, high = float(records.low[0]), float(records.high[0])
    columns = [{"name": f"h{hour:02d}", "type": "number", "bounds": [low, high]} for hour in range(records.columns)]
    return sfumato.Schema.from_dict({"sfumato": 1, "name": "houses", "columns": columns})


def release_houses(numbers: FloatArray, epsilon: float, components: int | None) -> Release:
    return sfumato.release(
        hours(numbers), schema(), epsilon=epsilon, delta=DELTA, mechanism="mixture", ledger=None, types="declared",
        components=components,
    )  # fmt: skip


def measure(epsilon: float, seed: int) -> Figures:
    private, held = split_houses(seed)
    found: Figures = {}
    for name, components in ASKED.items():
        release = release_houses(private, epsilon, components)
        found[name] = float(release.log_prob(hours(held)).mean())
        found[f"{name}, one Gaussian a component"] = float(release.estimate("mixture").log_prob(hours(held)).mean())
        found[f"{name}: components"] = float(len(release.fitted.actions["mixture"].weights))  # type: ignore[attr-defined]
        drawn = release.sample(DRAWS, output="arrow", seed=seed)
        found[f"{name}: single hours off"] = hours_off(drawn, held)
    return found


def hours_off(drawn: pa.Table, held: FloatArray) -> float:
    """The mean Kolmogorov-Smirnov distance of an hour."""
    names = drawn.column_names
    return float(np.mean([ks_2samp(drawn[name].to_numpy(), held[:, j]).statistic for j, name in enumerate(names)]))


def measure_free(seed: int) -> Figures:
    """Without privacy."""
    from sklearn.mixture import GaussianMixture

    private, held = split_houses(seed)
    found: Figures = {
        "one Gaussian": float(multivariate_normal(private.mean(0), np.cov(private.T)).logpdf(held).mean())
    }
    for components in (3, CLUSTERS):
        fitted = GaussianMixture(components, n_init=3, random_state=0, reg_covar=1e-4).fit(private)
        found[f"{components} components"] = float(fitted.score(held))
    return found


def cells(quick: bool) -> Iterator[Cell]:
    seeds = range(1 if quick else SPLITS)
    yield Cell(PART, "no privacy", seeds, measure_free)
    for epsilon in EPSILONS[::2] if quick else EPSILONS:
        yield Cell(PART, f"epsilon {epsilon:g}", seeds, partial(measure, epsilon))


def show(results: Results) -> str:
    cases = [f"epsilon {epsilon:g}" for epsilon in EPSILONS]
    names = [
        name
        for asked in ASKED
        for name in (asked, f"{asked}, one Gaussian a component", f"{asked}: components", f"{asked}: single hours off")
    ]
    rows = [[name, *(shown(results.figure(PART, case, name)) for case in cases)] for name in names]
    free = (results.find(PART, "no privacy") or {"figures": {}})["figures"]
    rows += [[f"no privacy: {name}", *(shown(figure) for _ in cases)] for name, figure in free.items()]
    return "load profiles without labels: held-out log-likelihood of a house\n" + table(["", *cases], rows)
