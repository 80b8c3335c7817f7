"""The ledger on the command line, for those who look after datasets."""

import csv
import io
import json
import re

import pytest

from sfumato.errors import BudgetExceededError
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.ledger import Ledger
from sfumato.trusted.ledger.purpose import Purpose
from tests.test_cli import flat, place, release, run

__all__ = ["place"]
ADD_REMOVE, REPLACE, LABEL = Adjacency


@pytest.fixture
def book(tmp_path):
    return Ledger(tmp_path / "ledger.sqlite")  # the default of every test


def spend(book, dataset, epsilon, *, adjacency=ADD_REMOVE, unit=None, delta_keys=0.0, finished=True, **more):
    budget = Budget(epsilon, 1e-6, delta_keys=delta_keys)
    detail = {"epsilon": epsilon, "delta": 1e-6, "mechanism": "tables", "seeded": False, **more}
    reservation = book.reserve(dataset, adjacency, budget.units, detail, unit, delta=delta_keys)
    if finished:
        book.commit(reservation, "statement")


class TestWhatIsLeft:
    """In epsilon at the limit's delta; what is shown can be spent, and no more."""

    @pytest.mark.parametrize("epsilon", [0.013, 0.3, 1.0, 2.2, 2.99])
    @pytest.mark.parametrize("delta_keys", [0.0, 1e-7])
    def test_the_largest_epsilon_that_still_fits_does(self, book, epsilon, delta_keys):
        book.set_limit("clinic", Budget(3.0, 1e-6))
        spend(book, "clinic", epsilon, delta_keys=delta_keys)
        fits = book.epsilon_that_fits("clinic")
        assert fits == book.accounts("clinic")[0].epsilon_left
        with pytest.raises(BudgetExceededError, match=f"largest epsilon that still fits is {fits:g} at delta 1e-06"):
            spend(book, "clinic", fits * 1.002)
        spend(book, "clinic", fits)
        assert book.epsilon_that_fits("clinic") < 0.1

    @pytest.mark.parametrize("delta_keys", [0.0, 2e-7])
    def test_a_refusal_names_what_fits_with_the_same_delta_for_lists(self, book, delta_keys):
        book.set_limit("clinic", Budget(1.0, 1e-6))
        with pytest.raises(BudgetExceededError) as refused:
            spend(book, "clinic", 1.5, delta_keys=delta_keys)
        fits = float(re.search(r"still fits is ([\d.]+) at", str(refused.value)).group(1))
        assert fits == pytest.approx(1.0, rel=1e-3)
        spend(book, "clinic", fits, delta_keys=delta_keys)

    def test_nothing_spent_leaves_the_whole_limit(self, book):
        for epsilon in (0.1, 1.0, 3.0, 7.5):
            book.set_limit("clinic", Budget(epsilon, 1e-5))
            assert book.epsilon_that_fits("clinic", delta=1e-5) == epsilon

    def test_all_limits_of_a_dataset_count(self, book):
        book.set_limit("clinic", Budget(3.0, 1e-6))
        book.set_limit("clinic", Budget(1.0, 1e-6), REPLACE)  # under which add-remove counts fourfold
        fits = book.epsilon_that_fits("clinic")
        assert fits == pytest.approx(0.46, abs=0.05)
        assert [account.epsilon_left for account in book.accounts("clinic")] == [3.0, 1.0]
        with pytest.raises(BudgetExceededError, match=f"the replace limit .* still fits is {fits:g}"):
            spend(book, "clinic", 1.0)
        assert book.epsilon_that_fits("clinic", adjacency=LABEL) == 0  # promises nothing under either

    def test_without_a_limit_there_is_no_such_number(self, book):
        assert book.epsilon_that_fits("clinic") is None

    def test_a_release_that_counts_nowhere_leaves_nothing(self, book):
        spend(book, "clinic", 1.0, adjacency=LABEL)
        book.set_limit("clinic", Budget(100.0, 1e-6))
        assert book.epsilon_that_fits("clinic") == book.accounts("clinic")[0].epsilon_left == 0

    def test_lists_that_used_up_the_delta_show_as_infinite(self, book):
        for _ in range(2):
            spend(book, "clinic", 1.0, delta_keys=6e-7)
        assert "inf" in run("ledger", "show").output


