"""The examples in public docstrings run as they stand."""

import doctest
import importlib

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.artefact.verify import verify
from sfumato.evaluation.evaluate import evaluate
from tests.families.hospital import schema, tables

MODULES = {
    "sfumato.api": 1,
    "sfumato.artefact.bundle": 1,
    "sfumato.artefact.families.answers": 5,
    "sfumato.artefact.families.release": 8,
    "sfumato.artefact.quality": 1,
    "sfumato.artefact.release": 15,
    "sfumato.artefact.verdict": 1,
    "sfumato.artefact.warnings": 1,
    "sfumato.artefact.verify": 1,
    "sfumato.auditing.one_run": 1,
    "sfumato.evaluation.evaluate": 1,
    "sfumato.progress": 1,
    "sfumato.reports.write": 1,
    "sfumato.sklearn.synthesizer": 1,
    "sfumato.planning.plan": 1,
    "sfumato.planning.risk_words": 1,
    "sfumato.reports.plan_page": 1,
    "sfumato.trusted.budget": 1,
    "sfumato.trusted.ledger.ledger": 1,
    "sfumato.trusted.ledger.purpose": 1,
    "sfumato.trusted.schema.schema": 3,
    "sfumato.trusted.sources.databases": 1,
}
"""Where they stand, and how many functions and classes have one at least."""
SCHEMA = sfumato.Schema.from_yaml("""
{sfumato: 1, name: stays, target: sex, columns: [
  {name: age, type: integer, bounds: [0, 99]}, {name: weight, type: number, bounds: [0, 200]},
  {name: sex, type: category, values: [f, m]}]}
""")


def stays(rows: int) -> pa.Table:
    rng = np.random.default_rng(rows)
    sex = rng.integers(0, 2, rows)
    columns = {"age": rng.integers(0, 99, rows), "weight": rng.normal(65 + 12 * sex, 9)}
    return pa.table({**columns, "sex": np.array(["f", "m"])[sex]})


@pytest.fixture(scope="module")
def names() -> dict[str, object]:
    """What the examples take for granted."""
    release, mixture = (
        sfumato.release(stays(2_000), SCHEMA, epsilon=1.0, mechanism=mechanism, ledger=None, types="declared")
        for mechanism in ("tables", "mixture")
    )
    no_target = sfumato.Schema.from_dict({key: value for key, value in SCHEMA.to_dict().items() if key != "target"})
    unlabelled = sfumato.release(stays(2_000), no_target, epsilon=1.0, ledger=None, types="declared")
    private, held_out = stays(500), stays(300)
    family = sfumato.release(tables(600), schema(), epsilon=4.0, ledger=None, types="declared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.artefact.families.release._ANSWERING", 1 << 12)
        assert family.answering  # kept from here on
    return {name: value for name, value in locals().items() if name not in ("names", "patch")}


@pytest.mark.parametrize("module", MODULES)
def test_examples_say_what_they_show(module, names, tmp_path):
    more = {"sfumato": sfumato, "verify": verify, "evaluate": evaluate, "folder": tmp_path}
    home = importlib.import_module(module)
    found = [one for one in doctest.DocTestFinder().find(home) if one.examples]
    assert len(found) >= MODULES[module]
    for test in found:
        test.globs = {**vars(home), **names, **more}
        try:
            doctest.DebugRunner().run(test)
        except doctest.UnexpectedException as error:
            raise error.exc_info[1] from None  # what lacks an extra is skipped
