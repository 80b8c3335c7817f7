"""Which records of a person count: as many as allowed, by their own contents alone, fairly."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.trusted.keyed_numbers import choose_lowest, hash_ids
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources.contribution_bounding import ContributionBounding

SCHEMA = Schema.from_yaml("""
{sfumato: 1, name: t, target: ill, columns: [
  {name: age, type: integer, bounds: [0, 99]}, {name: ill, type: boolean}],
 unit: {column: id, records: 2}}
""")
NUMBERS = st.integers(0, 3)


def bounding(records: int = 2, key: bytes = b"key") -> ContributionBounding:
    return ContributionBounding(SCHEMA, SCHEMA.unit.model_copy(update={"records": records}), key)


def batch(ids, ages, ills=None) -> pa.RecordBatch:
    return pa.record_batch({"id": ids, "age": ages, "ill": ills if ills is not None else [False] * len(ages)})


def rows(records) -> pa.RecordBatch:
    ids, ages, ills = (list(column) for column in zip(*records, strict=True)) if records else ([], [], [])
    return batch(pa.array(ids, pa.int64()), pa.array(ages, pa.int64()), pa.array(ills, pa.bool_()))


def codes(tickets: pa.RecordBatch) -> list[tuple[bytes, int, int]]:
    columns = (tickets.column(name).to_pylist() for name in ("person", "code 0", "code 1"))
    return sorted(zip(*columns, strict=True))


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=30), st.integers(1, 4))
def test_the_smallest_of_each_person_are_chosen(tickets, records):
    person, *numbers = np.array(tickets, dtype=np.int64).reshape(-1, 3).T
    kept = choose_lowest(person, numbers, records)
    slow = {who: sorted(ticket[1:] for ticket in tickets if ticket[0] == who)[:records] for who in set(person.tolist())}
    fast = {who: sorted(tickets[place][1:] for place in kept if tickets[place][0] == who) for who in slow}
    assert fast == slow


@given(
    st.lists(st.tuples(NUMBERS, st.integers(0, 99), st.booleans()), min_size=1, max_size=30),
    st.randoms(use_true_random=False),
)
def test_order_and_parts_do_not_matter(records, random):
    """Drawn in parts and drawn again from what is left is the same as drawn at once."""
    whole = bounding().draw(rows(records))
    shuffled, cut = random.sample(records, len(records)), random.randint(0, len(records))
    parts = [bounding().draw(rows(part)) for part in (shuffled[:cut], shuffled[cut:])]
    again = bounding().keep_lowest(pa.Table.from_batches(parts).combine_chunks().to_batches(max_chunksize=100)[0])
    assert codes(again) == codes(whole)


def test_nobody_else_has_a_say_in_what_is_chosen():
    rng = np.random.default_rng(0)
    ids, ages = rng.integers(0, 20, 400), rng.integers(0, 100, 400)
    everybody = [ticket for ticket in codes(bounding().draw(batch(ids, ages))) if ticket[0] != b"7"]
    without = codes(bounding().draw(batch(ids[ids != 7], ages[ids != 7])))
    assert everybody == without


def test_targets_have_no_say_in_which_other_columns_are_kept():
    rng = np.random.default_rng(1)
    ids, ages = rng.integers(0, 20, 400), rng.integers(0, 10, 400)
    kept = [
        [ticket[:2] for ticket in codes(bounding().draw(batch(ids, ages, rng.random(400) < 0.5)))] for _ in range(5)
    ]
    assert all(one == kept[0] for one in kept)


def test_records_that_name_nobody_are_left_out():
    tickets = bounding().draw(batch([1, None, 1, None], [1, 2, 3, 4]))
    assert codes(tickets) == [(b"1", 1, 0), (b"1", 3, 0)]
    assert bounding().draw(batch(pa.array([None, None], pa.int64()), [1, 2])).num_rows == 0
    assert bounding().draw(batch(pa.array([], pa.int64()), pa.array([], pa.int64()))).num_rows == 0


def test_another_key_chooses_others():
    ids, ages = [1] * 50, list(range(50))
    assert len({tuple(codes(bounding(key=bytes([key])).draw(batch(ids, ages)))) for key in range(20)}) > 15


@pytest.mark.parametrize("ages", [(0, 1), (0, 50), (0, 1, 2, 3, 4), (10, 20, 40, 80)], ids=str)
def test_each_record_has_its_fair_chance(ages):
    """Persons with the same records keep different ones; one key, many persons."""
    persons = 4_000
    ids = np.repeat(np.arange(persons), len(ages))
    kept = bounding(records=1).draw(batch(ids, np.tile(ages, persons)))
    shares = np.bincount(kept.column("code 0").to_numpy(), minlength=100)[list(ages)] / persons
    assert len(kept) == persons
    assert np.abs(shares - 1 / len(ages)).max() < 5 * np.sqrt(0.25 / persons)


def test_who_is_chosen_depends_on_the_secret_key():
    """Without it anybody could compute which records of a person count."""
    ids = pa.array([b"7", b"8"], pa.large_binary())
    assert not np.array_equal(hash_ids(b"one", ids), hash_ids(b"other", ids))
