"""Whether training again costs nothing: one bundle, several trainings, the ledger before and after."""

import hashlib
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

import sfumato
from experiments.truth_page import Figures, Finding, Section, Table, number, yes
from sfumato.artefact.release import Release

EPOCHS, QUICK_EPOCHS, ROWS = 100, 5, 2_000
TRAININGS = (("mlp", 0, "chi-squared"), ("mlp", 1, "chi-squared"), ("residual", 0, "chi-squared"), ("mlp", 0, "kl"))
SCHEMA = """{sfumato: 1, name: plane, columns: [{name: x, type: number, bounds: [-4, 4]},
{name: y, type: number, bounds: [-4, 4]}, {name: side, type: boolean}]}"""


def measure(quick: bool) -> Figures:
    """The epsilon of each statement, and whether the ledger is the same file to the last byte."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(ROWS)
    table = pa.table({"x": x, "y": 0.7 * x + 0.7 * rng.standard_normal(ROWS), "side": x > 0})
    with tempfile.TemporaryDirectory() as folder:
        ledger, bundle = Path(folder) / "ledger.sqlite", Path(folder) / "plane.sfumato"
        schema = sfumato.Schema.from_yaml(SCHEMA)
        made = sfumato.release(
            table, schema, epsilon=1.0, delta=1e-5, mechanism="tables", ledger=ledger, types="declared"
        )
        made.save(bundle)
        before = hashlib.sha256(ledger.read_bytes()).hexdigest()
        runs = []
        for generator, seed, divergence in TRAININGS:
            opened = sfumato.open(bundle)
            assert isinstance(opened, Release)  # a single table was released
            trained = opened.retrain(generator, QUICK_EPOCHS if quick else EPOCHS, seed, divergence=divergence)
            same = hashlib.sha256(ledger.read_bytes()).hexdigest() == before
            told = {"generator": generator, "seed": seed, "divergence": divergence}
            runs.append({**told, "epsilon": trained.statement.epsilon, "ledger unchanged": same})
    return {"epochs": QUICK_EPOCHS if quick else EPOCHS, "runs": runs}


def findings(figures: Figures) -> list[Finding]:
    holds = all(one["ledger unchanged"] and one["epsilon"] == 1.0 for one in figures["runs"])
    return [
        Finding(
            "Architecture, epochs and restarts cost no more privacy",
            "abstract",
            yes(holds),
            f"{len(figures['runs'])} trainings from one bundle, the ledger to the last byte as it was: {yes(holds)}",
            "What is released once can be trained on for ever. Choosing among results by private rows would cost.",
        )
    ]


def section(figures: Figures) -> Section:
    text = """
    Whatever is computed from a release alone is as private as the release. This is so of the paper's noisy projections
    and of any other release: `retrain` trains generators from a bundle, of any kind and as often as one likes. The
    private table is far away, and the ledger is not written to.
    """
    rows = [
        [one["generator"], number(one["seed"]), one["divergence"], number(one["epsilon"]), yes(one["ledger unchanged"])]
        for one in figures["runs"]
    ]
    head = ["generator", "start", "divergence", "epsilon of the statement", "ledger as it was"]
    caption = f"One bundle, {figures['epochs']} epochs each."
    return Section("Training again is free", "abstract", text, [Table(caption, head, rows)])
