"""What a release keeps of a table's structure: `python -m experiments.structure [--quick] [--only NAME,NAME]`.

Epsilon 1, delta 1e-5, one record more or less; three seeds, each with noise of its own. Results are stored under a tag,
`before` or `after`, so that two states of the library stand side by side; `--show` prints them as a table.

Data for choosing (`development`) and for reporting (`held out`) are named apart. Made tables differ by the state of
their generator: 0, 1, 2 and 100, 101, 102. Persons in Connecticut differ by year, columns and made-up functions; rules
by table: see `experiments.structure_census`. Adult and coverage are for choosing: the study of ties, screens and
leaves looked at both; census is for reporting.

- by area, ten columns: k-marginal scores (`experiments.structure_measures`), beside those of a bootstrap of the real
  rows; total variation of the area with its density, which has as many values, and with its county
- zips: total variation of zip and city, of city and state; the share of synthetic rows whose three no real row has
- rules, stays: the share of rows that break a rule
- declared: the same with the rules as the schema's `constraints`; of zips it says what is a function of what, no table
- labels: accuracy of LightGBM on synthetic rows, on real rows, and of the release itself, on a quarter kept apart
- adult, census, coverage: as `experiments.tables` measures them, with delta = 1/N
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import ks_2samp

import sfumato
from experiments import tables
from experiments.structure_census import AREA, COUNTY, DENSITY, DEVELOPMENT, by_area, ten_columns, with_rules
from experiments.structure_data import LABELLED, TARGET, Table, stays, zips
from experiments.structure_measures import broken, cells_of, pair_apart, score, score_by, share_broken
from experiments.tasks import TASKS
from sfumato.evaluation.learners import design, learners
from sfumato.evaluation.records import read_all, values_of

RESULTS = Path(__file__).with_suffix(".json")
HELD_OUT = "held out"
SEEDS = 3
FIRST_STATE = {DEVELOPMENT: 0, HELD_OUT: 100}
FEW_ROWS = 3_000
SECONDS, SIZE = "CPU seconds", ("rows", "columns")

Figures = dict[str, float]


@dataclass(frozen=True)
class Draw:
    """Which table is made or read, and the seed of its synthetic rows."""

    data: str
    seed: int
    few: bool = False

    @property
    def state(self) -> int:
        """Of the generator of a made table."""
        return FIRST_STATE[self.data] + self.seed

    @property
    def size(self) -> dict[str, int]:
        """How many rows, where not all."""
        return {"rows": FEW_ROWS} if self.few else {}


def released(table: Table, draw: Draw, *, declared: bool = False) -> tuple[sfumato.Release, pd.DataFrame, Figures]:
    """A release, as many synthetic rows as it says there are, and what the table's size and the time for both were."""
    begin = time.process_time()
    schema = table.schema(declared=declared)
    release = sfumato.release(table.rows, schema, epsilon=1.0, delta=1e-5, ledger=None, types="declared")
    drawn = release.sample(seed=draw.seed)
    seconds = time.process_time() - begin
    return release, drawn, {SECONDS: seconds, **dict(zip(SIZE, table.rows.shape, strict=True))}


def measure_areas(draw: Draw) -> Figures:
    table = by_area(draw.data, **draw.size)
    _, drawn, cost = released(table, draw)
    cells, again = (cells_of(table.rows, rows, table.numbers) for rows in (drawn, bootstrap(table.rows, draw.seed)))
    return {
        "score": score(cells),
        "score by area": score_by(cells, AREA),
        "bootstrap": score(again),
        "bootstrap by area": score_by(again, AREA),
        "area x density": pair_apart(cells[AREA], cells[DENSITY]),
        "area x county": pair_apart(cells[AREA], cells[COUNTY]),
        **cost,
    }


def measure_ten(draw: Draw) -> Figures:
    table = ten_columns(draw.data, **draw.size)
    _, drawn, cost = released(table, draw)
    cells, again = (cells_of(table.rows, rows, table.numbers) for rows in (drawn, bootstrap(table.rows, draw.seed)))
    return {"score": score(cells), "bootstrap": score(again), **cost}


