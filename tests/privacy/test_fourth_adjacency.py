"""A fourth adjacency must not get the bound of another by default: the type checker names every place that decides."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DECIDES = {
    "artefact/statement.py",
    "fitting/mechanisms/mixture/rounds.py",
    "trusted/ledger.py",
    *(f"trusted/statistics/{name}.py" for name in ("at_bounds", "cells", "class_sums", "clipped_sums", "slices")),
    *(
        f"trusted/statistics/{name}.py"
        for name in (
            "distance_histogram",
            "embedding",
            "gradient",
            "key_counts",
            "leaf_counts",
            "parities",
            "products",
            "range_counts",
            "scatter",
        )
    ),
}
"""`stacked` and the audit's echo are not among them: they ask the statistics that they are made of."""


@pytest.mark.slow
def test_the_type_checker_names_every_place(tmp_path):
    shutil.copytree(ROOT / "sfumato", tmp_path / "sfumato", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    adjacency = tmp_path / "sfumato" / "trusted" / "adjacency.py"
    adjacency.write_text(adjacency.read_text() + '    FAMILY = "family"\n')
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "sfumato"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    files = re.findall(r"^sfumato/([\w/]+\.py):\d+: error", run.stdout, re.MULTILINE)
    assert set(files) == DECIDES, run.stdout
