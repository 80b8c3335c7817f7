"""How much noise random slices need, and what a shuffle gains: `python -m experiments.slicing.accounting_tables`.

Four tables: A1 to A3 are sigma / Delta of one release at three budgets; B1 is the greatest kappa = Delta / sigma of
shuffled records. They are printed and written beside this file; `--quick` does a few cells and writes nothing.
"""

import argparse
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sfumato_papers.accounting import SlicingProfile, sigma_by_renyi
from sfumato_papers.accounting.shuffling import Clone, blanket, ceiling, clones, unlinked, unshuffled
from sfumato_papers.slicing import bounds

from experiments.cells import progress
from sfumato.trusted.random_directions import OrthonormalFrame

FOLDER = Path(__file__).parent
BUDGETS = {"A1": (1.0, 1e-5), "A2": (1.0, 1e-6), "A3": (5.1, 1e-5)}
DIMENSIONS = (20, 100, 784)
SLICES = (1, 5, 20, 100)
RECORDS = (10**4, 10**5, 10**6)
DELTAS = (1e-5, 1e-6)
NOISE = (
    "exact indep", "exact orth", "orth + clip", "RDP indep", "RDP orth", "tail split", "worst case", "R&R Bernstein",
    "R&R as coded", "R&R CLT", "noise / slice sd",
)  # fmt: skip
SHUFFLED = (
    "no shuffle", "clones (proven)", "stronger clones", *(f"blanket m={m}" for m in SLICES), "ceiling",
    *(f"unlinked m={m}" for m in SLICES),
)  # fmt: skip
Row = dict[str, Any]


def noise(dimension: int, slices: int, epsilon: float, delta: float) -> Row:
    """One row of a table A: certified upper sigmas, their widest bracket, and the earlier bounds."""
    apart = OrthonormalFrame.independent(dimension, slices)
    found = {"exact indep": SlicingProfile(apart).sigma(epsilon, delta)}
    row: Row = {"d": dimension, "m": slices}
    together = OrthonormalFrame.orthonormal(dimension, slices) if slices <= dimension else None
    if together:
        clip = min(together.mean + 2 * together.deviation, 1.0)
        found["exact orth"] = SlicingProfile(together).sigma(epsilon, delta)
        found["orth + clip"] = SlicingProfile(together, clip).sigma(epsilon, delta)
        row["RDP orth"] = sigma_by_renyi(together, epsilon, delta)
    row |= {name: bracket.upper for name, bracket in found.items()}
    best = found.get("exact orth", found["exact indep"]).upper
    return row | {
        "bracket": max(bracket.upper / bracket.lower - 1 for bracket in found.values()),
        "RDP indep": sigma_by_renyi(apart, epsilon, delta),
        "tail split": bounds.tail_split(apart, epsilon, delta),
        "worst case": bounds.worst_case(apart, epsilon, delta),
        "R&R Bernstein": bounds.bernstein(dimension, slices, epsilon, delta),
        "R&R as coded": bounds.bernstein_as_coded(dimension, slices, epsilon, delta),
        "R&R CLT": bounds.central_limit(dimension, slices, epsilon, delta),
        "noise / slice sd": 2 * best * math.sqrt(dimension),
    }


def shuffled(records: int, delta: float, quick: bool) -> Row:
    """One row of table B1, epsilon 1."""
    widths = SLICES[:1] if quick else SLICES
    accounts = {
        "no shuffle": unshuffled(1.0, delta),
        "clones (proven)": clones(records, 1.0, delta),
        "stronger clones": clones(records, 1.0, delta, Clone.STRONGER),
        **{f"blanket m={width}": blanket(records, 1.0, delta, width) for width in widths},
        "ceiling": ceiling(records, 1.0, delta),
        **{f"unlinked m={width}": unlinked(records, 1.0, delta, width) for width in ([] if quick else SLICES)},
    }
    return {"delta": delta, "n": records} | {name: account.kappa for name, account in accounts.items()}


def measure(quick: bool) -> dict[str, list[Row]]:
    cells = [(d, m) for d in DIMENSIONS for m in SLICES if not quick or (d == 20 and m < 100)]
    tables = {
        name: [noise(d, m, *budget) for d, m in progress(cells, name)]
        for name, budget in BUDGETS.items()
        if not quick or name == "A1"
    }
    rows = [(n, delta) for delta in DELTAS for n in RECORDS][: 1 if quick else None]
    tables["B1"] = [shuffled(n, delta, quick) for n, delta in progress(rows, "B1")]
    return tables


def page(tables: dict[str, list[Row]]) -> str:
    """All tables as markdown."""
    parts = ["# Noise of random slices", "", "Written by `python -m experiments.slicing.accounting_tables`.", ""]
    for name, (epsilon, delta) in BUDGETS.items():
        if name in tables:
            parts += [f"## {name}. sigma / Delta at epsilon {epsilon:g}, delta {delta:g}", ""]
            parts += ["Exact columns are certified upper ends; the clip is at the mean and two deviations of T.", ""]
            parts += [*_markdown(("d", "m", *NOISE), tables[name], "{:.3g}".format), ""]
            widest = max(row["bracket"] for row in tables[name])
            parts += [f"Widest bracket of an exact column: {widest:.1e}, relative.", ""]
    parts += ["## B1. Greatest kappa = Delta / sigma of shuffled records, epsilon 1", ""]
    parts += ["Proven: no shuffle and proven clones. The ceiling is no promise; the others are not proven.", ""]
    parts += _markdown(("delta", "n", *SHUFFLED), tables["B1"], "{:.3f}".format)
    return "\n".join(parts) + "\n"


def _markdown(columns: tuple[str, ...], rows: list[Row], text: Callable[[float], str]) -> Iterator[str]:
    yield "| " + " | ".join(columns) + " |"
    yield "|" + "---|" * len(columns)
    for row in rows:
        shown = [f"{row[name]:g}" for name in columns[:2]]
        shown += [text(row[name]) if name in row else "–" for name in columns[2:]]
        yield "| " + " | ".join(shown) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few cells; writes nothing")
    parser.add_argument("--out", type=Path, default=FOLDER, help="another folder for the tables")
    asked = parser.parse_args()
    tables = measure(asked.quick)
    print(page(tables))
    if not asked.quick:
        (asked.out / "accounting.json").write_text(json.dumps(tables, indent=1) + "\n", encoding="utf-8")
        (asked.out / "accounting.md").write_text(page(tables), encoding="utf-8")


if __name__ == "__main__":
    main()
