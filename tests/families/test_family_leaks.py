"""Threat 14 for families: a token that stands in keys and rows shows up nowhere but behind the curator."""

import shutil
import sqlite3
import subprocess
import sys

import pytest

import sfumato
from sfumato.errors import DataError, ReleaseWarning, SfumatoError
from sfumato.trusted.encoding import lists, scales
from sfumato.trusted.families import assembly
from sfumato.trusted.families.tickets import Tickets
from sfumato.trusted.sources import family_source
from sfumato.trusted.statistics import Cells
from tests.families.commands import release, run, tokened
from tests.families.hospital import schema
from tests.families.making import few_bins
from tests.leaks import TOKEN, everything_shown


def fault(*_args, **_kwargs):
    raise RuntimeError(f"could not link {TOKEN!r}")


PLACES = {
    "writing tickets": (Tickets, "write"),
    "joining rows with persons": (family_source, "join_owners"),
    "linking rows": (assembly, "link_rows"),
    "encoding a listed column": (lists.CategoricalCodec, "encode"),
    "encoding a measured column": (scales.NumericCodec, "encode"),
    "counting": (Cells, "__call__"),
    "adding up": (family_source, "sum_of"),
}


@pytest.mark.parametrize(("owner", "name"), PLACES.values(), ids=PLACES)
def test_an_error_among_the_rows_quotes_nothing(owner, name, monkeypatch):
    monkeypatch.setattr(owner, name, fault)
    with few_bins(), pytest.raises(DataError) as caught:
        sfumato.release(tokened(60), schema(), epsilon=1.0, ledger=None, types="declared")
    assert TOKEN not in everything_shown(caught.value)
    assert "Details are withheld" in str(caught.value)


def test_an_error_that_quotes_a_row_is_seen(monkeypatch):
    """The check has teeth: without redaction the token is told."""
    monkeypatch.setattr(family_source.FamilySource, "sum", fault)
    with pytest.raises(RuntimeError) as caught:
        sfumato.release(tokened(60), schema(), epsilon=1.0, ledger=None, types="declared")
    assert TOKEN in everything_shown(caught.value)


@pytest.mark.parametrize("table", ["patients", "stays", "diagnoses"])
def test_an_error_of_an_evaluation_quotes_nothing(place, table, tmp_path):
    broken = shutil.copytree(place / "private", tmp_path / "broken")
    spoil(broken / f"{table}.parquet")
    with pytest.raises(SfumatoError) as caught:
        sfumato.evaluate(place / "h.sfumato", broken, place / "kept", rows=20)
    assert TOKEN not in everything_shown(caught.value)


def spoil(path) -> None:
    data = bytearray(path.read_bytes())
    data[200 : len(data) // 2] = b"\xee" * (len(data) // 2 - 200)
    path.write_bytes(data)


def test_nothing_of_a_row_is_in_what_is_public(place):
    """Terminal, bundle, page: not a byte of the token. The ledger has none either."""
    page = sfumato.report(place / "h.sfumato")
    shown = run("inspect", place / "h.sfumato")
    everything = [
        (place / "said").read_bytes(),
        (place / "h.sfumato").read_bytes(),
        (place / "l.sqlite").read_bytes(),
        page.encode(),
        shown.output.encode() + shown.stderr.encode(),
    ]
    assert all(TOKEN.encode() not in part for part in everything)


@pytest.mark.parametrize("file", ["out", "out.sqlite"])
def test_a_sample_holds_none_of_the_keys(place, tmp_path, file):
    assert run("sample", place / "h.sfumato", "-n", 50, "--out", tmp_path / file).exit_code == 0
    if file == "out":
        assert all(TOKEN.encode() not in path.read_bytes() for path in (tmp_path / file).iterdir())
        return
    connection = sqlite3.connect(tmp_path / file)
    assert TOKEN not in "".join(connection.iterdump())
    connection.close()


def test_an_evaluation_prints_figures_and_no_row(place, tmp_path):
    words = ("--real", place / "private", "--test", place / "kept", "--out", tmp_path / "e.html", "-n", 50)
    done = run("evaluate", place / "h.sfumato", *words)
    assert done.exit_code == 0
    assert TOKEN not in done.output + done.stderr
    assert all(TOKEN not in (tmp_path / name).read_text() for name in ("e.html", "e.json"))


def test_the_command_line_tells_nothing_of_a_broken_file(place, tmp_path):
    broken = shutil.copytree(place / "private", tmp_path / "broken")
    spoil(broken / "stays.parquet")
    failed = release(place, "--ledger", tmp_path / "l.sqlite", data=str(broken))
    assert failed.exit_code == 2
    assert TOKEN not in failed.output + failed.stderr
    assert "Traceback" not in failed.stderr
    assert not (place / "x.sfumato").exists()


def test_no_warning_but_that_of_a_release(recwarn):
    with few_bins():
        sfumato.release(tokened(60), schema(), epsilon=1.0, ledger=None, types="declared", seed=1)
    assert [one for one in recwarn if one.category is not ReleaseWarning] == []
    assert all(TOKEN not in str(one.message) for one in recwarn)


def test_a_receiver_loads_nothing_of_the_private_side(bundle):
    """Open, sample, answer, predict, report: as a receiver has it, without scipy."""
    code = (
        "import sys; sys.modules['scipy'] = None\nimport sfumato\n"
        "release = sfumato.open(sys.argv[1])\nrelease.sample(5)\nrelease['stays'].count()\n"
        "release.predict_proba(release.sample(5), 'stays')\nsfumato.report(release)\n"
        "print([name for name in sys.modules if name in ('sfumato.api', 'sfumato.trusted.curator')])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(bundle)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
