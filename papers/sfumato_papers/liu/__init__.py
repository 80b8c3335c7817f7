"""Liu, Scaglione and Peisert: differentially private release of a Gaussian mixture by KL minimisation, as printed.

    fit         (2)         weights, means and covariances of labelled records
    optimise    (P2)        how much noise each of them gets: Wishart (22), Gaussian (23), a random map of weights (26)
    draw        (5), (6)    the noise
    baselines   V-A         the three mechanisms that the paper compares itself with
    labels      footnote 1  for records that have none
    em          remark 1    a mixture fitted without labels, its frequencies discretised

Where the paper is of two minds, one reading is taken and said where it is taken. The mechanism is not differentially
private for any useful epsilon; `KNOWN_FAULTS` says why.

Notation, as in the paper: N records in d dimensions, N_k of them in class k of K; pi, mu_k, Sigma_k of the fit;
Gamma_k the precision of the Gaussian noise on mu_k; 1 / gamma_k the scale of the Wishart noise on Sigma_k; F' the map
of the weights; epsilon_0 and epsilon_k the budgets of the map and of mu_k. Numbers in brackets are its equations.
"""

from sfumato_papers.liu.baselines import Baseline, release_by_baseline
from sfumato_papers.liu.divergence import Divergence, divergence
from sfumato_papers.liu.em import FittedByEM, discretised, fit_by_em, prepared_by_em
from sfumato_papers.liu.faults import BASELINE_FAULTS, KNOWN_FAULTS
from sfumato_papers.liu.fitting import Fitted, Mixture, fit
from sfumato_papers.liu.labels import labels_by_em, labels_by_kmeans
from sfumato_papers.liu.neighbours import Reading
from sfumato_papers.liu.optimisation import NoisePlan, optimise
from sfumato_papers.liu.release import PublishedRelease, draw, release_as_published
from sfumato_papers.liu.sensitivities import Footing

__all__ = [
    "BASELINE_FAULTS",
    "KNOWN_FAULTS",
    "Baseline",
    "Divergence",
    "Fitted",
    "FittedByEM",
    "Footing",
    "Mixture",
    "NoisePlan",
    "PublishedRelease",
    "Reading",
    "discretised",
    "divergence",
    "draw",
    "fit",
    "fit_by_em",
    "labels_by_em",
    "labels_by_kmeans",
    "optimise",
    "prepared_by_em",
    "release_as_published",
    "release_by_baseline",
]
