"""`mixture` and `subspace` beside CoinPress: `python -m experiments.coinpress [--quick] [--only METHOD ...] [--fresh]`.

KL(released || fit of the same records) in nats by columns, records and classes, at epsilon 1 and 4, delta 1e-5,
add-remove: medians and quartiles over synthetic tables that were used for no choice. `mixture` has up to 32 columns;
beyond, `subspace` is run. CoinPress twice: by the conversion of its paper, and with the noise that the exact curve of
the Gaussian mechanism allows, by which this library accounts. Finished cells are read from the results beside this
file. All of it takes some half an hour on one core, most of it for `mixture` in 20 columns; `--quick` a minute, and
writes nothing.
"""

import argparse
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sfumato_papers.liu import Mixture, divergence, fit

import sfumato
from experiments.cells import Cell, Figures, Results, shown, table
from experiments.mixture_accuracy import UNSEEN
from experiments.mixture_coinpress import coinpress
from experiments.mixture_data import DELTA, Records, mixture_of, released, synthetic
from sfumato.fitting.models.subspace.model import SubspaceModel

RESULTS = Path(__file__).with_suffix(".json")
MIXTURE, SUBSPACE = "mixture", "subspace"
PUBLISHED, EXACT = "CoinPress", "CoinPress, exact curve"
METHODS = (MIXTURE, SUBSPACE, PUBLISHED, EXACT)
COLUMNS, ROWS, CLASSES, EPSILONS = (2, 5, 10, 20, 50, 100), (1_000, 10_000, 100_000), (1, 5), (1.0, 4.0)
MOST_OF_A_MIXTURE = 32  # columns
SEEDS, SLOW_SEEDS, SLOW_COLUMNS = 5, 3, 20


class Size(NamedTuple):
    rows: int
    columns: int
    classes: int

    @property
    def fits(self) -> bool:
        """Whether every class can have the records that the synthetic tables give it at least."""
        return 2 * self.classes * (self.columns + 1) <= self.rows

    def case(self, epsilon: float) -> str:
        return f"{self.columns} columns, {self.rows} rows, {self.classes} classes, epsilon {epsilon:g}"


def sizes() -> list[Size]:
    every = [Size(rows, d, classes) for d in COLUMNS for classes in CLASSES for rows in ROWS]
    return [size for size in every if size.fits]


def measure(method: str, size: Size, epsilon: float, seed: int) -> Figures:
    records = synthetic(seed, *size)
    begin = time.process_time()
    found = release(method, records, epsilon, seed)
    seconds = time.process_time() - begin
    fitted = fit(records.numbers, records.label, records.classes)
    return {"kl": divergence(found, fitted).total, "seconds": seconds}


def release(method: str, records: Records, epsilon: float, seed: int) -> Mixture:
    if method == MIXTURE:
        return mixture_of(released(records, epsilon)[0], records)
    if method == SUBSPACE:
        return by_subspace(records, epsilon)
    return coinpress(np.random.default_rng([14, seed]), records, epsilon, exact=method == EXACT)


def by_subspace(records: Records, epsilon: float) -> Mixture:
    """The Gaussian of each class that `subspace` releases, in the units of the columns."""
    private, schema = records.table(), records.schema()
    made = sfumato.release(
        private, schema, epsilon=epsilon, delta=DELTA, mechanism=SUBSPACE, ledger=None, types="declared"
    )
    if not isinstance(made.fitted, SubspaceModel):
        raise TypeError("not a subspace")
    return gaussians_of(made.fitted, records)


def gaussians_of(model: SubspaceModel, records: Records) -> Mixture:
    """Its mean and covariance of each class, without what its marginals do to single columns."""
    span = records.high - records.low
    means = records.low + span * (model.means + model.centres @ model.basis.T)
    covariances = model.basis @ model.covs @ model.basis.T + np.diag(model.residual)
    return Mixture(model.weights, means, covariances * np.outer(span, span))


def cells(methods: list[str], quick: bool) -> Iterator[Cell]:
    for size in sizes():
        if quick and (size.columns > 5 or size.rows > 1_000):
            continue
        slow = size.columns >= SLOW_COLUMNS
        count = 1 if quick else SLOW_SEEDS if slow else SEEDS
        for method in methods:
            if method in (MIXTURE, SUBSPACE) and (method == MIXTURE) != (size.columns <= MOST_OF_A_MIXTURE):
                continue
            for epsilon in EPSILONS:
                seeds = range(UNSEEN, UNSEEN + count)
                yield Cell(method, size.case(epsilon), seeds, partial(measure, method, size, epsilon))


def show(results: Results) -> str:
    rows = []
    for size in sizes():
        figures = [
            shown(results.figure(method, size.case(epsilon), "kl")) for epsilon in EPSILONS for method in METHODS
        ]
        if set(figures) != {"-"}:
            rows.append([f"{size.columns} columns, {size.rows:,} rows, K {size.classes}", *figures])
    head = ["", *(f"{method}, {epsilon:g}" for epsilon in EPSILONS for method in METHODS)]
    return f"median KL(released || fit) in nats (quartiles), delta {DELTA:g}; by epsilon\n{table(head, rows)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few columns and one table each; writes nothing")
    parser.add_argument("--only", nargs="*", choices=METHODS, help="some methods; the results of others are kept")
    parser.add_argument("--fresh", action="store_true", help="measure finished cells of these methods anew")
    asked = parser.parse_args()
    methods = asked.only or list(METHODS)
    results = Results(None if asked.quick else RESULTS)
    if asked.fresh:
        results.forget(methods)
    for cell in cells(methods, asked.quick):
        results.run(cell)
    print(f"\n{show(results)}")


if __name__ == "__main__":
    main()
