"""No person moves a sum of a family further than claimed, and nobody else's records change: hunted, with mutants."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from sfumato.errors import DataError
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.families import assembly
from sfumato.trusted.families.tickets import Tickets
from sfumato.trusted.schema import FamilySchema
from sfumato.trusted.sources import family_source
from sfumato.trusted.statistics import CodeSums, PersonLevel
from tests.families.making import compare, few_bins
from tests.families.neighbours import (
    FAMILIES,
    FRESH,
    NEW,
    OTHERS,
    PEOPLE,
    a_crowd,
    draw_newcomer,
    draw_others,
    farthest,
    hunted,
    look_at,
    of_all_but,
    shares_of_crowds,
    together,
    total,
)
from tests.families.slow import UNIT
from tests.statistics.hunting import norm

HIDDEN = "by a column that is not released"
KEY = b"any key"
A_HAIR = 1e-12


@pytest.fixture(autouse=True, scope="module")
def _few_bins():
    with few_bins():
        yield


def check(family: FamilySchema, tries: int, seed: int = 0, *, stirred: bool = True) -> None:
    """Whoever comes or changes moves no sum further than claimed, and changes nobody else."""
    for move in hunted(family, tries, seed, stirred=stirred):
        assert move.came <= 1 + A_HAIR
        assert move.changed <= 1 + A_HAIR
        assert move.others_stayed


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_no_person_moves_a_sum_further_than_claimed_or_changes_anybody_else(family):
    check(family, 8)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_nor_where_the_rows_of_the_others_stay_in_their_order(family):
    check(family, 3, 1, stirred=False)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_no_person_of_very_many_moves_a_sum_further_than_claimed_or_changes_anybody_else(family):
    check(family, 250, 2)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_crowd_of_equal_rows_reaches_the_claim(family):
    for share in shares_of_crowds(family, KEY):
        assert 0.99 <= share <= 1 + A_HAIR


def test_the_claim_of_sums_of_codes_is_reached():
    family = FAMILIES["not ordered"]
    others = draw_others(Random(3), family)
    person = a_crowd(family, other=False)
    person["stays"] = [{**person["stays"][0], "stays_id": FRESH + place} for place in range(9)]
    sums = PersonLevel(CodeSums({"people.number of stays": 8, "people.number of calls": 3}), "persons")
    move = total(family, together(None, others, person), KEY, sums) - total(family, others, KEY, sums)
    assert move.tolist() == [8 * UNIT, 3 * UNIT]
    assert norm(sums, move) == pytest.approx(sums.sensitivity(Adjacency.ADD_REMOVE), rel=A_HAIR)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_newcomer_who_has_the_keys_of_all_others_changes_nobody(family):
    """The rows that name these keys then lead to the newcomer, too; the others keep them."""
    rng = Random(5)
    others, newcomer = draw_others(rng, family), draw_newcomer(rng, family)
    stays = [{**row, "id": NEW} for row in others["stays"] if row["stays_id"] is not None]
    for start in range(0, len(stays), 6):
        newcomer["stays"] = stays[start : start + 6]
        without, there = (look_at(family, together(None, others, *more), KEY) for more in ([], [newcomer]))
        assert of_all_but(without) == of_all_but(there, *range(OTHERS, PEOPLE))
        assert farthest(family, without, there, Adjacency.ADD_REMOVE) <= 1 + A_HAIR


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_rows_that_move_from_one_person_to_another_change_these_two_alone(family):
    rng = Random(6)
    for _ in range(5):
        others = draw_others(rng, family)
        giver = rng.choice([row["id"] for row in others["stays"] if row["id"] not in (None, NEW)])
        taker = (giver + rng.randrange(1, OTHERS)) % OTHERS
        moved = dict(others)
        for name in family.in_order[1:]:
            moved[name] = [
                {**row, "id": taker} if row.get("id") == giver and rng.random() < 0.9 else row for row in others[name]
            ]
        here, there = (look_at(family, rows, KEY) for rows in (others, moved))
        assert of_all_but(here, giver, taker) == of_all_but(there, giver, taker)
        assert farthest(family, here, there, Adjacency.REPLACE) <= 2 + A_HAIR


# Faults, and what notices them.


def forgotten(person):
    """Every record has the whole unit."""
    return np.full(len(person), UNIT)


def rounded_up(person):
    """The shares of a unit are rounded up."""
    return -(-UNIT // np.bincount(person, minlength=1)[person])


@pytest.mark.parametrize(("shares", "least"), [(forgotten, 1.5), (rounded_up, 1.0005)])
@pytest.mark.parametrize("name", ["ordered", "not ordered"])
def test_the_mutant_with_wrong_weights_is_caught(monkeypatch, shares, least, name):
    monkeypatch.setattr(assembly, "share_unit", shares)
    moves = list(hunted(FAMILIES[name], 8))
    assert max(move.came for move in moves) > least
    assert all(move.others_stayed for move in moves)
    assert max(shares_of_crowds(FAMILIES[HIDDEN], KEY)) > least


def differ(seeds: int = 40) -> bool:
    """Whether the library and the slow version do; without a fault they never do, see `test_against_slow`."""
    return any(found != expected for _, found, expected in compare(range(seeds)))


def test_the_mutant_that_counts_a_row_twice_through_a_join_is_caught(monkeypatch):
    """The fault: each row once for every row that has the key, although one person has two of them."""
    real = family_source.join_owners

    def not_distinct(rows: pa.Table, owners: pa.Table) -> pa.RecordBatch:
        parts = [real(rows, owners.slice(place, 1)) for place in range(len(owners))]
        together = pa.Table.from_batches(parts, rows.schema).combine_chunks().to_batches()
        return together[0] if together else real(rows, owners)

    monkeypatch.setattr(family_source, "join_owners", not_distinct)
    assert differ()


def test_the_mutant_in_which_a_key_leads_to_one_person_is_caught(monkeypatch):
    """The fault: a newcomer takes the rows of whoever has the same key."""
    real = family_source.join_owners

    def last_owner(rows: pa.Table, owners: pa.Table) -> pa.RecordBatch:
        one = owners.group_by("key").aggregate([("person", "max")]).rename_columns(["key", "person"])
        return real(rows, one)

    monkeypatch.setattr(family_source, "join_owners", last_owner)
    assert not all(move.others_stayed for move in hunted(FAMILIES["ordered"], 8))


def test_the_mutant_in_which_rows_find_a_parent_row_of_anybody_is_caught(monkeypatch):
    """The fault: keys are compared, persons are not."""
    real = assembly._parent_rows

    def of_anybody(person, named, above):
        everybody = assembly.LinkedRows(**{**vars(above), "person": np.zeros_like(above.person)})
        return real(np.zeros_like(person), named, everybody)

    monkeypatch.setattr(assembly, "_parent_rows", of_anybody)
    assert not all(move.others_stayed for move in hunted(FAMILIES[HIDDEN], 8, stirred=False))


def by_storage(group, numbers, most):
    return REAL_CHOICE(group, [np.arange(len(group))], most)


def no_choice(group, numbers, most):
    return np.arange(len(group))


def no_choice_of_rows(group, numbers, most):
    return REAL_CHOICE(group, numbers, most) if most == 1 else no_choice(group, numbers, most)


REAL_CHOICE = assembly.choose_lowest


@pytest.mark.parametrize("name", ["ordered", "not ordered"])
def test_the_mutant_in_which_storage_decides_the_order_is_caught(monkeypatch, name):
    def numbers(self, table, words, batch):
        return [np.arange(len(words))] * 3

    monkeypatch.setattr(Tickets, "numbers", numbers)
    assert not all(move.others_stayed for move in hunted(FAMILIES[name], 3))
    assert differ()


def test_the_mutant_in_which_storage_decides_which_rows_are_kept_is_caught(monkeypatch):
    monkeypatch.setattr(assembly, "choose_lowest", by_storage)
    assert not all(move.others_stayed for move in hunted(FAMILIES["ordered"], 3))
    assert differ()


def test_the_mutant_that_forgets_to_choose_one_row_of_each_person_is_caught(monkeypatch):
    """The fault: rows of persons no longer stand at their persons' numbers, so that rows find other persons' rows."""
    monkeypatch.setattr(assembly, "choose_lowest", no_choice)
    with pytest.raises((AssertionError, DataError)):
        check(FAMILIES["ordered"], 3)


def test_the_mutant_that_forgets_to_cap_the_rows_is_caught(monkeypatch):
    """It moves no sum further than claimed, because weights are shared; but more rows count than the schema says."""
    monkeypatch.setattr(assembly, "choose_lowest", no_choice_of_rows)
    assert differ()
