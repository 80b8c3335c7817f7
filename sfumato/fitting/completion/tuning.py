"""The constants of completion, which a bundle stores."""

from sfumato.fitting.tuning import TuningConstants


class Tuning(TuningConstants, group="completion"):
    """See `sfumato.fitting.tuning`."""

    bounds = 0.05  # share of mu squared for all bounds together
    values = 0.05  # and for all lists of values together
    delta = 0.1  # share of delta for all lists of values together: more would cost more mu than it lowers thresholds
    first = 0.6  # of the share for bounds goes to powers of two, the rest to two questions in even cells
    cells = 21  # of a column in those
    # in standard deviations of the noise of a count
    price = 2.0  # what a cell must hold to be worth another one
    signal = 5.0  # what a run of cells must hold beyond that to stand out
    sure = 4.5  # a cell with more stands out, however far away, and so do l cells with sqrt(l) times as much
    longest = 32  # cells that may stand out together
    octaves = 2  # powers of two within which a column lies far from 0, and even cells serve it better
    most_values = 1_000  # of a list that is discovered
    most_classes = 100  # the same, of the target


COMPLETION_TUNING = (Tuning,)
