"""Table 1 and figures 1 to 3 of ClustMix, beside this library: `python -m experiments.clustmix`.

A quarter of each class is held out (digits have their own test set); LightGBM is trained on what a method makes of the
rest and tested on real rows: area under the ROC curve, one against one for four classes, accuracy for digits. Epsilon
1, delta 1/N (digits: 1e-5), three seeds, mean and standard deviation, and for every column that has settings the best
of as many tries on the training rows. Finished runs are kept in `table_1.json`. `--quick` takes some minutes: two
tasks, 4,000 rows of each, one seed, two tries; it writes nothing. The data is read from $SFUMATO_DATA, or from arrays
that `--export` wrote, where `--arrays` says so: those need no more than numpy, torch and LightGBM.
"""

import argparse
from pathlib import Path

from experiments.cells import table
from experiments.clustmix import table_1
from experiments.clustmix.runs import Kept, Measure, run_all
from experiments.clustmix.search import TRIES

HERE = Path(__file__).parent
QUICK_TASKS = ("adult", "isolet")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two tasks, one seed; writes nothing")
    parser.add_argument("--only", nargs="*", choices=table_1.TASKS, help="some tasks; others are kept as they are")
    parser.add_argument("--methods", nargs="*", choices=table_1.METHODS, help="some columns")
    parser.add_argument("--jobs", type=int, default=2, help="how many runs at a time")
    parser.add_argument("--seeds", type=int, default=table_1.SEEDS, help="how many; 0 writes the page of what is kept")
    parser.add_argument("--tries", type=int, default=TRIES, help="how many settings every column may try")
    parser.add_argument("--export", type=Path, help="write the tasks as arrays to this folder, and run nothing")
    parser.add_argument("--arrays", type=Path, help="read the tasks from such a folder; leaves the figures out")
    parser.add_argument("--results", type=Path, default=HERE / "table_1.json", help="where finished runs are kept")
    asked = parser.parse_args()
    tasks = asked.only or (QUICK_TASKS if asked.quick else table_1.TASKS)
    if asked.export:
        export(tasks, asked.export)
        return
    kept = Kept(None if asked.quick else asked.results)
    runs = table_1.runs(tasks, asked.methods or table_1.METHODS, 1 if asked.quick else asked.seeds)
    run_all(runs, kept, Measure(asked.quick, asked.arrays, asked.tries), asked.jobs, asked.tries)
    print(f"\n{table(['', *table_1.METHODS], table_1.lines(kept, tasks))}\n")
    if not asked.quick and not asked.arrays:
        from experiments.clustmix.page import write_page

        write_page(kept, HERE)
        print(f"written: {HERE.name}/README.md and its figures")


def export(tasks: tuple[str, ...], folder: Path) -> None:
    from experiments.clustmix.data import rows_of

    folder.mkdir(parents=True, exist_ok=True)
    for name in tasks:
        rows_of(name).save(folder / f"{name}.npz")
        print(f"written: {name}.npz")


if __name__ == "__main__":
    main()
