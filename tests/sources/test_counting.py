"""Batches are counted by several threads: the same sum, few batches at a time, and nothing is left behind."""

import threading
import warnings

import numpy as np
import pytest

from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.sources.sums import alone, sum_of
from sfumato.trusted.statistics import Cells

CELLS = Cells((("a",),), {"a": Grid.of_cells(np.arange(5))}, None)


def batches(count):
    rng = np.random.default_rng(0)
    for _ in range(count):
        yield Batch(100, {"a": rng.integers(0, 5, 100).astype(np.int32)})


class Faulty(Cells):
    """Cells that do something else first."""

    def __call__(self, batch):
        self.before(batch)
        return super().__call__(batch)


def faulty(before):
    return type("Faulty", (Faulty,), {"before": staticmethod(before)})(CELLS.tables, CELLS.grids, None)


def broken(error):
    def before(_batch):
        raise error

    return before


@pytest.fixture(autouse=True)
def no_thread_is_left():
    running = threading.active_count()
    yield
    assert threading.active_count() == running


@pytest.mark.parametrize("count", [0, 1, 2, 17])
@pytest.mark.parametrize("threads", [None, 1, 2, 5])
def test_any_number_of_threads_gives_the_same_sum(count, threads):
    expected = sum(map(CELLS, batches(count)), start=np.zeros(5, dtype=np.int64))
    assert np.array_equal(sum_of(CELLS, alone(batches(count)), threads), expected)


def test_the_only_batch_starts_no_thread():
    here = []
    sum_of(faulty(lambda _: here.append(threading.current_thread())), alone(batches(1)))
    assert here == [threading.current_thread()]


def test_few_batches_are_held_at_a_time():
    counted, held = [], []

    def read():
        for number, batch in enumerate(batches(40)):
            held.append(number - len(counted))
            yield batch

    sum_of(faulty(lambda _: counted.append(1)), alone(read()), threads=3)
    assert max(held) <= 3 + 1  # those that are counted, and the one that waits


@pytest.mark.parametrize("error", [RuntimeError("a cell"), KeyboardInterrupt()])
def test_what_breaks_while_counting_comes_through(error):
    with pytest.raises(type(error)):
        sum_of(faulty(broken(error)), alone(batches(9)), threads=2)


@pytest.mark.parametrize("error", [OSError("gone"), KeyboardInterrupt()])
def test_what_breaks_while_reading_comes_through(error):
    def read():
        yield from batches(5)
        raise error

    with pytest.raises(type(error)):
        sum_of(CELLS, alone(read()), threads=2)


def test_numpy_warns_of_no_value_in_a_thread():
    """Each thread has its own rule for what numpy says."""
    with warnings.catch_warnings(record=True) as told, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        sum_of(faulty(lambda _: np.array([1.0, 0.0]) / 0.0), alone(batches(5)), threads=2)
    assert not told