def bootstrap(rows: pd.DataFrame, seed: int) -> pd.DataFrame:
    """As many rows, drawn with replacement."""
    return rows.sample(len(rows), replace=True, random_state=seed)


def measure_zips(count: int, draw: Draw, *, declared: bool = False) -> Figures:
    table = zips(count, draw.state, **draw.size)
    _, drawn, cost = released(table, draw, declared=declared)
    cells, chain = cells_of(table.rows, drawn, ()), ["zip", "city", "state"]
    known = pd.MultiIndex.from_frame(table.rows[chain]).unique()
    return {
        "zip x city": pair_apart(cells["zip"], cells["city"]),
        "city x state": pair_apart(cells["city"], cells["state"]),
        "impossible": float((~pd.MultiIndex.from_frame(drawn[chain]).isin(known)).mean()),
        "score": score(cells),
        **cost,
    }


def measure_rules(draw: Draw, *, declared: bool = False) -> Figures:
    table = with_rules(draw.data, **draw.size)
    _, drawn, cost = released(table, draw, declared=declared)
    cells = cells_of(table.rows, drawn, table.numbers)
    return {"rows that break a rule": share_broken(table.rules, drawn), "score": score(cells), **cost}


def measure_stays(draw: Draw, *, declared: bool = False) -> Figures:
    table = stays(draw.state, **draw.size)
    _, drawn, cost = released(table, draw, declared=declared)
    ends, country, _ = (float(broken(rule, drawn).mean()) for rule in table.rules)
    return {
        "end before they begin": ends,
        "city and country disagree": country,
        "age and year of birth, correlation": float(drawn["age"].corr(drawn["birth_year"])),
        "days, Kolmogorov-Smirnov": float(ks_2samp(_days(table.rows), _days(drawn)).statistic),
        "score": score(cells_of(table.rows, drawn, table.numbers)),
        **cost,
    }


def _days(rows: pd.DataFrame) -> Any:
    return (pd.to_datetime(rows["discharged"]) - pd.to_datetime(rows["admitted"])).dt.days


def measure_labels(name: str, draw: Draw) -> Figures:
    whole = LABELLED[name](draw.state, **draw.size)
    test = np.arange(len(whole.rows)) % 4 == 3
    train = Table(whole.rows[~test].reset_index(drop=True), whole.content)
    release, drawn, cost = released(train, draw)
    schema = release.schema
    read = {kind: read_all(rows, schema) for kind, rows in (("real", train.rows), ("drawn", drawn))}
    held_out = read_all(whole.rows[test].reset_index(drop=True), schema)
    known, truth = design(values_of(held_out, schema), schema), values_of(held_out, schema)[TARGET]
    learn = learners(schema, len(release.classes))["LightGBM"]
    values = {kind: values_of(batch, schema) for kind, batch in read.items()}
    right = {
        kind: learn(design(one, schema), one[TARGET], None)(known).argmax(axis=1) == truth
        for kind, one in values.items()
    }
    return {
        "synthetic rows": float(right["drawn"].mean()),
        "the release itself": float((release.predict_encoded(held_out).argmax(axis=1) == truth).mean()),
        "real rows": float(right["real"].mean()),
        "largest class": float(np.bincount(truth.astype(int)).max() / len(truth)),
        **cost,
    }


def measure_task(name: str, draw: Draw) -> Figures:
    task = TASKS[name]()
    found = tables.measure(task, 1.0, draw.seed)
    return {
        "AUC": found["score"],
        "AUC, weighted": found["weighted"],
        "AUC, the release itself": found["direct"],
        "pairs apart": found["pairs apart"],
        SECONDS: found["cpu seconds"],
        **dict(zip(SIZE, tables.split(task, draw.seed)[0].shape, strict=True)),
    }


