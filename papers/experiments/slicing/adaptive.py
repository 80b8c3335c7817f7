"""Directions chosen from released residuals against random ones: `python -m experiments.slicing.adaptive [--quick]`.

*random*: 32 random directions, as `slices` asks for. *adaptive*, at the same budget: 16 random ones with half of their
share; then a generator is fitted, and 16 more are asked for where its tables of two columns are farthest from the
released ones. The table of all pairs that were asked for, measured less made, in units of its cells' deviations, has
principal axes; those with the largest variance, of either sign, are the directions. All of it is public, and the proof
of `Slices` holds for any direction.

The rule was written down before any run, and nothing was tuned: Coverage is for choosing, should somebody want to, and
the other tables are for the report. Written beside the script, after every run: `adaptive.json`; runs that are in it
are not run again. `--quick` does one table for a moment and writes nothing.
"""

import argparse
import json
import math
import statistics
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.cells import table as plain_table
from experiments.slicing.methods import DELTA, Case, judged
from experiments.slicing.metrics import METRICS
from experiments.slicing.tasks import coded_rows, rows_of, task
from experiments.tables import split
from sfumato.artefact.frames import decode
from sfumato.fitting.mechanisms.counts.measure import measure_counts
from sfumato.fitting.mechanisms.slices.directions import AlongDirections, Tuning, measure_along, measure_directions
from sfumato.fitting.mechanisms.slices.plan import plan_slices
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.fitting.public_rng import public_rng
from sfumato.fitting.retraining.evidence import TrainingData, evidence_of
from sfumato.fitting.retraining.fit import fit_generator
from sfumato.fitting.tuning import stored_constants
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import AnyFloatArray
from sfumato.trusted.budget import Budget
from sfumato.trusted.curator import Curator
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.noise import SeededNoise
from sfumato.trusted.privacy_filter import PrivacyFilter
from sfumato.trusted.sources import open_source

RESULTS = Path(__file__).with_suffix(".json")
CHOSEN_ON, TASKS, SEEDS = "Coverage", ("Adult", "Readmission"), (0, 1, 2)
METHODS = ("random", "adaptive")
EPSILON, EPOCHS, QUICK_EPOCHS, QUICK_ROWS = 1.0, 400, 5, 2_000
STREAM = 41
CLEAR = 0.002  # a gain that is worth another round of questions, beyond two standard errors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one table, a moment of training; writes nothing")
    parser.add_argument("--only", nargs="*", choices=(CHOSEN_ON, *TASKS), help="some tables")
    asked = parser.parse_args()
    found = {} if asked.quick else kept()
    wanted = [(CHOSEN_ON, 0)] if asked.quick else [(CHOSEN_ON, 0), *((name, seed) for name in TASKS for seed in SEEDS)]
    for name, seed in wanted:
        if name not in (asked.only or [name]) or all(key_of(name, seed, method) in found for method in METHODS):
            continue
        new = {key_of(name, seed, method): one for method, one in measured(name, seed, asked.quick).items()}
        print(new, flush=True)
        found = ({} if asked.quick else kept()) | new
        if not asked.quick:
            RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print(plain_table(["", *METRICS], lines(found)))


