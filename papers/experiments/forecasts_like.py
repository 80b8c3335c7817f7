"""Whether simulated forecasts hold: `python -m experiments.forecasts_like [--sets SET ...] [--show]`.

Of a made table (`experiments.forecasts_made`) 4,000 rows are the public sample that `--like` is given, others are the
private table, and others again are for tests. The plan simulates five releases of the sample; then the private table is
released itself, and measured in the same way. The interval should hold four times out of five.

`building` are the tables that the interval was made for. Of ten, 3 of 10 intervals for two columns held at first: room
was made for what makes a table differ from a sample, a quarter of the error. Of twelve that were fresh then 12, 11 and
11 held, and of a predictor's loss 9: for this the quarter became a half. `fresh` are tables released after that.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from experiments.forecasts_made import draw_table, name_of
from sfumato.planning.proxies import SampleProxy, open_proxy
from sfumato.planning.request import check_request
from sfumato.planning.simulation import predict_interval, rehearse

RESULTS = Path(__file__).with_suffix(".json")
SETS = {"building": (*range(2_000, 2_010), *range(3_000, 3_012)), "fresh": tuple(range(6_000, 6_006))}
REPETITIONS, PUBLIC, DELTA = 5, 4_000, 1e-6
MEASURES = ("column_error", "pair_error", "mean_error", "prediction_gap")


@dataclass(frozen=True)
class PrivateTable(SampleProxy):
    """The private rows, each of them once, and those for tests."""

    others: pa.Table

    def draw(self, rows: int, rng: np.random.Generator) -> tuple[pa.Table, pa.Table]:
        """The same at any time."""
        del rows, rng
        return self.table, self.others


def measure(number: int) -> dict[str, Any]:
    """What five simulated releases of a sample were worth, and what the release of the private table was."""
    made = draw_table(number)
    frame, schema = made.task.rows, made.task.schema
    private, public, others = np.split(frame.index.to_numpy(), [made.rows, made.rows + PUBLIC])
    request = check_request(schema, made.rows, made.epsilon, DELTA, "tables", "add-remove")
    sample = open_proxy(frame.loc[public].reset_index(drop=True), schema)
    truth = PrivateTable(_arrow(frame.loc[private]), "the table", _arrow(frame.loc[others]))
    return {
        "task": name_of(number),
        "rows": made.rows,
        "epsilon": made.epsilon,
        "simulated": [asdict(rehearse(request, sample, seed)) for seed in range(REPETITIONS)],
        "truth": asdict(rehearse(request, truth, number)),
    }


def _arrow(frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame, preserve_index=False)


def coverage(results: Sequence[dict[str, Any]], measure: str, repetitions: int) -> tuple[int, int]:
    """How many intervals hold, of how many."""
    held = known = 0
    for item in results:
        values = [one[measure] for one in item["simulated"][:repetitions]]
        if None not in values and item["truth"][measure] is not None:
            low, high = predict_interval(measure, values)
            known += 1
            held += low <= item["truth"][measure] <= high
    return held, known


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", choices=list(SETS), help="some sets; the results of others are kept")
    parser.add_argument("--show", action="store_true", help="release nothing: coverage alone")
    asked = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    for number in () if asked.show else [number for words in asked.sets or SETS for number in SETS[words]]:
        results = [item for item in results if item["task"] != name_of(number)] + [measure(number)]
        print(json.dumps(results[-1]), flush=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    for words, numbers in SETS.items():
        own = [item for item in results if item["task"] in map(name_of, numbers)]
        for name in MEASURES:
            shown = [f"{count} releases: {'{} of {}'.format(*coverage(own, name, count))}" for count in (2, 3, 5)]
            print(f"{words}, {name}: {'; '.join(shown)}")


if __name__ == "__main__":
    main()
