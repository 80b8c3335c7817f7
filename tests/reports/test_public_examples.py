"""The examples in the docstrings of report, charts and exports run as they stand."""

import datetime as dt
import doctest
import importlib

import numpy as np
import pytest

import sfumato
from sfumato.artefact.about import About
from sfumato.trusted.encoding import Encoder
from tests.test_examples import SCHEMA, stays

MODULES = {
    "sfumato.artefact.about": 1,
    "sfumato.artefact.making": 1,
    "sfumato.artefact.promise": 1,
    "sfumato.artefact.questions": 1,
    "sfumato.charts.natural_order": 1,
    "sfumato.charts.scale_ticks": 1,
    "sfumato.charts.svg": 1,
    "sfumato.exports.card": 1,
    "sfumato.exports.croissant": 1,
    "sfumato.exports.registry": 1,
    "sfumato.reports.public": 1,
    "sfumato.reports.public_dependence": 1,
    "sfumato.reports.public_gaussian_chances": 1,
    "sfumato.reports.public_independence": 2,
}
"""Where they stand, and how many functions have one at least."""


@pytest.fixture(scope="module")
def names():
    release = sfumato.release(stays(2_000), SCHEMA, epsilon=1.0, ledger=None, types="declared")
    known = {"region": "A", "author": "B", "custodian_kind": "Industry", "published": dt.date(2026, 1, 1)}
    return {"release": release, "about": About(custodian="C", purpose="D", **known), "np": np, "Encoder": Encoder}


@pytest.mark.parametrize("name", MODULES)
def test_examples_say_what_they_show(name, names, tmp_path):
    module = importlib.import_module(name)
    found = [one for one in doctest.DocTestFinder().find(module) if one.examples]
    assert len(found) >= MODULES[name]
    for test in found:
        test.globs = {**vars(module), **names, "folder": tmp_path}
        assert doctest.DocTestRunner().run(test).failed == 0, test.name
