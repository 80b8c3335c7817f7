"""The constants of all modules here and below, which a bundle stores."""

from sfumato.fitting.mechanisms.framework import embedding, plan
from sfumato.fitting.mechanisms.slices.tuning import SLICES_TUNING

FRAMEWORK_TUNING = (*SLICES_TUNING, plan.Tuning, embedding.Tuning)
