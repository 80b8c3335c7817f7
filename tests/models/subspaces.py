"""Subspace models of a few columns of every kind, and slow versions of what they tell."""

import math

import numpy as np
import pyarrow as pa
from scipy.stats import multivariate_normal

from sfumato.fitting.conditions import conditions_of
from sfumato.fitting.models.subspace.marginals import part_ends
from sfumato.fitting.models.subspace.model import CELLS, SubspaceModel
from sfumato.trusted.encoding import Batch, Encoder
from sfumato.trusted.schema import Schema

TARGET = "  - {name: kind, type: category, values: [a, b, c]}\n"
COLUMNS = """
sfumato: 1
name: t
columns:
  - {name: height, type: number, bounds: [0, 100], atoms: [40]}
  - {name: dose, type: number, bounds: [1, 1000], scale: log}
  - {name: age, type: integer, bounds: [0, 99]}
  - {name: visits, type: integer, bounds: [0, 50], scale: log}
  - {name: "x_{0..2}", type: number, bounds: [-1, 1]}
"""
CODES = Encoder(Schema.from_yaml(f"{COLUMNS}{TARGET}target: kind\n")).columns
SCALES = {name: scale for name, scale in CODES.items() if name != "kind"}
UNLABELLED = Encoder(Schema.from_yaml(f"{COLUMNS}target: height\n")).columns
D, R, K = len(SCALES), 3, 3
EVERY = np.arange(D)
ROWS = 100_000


def cells(rng):
    """Random marginals; a cell that no value of a column falls into is empty."""
    filled = [[True, *(np.diff(part_ends(scale)) > 0), True] for scale in SCALES.values()]
    p = rng.dirichlet(np.ones(CELLS), D) * filled
    return p / p.sum(axis=1, keepdims=True)


def make(seed=0, classes=K, marginals=False, residual=1.0, directions=R, codes=CODES):
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.standard_normal((D, directions)))[0]
    spread = rng.uniform(0.1, 0.25, directions)
    halves = rng.standard_normal((classes, directions, 2 * directions)) / math.sqrt(2 * max(directions, 1))
    return SubspaceModel(
        scales={name: codes[name] for name in SCALES},
        target="kind" if classes > 1 else None,
        classes=classes,
        size=1000.0,
        weights=rng.dirichlet(np.full(classes, 8.0)),
        means=rng.uniform(0.4, 0.6, (classes, D)),
        basis=axes * spread,
        whitening=axes / spread,
        centres=0.3 * rng.standard_normal((classes, directions)),
        covs=halves @ halves.transpose(0, 2, 1) + 0.2 * np.eye(directions),
        residual=residual * rng.uniform(0.002, 0.006, D),
        mean_sds=rng.uniform(0.01, 0.02, (classes, D)),
        marginals=cells(rng) if marginals else None,
        count_sd=5.0,
        marginal_sd=0.01 if marginals else 0.0,
    )


def given(model, **wanted):
    return model.condition(conditions_of(wanted, CODES))


def encoded(**columns):
    rows = len(next(iter(columns.values())))
    return Batch(rows, {name: CODES[name].encode(pa.array(values)) for name, values in columns.items()})


def chosen(batch, *names):
    return Batch(batch.rows, {name: batch.codes[name] for name in names})


def places_of(batch, names=tuple(SCALES)):
    return np.array([SCALES[name].places[batch.codes[name]] for name in names]).T


def numbers_of(batch, name, seed=0):
    inside = np.random.default_rng(seed).random(batch.rows)
    return CODES[name].decode(batch.codes[name], inside).to_numpy(zero_copy_only=False)


def dense(model):
    """Means and covariances of the classes, written out."""
    middles = [mean + model.basis @ centre for mean, centre in zip(model.means, model.centres, strict=True)]
    return np.array(middles), [model.basis @ cov @ model.basis.T + np.diag(model.residual) for cov in model.covs]


def log_joint(model, places, columns):
    """Slowly: log of weight times density."""
    middles, covs = dense(model)
    each = [
        multivariate_normal(middle[columns], cov[np.ix_(columns, columns)]).logpdf(places).reshape(len(places))
        for middle, cov in zip(middles, covs, strict=True)
    ]
    return np.log(model.weights) + np.array(each).T


def normalised(joint):
    shares = np.exp(joint - joint.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)
