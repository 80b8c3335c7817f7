"""Families of every shape, with untidy rows: a release, a linked sample, a page, and a bundle that verifies."""

import io
from random import Random

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato.archive.members import read_members
from sfumato.artefact.bundle import _from_members
from sfumato.artefact.families.frames import with_order
from sfumato.trusted.schema import FamilySchema
from sfumato.trusted.schema.family import OrderColumn
from tests.families.making import draw_family, draw_rows, few_bins, storage_of, to_arrow
from tests.parameters import mostly_slow

QUICK = (3, 4, 9, 10)  # two levels; a column of persons; fewest rows above zero; orders that are not released


@pytest.fixture(params=mostly_slow(range(40), *QUICK), scope="module")
def made(request):
    rng = Random(request.param)
    family = draw_family(rng)
    rows = to_arrow(draw_rows(rng, family, 40, 80), storage_of(family))
    with few_bins():
        return sfumato.release(rows, family, epsilon=4.0, types="declared", ledger=None, seed=request.param)


def check_table(family: FamilySchema, drawn: dict[str, pd.DataFrame], name: str) -> None:
    """Parents, numbers of rows, persons and order of one table with a parent."""
    table, rows = family.tables[name], drawn[name]
    parent = family.tables[table.parent]
    foreign = rows[family.foreign_key_of(name)]
    held = foreign.value_counts().reindex(drawn[table.parent][parent.key], fill_value=0)
    assert held.sum() == len(rows)
    assert held.between(*family.rows_of(name)).all()
    if table.person is not None:
        owner = drawn[table.parent].set_index(parent.key)[family.foreign_key_of(table.parent)]
        assert (owner.loc[foreign].to_numpy() == rows[table.person].to_numpy()).all()
    if isinstance(table.order, OrderColumn):
        assert ("at" in rows) == (table.order.type == "integer")
        if "at" in rows:
            assert (rows["at"] == foreign.groupby(foreign).cumcount() + 1).all()
    elif table.order is not None:
        place = rows["at"].dropna()
        assert all(np.all(part.to_numpy()[1:] >= part.to_numpy()[:-1]) for _, part in place.groupby(foreign))


def test_samples_hang_together(made):
    drawn = made.sample(60, seed=1, output="pandas")
    assert len(drawn["people"]) == 60
    for name in made.schema.in_order[1:]:
        check_table(made.schema, drawn, name)


def test_a_bundle_comes_back_and_verifies(made):
    file = io.BytesIO()
    made.write(file)
    opened = _from_members(read_members(file.getvalue()))
    assert [check.what for check in sfumato.verify(opened) if not check.holds] == ["noise from a cryptographic source"]
    one, two = (release.sample(20, seed=3) for release in (made, opened))
    assert all(one[name].equals(two[name]) for name in one)


def test_there_is_a_page_and_a_box_for_notebooks(made, monkeypatch):
    monkeypatch.setattr("sfumato.artefact.families.release._ANSWERING", 1 << 10)
    assert sfumato.report(made).startswith("<!doctype html>")
    assert "<b>Release of family</b>" in made._repr_html_()


def test_every_target_is_told(made):
    found = made.sample(30, seed=2, output="arrow")
    drawn = {name: with_order(table, made.layout.tables[name]) for name, table in found.items()}
    for name in made.targets:
        told = made.predict_proba(drawn, name)
        assert told.shape == (drawn[name].num_rows, len(made.classes(name)))
        assert np.allclose(told.sum(axis=1), 1)
