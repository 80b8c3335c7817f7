"""dpmm's AIM on a table of the benchmark of scale, in its own environment (see `benchmarks.aim`)."""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet

from benchmarks.aim import interpreter
from benchmarks.scale_data import KINDS, TARGET, kinds


def measure(path: Path, columns: int, limit: float) -> dict[str, Any]:
    """Seconds of the whole, or that it did not finish. It reads the table whole, and cannot hold nulls."""
    domain = {name: _domain(KINDS[kind]) for name, kind in kinds(columns).items()} | {TARGET: _domain({})}
    table = pyarrow.parquet.read_table(path, columns=list(domain)).to_pandas()
    for name, column in domain.items():
        if "categories" in column:
            table[name] = table[name].astype(str).fillna("nan")
        else:
            table[name] = table[name].fillna(column["lower"])
    with tempfile.TemporaryDirectory() as folder:
        train, known = Path(folder) / "train.parquet", Path(folder) / "domain.json"
        table.to_parquet(train)
        known.write_text(json.dumps(domain))
        script = Path(__file__).with_name("aim_peer.py")
        command = [interpreter(), script, train, known, "1.0", "1e-6", "0", Path(folder) / "out"]
        begin = time.perf_counter()
        try:
            subprocess.run([*map(str, command)], check=True, timeout=limit, capture_output=True, env={**os.environ})
        except subprocess.TimeoutExpired:
            return {"failed": f"did not finish in {limit:g} s"}
        except subprocess.CalledProcessError as error:
            last = error.stderr.decode(errors="replace").strip().splitlines()[-1:]
            return {"failed": f"stopped: {' '.join(last)[:120]}"}
        return {
            "seconds": time.perf_counter() - begin,
            "cpu": json.loads(Path(f"{folder}/out.json").read_text())["cpu seconds"],
        }


def _domain(kind: dict[str, Any]) -> dict[str, Any]:
    if "bounds" in kind:
        return {"lower": kind["bounds"][0], "upper": kind["bounds"][1]}
    values = kind.get("values", ["False", "True"])
    return {"categories": [*values, "nan"] if kind.get("missing") else list(values)}
