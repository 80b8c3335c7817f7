"""Rows and columns without end: `python -m benchmarks.scale [--quick] [--fresh] [--most ROWS] [--widest COLUMNS]`.

Tables made by a generator are written to Parquet and released by `tables`, each run in a process of its own, beside
plain reading of the same columns by pyarrow, the same release by person and on Spark, and dpmm's AIM where it finishes.
Every run is written to `benchmarks/scale.json` at once and kept unless --fresh is given; a table is printed, and a plot
drawn as `benchmarks/scale.svg`. --quick stops at a million rows, and writes nothing that is kept. --guard holds the
release's time over plain reading, both of this run, against the same ratio of the kept runs, and fails where one has
become much larger.
"""

import argparse
import datetime as dt
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from experiments.pictures import Axis, Panel, Point, Series, Stroke, drawn_panel, sheet
from experiments.pictures import write as draw
from markupsafe import Markup

from benchmarks import scale_data, scale_peer

HERE = Path(__file__).parent
ROWS = (10**5, 10**6, 10**7, 10**8)
COLUMNS = (10, 30, 100, 300, 1_000)
NARROW, SHORT = 10, 10**5  # columns where rows grow, rows where columns do
MOST = {"people": 10**7, "spark": 10**7, "peer": 10**6}  # rows
LONGEST = 3_600.0  # seconds of a run
PEERS_LONGEST = 240.0
STROKES = {
    "plain reading": Stroke("#8a8178"),
    "one pass, order one": Stroke("#7a3b2e"),
    "one pass, pairs": Stroke("#cf8d2e"),
    "all passes": Stroke("#3f7f68"),
    "whole release": Stroke("#5b6b7f"),
    "all passes, by person": Stroke("#76569c"),
    "all passes, Spark": Stroke("#cf8d2e", 1.4, "5 3"),
    "dpmm's AIM": Stroke("#2f2a26", 1.4, "2 3"),
}
MUCH_LARGER = 1.6  # times the kept ratio
CLUSTER_ROWS, CLUSTER_CORES = 10**10, 100 * 16
ENGINES = ("read", "release", "people", "spark", "peer")
Results = dict[str, dict[str, Any]]


def plan(
    rows: tuple[int, ...], columns: tuple[int, ...], engines: tuple[str, ...] = ENGINES
) -> list[tuple[int, int, list[str]]]:
    """The tables, and who runs on each."""
    tall = [(n, NARROW, [name for name in engines if n <= MOST.get(name, n)]) for n in rows]
    wide = [(SHORT, width, ["read", "release"]) for width in columns if width != NARROW]
    return [*tall, *wide]


def run(engine: str, path: Path, columns: int) -> dict[str, Any]:
    if engine == "peer":
        return scale_peer.measure(path, columns, PEERS_LONGEST)
    command = [sys.executable, "-m", "benchmarks.scale_engines", engine, str(path), str(columns)]
    done = subprocess.run(command, capture_output=True, check=True, timeout=LONGEST)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def name_of(engine: str, rows: int, columns: int) -> str:
    return f"{engine} {rows} x {columns}"


def measured(
    rows: tuple[int, ...], columns: tuple[int, ...], kept: Path | None, engines: tuple[str, ...] = ENGINES
) -> Results:
    """All runs, those that were kept among them."""
    found: Results = json.loads(kept.read_text())["runs"] if kept and kept.exists() else {}
    for count, width, wanted in plan(rows, columns, engines):
        missing = [engine for engine in wanted if name_of(engine, count, width) not in found]
        if not missing:
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.parquet"
            print(f"writing {count:,} rows x {width} columns ...", flush=True)
            scale_data.write(path, count, width)
            for engine in missing:
                found[name_of(engine, count, width)] = run(engine, path, width)
                print(f"  {engine}: {_told(found[name_of(engine, count, width)])}", flush=True)
                if kept:
                    kept.write_text(json.dumps({"machine": machine(), "runs": found}, indent=1) + "\n")
    return found


