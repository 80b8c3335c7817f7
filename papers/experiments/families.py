"""What the release of a family of tables is worth: `python -m experiments.families [--quick] [--only NAME,NAME]`.

Epsilon 1 and 3, delta 1e-5, for a person with all of their rows; three seeds, with which split, noise and sample
change. Families: see `experiments.families_data`; designs: `experiments.families_designs`; figures:
`experiments.families_measures`. `--show` prints what is stored as tables in Markdown.

- real rows: distances of held-out real persons (of made families: of those that are released), and what learners reach
  that are trained on the real released rows; unlinked: trained on rows without their history
- AUC event: whether a row has an event, from the rows above, the row before and itself (unlinked rows: without the row
  before). diabetes: readmitted; clinic, stays: emergency; diagnoses: a chronic one; meters: a day above the median of
  all days, from its hours before noon
- AUC next: of the next row, from the rows above and the row before alone. diabetes: longer than 4 days; clinic: cost
  above 600; stays: cost above 1,500; diagnoses: a chronic one; meters: a day above the median
- the count: diabetes: circulatory diagnoses; clinic: severe states; stays: in cardiology; diagnoses: heart failure;
  meters: days above the median
- HMA and PAR are SDV's, run by the interpreter that $SFUMATO_SDV_PYTHON names, on 3,000 of the persons at most and with
  40 epochs of PAR (128 are its default). They are not private

The real data is read from $SFUMATO_DATA; families without it are left out.
"""

import argparse
import json
import statistics
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from experiments.families_data import FAMILIES, MADE_FAMILIES, Parts
from experiments.families_designs import Drawn, NotRunError, flat_of, run_apart, run_family, run_peer, run_unit
from experiments.families_measures import Figures, Judge
from experiments.tasks import data_folder

RESULTS = Path(__file__).with_suffix(".json")
EPSILONS = (1.0, 3.0)
SEEDS = 3
FEW = 1_200  # persons of a quick run
QUICK = ("clinic", "hospital", "diabetes")
REAL, UNLINKED = "real rows", "real rows unlinked"
PEERS = ("HMA", "PAR")
DESIGNS: dict[str, Callable[[Parts, Judge, float, int], Drawn]] = {
    "family": lambda parts, judge, epsilon, seed: run_family(parts.released, epsilon, seed, judge, parts.held_out),
    "unit 1": lambda parts, _, epsilon, seed: run_unit(parts.released, epsilon, seed, 1),
    "unit 3": lambda parts, _, epsilon, seed: run_unit(parts.released, epsilon, seed, 3),
    "apart": lambda parts, _, epsilon, seed: run_apart(parts.released, epsilon, seed),
}
EVERY = (REAL, UNLINKED, *DESIGNS, *PEERS)
TITLES = {
    "number of rows": "number of rows",
    "parent-child, by row": "parent-child, by row",
    "parent-child, by person": "by person",
    "child-child, by row": "child-child",
    "consecutive, all pairs": "consecutive",
    "consecutive, same column": "same column",
    "KS of means": "KS of means",
    "KS of maxima": "maxima",
    "KS of a count": "a count",
    "parent pairs": "parent pairs",
    "AUC event": "AUC event",
    "AUC event, by the release": "by the release",
    "AUC next": "AUC next",
    "rows to true rows": "rows",
    "fit": "fit, CPU s",
    "draw": "draw",
}

Run = tuple[str, float | None, dict[str, Figures]]


def real_rows(design: str, parts: Parts, judge: Judge) -> dict[str, Figures]:
    """The floor of the distances, and what is learnt from real rows with or without their history."""
    tables = parts.released.children
    if design == UNLINKED:
        return {one: judge.learn(flat_of(parts.released), one) for one in tables}
    return {one: judge.score(parts.floor, one) | judge.learn(parts.released, one) for one in tables}


def judged(drawn: Drawn, judge: Judge, tables: tuple[str, ...]) -> dict[str, Figures]:
    took = {"fit": drawn.fit, "draw": drawn.draw}
    return {
        table: judge.score(drawn.tables, table) | judge.learn(drawn.tables, table) | drawn.more.get(table, {}) | took
        for table in tables
    }


def measure(
    name: str, seed: int, epsilons: tuple[float, ...], designs: tuple[str, ...], few: int | None
) -> Iterator[Run]:
    """Every design on one family and one seed."""
    parts = FAMILIES[name](seed, few)
    judge, tables = Judge(parts.truth, parts.held_out), parts.released.children
    for design in (REAL, UNLINKED):
        if design in designs:
            yield design, None, real_rows(design, parts, judge)
    for model in PEERS:
        if model in designs:
            try:
                yield model, None, judged(run_peer(parts.released, model, seed), judge, tables)
            except NotRunError as error:
                print(f"{name}, {model}: left out, {error}", flush=True)
    for epsilon in epsilons:
        for design, run in DESIGNS.items():
            if design in designs:
                yield design, epsilon, judged(run(parts, judge, epsilon, seed), judge, tables)


