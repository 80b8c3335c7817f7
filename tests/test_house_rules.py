"""Rules that the code keeps: most are import contracts and bans of names in pyproject.toml; here they are tried."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import sfumato
from sfumato.trusted.statistics import statistic
from tests.mutants.__main__ import argued, listed, name_of
from tests.trusted_lines import lines_by_room

ROOT = Path(__file__).parents[1]


def codes_of_ruff(source: str, file: str) -> set[str]:
    """The rules of ruff that a source would break if it stood in this file."""
    command = [sys.executable, "-m", "ruff", "check", "--output-format", "concise", "--stdin-filename", file, "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, cwd=ROOT, check=False)
    return {line.split(": ", 1)[1].split()[0] for line in done.stdout.splitlines() if file in line}


@pytest.mark.skipif(find_spec("ruff") is None, reason="ruff is not installed: pip install 'sfumato[dev]'")
class TestBans:
    """What the linter refuses (threats 12 and 15)."""

    @pytest.mark.parametrize(
        "source",
        [
            "import numpy as np\n\nrng = np.random.default_rng(0)\n",
            "from numpy.random import default_rng\n",
            "import random\n\nrandom.gauss(0, 1)\n",
            "import torch\n\ntorch.manual_seed(1)\n",
            "from scipy.stats import norm\n",
        ],
    )
    @pytest.mark.parametrize("file", ["sfumato/trusted/new.py", "sfumato/trusted/sources/new.py", "sfumato/local.py"])
    def test_private_side_draws_from_the_operating_system_alone(self, source, file):
        assert "TID251" in codes_of_ruff(source, file)

    @pytest.mark.parametrize(
        ("source", "code"),
        [
            ("import pickle\n\npickle.loads(b'')\n", "S301"),
            ("import marshal\n\nmarshal.loads(b'')\n", "S302"),
            ("eval('1')\n", "S307"),
            ("import yaml\n\nyaml.load('x', Loader=yaml.Loader)\n", "S506"),
            ("import torch\n\ntorch.load('x')\n", "TID251"),
            ("from joblib import load\n", "TID251"),
        ],
    )
    def test_no_file_loads_code(self, source, code):
        assert code in codes_of_ruff(source, "sfumato/trusted/new.py")


def test_exported_names():
    assert sfumato.__all__ == dir(sfumato)
    for name in sfumato.__all__:
        assert getattr(sfumato, name) is not None
    assert set(sfumato.__all__) == {
        "Adjacency", "AuditResult", "Budget", "Database", "FamilyRelease", "FamilySchema", "Ledger", "Measurement",
        "Plan", "PrivacyStatement", "ProgressBar", "Release", "Schema", "SfumatoError", "__version__", "audit",
        "evaluate", "open", "plan", "release", "report", "verify",
    }  # fmt: skip
    with pytest.raises(AttributeError, match="no attribute 'clustmix'"):
        _ = sfumato.clustmix


def test_every_statistic_argues_its_sensitivity():
    for make in statistic._KINDS.values():
        text = make.__self__.__doc__
        assert "Formal guarantees" in text
        for adjacency in sfumato.Adjacency:
            assert adjacency in text


def test_the_readme_names_every_trusted_folder():
    """To check the privacy, a reader is sent to all of it, and to nothing that is not there."""
    text, rooms = (ROOT / "README.md").read_text(encoding="utf-8"), lines_by_room()
    named = set(re.findall(r"^\| \[`sfumato/(trusted[\w/]*)/`\]", text, re.MULTILINE))
    assert named == set(rooms)
    stated = int(re.search(r"about ([\d,]+) lines", text).group(1).replace(",", ""))
    assert stated == pytest.approx(sum(sum(room.values()) for room in rooms.values()), rel=0.05)


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda page: page.name
)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text):
        assert "://" in link or (page.parent / link).exists(), link
    saved = set(re.findall(r"[Ss]ave this as `(.+?)`", text))  # by the reader
    for module in set(re.findall(r"`([\w/]+\.py)`", text)) - saved:
        assert any(ROOT.glob(f"sfumato/**/{module}")) or any(ROOT.glob(f"**/{module}")), module


def test_every_mutant_still_has_its_place():
    """A list that does not match the code would only be noticed by `make mutants`."""
    for mutant in listed():
        assert (ROOT / mutant.file).read_text(encoding="utf-8").count(mutant.original) == 1, str(mutant)
    assert argued() <= {name_of(mutant) for mutant in listed()}