class TestShow:
    def test_a_release_says_who_why_and_what_is_left(self, place):
        run("ledger", "set-limit", "mixed", "--epsilon", 3, "--who", "the board", "--purpose", "decision of 12 May")
        made = release(place, "--purpose", "yearly report", "--who", "Ada")
        assert (
            "has spent epsilon 1 of epsilon 3 at delta 1e-06 in 1 release; the largest epsilon that still fits is "
            in (flat(made.output))
        )
        shown = run("ledger", "show", "mixed").output
        assert re.search(r"add-remove +1e-06 +1 +3 +2\.\d+ +2\.\d+ +1 done", shown)
        assert re.search(r"\d{4}-\d\d-\d\d +limit +3 +1e-06 +add-remove +the board: decision of", shown)
        assert re.search(r"\d{4}-\d\d-\d\d +release, tables +1 +1e-06 +add-remove +Ada: yearly report", shown)
        assert "mu squared" not in made.output + shown

    def test_bad_words_exit_2_and_spend_nothing(self, place):
        failed = release(place, "--purpose", "two\nlines")
        assert (failed.exit_code, run("ledger", "export").output) == (2, "")
        assert "purpose holds a line break" in flat(failed.stderr)

    @pytest.mark.parametrize("width", [80, 120])
    def test_long_names_wrap_and_nothing_is_cut(self, book, width, monkeypatch):
        monkeypatch.setattr("sfumato.cli.terminal._screen._width", width)
        names = {"d": "d" * 70, "u": "u" * 40, "w": "w" * 90, "p": "p" * 400}
        book.set_limit(names["d"], Budget(2.0, 1e-5), REPLACE, names["u"], Purpose("somebody", None))
        spend(book, names["d"], 0.5, adjacency=REPLACE, unit=names["u"], who=names["w"], purpose=names["p"])
        shown = run("ledger", "show").output
        table = [line for line in shown.splitlines() if not line.startswith("ledger ")]
        assert max(map(len, table)) <= width
        assert "\u2026" not in shown
        for letter, times in {"w": 1, "p": 1, "u": 3}.items():
            assert len(re.findall(rf"{letter}{{3,}}", shown)) >= 1
            assert sum(map(len, re.findall(rf"{letter}{{3,}}", shown))) >= times * (len(names[letter]) - 8)

    def test_what_was_not_finished_and_who_is_unknown(self, book):
        spend(book, "clinic", 1.0, finished=False)
        spend(book, "clinic", 1.0, purpose="a\x1b[2Jtrick", seeded=True)
        shown = run("ledger", "show", "clinic").output
        assert "1 done, 1 reserved and not" in shown
        assert re.search(r"release, tables, +1 +1e-06 +add-remove +-", shown)
        assert "seeded: not" in shown
        assert "\x1b" not in shown


class TestExport:
    def test_jsonl_is_every_entry_with_its_hashes(self, book):
        book.set_limit("clinic", Budget(3.0, 1e-6))
        spend(book, "clinic", 1.0)
        exported = run("ledger", "export").output
        assert exported == run("ledger", "export", "--format", "jsonl").output
        lines = [json.loads(line) for line in exported.splitlines()]
        assert [line["hash"] for line in lines] == [entry.hash for entry in book.entries()]

    def test_csv_and_json_say_when_who_why_and_how_much(self, book):
        book.set_limit("clinic", Budget(3.0, 1e-6), purpose=Purpose("the board", None))
        spend(book, "clinic", 1.0, who="Ada", purpose='for "all", and more')
        spend(book, "clinic", 0.5, finished=False)
        rows = list(csv.DictReader(io.StringIO(run("ledger", "export", "--format", "csv").output)))
        lines = json.loads(run("ledger", "export", "--format", "json").output)
        assert [row["kind"] for row in rows] == [line["kind"] for line in lines] == ["limit", "release", "release"]
        assert (rows[1]["who"], rows[1]["purpose"], rows[1]["finished"]) == ("Ada", 'for "all", and more', "yes")
        assert (rows[2]["epsilon"], rows[2]["delta"], rows[2]["finished"]) == ("0.5", "1e-06", "no")
        assert (lines[1]["epsilon"], lines[1]["finished"], lines[2]["finished"]) == (1.0, True, False)
        assert (lines[0]["who"], lines[0]["purpose"], rows[0]["purpose"]) == ("the board", None, "")
        assert lines[0]["time"] == book.entries()[0].time
        assert "units" not in rows[0]

    @pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\uff1d", "  ="])
    def test_a_spreadsheet_takes_no_words_for_a_formula(self, book, sign):
        words = f'{sign}HYPERLINK("http://x")'
        spend(book, words, 1.0, who=words, purpose=words, unit=words, adjacency=REPLACE)
        (row,) = csv.DictReader(io.StringIO(run("ledger", "export", "--format", "csv").output))
        assert row["dataset"] == row["who"] == row["purpose"] == row["unit"] == f"'{words}"
        (line,) = json.loads(run("ledger", "export", "--format", "json").output)
        assert line["purpose"] == words  # JSON is for programs
        assert row["epsilon"] == "1.0"
