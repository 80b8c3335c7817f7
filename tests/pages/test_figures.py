"""Every table of figures names the command that prints it, and that command is there. None of them is run here."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev

import pytest
from experiments import families, means, structure, values

from benchmarks import scale

ROOT = Path(__file__).parents[2]
PAGES = ("results", "scale", "mixture")
_COMMAND = re.compile(r"`python -m\s+([\w.]+)([^`]*)`")
_RULE = re.compile(r"^\|[-|: ]+\|$", re.MULTILINE)
WITHOUT = {
    "mixture: What a receiver does with it": "says in words what each estimate is",
    "mixture: How it works": "the questions and their shares of the budget",
    "scale: What an administrator sets": "settings, no figures",
}
"""Tables that hold no figures."""


def sections(page: str) -> Iterator[tuple[str, str]]:
    parts = re.split(r"^#{1,2} (.+)$", (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    yield from zip(parts[1::2], parts[2::2], strict=True)


def commands() -> list[tuple[str, str]]:
    pages = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "papers" / "README.md"]
    return sorted({found for page in pages for found in _COMMAND.findall(page.read_text(encoding="utf-8"))})


def source_of(module: str) -> Path:
    home = ROOT / "papers" if module.startswith("experiments") else ROOT
    path = home.joinpath(*module.split("."))
    return path / "__main__.py" if path.is_dir() else path.with_suffix(".py")


def test_what_holds_no_figures_is_still_there():
    titles = {f"{page}: {title}" for page in PAGES for title, text in sections(page) if _RULE.search(text)}
    assert set(WITHOUT) <= titles


@pytest.mark.parametrize("page", PAGES)
def test_every_table_of_figures_names_its_command(page):
    for title, text in sections(page):
        if _RULE.search(text) and f"{page}: {title}" not in WITHOUT:
            assert _COMMAND.search(text), f"{page}.md, {title}: no command prints this table"


@pytest.mark.parametrize(("module", "options"), commands(), ids=" ".join)
def test_every_command_is_there_with_its_options(module, options):
    source = source_of(module).read_text(encoding="utf-8")
    assert '__name__ == "__main__"' in source or source_of(module).name == "__main__.py"
    for option in re.findall(r"--[\w-]+", options):
        assert f'"{option}"' in source, f"{module} has no {option}"


@pytest.mark.slow
@pytest.mark.parametrize("module", sorted({module for module, _ in commands()}))
def test_every_command_says_what_it_does(module):
    if "argparse" not in source_of(module).read_text(encoding="utf-8"):
        pytest.skip("takes no options and starts to work at once")
    folder = ROOT / "papers" if module.startswith("experiments") else ROOT
    done = subprocess.run(
        [sys.executable, "-m", module, "--help"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "usage" in done.stdout


def test_the_table_of_scale_is_the_one_that_the_kept_runs_print(capsys):
    runs = json.loads((ROOT / "benchmarks" / "scale.json").read_text(encoding="utf-8"))["runs"]
    scale.print_table(runs, scale.ROWS, scale.COLUMNS)
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    shown = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8").splitlines()
    assert len(rows) > 8
    assert set(rows) <= set(shown)


TASKS = {
    "Adult (": "adult",
    "Census": "census",
    "Credit card": "credit",
    "length of stay, 4": "length of stay",
    "class of worker, 6": "class of worker",
    "ACS income": "acs income",
    "ACS coverage": "coverage",
    "Adult's age, R": "adult age",
    "days in hospital, R": "days in hospital",
}


def test_the_table_of_predictions_is_that_of_the_kept_runs():
    """Mean, and spread where there is one, of each task at epsilon 1."""
    kept = json.loads((ROOT / "papers" / "experiments" / "tables.json").read_text(encoding="utf-8"))
    runs = {(one["task"], one["epsilon"]): one for one in kept}
    table = dict(sections("results"))["Prediction from tables"].split("| Adult | epsilon 0.2")[0]
    for begin, task in TASKS.items():
        (row,) = [line for line in table.splitlines() if line.startswith(f"| {begin}")]
        ours = runs[task, 1.0]
        spread = [f"{mean(ours[key]):.3f} ± {stdev(ours[key]):.3f}" for key in ("score", "weighted")]
        rest = [f"{mean(scores):.3f}" for scores in (runs[task, None]["score"], ours["direct"])]
        assert row.split(" | ")[1:5] == [rest[0], *spread, rest[1]], task


def test_the_table_of_structure_is_the_one_that_the_kept_runs_print(capsys):
    structure.show(json.loads(structure.RESULTS.read_text(encoding="utf-8")))
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(rows) > 20
    assert set(rows) <= set((ROOT / "docs" / "results.md").read_text(encoding="utf-8").splitlines())


DESIGNS = {"HMA, not private": "HMA", "PAR, not private": "PAR", "tables apart": "apart", "**family**": "family"}
DESIGNS |= {"real rows": "real rows", "`unit: 1`": "unit 1", "`unit: 3`": "unit 3"}
FIGURES = ("number of rows", "parent-child, by row", "consecutive", "same column", "KS of means", "AUC event")
FIGURES += ("by the release", "AUC next")


def test_the_table_of_families_is_that_of_the_kept_runs():
    kept = json.loads(families.RESULTS.read_text(encoding="utf-8"))
    by_design = {(f"{one['family']}, {one['table']}", one["design"], one["epsilon"]): one["mean"] for one in kept}
    keys = [next(key for key, title in families.TITLES.items() if title == wanted) for wanted in FIGURES]
    rows = [row for row in cells("results") if row[0] != "family, table" and len(row) == 3 + len(keys)]
    assert len(rows) > 60
    for name, design, epsilon, *figures in rows:
        mean_of = by_design[name, DESIGNS[design], float(epsilon) if epsilon else None]
        shown = [f"{mean_of[key]:.3f}" if key in mean_of else "" for key in keys]
        assert figures == shown, (name, design, epsilon)


def test_the_table_of_values_is_that_of_the_kept_runs():
    kept = json.loads(values.RESULTS.read_text(encoding="utf-8"))
    runs = {(one["task"], one["epsilon"], one["when"]): one for one in kept}
    rows = [row for row in cells("results") if len(row) == 6 and " → " in row[1]]
    assert len(rows) > 12
    for name, *figures in rows:
        task, epsilon = name.split(", ")
        both = [runs[task, float(epsilon), when] for when in ("before", "after")]
        keys = ("KS mean", "KS worst", "W1 mean", "score", "pairs apart")
        assert figures == [" → ".join(f"{one[key]:.3f}" for one in both) for key in keys], name


def test_the_table_of_means_is_that_of_the_kept_runs():
    kept = {one["table"]: one for one in json.loads(means.RESULTS.read_text(encoding="utf-8"))}
    rows = [row for row in cells("results") if len(row) == 6 and row[0] in kept and row[1].count("/") == 1]
    assert len(rows) == len(kept)
    for name, *figures in rows:
        one = kept[name]
        held = [
            " / ".join(f"{one[figure + given]['held']:.3f}" for given in ("", " given the target"))
            for figure in ("mean", "standard deviation", "quantile")
        ]
        off = [f"{one['mean'][key]:.3f}" for key in ("off, median", "half width, median")]
        assert figures == [*held, *off], name


def cells(page: str) -> list[list[str]]:
    """Every row of every table of a page."""
    lines = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")]