def machine() -> dict[str, str]:
    memory = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    processor = next(
        (line.split(":")[1].strip() for line in _cpu() if line.startswith("model name")), platform.processor()
    )
    return {
        "processor": f"{len(os.sched_getaffinity(0))} shared cores of an {processor}",
        "memory": f"{int(memory['MemTotal'].split()[0]) / 2**20:.0f} GiB",
        "software": f"Python {platform.python_version()}, numpy {np.__version__}, pyarrow {pa.__version__}",
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
    }


def _cpu() -> list[str]:
    return Path("/proc/cpuinfo").read_text().splitlines()


def _told(one: dict[str, Any]) -> str:
    if "failed" in one:
        return str(one["failed"])
    passes = f", {sum(one['sums']):.2f} s behind the door" if one.get("sums") else ""
    return f"{one['seconds']:.2f} s{passes}" + (f", {one['MiB']:.0f} MiB" if "MiB" in one else "")


def slope(runs: Results, rows: tuple[int, ...], seconds: Any) -> float:
    """Of log time against log rows, by least squares."""
    found = [(n, seconds(runs[name_of("release", n, NARROW)])) for n in rows]
    x, y = np.log([n for n, _ in found]), np.log([value for _, value in found])
    return float(np.polyfit(x, y, 1)[0])


HEAD = (
    "rows x columns",
    "plain reading",
    "order one, share of reading",
    "pairs, share",
    "all passes / release, MiB",
    "by person, MiB",
    "Spark",
    "dpmm's AIM, whole",
)


def print_table(runs: Results, rows: tuple[int, ...], columns: tuple[int, ...]) -> None:
    """The table of docs/scale.md, as it stands there."""
    print("\n" + "; ".join(machine().values()) + "\n")
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    for count, width, _ in plan(rows, columns):
        read, ours = (runs[name_of(engine, count, width)] for engine in ("read", "release"))
        people, spark, peer = (runs.get(name_of(engine, count, width), {}) for engine in ("people", "spark", "peer"))
        (plain,), (one, _, pairs) = read["sums"], ours["sums"][:3]  # between them every column by the target
        cells = [f"{count:,} x {width}", f"{plain:.3g} s", f"{one:.3g} s, {plain / one:.0%}"]
        cells += [f"{pairs:.3g} s, {plain / pairs:.0%}", f"{_whole(ours)}, {ours['MiB']:.0f}"]
        cells += [f"{_whole(people)}, {people['MiB']:.0f}" if people else ""]
        cells += [_whole(spark) if spark else "", _peers(peer)]
        print(f"| {' | '.join(cells)} |")
    print()
    for what, seconds in (
        ("a pass of order one", lambda one: one["sums"][0]),
        ("a pass of pairs", lambda one: one["sums"][2]),
        ("all passes", lambda one: sum(one["sums"])),
        ("the whole release", lambda one: one["seconds"]),
    ):
        print(f"slope of log time against log rows, {what}: {slope(runs, rows, seconds):.2f}")


def print_reckoning(runs: Results, rows: tuple[int, ...]) -> None:
    """What a cluster would take, if it did as this machine does."""
    most = max(n for n in rows if name_of("spark", n, NARROW) in runs)
    sums, cores = runs[name_of("spark", most, NARROW)]["sums"], len(os.sched_getaffinity(0))
    for what, seconds in (("order one", sums[0]), ("pairs", sums[2]), ("all passes", sum(sums))):
        hours = seconds * cores / most * CLUSTER_ROWS / 3_600
        minutes = 60 * hours / CLUSTER_CORES
        print(
            f"{CLUSTER_ROWS:.0e} rows x {NARROW} columns on Spark, at the rate of {most:,} rows here, {what}: "
            f"{hours:.2g} core hours, {minutes:.1f} minutes on {CLUSTER_CORES:,} cores"
        )