def gather(name: str, runs: list[Run]) -> list[dict[str, Any]]:
    """Means and standard deviations over the seeds, by design, epsilon and table."""
    found: dict[tuple[str, float | None, str], list[Figures]] = {}
    for design, epsilon, figures in runs:
        for table, values in figures.items():
            found.setdefault((design, epsilon, table), []).append(values)
    return [
        {"family": name, "design": design, "epsilon": epsilon, "table": table, **_spread(several)}
        for (design, epsilon, table), several in found.items()
    ]


def _spread(several: list[Figures]) -> dict[str, Any]:
    values = {key: [one[key] for one in several if key in one] for key in several[0]}
    return {
        "seeds": len(several),
        "mean": {key: round(statistics.mean(one), 5) for key, one in values.items()},
        "deviation": {key: round(statistics.stdev(one), 5) for key, one in values.items() if len(one) > 1},
    }


def show(results: list[dict[str, Any]]) -> None:
    """A table in Markdown for each table of each family."""
    for family in FAMILIES:
        mine = [one for one in results if one["family"] == family]
        for table in dict.fromkeys(one["table"] for one in mine):
            _show_table(family, [one for one in mine if one["table"] == table])


def _show_table(family: str, results: list[dict[str, Any]]) -> None:
    keys = [key for key in TITLES if any(key in one["mean"] for one in results)]
    print(f"\n**{family}: {results[0]['table']}**\n")
    print(f"| design | epsilon | {' | '.join(TITLES[key] for key in keys)} |\n|{'---|' * (2 + len(keys))}")
    by_budget = sorted(results, key=lambda one: (one["epsilon"] or 0, EVERY.index(one["design"])))
    for one in by_budget:
        epsilon = "" if one["epsilon"] is None else f"{one['epsilon']:g}"
        print(f"| {one['design']} | {epsilon} | {' | '.join(_cell(one, key) for key in keys)} |")


def _cell(one: dict[str, Any], key: str) -> str:
    if key not in one["mean"]:
        return ""
    digits = 1 if key in ("fit", "draw") else 3
    spread = f" ± {one['deviation'][key]:.{digits}f}" if key in one["deviation"] else ""
    return f"{one['mean'][key]:.{digits}f}{spread}"


def available(names: list[str]) -> list[str]:
    """Without the real families where their data is not there."""
    try:
        data_folder()
    except SystemExit as error:
        left_out = [name for name in names if name not in MADE_FAMILIES]
        if left_out:
            print(f"left out: {', '.join(left_out)}; {error}", flush=True)
        return [name for name in names if name in MADE_FAMILIES]
    return names


def kept(results: list[dict[str, Any]], found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All results, new ones in the place of old ones of the same family, design and epsilon."""
    key = ("family", "design", "epsilon", "table")
    new = {tuple(one[part] for part in key) for one in found}
    return [*(one for one in results if tuple(one[part] for part in key) not in new), *found]


def chosen(parser: argparse.ArgumentParser, asked: list[str] | None, known: tuple[str, ...], what: str) -> list[str]:
    if unknown := set(asked or ()) - set(known):
        parser.error(f"--{what}: there is no {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return asked or list(known)


def _names(text: str) -> list[str]:
    return text.split(",")


def main() -> None:
    """See the top."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few persons, one seed, epsilon 1; writes nothing")
    parser.add_argument("--only", type=_names, help=f"of {', '.join(FAMILIES)}; results of others are kept")
    parser.add_argument("--designs", type=_names, help=f"of {', '.join(EVERY)}; results of others are kept")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--show", action="store_true", help="print what is stored, and measure nothing")
    asked = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    if asked.show:
        show(results)
        return
    names = chosen(parser, asked.only or (list(QUICK) if asked.quick else None), tuple(FAMILIES), "only")
    designs = tuple(chosen(parser, asked.designs, EVERY, "designs"))
    if asked.quick and asked.designs is None:
        designs = tuple(design for design in designs if design not in PEERS)
    seeds, epsilons, few = (1, EPSILONS[:1], FEW) if asked.quick else (asked.seeds, EPSILONS, None)
    measured: list[dict[str, Any]] = []
    for name in available(names):
        runs: list[Run] = []
        for seed in range(seeds):
            for run in measure(name, seed, epsilons, designs, few):
                runs.append(run)
                print(f"{name}, seed {seed}, {run[0]}, epsilon {run[1]}: {_line(run[2])}", flush=True)
        found = gather(name, runs)
        measured += found
        if not asked.quick:
            results = kept(json.loads(RESULTS.read_text()) if RESULTS.exists() else [], found)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    show(measured)


def _line(figures: dict[str, Figures]) -> str:
    parts = [
        f"{table}: " + ", ".join(f"{key} {value:.3f}" for key, value in values.items())
        for table, values in figures.items()
    ]
    return "; ".join(parts)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main()