Measure = Callable[[Draw], Figures]
_BOTH = (DEVELOPMENT, HELD_OUT)
ROWS: dict[str, tuple[Measure, tuple[str, ...]]] = {
    "by area": (measure_areas, _BOTH),
    "ten columns": (measure_ten, _BOTH),
    **{f"{count} zips": (partial(measure_zips, count), _BOTH) for count in (20, 40, 200)},
    "200 zips declared": (partial(measure_zips, 200, declared=True), _BOTH),
    "rules": (measure_rules, _BOTH),
    "rules declared": (partial(measure_rules, declared=True), _BOTH),
    "stays": (measure_stays, _BOTH),
    "stays declared": (partial(measure_stays, declared=True), _BOTH),
    **{name: (partial(measure_labels, name), _BOTH) for name in LABELLED},
    "coverage": (partial(measure_task, "coverage"), (DEVELOPMENT,)),
    "adult": (partial(measure_task, "adult"), (DEVELOPMENT,)),
    "census": (partial(measure_task, "census"), (HELD_OUT,)),
}


def available(name: str) -> bool:
    """Whether this library can be told rules, where the row needs it."""
    return not name.endswith("declared") or "constraints" in sfumato.Schema.model_fields


def run(name: str, draws: list[Draw]) -> dict[str, Any]:
    """The size of the released table, and the figures of each seed; none where the library cannot."""
    runs = [ROWS[name][0](draw) for draw in draws] if available(name) else []
    keys = runs[0] if runs else {}
    figures = {key: [one[key] for one in runs] for key in keys if key not in SIZE}
    return {**{key: int(keys[key]) for key in SIZE if key in keys}, "figures": figures}


def line(figures: dict[str, list[float]]) -> str:
    return ", ".join(f"{key} {shown(values)}" for key, values in figures.items()) or "not available"


def shown(values: list[float], *, spread: bool = True) -> str:
    """The mean, and the standard deviation of several."""
    mean = statistics.mean(values)
    digits = 0 if abs(mean) > 100 else 1 if abs(mean) > 2 else 3
    several = spread and len(values) > 1
    return f"{mean:.{digits}f}" + (f" ± {statistics.stdev(values):.{digits}f}" if several else "")


def show(results: list[dict[str, Any]]) -> None:
    """A table in Markdown, means of the seeds, before and after side by side."""
    by_key = {(one["row"], one["data"], one["tag"]): one["figures"] for one in results}
    print("| table | figures | development: before | after | held out: before | after |\n|---|---|---|---|---|---|")
    for row in ROWS:
        found = [by_key.get((row, data, tag)) for data in _BOTH for tag in ("before", "after")]
        names = dict.fromkeys(name for one in found for name in one or ())
        cells = [_cell(one) for one in found]
        print(f"| {row} | {' / '.join(names)} | {' | '.join(cells)} |")


def _cell(figures: dict[str, list[float]] | None) -> str:
    """Empty where nothing was measured yet."""
    if figures is None:
        return ""
    return " / ".join(shown(values, spread=False) for values in figures.values()) or "not available"


def chosen(only: list[str] | None, *, quick: bool) -> list[tuple[str, str]]:
    """Rows and their data; a quick run leaves out what is held out, and the tasks of `experiments.tables`."""
    rows = only or [row for row in ROWS if not (quick and row in TASKS)]
    return [(row, data) for row in rows for data in ROWS[row][1][: 1 if quick else None]]


def main() -> None:
    """See the top."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small tables for choosing, one seed; writes nothing")
    parser.add_argument("--only", type=lambda text: text.split(","), help=f"of {', '.join(ROWS)}; others are kept")
    parser.add_argument("--tag", choices=("before", "after"), default="after", help="under which results are stored")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--show", action="store_true", help="print what is stored, and measure nothing")
    asked = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    if asked.show:
        show(results)
        return
    if unknown := set(asked.only or ()) - set(ROWS):
        parser.error(f"--only: there is no {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
    for row, data in chosen(asked.only, quick=asked.quick):
        seeds = range(1 if asked.quick else asked.seeds)
        found = run(row, [Draw(data, seed, few=asked.quick) for seed in seeds])
        print(f"{row}, {data}: {line(found['figures'])}", flush=True)
        same = {"row": row, "data": data, "tag": asked.tag}
        results = [one for one in results if any(one[key] != value for key, value in same.items())]
        results.append({**same, **found})
        if not asked.quick:
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
