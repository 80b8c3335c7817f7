"""A cell is a case measured on some data sets. Finished cells are kept in a file and not measured again."""

import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from rich.progress import track

Figures = dict[str, Any]  # numbers, or words where something went wrong
Result = dict[str, Any]
Item = TypeVar("Item")
DIGITS = 4
_RESAMPLED = 2_000


@dataclass(frozen=True)
class Cell:
    """What is measured on each of the data sets named by `seeds`; `pooled` figures are counts to be added up."""

    part: str
    case: str
    seeds: Sequence[int]
    measure: Callable[[int], Figures]
    pooled: bool = False


class Results:
    """The cells that are finished. Without a path they live as long as the run."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        kept: list[Result] = json.loads(path.read_text()) if path and path.exists() else []
        self._cells = {(item["part"], item["case"]): item for item in kept}

    def forget(self, parts: Iterable[str]) -> None:
        """Measure these parts anew."""
        self._cells = {key: item for key, item in self._cells.items() if key[0] not in set(parts)}

    def find(self, part: str, case: str) -> Result | None:
        return self._cells.get((part, case))

    def figure(self, part: str, case: str, name: str) -> Any:
        """A figure of a finished cell, None where there is none."""
        return (self.find(part, case) or {"figures": {}})["figures"].get(name)

    def median(self, part: str, case: str, name: str) -> float:
        """NaN where there is none."""
        found = self.figure(part, case, name)
        return math.nan if found is None or found["median"] is None else float(found["median"])

    def run(self, cell: Cell) -> None:
        """Measure a cell unless it is there with the same data sets."""
        known, seeds = self.find(cell.part, cell.case), [int(seed) for seed in cell.seeds]
        if known is not None and known["seeds"] == seeds:
            return
        begin = time.perf_counter()
        runs = [cell.measure(seed) for seed in progress(seeds, f"{cell.part}: {cell.case}")]
        result = {
            "part": cell.part,
            "case": cell.case,
            "data sets": len(seeds),
            "seeds": seeds,
            "figures": (_added if cell.pooled else _spread)(runs),
        }
        self._cells[cell.part, cell.case] = result
        print(f"{line(result)}, {time.perf_counter() - begin:.0f} s", flush=True)
        self._write()

    def _write(self) -> None:
        """Whole or not at all: a run may be stopped at any time."""
        if self.path is None:
            return
        draft = self.path.with_suffix(".draft")
        draft.write_text("[\n" + ",\n".join(map(json.dumps, self._cells.values())) + "\n]\n")
        draft.replace(self.path)


def progress(items: Iterable[Item], what: str) -> Iterable[Item]:
    """The same items, with a bar where somebody watches."""
    return track(list(items), what, transient=True, disable=not sys.stdout.isatty())


def _spread(runs: Sequence[Figures]) -> Figures:
    """Median, quartiles, and mean with its interval of each number that is finite, and how many are not; words once."""
    found: Figures = {}
    for name in dict.fromkeys(name for run in runs for name in run):
        values = [run[name] for run in runs if name in run]
        if isinstance(values[0], str):
            found[name] = sorted(set(values))
            continue
        finite = [value for value in values if math.isfinite(value)]
        low, middle, high = map(_short, np.quantile(finite, (0.25, 0.5, 0.75))) if finite else (None, None, None)
        found[name] = {"median": middle, "quartiles": [low, high]}
        if finite:
            found[name]["mean"] = _short(float(np.mean(finite)))
            found[name]["interval"] = [_short(end) for end in interval_of_mean(finite)]
        if len(values) < len(runs):
            found[name]["runs"] = len(values)
        if len(finite) < len(values):
            found[name]["not finite"] = len(values) - len(finite)
    return found


def interval_of_mean(values: Sequence[float]) -> tuple[float, float]:
    """95 % by resampling: where the means of samples lie that are drawn from the values with replacement.

    It never leaves the range of the values. Where a few large ones make the mean, and more of them were not drawn, it
    is too narrow.
    """
    rng, known = np.random.default_rng(0), np.asarray(values)
    means = [rng.choice(known, len(known)).mean() for _ in range(_RESAMPLED)]
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)


def _added(runs: Sequence[Figures]) -> Figures:
    names = dict.fromkeys(name for run in runs for name in run)
    return {name: int(sum(run.get(name, 0) for run in runs)) for name in names}


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def line(result: Result) -> str:
    parts = []
    for name, figure in result["figures"].items():
        if isinstance(figure, dict):
            parts.append(f"{name} {shown(figure)}")
        elif isinstance(figure, list):
            parts.append(f"{name} {figure}")
    return f"{result['part']}, {result['case']} [{result['data sets']}]" + (": " if parts else "") + ", ".join(parts)


def shown(figure: Any) -> str:
    """0.0253 (0.018-0.04), and how many are not finite."""
    if figure is None or figure["median"] is None:
        return "-"
    low, high = figure["quartiles"]
    worse = f", {figure['not finite']} not finite" if "not finite" in figure else ""
    spread = f" ({low:.3g}{' to ' if low < 0 else '-'}{high:.3g}{worse})" if low < high or worse else ""
    return f"{figure['median']:.3g}{spread}"


def table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Columns as wide as their widest entry, the first to the left and the others to the right."""
    texts = [[str(entry) for entry in row] for row in (head, *rows)]
    widths = [max(len(row[place]) for row in texts) for place in range(len(head))]
    return "\n".join(
        "  ".join(
            entry.ljust(width) if not place else entry.rjust(width)
            for place, (entry, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in texts
    )
