"""What a release is good for and what not, in words, from the errors that are to be expected.

The same rules judge a plan and a release, so that what was promised before the spend can be compared after it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

_SMALL_COLUMN, _LARGE_COLUMN = 0.03, 0.10  # share of the records in the wrong cell of a column
_SMALL_PAIR, _LARGE_PAIR = 0.08, 0.20  # the same of two columns
_SMALL_GAP, _LARGE_GAP = 0.02, 0.06  # of area under the ROC curve, or R squared
_FEWEST_GROUPS = 20  # of the smallest size that a table must hold before groups are worth looking at


@dataclass(frozen=True)
class Quality:
    """The errors to be expected of a release, from public values alone.

    rows             records, planned or noisy
    smallest_group   the number of records below which a group's count is wrong by half of it or more, once in twenty;
                     a group is the records with one value of one column
    column_error     total variation of a column from the truth, mean over the columns; 0 is equal, 1 is disjoint
    pair_error       likewise of two columns; None with a single column
    prediction_gap   what a prediction of the target loses in area under the ROC curve, or in R squared; None: no target
    mean_error       of the mean of a column, as a share of the range between its bounds, mean over the columns of
                     numbers; None where there is none
    intervals        by the names above: the interval that holds the truth four times out of five
    counted          whether columns are counted. Else sums are measured and Gaussians fitted to them, and how well
                     those fit decides about the shape of columns, more than noise does
    """

    rows: float
    smallest_group: float
    column_error: float
    pair_error: float | None
    prediction_gap: float | None
    mean_error: float | None = None
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    counted: bool = True


@dataclass(frozen=True)
class Verdict:
    """One sentence for everybody, and two lists for whoever decides."""

    headline: str
    good_for: tuple[str, ...]
    not_for: tuple[str, ...]


def judge(quality: Quality) -> Verdict:
    """What a release of this quality is good for, and what not.

    quality   the errors to be expected, of a plan or of a release: see `sfumato.artefact.quality.expected_quality`

    Returns a verdict; each list has at least one entry.

    Example
        >>> judge(Quality(50_000, 120, 0.01, 0.05, 0.015)).good_for[0]
        'tables of single columns: about 1 % of the records are in the wrong cell'
    """
    good: list[str] = []
    bad: list[str] = []
    for worth, words in (_of_columns(quality), _of_pairs(quality), _of_prediction(quality), _of_groups(quality)):
        if words:
            (good if worth else bad).append(words)
    bad.append("any statement about a single person: no release says anything reliable of one")
    return Verdict(_headline(quality), tuple(good or ["rehearsing an analysis on rows of the right form"]), tuple(bad))


def _headline(quality: Quality) -> str:
    drowned = quality.smallest_group * 2 > quality.rows
    if not drowned and not quality.counted:
        return "Good for means, spreads and relations, as far as Gaussians describe the records."
    if drowned or quality.column_error > _LARGE_COLUMN:
        return "The noise drowns the data: use it to try out programs, and draw no conclusions from it."
    pairs = quality.pair_error if quality.pair_error is not None else quality.column_error
    gap = quality.prediction_gap or 0.0
    if quality.column_error <= _SMALL_COLUMN and pairs <= _SMALL_PAIR and gap <= _SMALL_GAP:
        what = "columns and pairs of columns" if quality.prediction_gap is None else "columns, pairs and predictions"
        return f"A faithful picture of the table: {what} are close to the truth."
    if pairs <= _LARGE_PAIR and gap <= _LARGE_GAP:
        return "Good for the broad picture: distributions and strong relations hold, fine detail does not."
    predicted = "" if quality.prediction_gap is None else ", and predictions,"
    return f"Good for single columns; read relations between columns{predicted} as rough hints."


def _of_columns(quality: Quality) -> tuple[bool, str]:
    wrong = f"about {_percent(quality.column_error)} of the records are in the wrong cell"
    if not quality.counted:
        return False, f"the exact shape of a column: Gaussians are fitted, and {wrong}"
    return quality.column_error <= _LARGE_COLUMN, f"tables of single columns: {wrong}"


def _of_pairs(quality: Quality) -> tuple[bool, str]:
    if quality.pair_error is None:
        return True, ""
    if not quality.counted:
        return True, "means, spreads and correlations of columns of numbers"
    wrong = _percent(quality.pair_error)
    if quality.pair_error <= _LARGE_PAIR:
        return True, f"tables of two columns against each other: about {wrong} of the records are in the wrong cell"
    return False, f"weak relations between columns: about {wrong} of the records are in the wrong cell of such tables"


def _of_prediction(quality: Quality) -> tuple[bool, str]:
    gap = quality.prediction_gap
    if gap is None:
        return True, ""
    if gap <= _LARGE_GAP:
        return True, f"training a predictor of the target: it loses about {gap:.2g} against one trained on the records"
    return False, f"decisions by a predictor of the target: it loses about {gap:.2g} against one trained on the records"


def _of_groups(quality: Quality) -> tuple[bool, str]:
    size = f"{_round_up(quality.smallest_group):,}"
    if quality.smallest_group * _FEWEST_GROUPS <= quality.rows:
        return False, f"groups of fewer than {size} records: their counts may be wrong by half"
    return False, f"comparing groups: only those of more than {size} records can be told from noise"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def _round_up(number: float) -> int:
    """Two figures are enough of a forecast."""
    size = float(f"1e{max(0, len(str(int(number))) - 2)}")
    return math.ceil(number / size) * int(size)