def slower(runs: Results, before: Results) -> list[str]:
    """The releases whose time over plain reading has become much larger."""
    found = []
    for count, width, _ in plan((10**6,), (NARROW, 100)):
        names = [name_of(engine, count, width) for engine in ("release", "read")]
        now, kept = (of[names[0]]["seconds"] / of[names[1]]["sums"][0] for of in (runs, before))
        print(f"{count:,} x {width}: {now:.0f} times plain reading, {kept:.0f} in the kept runs")
        found += [names[0]] if now > MUCH_LARGER * kept else []
    return found


def _whole(one: dict[str, Any]) -> str:
    """All passes behind the door, and the whole release with its fits."""
    return f"{sum(one['sums']):.3g} / {one['seconds']:.3g} s"


def _peers(peer: dict[str, Any]) -> str:
    return f"{peer['seconds']:.0f} s" if "seconds" in peer else str(peer.get("failed", ""))


def picture(runs: Results, rows: tuple[int, ...]) -> Markup:
    """Time and memory against rows."""

    def series(name: str, engine: str, value: Any) -> Series:
        found = [(n, runs.get(name_of(engine, n, NARROW), {})) for n in rows]
        points = [(n, value(one)) for n, one in found if one and "failed" not in one]
        return Series(name, STROKES[name], [Point(n, y, y, y) for n, y in points])

    times = [
        series("plain reading", "read", lambda one: one["sums"][0]),
        series("one pass, order one", "release", lambda one: one["sums"][0]),
        series("one pass, pairs", "release", lambda one: one["sums"][2]),
        series("all passes", "release", lambda one: sum(one["sums"])),
        series("whole release", "release", lambda one: one["seconds"]),
        series("all passes, by person", "people", lambda one: sum(one["sums"])),
        series("all passes, Spark", "spark", lambda one: sum(one["sums"])),
        series("dpmm's AIM", "peer", lambda one: one["seconds"]),
    ]
    memory = [
        series(name, engine, lambda one: one["MiB"])
        for name, engine in (
            ("plain reading", "read"),
            ("whole release", "release"),
            ("all passes, by person", "people"),
        )
    ]
    along = Axis(rows[0] / 1.6, rows[-1] * 1.6)
    left = Panel(70, 90, 380, 330, along, Axis(1e-3, 1e3))
    right = Panel(530, 90, 300, 330, along, Axis(1e1, 1e4))
    marks = [
        *drawn_panel(left, "rows: seconds", rows, times),
        *drawn_panel(right, "rows: MiB of resident memory", rows, memory),
    ]
    title = f"`tables` on {NARROW} columns of Parquet, epsilon 1"
    return sheet(860, 500, marks, title, STROKES, rows=2, note="; ".join(machine().values()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="up to a million rows and a hundred columns")
    parser.add_argument("--guard", action="store_true", help="a few runs, held against the kept ones by ratio")
    parser.add_argument("--fresh", action="store_true", help="forget earlier runs")
    parser.add_argument("--most", type=int, default=ROWS[-1], help="rows of the longest table")
    parser.add_argument("--widest", type=int, default=COLUMNS[-1], help="columns of the widest table")
    options = parser.parse_args()
    up_to = tuple(n for n in ROWS if n <= options.most), tuple(n for n in COLUMNS if n <= options.widest)
    rows, columns = (ROWS[:2], COLUMNS[:3]) if options.quick else up_to
    kept = None if options.quick else HERE / "scale.json"
    if options.guard:
        before = json.loads((HERE / "scale.json").read_text())["runs"]
        sys.exit(1 if slower(measured((10**6,), (100,), None, ("read", "release")), before) else 0)
    if kept and options.fresh:
        kept.unlink(missing_ok=True)
    runs = measured(rows, columns, kept)
    print_table(runs, rows, columns)
    print_reckoning(runs, rows)
    if kept:
        draw(picture(runs, rows), HERE / "scale.svg")


if __name__ == "__main__":
    main()
