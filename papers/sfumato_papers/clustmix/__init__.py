"""Madl, Xu, Choudhury and Howard: approximate, adapt, anonymize (3A), and its instance ClustMix, as printed.

    ThreeA      the framework      three parts that can be exchanged
    clustmix    algorithm 2        clusters of a Gaussian mixture, kernel inducing points, mixtures with noise
    searched    "re-run"           the best of several runs on the training records
    noise       (8)                what a mixture of so many records gets

Where the paper is of two minds or silent, one reading is taken and said where it is taken. The mechanism is not
differentially private for any epsilon; `KNOWN_FAULTS` says why.

Notation, as in the paper: records X in [0, 1] with D features and labels y of C classes; l records in a cluster, l_min
at least; sigma the noise on a mean of l; alpha weighs the centres against what is learnt from them in (6); lambda the
ridge of (5). Numbers in brackets are its equations.
"""

from sfumato_papers.clustmix.attack import Moved, ToldApart, moved, told_apart
from sfumato_papers.clustmix.clustering import Clusters, constrained_kmeans, gmm_constrained, random_groups
from sfumato_papers.clustmix.faults import KNOWN_FAULTS, OTHER_FACTOR
from sfumato_papers.clustmix.framework import Adapt, Anonymize, Approximate, Mixtures, Synthetic, ThreeA
from sfumato_papers.clustmix.inducing_points import KernelInducingPoints, no_adaptation
from sfumato_papers.clustmix.mixing import ClusterMixing
from sfumato_papers.clustmix.noise import Factor, actual_mu, delta, factor_of, noise, smallest_mixture
from sfumato_papers.clustmix.release import PublishedPoints, Setting, clustmix, searched
from sfumato_papers.clustmix.scaling import Scaled, Scaling

__all__ = [
    "KNOWN_FAULTS",
    "OTHER_FACTOR",
    "Adapt",
    "Anonymize",
    "Approximate",
    "ClusterMixing",
    "Clusters",
    "Factor",
    "KernelInducingPoints",
    "Mixtures",
    "Moved",
    "PublishedPoints",
    "Scaled",
    "Scaling",
    "Setting",
    "Synthetic",
    "ThreeA",
    "ToldApart",
    "actual_mu",
    "clustmix",
    "constrained_kmeans",
    "delta",
    "factor_of",
    "gmm_constrained",
    "moved",
    "no_adaptation",
    "noise",
    "random_groups",
    "searched",
    "smallest_mixture",
    "told_apart",
]
