"""Which place an address names, and that ledgers written by earlier versions stay what they were."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from sfumato.errors import LedgerError, RequestError
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.ledger import Ledger
from sfumato.trusted.ledger.sqlite_file import SqliteFile

EARLIER = Path(__file__).parent / "earlier_ledger.sqlite"  # written before there were several places
"""Two limits and four releases, of each kind of entry one at least; two were never finished."""


@pytest.fixture
def earlier(tmp_path):
    return Ledger(shutil.copy(EARLIER, tmp_path / "ledger.sqlite"))


class TestAnEarlierFile:
    def test_it_says_what_it_said(self, earlier):
        kinds = ["limit", "limit by person", "reserve", "commit", "reserve with delta", "reserve by person", "commit"]
        assert [entry.kind for entry in earlier.entries()] == [*kinds, "reserve with delta by person"]
        clinic, visits = earlier.accounts()
        assert (clinic.spent, clinic.limit, clinic.delta) == (71261884647, 415918135275, 1e-7)
        assert (clinic.limit_as_set, clinic.releases, clinic.unfinished) == ((3.0, 1e-6), 1, 1)
        assert (visits.spent, visits.limit, visits.delta) == (60235340767, 200825634318, 1e-8)
        assert (visits.currency.adjacency, visits.currency.unit) == (Adjacency.REPLACE, "patient_id")

    def test_it_goes_on(self, earlier):
        last = earlier.entries()[-1]
        added = earlier.reserve("clinic", Adjacency.ADD_REMOVE, 1, {"who": "Ada", "purpose": "more"})
        assert (added.number, added.previous) == (9, last.hash)
        assert len(earlier.entries()) == 9

    def test_what_is_new_is_in_details_alone(self, earlier):
        """So that the version which wrote it reads on: it looks at `unit` and `delta_keys`, and at nothing else."""
        added = earlier.reserve("clinic", Adjacency.ADD_REMOVE, 1, {"who": "Ada", "purpose": "more"})
        assert added.kind == "reserve"
        assert json.loads(added.detail) == {"who": "Ada", "purpose": "more"}


class TestAddresses:
    @pytest.mark.parametrize("address", ["a/ledger.sqlite", Path("ledger.sqlite"), "ledger"])
    def test_a_path_is_a_file(self, address):
        ledger = Ledger(address)
        assert isinstance(ledger._storage, SqliteFile)
        assert repr(ledger) == f"Ledger('{Path.cwd() / address}')"

    def test_a_file_stays_the_same_wherever_the_program_goes(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        ledger = Ledger("ledger.sqlite")
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        ledger.reserve("clinic", Adjacency.ADD_REMOVE, 1, {})
        assert (tmp_path / "ledger.sqlite").exists()

    @pytest.mark.parametrize(
        ("address", "place"),
        [
            ("postgresql://host/ledgers", "postgresql://host/ledgers"),
            ("postgres://ada@host:5433/ledgers?sslmode=require", "postgresql://host:5433/ledgers"),
            ("postgresql://ada@/ledgers?host=/run/pg&user=ada", "postgresql:///ledgers?host=/run/pg"),
            ("postgresql:///ledgers?port=5433&sslmode=require", "postgresql:///ledgers?port=5433"),
            ("postgresql://[::1]:5432,other.example/ledgers", "postgresql://[::1]:5432,other.example/ledgers"),
        ],
    )
    def test_a_server_shows_where_it_is_and_not_the_user(self, address, place):
        assert Ledger(address).place == place
        assert repr(Ledger(address)) == f"Ledger('{place}')"

    @pytest.mark.parametrize(
        "address",
        [
            "postgresql://ada:canary@host/ledgers",
            "postgresql://host/ledgers?password=canary",
            "postgresql://host/ledgers?PassWord=canary",
            "postgresql://ada:can@canary@host/ledgers",
        ],
    )
    def test_a_password_is_refused_and_not_quoted(self, address):
        with pytest.raises(RequestError, match="holds a password") as refused:
            Ledger(address)
        assert "canary" not in str(refused.value)

    @pytest.mark.parametrize(
        "address",
        [
            "postgresql://host",
            "postgresql://host/",
            "postgresql:///?dbname=canary",
            "postgresql://host/ledgers?dbname=canary",
            "postgresql://host/ledgers?service=canary",
            "postgresql://ada:can/ary@host/ledgers",
            "postgresql://ada:12/canary@host/ledgers",
            "postgresql://host/a/canary",
        ],
    )
    def test_an_address_that_cannot_be_shown_or_names_no_database_is_refused(self, address):
        with pytest.raises(LedgerError, match="name of the database") as refused:
            Ledger(address)
        assert "canary" not in str(refused.value)
        assert "can/ary" not in str(refused.value)

    @pytest.mark.parametrize(
        "address", [Path("postgresql://host/ledgers"), "mysql://host/ledgers", "s3://bucket/ledger.sqlite"]
    )
    def test_what_would_become_a_folder_here_is_refused(self, address):
        with pytest.raises(LedgerError, match="neither a file nor postgresql://"):
            Ledger(address)

    def test_without_the_driver_it_says_what_to_install(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
        with pytest.raises(LedgerError, match="pip install 'sfumato\\[sql\\]'"):
            Ledger("postgresql://host/ledgers").entries()
