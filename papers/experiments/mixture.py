"""What the `mixture` mechanism is worth: `python -m experiments.mixture [--quick] [--only PART ...] [--fresh]`.

    main        KL by epsilon and adjacency on the paper's synthetic data, beside the paper's mechanism (which is not
                private) and a naive private one; figures of an earlier study for reference
    iris        the same for Iris
    scaling     KL by rows, classes, columns, and bounds that are too wide
    real        real tables in two halves: KL, held-out likelihood and accuracy of each action
    coverage    how often the intervals hold what they should
    profiles    load profiles that nobody labelled: held-out likelihood by epsilon
    auto        numbers alone: `tables` against `mixture` by columns and rows
    adjacencies digits and load profiles: whole records hidden, or labels alone
    small classes
                by records for each unit of 1 / mu, beside what was published and a floor: neither is private
    failures    tiny classes, constant and correlated columns, wide bounds, many columns

KL is KL(released || fit of the same records without privacy), in nats: medians and quartiles over data sets. Every
release is made through `sfumato.release` with delta = 1e-5 and real noise, so that no two runs agree to the last digit.
Finished cells are read from the results beside this file; a run that was stopped goes on where it stopped. Real data is
read from $SFUMATO_DATA.
"""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from experiments import (
    mixture_accuracy,
    mixture_adjacencies,
    mixture_coverage,
    mixture_failures,
    mixture_held_out,
    mixture_or_tables,
    mixture_pictures,
    mixture_profiles,
    mixture_small,
)
from experiments.cells import Cell, Results

RESULTS = Path(__file__).with_suffix(".json")


class Part(NamedTuple):
    """The cells of a part, few and quick ones if asked, and the table of its results."""

    cells: Callable[[bool], Iterator[Cell]]
    show: Callable[[Results], str]


PARTS = {
    "main": Part(mixture_accuracy.main_cells, mixture_accuracy.show_main),
    "iris": Part(mixture_accuracy.iris_cells, mixture_accuracy.show_iris),
    "scaling": Part(mixture_accuracy.scaling_cells, mixture_accuracy.show_scaling),
    "real": Part(mixture_held_out.cells, mixture_held_out.show),
    "coverage": Part(mixture_coverage.cells, mixture_coverage.show),
    "profiles": Part(mixture_profiles.cells, mixture_profiles.show),
    "auto": Part(mixture_or_tables.cells, mixture_or_tables.show),
    "adjacencies": Part(mixture_adjacencies.cells, mixture_adjacencies.show),
    mixture_small.PART: Part(mixture_small.cells, mixture_small.show),
    "failures": Part(mixture_failures.cells, mixture_failures.show),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="few data sets, about seven minutes; results are not written"
    )
    parser.add_argument("--only", nargs="*", choices=list(PARTS), help="some parts; the results of others are kept")
    parser.add_argument("--fresh", action="store_true", help="measure finished cells of these parts anew")
    parser.add_argument("--results", type=Path, help="another file for the results; pictures are then put beside it")
    asked = parser.parse_args()
    names = asked.only or list(PARTS)
    path = asked.results or (None if asked.quick else RESULTS)
    results = Results(path)
    if asked.fresh:
        results.forget(names)
    for name in names:
        part = PARTS[name]
        for cell in part.cells(asked.quick):
            results.run(cell)
        print(f"\n{part.show(results)}\n", flush=True)
    if path is not None:
        folder = asked.results.parent if asked.results else mixture_pictures.FOLDER
        for picture in mixture_pictures.draw(results, folder):
            print(f"drawn: {picture.name}")


if __name__ == "__main__":
    main()
