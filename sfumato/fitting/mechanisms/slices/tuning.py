"""The constants of all modules here and below, which a bundle stores."""

from sfumato.fitting.mechanisms.slices import directions, plan
from sfumato.fitting.mechanisms.tables.tuning import TABLES_TUNING
from sfumato.fitting.retraining.tuning import RETRAINING_TUNING

SLICES_TUNING = (*TABLES_TUNING, plan.Tuning, directions.Tuning, *RETRAINING_TUNING)
