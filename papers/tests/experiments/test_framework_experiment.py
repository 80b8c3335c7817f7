"""The measures behind `experiments.framework` on a tiny table, and what it prints."""

import numpy as np
import pandas as pd
import pytest
from experiments import framework
from experiments.cells import Cell, Results
from experiments.tasks import task_of

from sfumato.fitting.mechanisms.framework.parts import CHOICES


@pytest.fixture
def tiny(monkeypatch):
    """Three columns, of which one tells the target."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 400)
    rows = pd.DataFrame({"a": a, "b": rng.choice(list("xyz"), 400), "y": np.where(a + rng.random(400) > 2, "1", "0")})
    monkeypatch.setattr(framework, "TASKS", {"tiny": lambda: task_of("tiny", rows, "y", {"a": (0, 3)})})


@pytest.mark.filterwarnings("ignore::sfumato.errors.ReleaseWarning")
@pytest.mark.usefixtures("tiny")
def test_a_release_is_measured_by_its_rows_and_by_itself():
    found = framework.measure("tiny", ("kernel", "mixture", "leaves"), 0.3, quick=True, seed=0)
    assert set(found) == {"rows", "itself", "cpu seconds"}
    assert found["itself"] > 0.7


def test_every_choice_of_every_part_is_measured():
    for tried, choices in zip(zip(*framework.PARTS, strict=True), CHOICES.values(), strict=True):
        assert set(tried) == set(choices)


def test_choosing_and_reporting_share_no_table():
    assert not set(framework.CHOOSING) & set(framework.REPORTING)
    assert all(name in framework.TASKS for name in (*framework.CHOOSING, *framework.REPORTING))


def test_a_quick_run_trains_no_network():
    quick = framework.cells(["acs income"], quick=True)
    assert all("generator" not in cell.case and len(cell.seeds) == 1 for cell in quick)
    assert len(framework.cells(["adult"], quick=False)) == len(framework.PARTS) + 2 * len(framework.SHARES)
    plain = framework.cells(["length of stay"], quick=False)
    assert not any("generator" in cell.case or "share" in cell.case for cell in plain)
    assert all(len(cell.seeds) == 3 for cell in plain)


@pytest.mark.usefixtures("tiny")
def test_a_loss_is_held_against_its_forecast(tmp_path, monkeypatch):
    kept = tmp_path / "tables.json"
    kept.write_text('[{"task": "tiny", "epsilon": null, "score": [0.9]}]')
    monkeypatch.setattr(framework, "RESULTS_OF_TABLES", kept)
    monkeypatch.setattr(framework, "PARTS", framework.PARTS[:1])
    results = Results(None)
    results.run(Cell("tiny", framework.case_of(framework.PARTS[0], None), [0], lambda _: {"itself": 0.2}))
    ((case, ratio),) = framework.compare_with_forecasts(results, ["tiny"])
    assert case == "tables, mixture, gradients"
    assert float(ratio.removesuffix("*")) > 1
    assert ratio.endswith("*")


def test_every_cell_of_the_page_is_kept():
    kept = Results(framework.RESULTS)
    for cell in framework.cells([*framework.CHOOSING, *framework.REPORTING], quick=False):
        assert kept.find(cell.part, cell.case)["seeds"] == list(cell.seeds)


def test_what_is_kept_is_printed(tmp_path):
    results, cell = Results(tmp_path / "kept.json"), framework.cells(["adult"], quick=False)[0]
    results.run(type(cell)(cell.part, cell.case, cell.seeds, lambda seed: {"rows": 0.8 + seed / 10, "itself": 0.7}))
    assert framework.lines(results, ["adult"]) == [["tables, mixture, gradients", "0.900 / 0.700"]]
