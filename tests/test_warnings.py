"""Warnings: each value on either side of its rule."""

import warnings

import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import sfumato
from sfumato.artefact.warnings import warn_of
from sfumato.cli.app import app
from sfumato.errors import ReleaseWarning
from tests.conftest import MIXED, make_table


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((10, 1e-6, 1e5, 100), None),
        ((10.1, 1e-6, 1e5, 100), "epsilon 10.1 is above 10"),
        ((1, 1e-5, 100_000, 100), None),
        ((1, 1.1e-5, 100_000, 100), "above 1 over the 100,000 records"),
        ((1, 1e-6, 1_000, 99), None),
        ((1, 1e-6, 1_000, 101), "groups below 101 of the 1,000 records drown"),
        ((1, 1e-6, 200, 500), "200 records drown"),
        ((1, 0.5), None),
        ((1000, 1e-6), "epsilon 1000"),
    ],
)
def test_each_rule(values, words):
    found = warn_of(*values)
    assert len(found) == (words is not None)
    assert words is None or words in found[0]


def test_a_delta_is_advised_that_is_a_tenth_of_one_over_the_rows_or_less():
    (words,) = warn_of(1, 0.01, 20_000)
    assert "use 1e-06 or less" in words


def test_all_at_once():
    assert len(warn_of(50, 0.1, 100, 1e6)) == 3


def test_a_release_that_makes_no_sense_is_not_made_without_a_word():
    table, schema = make_table(200), sfumato.Schema.from_yaml(MIXED)
    with pytest.warns(ReleaseWarning) as found:
        release = sfumato.release(table, schema, epsilon=1000, delta=0.1, ledger=None, types="declared")
    assert "epsilon 1000 is above 10" in str(found[0].message)
    assert any("delta 0.1 is above 1 over the" in str(one.message) for one in found)
    with pytest.warns(ReleaseWarning, match="drown in the noise"):
        sfumato.release(table, schema, epsilon=0.05, ledger=None, types="declared")
    assert release.size > 0


def test_warnings_that_are_errors_stop_a_release_before_it_spends_and_never_after(tmp_path):
    table, schema, ledger = make_table(200), sfumato.Schema.from_yaml(MIXED), sfumato.Ledger(tmp_path / "l.sqlite")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ReleaseWarning)
        with pytest.raises(ReleaseWarning, match="epsilon 1000"):
            sfumato.release(table, schema, epsilon=1000, ledger=ledger, types="declared")
        assert ledger.entries() == []
        sfumato.release(table, schema, epsilon=0.05, ledger=ledger, types="declared")
    assert len(ledger.entries()) == 2


def test_the_command_line_says_warnings_as_lines(tmp_path):
    pyarrow.parquet.write_table(make_table(200), tmp_path / "t.parquet")
    (tmp_path / "s.yaml").write_text(MIXED)
    words = ["release", tmp_path / "t.parquet", "--schema", tmp_path / "s.yaml", "--epsilon", 1000, "--out"]
    more = [tmp_path / "b.sfumato", "--ledger", tmp_path / "l.sqlite"]
    shown = CliRunner().invoke(app, [str(word) for word in (*words, *more)])
    assert shown.exit_code == 0
    assert "warning: epsilon 1000 is above 10" in shown.stderr
    assert "Warning" not in shown.output.replace("warning:", "")
