"""The constants of all modules that train generators, which a bundle of a retrained release stores."""

from sfumato.fitting.generators import divergence, networks, products, smoothing, training
from sfumato.fitting.retraining import evidence, fourier_evidence, labelling

RETRAINING_TUNING = (
    divergence.Tuning,
    networks.Tuning,
    products.Tuning,
    smoothing.Tuning,
    training.Tuning,
    evidence.Tuning,
    fourier_evidence.Tuning,
    labelling.Tuning,
)
