"""The constants of all modules here, which a bundle stores."""

from sfumato.fitting.families import pair_weights, plan, sampling, smoothing, step_fit
from sfumato.fitting.mechanisms.tables.tuning import TABLES_TUNING

FAMILY = "family"
"""The name of the mechanism."""

FAMILY_TUNING = (
    *TABLES_TUNING,
    plan.Tuning,
    pair_weights.Tuning,
    smoothing.Tuning,
    step_fit.Tuning,
    sampling.Tuning,
)
