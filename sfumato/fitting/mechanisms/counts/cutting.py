"""The grid that a look at a long column leads to: light cells are joined, heavy ones cut, tails have few cells."""

import math

import numpy as np
from scipy.special import ndtri

from sfumato.fitting.mechanisms.counts.grids import grid_of_cuts
from sfumato.fitting.mechanisms.counts.looks import Look
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import NumericCodec
from sfumato.trusted.encoding.decimals import roundest_between
from sfumato.trusted.feature_maps import Grid


class Tuning(TuningConstants, group="counts.cutting"):
    """See `sfumato.fitting.tuning`."""

    heavy = 0.02  # share of the records up to which a broad cell is left whole
    sure = 3.0  # noise deviations that a cell must hold to be cut
    light = 0.001  # share of the records up to which cells that surely hold no more are joined
    light_sure = 2.0  # deviations that make it sure
    parts = 2.0  # parts for each `heavy` share that a cell holds
    most_parts = 16  # of a broad cell
    most_inside = 64  # of a heap
    heap_deviations = 3.0  # by which a narrow cell stands out
    heap_chance = 0.2  # of a false heap in one broad cell
    heap_share = 0.002  # of the records that a heap holds at least
    tail = 0.01  # share of the records that a tail holds at most
    tail_sure = 1.5  # noise deviations that it may hold as well
    most_tail = 0.03  # share that it holds whatever the noise
    tail_growth = 1.5  # of the distances from the middle at which cells of a tail begin


def cut_cells(look: Look, possible: IntArray, alone: list[int]) -> tuple[Grid, dict[int, float]]:
    """Broad cells, joined where they are light and cut where they are heavy; and the heaps: step and count."""
    codes, size = look.codes, look.size
    heavy = max(Tuning.heavy * size, Tuning.sure * look.broad.sigma)
    runs, held = runs_of(look)
    cuts = {runs[run][0] for run in begin_light_runs(held, look.broad.sigma, Tuning.light * size)}
    cuts = _with_tails(look, cuts, runs, held)
    heaps: dict[int, float] = {}
    for (start, stop), mass in zip(runs, held.tolist(), strict=True):
        if mass > heavy:
            wanted = min(Tuning.most_parts, math.ceil(Tuning.parts * mass / heavy))
            cuts |= {start, stop} | _even_cuts(possible, start, stop, wanted)
            for low, high, count in _heaps(look, start, stop, mass):
                wanted = min(Tuning.most_inside, max(2, math.ceil(Tuning.parts * count / heavy)))
                cuts |= {low, high} | _even_cuts(possible, low, high, wanted)
                step = _roundest_step(codes, low, high)
                cuts |= {step, step + 1}
                heaps[step] = count
    snapped = {int(possible[place]) for place in np.searchsorted(possible, sorted(cuts)) if place < len(possible)}
    if codes.whole:
        snapped |= {*alone, *(step + 1 for step in alone)}
    return grid_of_cuts(codes, sorted({cut for cut in snapped if cut < codes.steps})), heaps


def runs_of(look: Look) -> tuple[list[tuple[int, int]], FloatArray]:
    """The broad cells of the scale, as runs of steps, and what they hold."""
    starts, cells = np.array(look.grid.starts), np.array(look.grid.cells)
    stops = np.append(starts[1:], look.grid.codes)
    on_scale = starts < look.codes.steps
    runs = list(zip(starts[on_scale].tolist(), stops[on_scale].tolist(), strict=True))
    return runs, look.broad.values[cells[on_scale]]


def begin_light_runs(counts: FloatArray, sigma: float, most: float) -> list[int]:
    """Where runs of cells begin that surely hold no more than `most` together; any other cell is a run of its own."""
    first, total, cells = [0], float(counts[0]), 1
    for cell, count in enumerate(counts[1:].tolist(), start=1):
        if total + count + Tuning.light_sure * sigma * math.sqrt(cells + 1) <= most:
            total, cells = total + count, cells + 1
        else:
            first.append(cell)
            total, cells = count, 1
    return first


def _with_tails(look: Look, cuts: set[int], runs: list[tuple[int, int]], held: FloatArray) -> set[int]:
    """The cuts, but in either tail no nearer to each other than a share of their distance from the middle.

    A tail holds few records and reaches far. Each cell of it adds its noise times its distance to every mean, so they
    are as few as they can be without hiding how the tail falls.
    """
    codes = look.codes
    low = _tail_length(held, look.broad.sigma, look.size)
    high = len(runs) - _tail_length(held[::-1], look.broad.sigma, look.size)
    if low >= high:
        return cuts
    within = np.cumsum(held[low:high])
    half = low + int(np.argmax(within >= within[-1] / 2))
    first, middle, last = codes.ends(np.array([runs[low][0], runs[half][0], runs[high - 1][1]])).tolist()
    below = middle - _growing(middle - first, middle - codes.low)
    above = middle + _growing(last - middle, codes.high - middle)
    kept = {cut for cut in cuts if runs[low][0] <= cut <= runs[high - 1][1]}
    return {0} | kept | set(codes.steps_of(np.append(below, above)).tolist())


def _growing(first: float, last: float) -> FloatArray:
    """Distances from the first on, each a share larger than the one before, up to the last."""
    if not 0 < first < last:
        return np.zeros(0)
    times = np.arange(math.ceil(math.log(last / first) / math.log(Tuning.tail_growth)), dtype=np.float64)
    return first * np.power(Tuning.tail_growth, times)


def _tail_length(held: FloatArray, sigma: float, size: float) -> int:
    """How many cells from the first on hold no more than a tail together, as far as noise can tell."""
    noise = Tuning.tail_sure * sigma * np.sqrt(np.arange(1, len(held) + 1))
    most = np.clip(noise, Tuning.tail * size, Tuning.most_tail * size)
    return int(np.argmax(np.append(np.cumsum(held) > most, True)))


def _even_cuts(possible: IntArray, start: int, stop: int, wanted: int) -> set[int]:
    """Where so many parts of a run begin, each with about as many possible values."""
    first, last = np.searchsorted(possible, [start, stop])
    parts = min(int(last - first), wanted)
    return set(possible[np.linspace(first, last, parts, endpoint=False).astype(int)].tolist()) if parts else set()


def _heaps(look: Look, start: int, stop: int, mass: float) -> list[tuple[int, int, float]]:
    """The narrow cells that stand out from a heavy broad one: where they begin and end, and what they hold."""
    if stop - start <= 1:
        return []
    narrow = look.narrow_grid
    ends = np.array((*narrow.starts, narrow.codes))
    first, last = int(np.searchsorted(ends, start, side="right")), int(np.searchsorted(ends, stop, side="left"))
    lows, highs = ends[first - 1 : last].clip(start, stop), ends[first : last + 1].clip(start, stop)
    counts = look.narrow.values[first - 1 : last]
    even = mass * (highs - lows) / (stop - start)
    beyond = max(Tuning.heap_deviations, -float(ndtri(Tuning.heap_chance / len(counts))) if len(counts) > 1 else 0.0)
    found = (counts - even > beyond * look.narrow.sigma) & (counts > Tuning.heap_share * look.size)
    return list(zip(lows[found].tolist(), highs[found].tolist(), counts[found].tolist(), strict=True))


def _roundest_step(codes: NumericCodec, low: int, high: int) -> int:
    """The step of a run whose value is roundest: the likeliest heap."""
    if codes.by_day:
        return low
    value = roundest_between(codes.ends(np.array([low])), codes.ends(np.array([high])), codes.chain)
    return int(codes.steps_of(value)[0])
