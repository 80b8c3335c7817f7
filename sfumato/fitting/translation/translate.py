"""Translation: a mover is fitted until rows of a public table have the histograms that were released of a private one.

The loss is that of a generator (`sfumato.fitting.generators.loss`), on rows of the public table in place of latent
points. All of it is public: the release, and the table that is moved.
"""

import math
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from sfumato.errors import RequestError
from sfumato.fitting.devices import check_device, torch_or_error
from sfumato.fitting.generators.divergence import CHI_SQUARED
from sfumato.fitting.generators.evidence import Evidence
from sfumato.fitting.generators.loss import Loss
from sfumato.fitting.generators.training import Epoch, seeded, whole_numbers
from sfumato.fitting.translation.movers import image_mover, row_mover
from sfumato.fitting.translation.soft_rows import SoftRows
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import Batch, Codes, NumericCodec

BETWEEN_CHECKS = 25
_MOST_ROWS, _FEWEST_ROWS = 1_024, 64  # in a step
_MOST = 1 << 22  # numbers in the rectangle of all columns and groups in a step: a bound on time and memory
_JUDGED = 4  # steps' rows that are looked at between steps
_AT_ONCE = 4_096  # rows that are moved at the end
_LEAST_SPREAD = 1e-6
_STIFF = 1 / 3  # of the steps


def translate_codes(
    seen: Evidence,
    codes: Mapping[str, Codes],
    source: Batch,
    shape: tuple[int, int] | None,
    steps: int,
    seed: int,
    divergence: str = CHI_SQUARED,
    progress: Callable[[Epoch], None] = lambda _: None,
    device: str = "cpu",
) -> dict[str, Any]:
    """The codes of the source's numbers after they were moved; those that are missing stay so.

    `progress` is told, for each step, what is off, squared, over its variance, mean over cells, and every so often the
    same of slices held back: 1 is what noise alone leaves. First it is told of rows that stay where they are. The best
    state by slices held back is what counts; where no state is better than that, rows stay.
    """
    torch = torch_or_error()
    check_device(device)
    steps, seed = whole_numbers(steps, seed)
    with seeded(torch, seed):
        rows = SoftRows(seen, codes, device)
        if not rows.middles:
            raise RequestError("only numbers can be moved, and this release has none")
        objective, fitted = Loss(seen, device, divergence), _Source(rows, codes, source)
        mover = _mover(rows, fitted, shape).to(device)
        rng = np.random.default_rng(seed)
        better = _fit(objective, rows, mover, fitted, _rows_of_a_step(seen), steps, rng, progress)
        moved = fitted.moved(mover) if better else fitted.places.astype(np.float64)
    return {
        name: np.where(fitted.groups[:, place] < 0, _codec(codes, name).codes_at(moved[:, place]), source.codes[name])
        for place, name in enumerate(rows.names)
        if name in rows.middles
    }


class _Source:
    """The public rows: places of numbers, 0 where there is none, and groups of what does not move."""

    def __init__(self, rows: SoftRows, codes: Mapping[str, Codes], source: Batch) -> None:
        self.groups: IntArray = rows.groups_of(source)
        self.places = np.zeros(self.groups.shape, dtype=np.float32)
        for place, name in enumerate(rows.names):
            if name in rows.middles:
                known = _codec(codes, name).places
                at = known[source.codes[name].clip(max=len(known) - 1)]
                self.places[:, place] = np.where(self.groups[:, place] < 0, at, rows.middles[name].mean)

    def some(self, device: str, chosen: IntArray) -> tuple[Any, Any]:
        import torch

        return torch.tensor(self.places[chosen], device=device), torch.tensor(self.groups[chosen], device=device)

    def moved(self, mover: Any) -> FloatArray:
        """All rows."""
        import torch

        device = next(mover.parameters()).device
        with torch.no_grad():
            starts = range(0, len(self.places), _AT_ONCE)
            some = (torch.tensor(self.places[start : start + _AT_ONCE], device=device) for start in starts)
            parts = [mover(part).cpu().numpy() for part in some]
        found: FloatArray = np.concatenate(parts).astype(np.float64)
        return found


def _codec(codes: Mapping[str, Codes], name: str) -> NumericCodec:
    codec = codes[name]
    assert isinstance(codec, NumericCodec)  # noqa: S101 - only such have middles
    return codec


def _mover(rows: SoftRows, source: _Source, shape: tuple[int, int] | None) -> Any:
    if shape is not None and len(rows.middles) == len(rows.names):
        return image_mover(shape)
    mean, spread = np.zeros(len(rows.names)), np.ones(len(rows.names))
    to_mean, to_spread = mean.copy(), spread.copy()
    for place, name in enumerate(rows.names):
        moving = source.places[source.groups[:, place] < 0, place]
        if name in rows.middles and len(moving):
            mean[place], spread[place] = moving.mean(), max(float(moving.std()), _LEAST_SPREAD)
            to_mean[place], to_spread[place] = rows.middles[name].mean, rows.middles[name].spread
    return row_mover(mean, spread, to_mean, to_spread)


def _rows_of_a_step(seen: Evidence) -> int:
    sizes = seen.layout.sizes
    return int(np.clip(_MOST // (len(sizes) * max(sizes)), _FEWEST_ROWS, _MOST_ROWS))


def _fit(
    objective: Loss,
    rows: SoftRows,
    mover: Any,
    source: _Source,
    size: int,
    steps: int,
    rng: np.random.Generator,
    progress: Callable[[Epoch], None],
) -> bool:
    """Adam, slowing down along a cosine; whether the mover, at its best, does better than nothing.

    What is `late` of a mover begins after a share of the steps: where a stiff move explains the difference, a pliable
    one that explains it as well may change what labels mean.
    """
    import torch

    device = str(next(mover.parameters()).device)
    optimizer = torch.optim.Adam(mover.rates())
    places, groups = source.some(device, rng.permutation(len(source.places))[: _JUDGED * size])

    def apart(at: Any, groups: Any, held_back: bool) -> Any:
        theta = rows.theta(at, groups)
        owner = torch.zeros(len(theta), dtype=torch.int64, device=device)
        return 2 * objective.divergence(theta, owner, held_back) / max(objective.counted[held_back], 1)

    with torch.no_grad():
        least, best = float(apart(places, groups, held_back=True)), None
        progress(Epoch(0, steps, float(apart(places, groups, held_back=False)), least))
    for number in range(1, steps + 1):
        for group in optimizer.param_groups:
            waits = group["late"] and number <= _STIFF * steps
            group["lr"] = 0.0 if waits else group["rate"] * (1 + math.cos(math.pi * (number - 1) / steps)) / 2
        some, their = source.some(device, rng.integers(len(source.places), size=size))
        found = apart(mover(some), their, held_back=False)
        optimizer.zero_grad()
        found.backward()
        optimizer.step()
        held_back = None
        if number % BETWEEN_CHECKS == 0 or number == steps:
            with torch.no_grad():
                held_back = float(apart(mover(places), groups, held_back=True))
            if held_back < least:
                least, best = held_back, deepcopy(mover.state_dict())
        progress(Epoch(number, steps, float(found.detach()), held_back))
    if best is not None:
        mover.load_state_dict(best)
    return best is not None
