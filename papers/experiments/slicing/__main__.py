"""The experiments of the slicing paper, beside this library: `python -m experiments.slicing`.

Three parts. `census`: five tables at epsilon 5.1, delta 1e-5, three seeds, by five figures. `digits`: MNIST and USPS,
accuracy on the private one against epsilon. `toys`: eight Gaussians and moons. Finished runs are kept in `results.json`
and `toys.json`, beside the page and its pictures. `--quick` takes some minutes on a CPU: two tables, one pair, few rows
and steps; it writes nothing. The data is read from $SFUMATO_DATA, or from arrays that `--export` wrote, where
`--arrays` says so: those need no more than numpy, scipy, scikit-learn, torch, Opacus, dp-accounting and LightGBM, leave
out this library's own releases of tables and the toys, and write no page.
"""

import argparse
from pathlib import Path

from experiments.cells import table as plain_table
from experiments.slicing import adaptation, table
from experiments.slicing.metrics import METRICS
from experiments.slicing.runs import Kept, Measure, run_all

HERE = Path(__file__).parent
PARTS = ("census", "digits", "toys")
QUICK_TASKS = ("Coverage", "Adult")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few rows, steps and seeds; writes nothing")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS, help="some of the three parts")
    parser.add_argument("--only", nargs="*", choices=table.TASKS, help="some tables; others are kept as they are")
    parser.add_argument("--methods", nargs="*", help=f"some columns: {', '.join(names())}")
    parser.add_argument("--jobs", type=int, default=2, help="how many runs at a time")
    parser.add_argument("--export", type=Path, help="write tables, digits and our slices to this folder; run nothing")
    parser.add_argument("--arrays", type=Path, help="read them from such a folder")
    parser.add_argument("--results", type=Path, default=HERE / "results.json", help="where finished runs are kept")
    parser.add_argument("--page", action="store_true", help="run nothing: write the page of what there is")
    asked = parser.parse_args()
    methods = asked.methods or names()
    if unknown := set(methods) - set(names()):
        parser.error(f"no such method: {', '.join(sorted(unknown))}")
    tasks = asked.only or (QUICK_TASKS if asked.quick else table.TASKS)
    if asked.export:
        export(tasks, asked.parts, asked.export)
        return
    kept = Kept(None if asked.quick else asked.results)
    if not asked.page:
        measure_all(kept, tasks, methods, asked)
    if not asked.quick and not asked.arrays:
        write(kept)


def names() -> list[str]:
    """The columns of all parts."""
    return list(dict.fromkeys((*table.METHODS, *adaptation.METHODS)))


def measure_all(kept: Kept, tasks: tuple[str, ...], methods: list[str], asked: argparse.Namespace) -> None:
    """The parts that were asked for, one after the other, and what came out."""
    measure = Measure(asked.quick, asked.arrays)
    if "census" in asked.parts:
        columns = [name for name in table.METHODS if name in methods and not (asked.arrays and name in table.OURS)]
        run_all(table.runs(tasks, columns, 1 if asked.quick else table.SEEDS), kept, measure, asked.jobs)
        for metric in METRICS:
            print(f"\n{plain_table([metric, *columns], table.lines(kept, metric, tasks, columns))}")
    if "digits" in asked.parts:
        columns = [name for name in adaptation.METHODS if name in methods]
        seeds = 1 if asked.quick else adaptation.SEEDS
        run_all(adaptation.runs(columns, seeds, asked.quick), kept, measure, asked.jobs)
        print(f"\n{plain_table(['accuracy', *adaptation.METHODS], adaptation.lines(kept))}")
    if "toys" in asked.parts and not asked.arrays:
        from experiments.slicing import toys

        columns = [name for name in toys.METHODS if name in methods]
        toys.Panels(None if asked.quick else HERE / "toys.json").run(columns, asked.quick)


def write(kept: Kept) -> None:
    from experiments.slicing.page import write_page
    from experiments.slicing.toys import Panels

    write_page(kept, Panels(HERE / "toys.json"), HERE)
    print(f"\nwritten: {HERE.name}/README.md and its pictures")


def export(tasks: tuple[str, ...], parts: tuple[str, ...], folder: Path) -> None:
    from experiments.slicing.tasks import rows_of

    folder.mkdir(parents=True, exist_ok=True)
    for name in tasks if "census" in parts else ():
        rows_of(name).save(folder / f"{name}.npz")
        print(f"written: {name}.npz")
    if "digits" in parts:
        adaptation.export(folder)
        print("written: both sets of digits and our releases of them")


if __name__ == "__main__":
    main()