def kept() -> dict[str, dict[str, float]]:
    """The runs so far; others may have added some."""
    found: dict[str, dict[str, float]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return found


def key_of(name: str, seed: int, method: str) -> str:
    return f"{name}, seed {seed}, {method}"


def measured(name: str, seed: int, quick: bool) -> dict[str, dict[str, float]]:
    """Figures of both, against rows that were held out."""
    one, budget = task(name), Budget(EPSILON, DELTA)
    train = split(one, seed)[0][: QUICK_ROWS if quick else None]
    epochs = QUICK_EPOCHS if quick else EPOCHS
    plan = plan_slices(one.schema, budget, Adjacency.REPLACE)
    assert plan.mu_directions is not None  # there are several columns
    found = {}
    for method in METHODS:
        source = open_source(train, one.schema, declared=True)
        curator = Curator(source, Adjacency.REPLACE, PrivacyFilter(budget.units), SeededNoise(seed))
        counted, one_way, pairs = measure_counts(curator, plan)
        if method == "random":
            along = measure_directions(curator, counted, one_way, plan.mu_directions)
        else:
            half = plan.mu_directions / math.sqrt(2)
            with stored_constants({Tuning.group: {"directions": Tuning.directions // 2}}):
                first = measure_directions(curator, counted, one_way, half)
                data = TrainingData(counted, one_way, evidence_of(one_way, pairs, first), pairs)
                places = residual_places(data, fitted_theta(data, epochs, seed), Tuning.directions)
                second = measure_along(curator, counted, one_way, places, half, public_rng(STREAM))
            assert first is not None  # it has a budget
            along = together(first, second)
        data = TrainingData(counted, one_way, evidence_of(one_way, pairs, along), pairs)
        model = fit_generator(data, {"epochs": epochs, "seed": seed})
        found[method] = figures(name, seed, model, len(train))
    return found


def fitted_theta(data: TrainingData, epochs: int, seed: int) -> tuple[AnyFloatArray, AnyFloatArray]:
    """A generator fitted to what is there so far: weights by class and point, and distributions over groups."""
    from sfumato.fitting.generators.training import train

    assert data.evidence is not None  # there are columns
    trained = train(data.evidence, "mlp", epochs, seed)
    return trained.weights, trained.theta


def residual_places(
    data: TrainingData, fitted: tuple[AnyFloatArray, AnyFloatArray], directions: int
) -> NDArray[np.int32]:
    """Directions x groups of all columns, in whole steps: the principal axes of what is off between columns."""
    seen, (weights, theta) = data.evidence, fitted
    assert seen is not None  # as above
    assert seen.pairs is not None  # there are several columns
    cells = theta @ seen.pairs.coarse
    made = cells.T @ (weights[:, None] * cells)
    share = np.maximum(weights @ cells, 1 / seen.size)
    off = np.where(seen.pairs.precision > 0, seen.pairs.tables.sum(axis=0) - made, 0.0) / np.sqrt(
        np.outer(share, share)
    )
    values, axes = np.linalg.eigh(off)
    axes = axes[:, np.argsort(-np.abs(values))[:directions]] / np.sqrt(share)[:, None]
    places = (seen.pairs.coarse @ axes).T
    whole: NDArray[np.int32] = np.rint(places / places.std(axis=1, keepdims=True) / Tuning.step).astype(np.int32)
    return whole


def together(first: AlongDirections, second: AlongDirections) -> AlongDirections:
    """Both, whose noise and number of bins are the same."""
    assert math.isclose(first.sigma, second.sigma, rel_tol=1e-6)
    return AlongDirections(
        np.concatenate((first.places, second.places)),
        np.concatenate((first.ends, second.ends)),
        np.concatenate((first.outer, second.outer)),
        np.concatenate((first.counts, second.counts)),
        first.sigma,
    )


def figures(name: str, seed: int, model: TableMixture, count: int) -> dict[str, float]:
    rows, schema, rng = rows_of(name), task(name).schema, np.random.default_rng(seed)
    drawn = decode(model.sample(count, rng), Encoder(schema).columns, rng)
    return judged(Case(name, rows), rows.split(seed).filled(), coded_rows(drawn, schema))


def lines(found: Mapping[str, Mapping[str, float]]) -> list[list[str]]:
    """The table that the rule was chosen on, then each other; mean and standard deviation over seeds."""
    rows = []
    for name in (CHOSEN_ON, *TASKS):
        for method in METHODS:
            runs = [found[key] for seed in SEEDS if (key := key_of(name, seed, method)) in found]
            cells = [_spread([one[metric] for one in runs if metric in one]) for metric in METRICS]
            rows.append([f"{name}{' (for choosing)' if name == CHOSEN_ON else ''}, {method}", *cells])
    return rows


def verdict(found: Mapping[str, Mapping[str, float]]) -> str:
    """How much better adaptive directions are on the tables of the report, and what follows."""
    gains = {
        metric: [
            found[key_of(name, seed, "adaptive")][metric] - found[key_of(name, seed, "random")][metric]
            for name in TASKS
            for seed in SEEDS
            if all(metric in found.get(key_of(name, seed, method), {}) for method in METHODS)
        ]
        for metric in METRICS
    }
    if not all(len(values) > 1 for values in gains.values()):
        return "Not run on enough tables to tell; until then `slices` asks for random ones."
    told = [
        f"{metric} {statistics.mean(values):+.4f} ± {statistics.stdev(values) / math.sqrt(len(values)):.4f}"
        for metric, values in gains.items()
    ]
    clear = [
        statistics.mean(values) > CLEAR + 2 * statistics.stdev(values) / math.sqrt(len(values))
        for values in gains.values()
    ]
    runs = len(next(iter(gains.values())))
    follows = "so `slices` should ask for them" if any(clear) else "no clear gain, so `slices` asks for random ones"
    return f"Gain over {runs} runs of the other tables, with its standard error: {', '.join(told)}: {follows}."


def _spread(values: list[float]) -> str:
    if not values:
        return "not run"
    return f"{statistics.mean(values):.3f}" + (f" ± {statistics.stdev(values):.3f}" if len(values) > 1 else "")


if __name__ == "__main__":
    main()
