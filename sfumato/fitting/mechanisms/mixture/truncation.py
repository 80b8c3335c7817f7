"""Components that overlap were measured behind a hard cut; this finds the Gaussians whose cut parts look like that."""

from dataclasses import replace

import numpy as np

from sfumato.fitting.mechanisms.mixture.rules import chosen_by
from sfumato.fitting.models.gaussian_mixture.gaussians import Gaussians, gaussian_kl
from sfumato.fitting.models.gaussian_mixture.model import Draws, GaussianMixture
from sfumato.fitting.public_rng import public_rng
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.feature_maps import ByRule


class Tuning(TuningConstants, group="mixture.truncation"):
    """See `sfumato.fitting.tuning`."""

    draws = 20_000
    steps = 8
    stream = 800_000
    least_share = 20.0 / draws  # of the draws that a part must get to be compared


def uncut(model: GaussianMixture, rule: ByRule) -> GaussianMixture:
    """The model whose parts, cut by the rule, have the moments that the given one has.

    Every component moves by an affine map of its own; all actions and draws follow.
    """
    measured = model.actions["mixture"]
    if len(measured.weights) < 2:
        return model
    found = _matched(measured, rule)
    maps = [_affine(*pair) for pair in zip(measured.covs, found.covs, strict=True)]
    actions = {name: _moved(one, measured, found, maps) for name, one in model.actions.items()}
    means = np.stack(
        [found.means[k] + (model.draws.means[:, k] - measured.means[k]) @ maps[k].T for k in range(len(maps))], 1
    )
    covs = np.stack([maps[k] @ model.draws.covs[:, k] @ maps[k].T for k in range(len(maps))], 1)
    counts = model.draws.counts * (found.weights / measured.weights)
    return replace(model, actions=actions, draws=Draws(counts, means, covs))


def _matched(measured: Gaussians, rule: ByRule) -> Gaussians:
    """By steps: the model is moved by how far its cut parts are from the measured ones; the nearest of all is kept.

    Components that are no Gaussians may drive the steps apart; then the model stays what was measured.
    """
    now, normal = measured, public_rng(Tuning.stream).standard_normal((Tuning.draws, measured.means.shape[1]))
    spread = (np.arange(Tuning.draws) + 0.5) / Tuning.draws
    nearest, least = measured, np.inf
    for _ in range(Tuning.steps + 1):
        component = np.searchsorted(np.cumsum(now.weights), spread).clip(max=len(now.weights) - 1)
        points = now.means[component] + np.einsum("nab,nb->na", now.roots[component], normal)
        part = chosen_by(rule, points)
        weights, means, covs = now.weights.copy(), now.means.copy(), now.covs.copy()
        off = 0.0
        for k, wanted in enumerate(measured.weights):
            mine = points[part == k]
            share = len(mine) / Tuning.draws
            off += wanted * np.log(wanted / max(share, 1 / Tuning.draws))
            if len(mine) < max(Tuning.least_share * Tuning.draws, 2 * points.shape[1] + 2):
                continue
            mean, cov = mine.mean(0), np.cov(mine.T).reshape(covs[k].shape)
            off += wanted * gaussian_kl(measured.means[k], measured.covs[k], mean, cov)
            weights[k] *= np.clip(wanted / share, 0.5, 2.0)
            turn = _affine(cov, measured.covs[k])
            covs[k] = turn @ covs[k] @ turn.T
            means[k] += measured.means[k] - mean
        if off < least:
            nearest, least = now, off
        covs = (covs + covs.transpose(0, 2, 1)) / 2
        now = Gaussians(now.owner, weights / weights.sum(), means, covs)
    return nearest


def _affine(before: FloatArray, after: FloatArray) -> FloatArray:
    """L with L before L' = after, kept within a factor of two in every direction."""
    values, vectors = np.linalg.eigh(before)
    values = np.maximum(values, 1e-15)
    root, inverse = (vectors * np.sqrt(values)) @ vectors.T, (vectors / np.sqrt(values)) @ vectors.T
    ratio, turned = np.linalg.eigh(inverse @ after @ inverse)
    kept = (turned * np.sqrt(ratio.clip(0.25, 4.0))) @ turned.T
    moved: FloatArray = root @ kept @ inverse
    return moved


def _moved(one: Gaussians, measured: Gaussians, found: Gaussians, maps: list[FloatArray]) -> Gaussians:
    owner = one.owner
    turn = np.array(maps)[owner]
    means = found.means[owner] + np.einsum("nab,nb->na", turn, one.means - measured.means[owner])
    covs = np.matmul(np.matmul(turn, one.covs), turn.transpose(0, 2, 1))
    weights = one.weights * (found.weights / measured.weights)[owner]
    return Gaussians(owner, weights / weights.sum(), means, (covs + covs.transpose(0, 2, 1)) / 2)
