"""The constants of all modules here, which a bundle stores."""

from sfumato.fitting.mechanisms.counts.tuning import COUNTS_TUNING
from sfumato.fitting.mechanisms.tables import (
    adaptation,
    belief,
    empty_cells,
    families,
    growing,
    mending,
    plan,
    product_mixture,
    raking,
    sampling,
    screening,
    start,
    triples,
    whitening,
)
from sfumato.fitting.tuning import TuningConstants


class Components(TuningConstants, group="tables.components"):
    """How many components a class gets."""

    first_component = 10.0  # noise deviations of a pair's count that a class must hold for them
    next_component = 2.0
    many = 2_000  # of all classes and boxes; more have a shorter fit: a bound on time
    components_first = 24  # of a first fit, by which parities are expected
    steps_first = 100
    fits_alone = 3  # whose average is taken where there is no target
    most_averaged = 3_200  # groups of all columns in all of them: a bound on time
    components_alone = 0.7  # of the components, that each of several fits has
    steps_alone = 0.45  # the same of the steps


TABLES_TUNING = (
    *COUNTS_TUNING,
    plan.Tuning,
    product_mixture.Tuning,
    empty_cells.Tuning,
    start.Tuning,
    raking.Tuning,
    families.Tuning,
    adaptation.Tuning,
    belief.Tuning,
    growing.Tuning,
    mending.Tuning,
    sampling.Tuning,
    screening.Tuning,
    triples.Tuning,
    whitening.Tuning,
    Components,
)
