"""The ends of long columns: what noise leaves there lies near the rest, not evenly up to the bound.

Where bounds are wide, the outermost group of cells that noise cannot tell apart reaches far from all values. Spread
evenly over it, a few persons' worth of noise would move every mean. So its density begins as that of the group beside
it and falls off exponentially, as fast as what it holds asks for. Post-processing.
"""

from dataclasses import replace

import numpy as np

from sfumato.fitting.mechanisms.counts.grids import is_long
from sfumato.fitting.mechanisms.counts.one_way import OneWay, OneWays
from sfumato.fitting.mechanisms.counts.plan import CountsPlan
from sfumato.trusted.arrays import FloatArray


def falling_ends(plan: CountsPlan, one_way: OneWays) -> OneWays:
    """The tables with long columns that fall off at their ends."""
    columns = {
        name: _with_falling_ends(column) if is_long(plan.codes[name]) else column
        for name, column in one_way.columns.items()
    }
    return replace(one_way, columns=columns)


def _with_falling_ends(column: OneWay) -> OneWay:
    if column.ordered < 3:  # nothing lies between two ends
        return column
    inside = column.inside.copy()
    density = column.grouped[:, 0].clip(0) / column.widths
    for end, beside in ((0, 1), (column.ordered - 1, column.ordered - 2)):
        at = np.flatnonzero(column.groups == end)
        if density[beside] > 0:
            reach = float(column.grouped[end, 0].clip(1.0) / density[beside])
            inside[at] = falling_share(column.grid.widths[at].astype(np.float64), reach, upwards=end > 0)
    return replace(column, known_inside=inside)


def falling_share(widths: FloatArray, reach: float, *, upwards: bool) -> FloatArray:
    """What each of some cells holds of a density that falls by e over every `reach`, from the first or the last on."""
    ordered = widths if upwards else widths[::-1]
    ends = np.append(0.0, np.cumsum(ordered)) / max(reach, 1e-9)
    held = np.exp(-ends[:-1]) - np.exp(-ends[1:]) + 1e-12 * ordered / ordered.sum()
    share = held / held.sum() if reach < widths.sum() else ordered / ordered.sum()
    found: FloatArray = share if upwards else share[::-1]
    return found
