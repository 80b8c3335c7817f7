"""The constants of all modules here, which a bundle stores."""

from sfumato.fitting.mechanisms.subspace import alignment, classes, clipping_radius, gaussians, latent, marginals
from sfumato.fitting.tuning import TuningConstants


class Directions(TuningConstants, group="subspace.directions"):
    """Which directions are asked about, and when cells of single columns are."""

    many_at_bounds = 0.3  # of the values lie on a bound; deviations of noise that a cell holds
    above_noise = 3.0
    told_apart = 0.35  # noise of a class covariance along its own directions, as a share of a variance


SUBSPACE_TUNING = (
    Directions,
    classes.Tuning,
    gaussians.Tuning,
    latent.Tuning,
    marginals.Tuning,
    clipping_radius.Tuning,
    alignment.Tuning,
)
