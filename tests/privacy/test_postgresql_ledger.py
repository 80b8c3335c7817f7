"""A ledger in PostgreSQL keeps the promises of one in a file (threats 9 and 10), shown on a real server."""

import multiprocessing as mp
import tempfile
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato.errors import BudgetExceededError, LedgerError
from sfumato.trusted import session
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.ledger import Ledger, PrivacyUnit, entries
from sfumato.trusted.ledger import postgresql_table as module
from sfumato.trusted.ledger.postgresql_table import PostgresqlTable
from tests.privacy.crashing import show, trials, trials_until
from tests.privacy.cutting_proxy import cutting
from tests.privacy.test_ledger_crash import check
from tests.sources.postgresql_server import PASSWORD, ROLE, STRANGER

pytest.importorskip("adbc_driver_postgresql", reason="pip install 'sfumato[sql]'")
ADD_REMOVE, REPLACE, LABEL = Adjacency
LIMIT = Budget(1.0, 1e-6)
RAIN = "{sfumato: 1, name: rain, columns: [{name: wet, type: boolean}]}"
# A connection to a server takes longer than a file; few releases reach the limit.
SLOWER = {"seconds": 2.0, "pause": (0.05, 0.25), "most": LIMIT.units // 8}
COLUMNS = ("number", "time", "kind", "dataset", "adjacency", "units", "detail", "previous", "hash")


def empty(server) -> str:
    """The address of a ledger that was not made yet."""
    server.run("drop schema if exists sfumato cascade")
    return server.address("admin")


@pytest.fixture
def address(server):
    return empty(server)


@pytest.fixture
def ledger(address):
    return Ledger(address)


class TestEntries:
    def test_reserve_commit_limit_and_refusal(self, ledger):
        assert ledger.entries() == []
        ledger.set_limit("clinic", LIMIT)
        reservation = ledger.reserve("clinic", ADD_REMOVE, LIMIT.units // 2, {"purpose": "übung \u4e2d"})
        ledger.commit(reservation, "abc")
        with pytest.raises(BudgetExceededError, match="the largest epsilon that still fits is 0"):
            ledger.reserve("clinic", ADD_REMOVE, LIMIT.units, {})
        assert [entry.kind for entry in ledger.entries()] == ["limit", "reserve", "commit"]
        (account,) = ledger.accounts()
        assert (account.spent, account.releases, account.unfinished) == (LIMIT.units // 2, 1, 0)

    def test_nothing_is_made_by_looking(self, ledger, server):
        assert ledger.accounts() == []
        with server.admin() as cursor:
            cursor.execute("select count(*) from pg_namespace where nspname = 'sfumato'")
            assert cursor.fetchone() == (0,)

    def test_nothing_is_made_where_the_first_entry_is_refused(self, ledger):
        with pytest.raises(ZeroDivisionError):
            ledger._append("reserve", "d", PrivacyUnit(ADD_REMOVE), 1, {}, lambda _: 1 / 0)
        assert ledger.entries() == []

    DATASETS = st.sampled_from(["clinic", "wärd"])
    OPERATIONS = st.one_of(
        st.tuples(st.just("limit"), DATASETS, st.sampled_from(Adjacency), st.sampled_from([None, "who"])),
        st.tuples(
            st.sampled_from(["reserve", "release"]),
            DATASETS,
            st.sampled_from(Adjacency),
            st.sampled_from([None, "who"]),
            st.sampled_from([LIMIT.units // 10, LIMIT.units // 2, LIMIT.units]),
            st.sampled_from([0.0, 0.0, 4e-7]),
        ),
    )

    @settings(max_examples=8, deadline=None, derandomize=True)
    @given(operations=st.lists(OPERATIONS, min_size=2, max_size=7))
    def test_the_same_operations_give_the_same_entries_accounts_and_refusals(self, running_server, operations):
        """To the last bit of the hashes, at the same times."""
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            patch.setenv("PGPASSWORD", PASSWORD)
            patch.setattr(entries, "_current_time", lambda: "2026-01-01T00:00:00+00:00")
            both = [Ledger(Path(folder) / "l.sqlite"), Ledger(empty(running_server))]
            for operation in operations:
                first, second = (self.outcome(ledger, *operation) for ledger in both)
                assert first == second
            assert both[0].entries() == both[1].entries()
            assert both[0].accounts() == both[1].accounts()

    def outcome(self, ledger, what, dataset, adjacency, unit, units=0, delta=0.0):
        if what == "limit":
            return ledger.set_limit(dataset, LIMIT, adjacency, unit)
        try:
            reservation = ledger.reserve(dataset, adjacency, units, {"delta": 1e-6}, unit, delta=delta)
        except BudgetExceededError as refusal:
            return str(refusal), refusal.requested, refusal.remaining
        return ledger.commit(reservation, "statement") if what == "release" else reservation


class TestAtOnce:
    """Two who write at the same time."""

    def test_processes_at_once_do_not_overspend(self, ledger, address):
        ledger.set_limit("clinic", LIMIT)
        share = LIMIT.units // 5
        with mp.get_context("fork").Pool(3) as pool:
            outcomes = pool.map(spend, [(address, share)] * 9, chunksize=1)
        assert outcomes.count(True) == 5
        assert ledger.accounts("clinic")[0].spent == 5 * share

    def test_nobody_else_writes_between_the_sum_and_the_entry(self, ledger, server):
        seen = []

        def look(_entries):
            with server.admin() as cursor:
                cursor.execute("begin")
                cursor.execute("select pg_try_advisory_xact_lock(6228592, 1)")
                seen.append(cursor.fetchone())

        ledger._append("reserve", "d", PrivacyUnit(ADD_REMOVE), 1, {}, look)
        assert seen == [(False,)]

    def test_without_the_lock_the_second_of_two_is_refused(self, ledger, monkeypatch):
        """A writer who does not know of the lock cannot follow the same entry as another."""
        monkeypatch.setattr(module, "_LOCK", "select 1")
        ledger.reserve("d", ADD_REMOVE, 1, {})

        def come_between(_entries):
            ledger.reserve("d", ADD_REMOVE, 7, {})

        with pytest.raises(LedgerError, match="IntegrityError"):
            ledger._append("reserve", "d", PrivacyUnit(ADD_REMOVE), 1, {}, come_between)
        assert [entry.units for entry in ledger.entries()] == [1, 7]

    def test_who_waits_too_long_is_told(self, ledger, monkeypatch):
        monkeypatch.setitem(module._SETTINGS, "lock_timeout", "'200ms'")
        with pytest.raises(LedgerError, match="another release has held it"):
            ledger._append(
                "limit", "d", PrivacyUnit(ADD_REMOVE), 1, {}, lambda _: ledger.reserve("d", ADD_REMOVE, 1, {})
            )


def spend(request):
    address, units = request
    try:
        Ledger(address).reserve("clinic", ADD_REMOVE, units, {})
    except BudgetExceededError:
        return False
    return True


class TestKilled:
    """Writers that die, and connections that break."""

    def test_killed_writers_neither_overspend_nor_release_unrecorded(self, server):
        check(trials_until(8, 8, place=lambda _: empty(server), **SLOWER), kills=8, releases=8)

    @pytest.mark.slow
    def test_500_kills(self, server):
        outcome = trials_until(500, 300, place=lambda _: empty(server), **{**SLOWER, "seconds": 6.0})
        check(outcome, kills=500, releases=300)
        assert outcome.trials_at_the_limit >= outcome.trials / 4
        print(outcome)

    def test_a_spend_after_the_release_is_seen(self, server):
        def spends_after(ledger, seen, units):
            show(seen, units)
            ledger.reserve("clinic", ADD_REMOVE, units, {})

        with pytest.raises(AssertionError):
            check(trials(1, spends_after, place=lambda _: empty(server), **SLOWER), kills=1, releases=1)

    def test_a_connection_that_breaks_before_the_commit_leaves_nothing(self, ledger, server):
        def cut(_entries):
            server.run("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()")

        with pytest.raises(LedgerError, match="cannot be used"):
            ledger._append("reserve", "d", PrivacyUnit(ADD_REMOVE), 1, {}, cut)
        assert ledger.entries() == []

    @pytest.mark.parametrize("arrives", [True, False])
    def test_a_connection_that_breaks_in_the_commit_is_told_and_counts_if_it_arrived(self, ledger, server, arrives):
        ledger.set_limit("clinic", LIMIT)
        with (
            tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as folder,
            cutting(Path(folder), server.folder, commit_arrives=arrives) as broken,
        ):
            cut_off = Ledger(f"postgresql://admin@/postgres?host={broken}")
            with pytest.raises(LedgerError, match="whether the entry was written is not known"):
                cut_off.reserve("clinic", ADD_REMOVE, 5, {})
        assert ledger.accounts("clinic")[0].spent == 5 * arrives

    def test_a_release_without_its_ledger_reads_nothing(self, server, monkeypatch):
        monkeypatch.setattr(session, "Curator", None)  # no record may be read
        schema = sfumato.Schema.from_yaml(RAIN)
        with pytest.raises(LedgerError, match="cannot be used"):
            sfumato.release(pa.table({"wet": [True]}), schema, epsilon=1.0, ledger=server.address("admin", "nowhere"))


class TestTampering:
    def test_sql_cannot_change_or_remove_an_entry(self, ledger, server):
        ledger.reserve("clinic", ADD_REMOVE, 1, {})
        for change in (
            "update sfumato.entries set units = 0",
            "delete from sfumato.entries",
            "truncate sfumato.entries",
        ):
            for role in ("origin", "replica"):  # the second switches ordinary triggers off
                with pytest.raises(Exception, match="entries are never changed or removed"):
                    server.run(f"set session_replication_role = {role}", change)
        assert len(ledger.entries()) == 1

    def test_every_changed_or_lost_field_breaks_the_chain(self, ledger, server):
        for number in range(3):
            ledger.reserve("clinic", ADD_REMOVE, 100 + number, {"number": number})
        good = asdict(ledger.entries()[1])
        with server.admin() as cursor:
            cursor.execute("alter table sfumato.entries disable trigger never_changed")
            cursor.execute("create table public.good as select * from sfumato.entries")
            for column in COLUMNS:
                value = "77" if column in ("number", "units") else "'limit'"
                cursor.execute(f"update sfumato.entries set {column} = {value} where hash = '{good['hash']}'")
                with pytest.raises(LedgerError, match="chain"):
                    ledger.entries()
                cursor.execute("delete from sfumato.entries")
                cursor.execute("insert into sfumato.entries select * from public.good")
            assert len(ledger.entries()) == 3
            cursor.execute("drop table public.good")
            cursor.execute("delete from sfumato.entries where number = 2")
        with pytest.raises(LedgerError, match="chain"):
            ledger.reserve("clinic", ADD_REMOVE, 1, {})

    def test_an_unknown_kind_of_entry_is_refused(self, ledger, server):
        ledger.reserve("clinic", ADD_REMOVE, 1, {})
        server.run(
            "alter table sfumato.entries disable trigger never_changed", "update sfumato.entries set kind = 'refund'"
        )
        with pytest.raises(LedgerError, match="'refund', unknown to this version"):
            ledger.reserve("clinic", ADD_REMOVE, 1, {})

    @pytest.mark.parametrize(
        "statements",
        [
            ["create table sfumato.entries (x integer)"],
            [
                "create view sfumato.entries as select 1 as number",
                f"comment on view sfumato.entries is '{module._MARK}'",
            ],
            [  # which a crash of the server empties
                "create unlogged table sfumato.entries (number bigint)",
                f"comment on table sfumato.entries is '{module._MARK}'",
            ],
        ],
        ids=["another table", "a view", "unlogged"],
    )
    def test_a_table_of_somebody_else_is_left_alone(self, ledger, server, statements):
        server.run("create schema sfumato", *statements)
        for work in (Ledger.entries, lambda book: book.reserve("clinic", ADD_REMOVE, 1, {})):
            with pytest.raises(LedgerError, match="not a ledger of this version; name another database"):
                work(ledger)

    @pytest.mark.parametrize("work", ["return null", "new.hash := new.previous; return new"])
    def test_a_table_that_swallows_or_changes_entries_is_seen(self, ledger, server, work):
        ledger.reserve("clinic", ADD_REMOVE, 1, {})
        server.run(
            f"create function sfumato.meddle() returns trigger language plpgsql as $$ begin {work}; end $$",
            "create trigger meddle before insert on sfumato.entries for each row execute function sfumato.meddle()",
        )
        with pytest.raises(LedgerError, match="did not take an entry"):
            ledger.reserve("clinic", ADD_REMOVE, 1, {})

    def test_rows_that_a_policy_hides_are_an_error(self, ledger, server):
        ledger.reserve("clinic", ADD_REMOVE, 1, {})
        server.run(
            f"grant usage on schema sfumato to {ROLE}",
            f"grant select, insert on sfumato.entries to {ROLE}",
            "alter table sfumato.entries enable row level security",
        )
        with pytest.raises(LedgerError, match="cannot be used"):
            Ledger(server.address(ROLE)).entries()


class TestTheServer:
    def test_a_commit_waits_for_the_disk_whatever_the_defaults_are(self, address, server):
        defaults = ("synchronous_commit = off", "default_transaction_isolation = serializable")
        server.run(
            *[f"alter role admin set {default}" for default in (*defaults, "default_transaction_read_only = on")]
        )
        try:
            with PostgresqlTable(address)._transaction("read write") as cursor:
                for name, value in {"synchronous_commit": "on", "transaction_isolation": "read committed"}.items():
                    cursor.execute(f"select current_setting('{name}')")
                    assert cursor.fetchone() == (value,)
            Ledger(address).reserve("clinic", ADD_REMOVE, 1, {})
        finally:
            server.run("set default_transaction_read_only = off", "alter role admin reset all")

    def test_a_server_that_does_not_sync_is_refused(self, ledger, server):
        def reload(statement):
            server.run(statement, "select pg_reload_conf()", "select pg_sleep(0.2)")

        reload("alter system set fsync = off")
        try:
            with pytest.raises(LedgerError, match="fsync off"):
                ledger.reserve("clinic", ADD_REMOVE, 1, {})
        finally:
            reload("alter system reset fsync")
        ledger.reserve("clinic", ADD_REMOVE, 1, {})

    def test_a_member_may_add_and_look_and_nothing_else(self, ledger, server):
        member = Ledger(server.address(ROLE))
        with pytest.raises(LedgerError, match=r"42501.*somebody who may create that schema"):
            member.reserve("clinic", ADD_REMOVE, 1, {})
        ledger.set_limit("clinic", LIMIT)
        with pytest.raises(LedgerError, match="grant usage on schema sfumato"):
            member.reserve("clinic", ADD_REMOVE, 1, {})
        server.run(f"grant usage on schema sfumato to {ROLE}", f"grant select, insert on sfumato.entries to {ROLE}")
        member.commit(member.reserve("clinic", ADD_REMOVE, 1, {}), "statement")
        assert member.accounts() == ledger.accounts()

    def test_errors_quote_neither_user_nor_password(self, server, monkeypatch):
        ledger = Ledger(server.address(STRANGER))
        assert repr(ledger) == f"Ledger('postgresql:///postgres?host={server.folder}')"
        monkeypatch.setenv("PGPASSWORD", "wrong7canary")
        with pytest.raises(LedgerError) as refused:
            ledger.entries()
        assert refused.value.__context__ is None
        for secret in ("canary", STRANGER):
            assert secret not in str(refused.value)


def test_a_release_from_the_command_line(address, tmp_path, monkeypatch):
    """Purpose, table and export, by `--ledger` and by the environment."""
    from tests.test_cli import flat, run

    (tmp_path / "s.yaml").write_text(RAIN)
    (tmp_path / "t.csv").write_text("wet\ntrue\nfalse\n")
    words = (tmp_path / "t.csv", "--schema", tmp_path / "s.yaml", "--epsilon", 1, "--out", tmp_path / "b.sfumato")
    assert run("ledger", "set-limit", "rain", "--epsilon", 1.2, "--ledger", address).exit_code == 0
    made = run("release", *words, "--ledger", address, "--purpose", "a first look", "--who", "Ada")
    assert made.exit_code == 0
    assert f"ledger {Ledger(address).place}: under add-remove dataset rain has spent epsilon 1" in flat(made.output)
    monkeypatch.setenv("SFUMATO_LEDGER", address)
    assert "Ada: a first look" in flat(run("ledger", "show").output)
    words = (*words[:-1], tmp_path / "c.sfumato")
    assert run("release", *words).exit_code == 3
    assert len(run("ledger", "export").output.splitlines()) == 3
