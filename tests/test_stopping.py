"""Whatever stops a release, at any point: no bundle, a ledger that counts the spend, and words that say so."""

import errno
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow.parquet
import pytest

import sfumato
from sfumato.artefact.release import Release
from sfumato.errors import LedgerError
from sfumato.fitting.mechanisms.tables import fit
from sfumato.sklearn import PrivateGaussianMixture
from sfumato.trusted import session
from sfumato.trusted.curator import Curator
from sfumato.trusted.ledger import Ledger
from sfumato.trusted.sources import samples, temporary_files
from tests.conftest import MIXED, make_table
from tests.test_cli import flat, release, run

SPENT = "counts epsilon 1 at delta 1e-06 of dataset mixed as spent"
LATE = {
    "reading": (samples, "sum_of"),
    "measuring": (Curator, "measure"),
    "fitting": (fit, "average_fits"),
    "closing the books": (Ledger, "commit"),
    "writing": (Release, "write"),
}
FAULTS = {
    "Ctrl-C": (KeyboardInterrupt, 130, "stopped by Ctrl-C."),
    "a full disk": (lambda: OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), 2, ""),
}


@pytest.fixture
def place(tmp_path):
    pyarrow.parquet.write_table(make_table(300), tmp_path / "t.parquet")
    (tmp_path / "s.yaml").write_text(MIXED)
    return tmp_path


def broken(error):
    def work(*_args, **_kwargs):
        raise error()

    return work


def check_nothing_is_left(place) -> None:
    assert sorted(path.name for path in place.iterdir()) == ["ledger.sqlite", "s.yaml", "t.parquet"]
    (account,) = Ledger(place / "ledger.sqlite").accounts()
    assert account.spent == sfumato.Budget(1.0, 1e-6).units


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("stage", LATE)
def test_a_fault_after_the_reservation_counts(place, monkeypatch, stage, fault):
    error, code, words = FAULTS[fault]
    monkeypatch.setattr(*LATE[stage], broken(error))
    done = release(place)
    assert (done.exit_code, words in done.stderr) == (code, True), done.stderr
    assert SPENT in flat(done.stderr)
    assert "No bundle was written" in flat(done.stderr)
    check_nothing_is_left(place)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_after_the_books_are_closed_counts(place, monkeypatch, fault):
    """While the table is closed: all is done, and lost."""
    error, code, words = FAULTS[fault]

    def opened(*words, **settings):
        source = open_source(*words, **settings)
        source.close = broken(error)
        return source

    open_source = session.open_source
    monkeypatch.setattr(session, "open_source", opened)
    done = release(place)
    assert (done.exit_code, words in done.stderr) == (code, True), done.stderr
    assert flat(done.stderr).count(SPENT) == 1
    check_nothing_is_left(place)


def test_ctrl_c_while_the_ledger_is_written(place, monkeypatch):
    """What it says is what the ledger holds, whether or not the entry was there already."""
    append = Ledger._append

    def too_late(*words):
        append(*words)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "_append", broken(KeyboardInterrupt))
        assert flat(release(place).stderr) == "error: stopped by Ctrl-C."
        assert Ledger(place / "ledger.sqlite").entries() == []
    monkeypatch.setattr(Ledger, "_append", too_late)
    done = release(place)
    assert done.exit_code == 130
    assert flat(done.stderr).count(SPENT) == 1
    check_nothing_is_left(place)


def test_a_ledger_that_is_lost_on_the_way(place, monkeypatch):
    for name in ("commit", "entries"):
        monkeypatch.setattr(Ledger, name, broken(lambda: LedgerError("the disk is gone")))
    done = release(place)
    assert done.exit_code == 2
    assert SPENT in flat(done.stderr)


def test_a_fault_before_the_reservation_costs_nothing(place, monkeypatch):
    monkeypatch.setattr(Ledger, "entries", broken(AssertionError))  # it is not even looked at
    monkeypatch.setattr("sfumato.trusted.session.open_source", broken(KeyboardInterrupt))
    done = release(place)
    assert done.exit_code == 130
    assert flat(done.stderr) == "error: stopped by Ctrl-C."
    assert sorted(path.name for path in place.iterdir()) == ["s.yaml", "t.parquet"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_real_signal_in_the_middle_of_a_sum(place, number, code):
    """Sent from outside, while records are being counted."""
    slow = (
        "import time; from sfumato.trusted.statistics import Cells\n"
        "real = Cells.__call__\n"
        "Cells.__call__ = lambda *words: (print('counting', flush=True), time.sleep(30), real(*words))[2]\n"
        "from sfumato.cli.app import main; main()"
    )
    words = [
        "release",
        place / "t.parquet",
        "--schema",
        place / "s.yaml",
        "--epsilon",
        "1",
        "--out",
        place / "b.sfumato",
    ]
    with subprocess.Popen(
        [sys.executable, "-c", slow, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "counting\n"
        process.send_signal(number)
        began = time.monotonic()
        _, told = process.communicate(timeout=60)
    assert process.returncode == code
    assert SPENT in flat(told)
    assert "Traceback" not in told
    assert time.monotonic() - began < 25  # it did not wait for the sum
    check_nothing_is_left(place)


def test_no_room_for_temporary_files(place, monkeypatch):
    (place / "s.yaml").write_text(f"{MIXED}unit: {{column: not_in_the_schema, records: 2}}\n")
    monkeypatch.setattr(temporary_files.tempfile, "SpooledTemporaryFile", broken(lambda: OSError(errno.ENOSPC, "full")))
    done = release(place)
    assert done.exit_code == 2
    assert "room for temporary files" in flat(done.stderr)
    assert SPENT in flat(done.stderr)
    check_nothing_is_left(place)


def test_in_python_the_error_carries_the_words(place, monkeypatch):
    monkeypatch.setattr(Curator, "measure", broken(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt) as stopped:
        sfumato.release(place / "t.parquet", place / "s.yaml", epsilon=1.0)
    (note,) = stopped.value.__notes__
    assert SPENT in note
    with pytest.raises(KeyboardInterrupt) as stopped:
        sfumato.release(place / "t.parquet", place / "s.yaml", epsilon=1.0, ledger=None)
    assert not hasattr(stopped.value, "__notes__")


@pytest.mark.parametrize("stage", ["_append", "commit"])
def test_an_estimator_that_buys_its_bounds_says_so_too(tmp_path, monkeypatch, stage):
    """Ctrl-C right after the ledger was written, of the reservation or of its end."""
    work = getattr(Ledger, stage)

    def too_late(*words):
        work(*words)
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, stage, too_late)
    estimator = PrivateGaussianMixture(
        epsilon=1.0, delta=1e-6, bounds="estimate", classes=[0, 1], dataset="mixed", ledger=tmp_path / "l.sqlite"
    )
    rng = np.random.default_rng(0)
    with pytest.raises(KeyboardInterrupt) as stopped:
        estimator.fit(rng.normal(size=(200, 2)), rng.integers(2, size=200))
    (note,) = stopped.value.__notes__
    assert SPENT in note


def test_the_next_release_is_held_against_what_was_spent(place, monkeypatch):
    run("ledger", "set-limit", "mixed", "--epsilon", "1")
    with monkeypatch.context() as patch:
        patch.setattr(Curator, "measure", broken(KeyboardInterrupt))
        assert release(place).exit_code == 130
    refused = release(place)
    assert refused.exit_code == 3
    assert "as spent" not in flat(refused.stderr)
