"""Who spends and why: in the ledger, and nowhere else."""

import io
import json
import zipfile

import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import RequestError
from sfumato.trusted.ledger import Ledger
from sfumato.trusted.ledger.purpose import LONGEST_NAME, LONGEST_PURPOSE, check_purpose

ROWS = pa.table({"wet": [True, False, True]})


@pytest.fixture
def rain():
    return sfumato.Schema.from_yaml("{sfumato: 1, name: rain, columns: [{name: wet, type: boolean}]}")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "is empty"),
        ("  ", "is empty"),
        ("two\nlines", "control character"),
        ("a bell \a", "control character"),
        ("backwards \u202e", "control character"),
        ("half a pair \ud800", "control character"),
        (7, "is of type int"),
    ],
)
@pytest.mark.parametrize("name", ["who", "purpose"])
def test_what_cannot_be_written_down_is_refused(name, words, message):
    with pytest.raises(RequestError, match=f"{name} .*{message}"):
        check_purpose(**{"who": None, "purpose": None, name: words})


@pytest.mark.parametrize(("name", "longest"), [("who", LONGEST_NAME), ("purpose", LONGEST_PURPOSE)])
def test_words_are_bounded(name, longest):
    assert getattr(check_purpose(**{"who": None, "purpose": None, name: "x" * longest}), name) == "x" * longest
    with pytest.raises(RequestError, match=f"{longest} at most"):
        check_purpose(**{"who": None, "purpose": None, name: "x" * (longest + 1)})


def test_without_a_name_it_is_the_user(monkeypatch):
    monkeypatch.setattr("getpass.getuser", lambda: "ada")
    assert check_purpose(None, None).to_dict() == {"who": "ada"}
    assert check_purpose("Grace", None).to_dict() == {"who": "Grace"}


@pytest.mark.parametrize("name", ["", "x" * 101, "a\nb", OSError, KeyError])
def test_a_system_without_a_usable_name_is_no_obstacle(monkeypatch, name):
    def getuser():
        if isinstance(name, str):
            return name
        raise name

    monkeypatch.setattr("getpass.getuser", getuser)
    assert check_purpose(None, "why").to_dict() == {"purpose": "why"}


def test_bad_words_cost_nothing(rain, tmp_path):
    ledger = Ledger(tmp_path / "l.sqlite")
    with pytest.raises(RequestError, match="control character"):
        sfumato.release(ROWS, rain, epsilon=1.0, ledger=ledger, purpose="two\nlines")
    assert ledger.entries() == []


def test_a_purpose_without_a_ledger_is_refused(rain):
    with pytest.raises(RequestError, match="there is none"):
        sfumato.release(ROWS, rain, epsilon=1.0, ledger=None, purpose="yearly report")


def test_the_ledger_has_the_words_and_the_bundle_has_not(rain, tmp_path):
    """All members of the bundle are searched, as they are and unpacked."""
    ledger = Ledger(tmp_path / "l.sqlite")
    words = {"who": "canary one", "purpose": "canary two"}
    sfumato.release(ROWS, rain, epsilon=1.0, ledger=ledger, **words).save(tmp_path / "r.sfumato")
    reservation = json.loads(ledger.entries()[0].detail)
    assert {name: reservation[name] for name in words} == words
    content = (tmp_path / "r.sfumato").read_bytes()
    members = [content]
    with zipfile.ZipFile(io.BytesIO(content)) as bundle:
        members += [bundle.read(name) for name in bundle.namelist()]
    assert len(members) > 3
    assert not any(b"canary" in member for member in members)


def test_the_hash_in_the_statement_does_not_tell_the_words(rain, tmp_path):
    """The entry holds a random mark: the same release for the same purpose has another hash."""
    marks = []
    for name in ("a", "b"):
        ledger = Ledger(tmp_path / name)
        sfumato.release(ROWS, rain, epsilon=1.0, ledger=ledger, who="Ada", purpose="yearly report")
        marks.append(json.loads(ledger.entries()[0].detail)["release"])
    assert marks[0] != marks[1]
    assert {len(mark) for mark in marks} == {32}
