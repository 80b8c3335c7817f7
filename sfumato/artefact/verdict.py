"""What a release is good for and what not, in words, from the errors that are to be expected.

The same rules judge a plan and a release, so that what was promised before the spend can be compared after it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Quality:
    """The errors to be expected of a release, from public values alone.

    rows             records, planned or noisy
    smallest_group   the number of records below which a group's count is wrong by half of it or more, once in twenty
    column_error     total variation of a column from the truth, mean over the columns; 0 is equal, 1 is disjoint
    pair_error       likewise of two columns; None with a single column
    prediction_gap   what a prediction of the target loses in area under the ROC curve, or in R squared; None: no target
    """

    rows: float
    smallest_group: float
    column_error: float
    pair_error: float | None
    prediction_gap: float | None


@dataclass(frozen=True)
class Verdict:
    """One sentence for everybody, and two lists for whoever decides."""

    headline: str
    good_for: tuple[str, ...]
    not_for: tuple[str, ...]
