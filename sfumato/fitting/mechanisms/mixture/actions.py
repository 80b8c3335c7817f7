"""From what is known of every class to the model that is released. Post-processing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.fitting.mechanisms.mixture.posterior import ClassPosterior
from sfumato.fitting.mechanisms.mixture.posterior import Draws as PosteriorDraws
from sfumato.fitting.mechanisms.mixture.rounds import ClassState
from sfumato.fitting.mechanisms.mixture.scale_law import ScaleLaw
from sfumato.fitting.mechanisms.mixture.shell_moments import parts_of
from sfumato.fitting.mechanisms.mixture.symmetric import root_near_columns, smat, svec
from sfumato.fitting.models.gaussian_mixture.gaussians import Gaussians
from sfumato.fitting.models.gaussian_mixture.model import ACTIONS, Draws, GaussianMixture
from sfumato.fitting.public_rng import PublicRng, public_rng
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.encoding import NumericCodec


class Tuning(TuningConstants, group="mixture.actions"):
    """See `sfumato.fitting.tuning`."""

    stream = 500_000  # of the public chance, apart from those of the rounds
    draws_to_act = 1_000
    most_draws = 400
    fewest_draws = 50
    numbers = 1_000_000
    least_variance = 2.0**-48  # finer than the steps of a scale


_Part = tuple[float, FloatArray, FloatArray]  # share, mean, covariance


@dataclass(frozen=True)
class _Class:
    """The Gaussians of one class by action, each with its share, and draws of its count, mean and covariance."""

    count: float
    mixture: list[_Part]
    wide: list[_Part]
    detailed: list[_Part]
    draws: tuple[FloatArray, FloatArray, FloatArray]


def model_of(
    states: Sequence[ClassState],
    scales: Mapping[str, NumericCodec],
    target: str | None,
    laws: Sequence[ScaleLaw] = (),
) -> GaussianMixture:
    """The model of all classes; `laws` are the scales of their tails, where they were measured."""
    size = len(scales)
    draws = int(
        np.clip(Tuning.numbers / (len(states) * (1 + size + size * size)), Tuning.fewest_draws, Tuning.most_draws)
    )
    known = [_class(state, draws, public_rng(Tuning.stream + k)) for k, state in enumerate(states)]
    if laws:
        known = [_scaled(*each) for each in zip(known, states, laws, strict=True)]
    counts = np.array([max(one.count, 1.0) for one in known])
    actions = {action: _gaussians([getattr(one, action) for one in known], counts) for action in ACTIONS}
    drawn = [np.stack(part, axis=1) for part in zip(*(one.draws for one in known), strict=True)]
    return GaussianMixture(
        scales, target, len(states), float(counts.sum()), actions, Draws(np.maximum(drawn[0], 1e-3), drawn[1], drawn[2])
    )


def _gaussians(classes: list[list[_Part]], counts: FloatArray) -> Gaussians:
    rows = [
        (k, count * share, mean, cov)
        for k, (count, parts) in enumerate(zip(counts, classes, strict=True))
        for share, mean, cov in parts
    ]
    owner, weights, means, covs = (np.array(part) for part in zip(*rows, strict=True))
    covs = (covs + covs.transpose(0, 2, 1)) / 2 + Tuning.least_variance * np.eye(covs.shape[1])
    return Gaussians(owner.astype(np.int64), weights / weights.sum(), means, covs)


def _class(state: ClassState, draws: int, rng: PublicRng) -> _Class:
    if state.best is None or state.moments is None or state.seen_through is None:
        drawn = state.posterior.draw(rng, draws if state.posterior.certain else max(draws, Tuning.draws_to_act))
        action = state.posterior.action(drawn)
        mixture = [(1.0, action.mean, action.cov)]
        wide = [(1.0, action.wide_mean, action.wide_cov)]
        return _Class(action.count, mixture, wide, wide, own_moments(state.posterior, drawn, draws, rng))
    mean, cov, variances = state.best
    d, (count, count_sd) = len(mean), state.count
    blur = 1 + variances.shape * (d + 1) / 4  # least expected KL to second order: E[E^2] = shape (d + 1)/2 I
    whitening = state.seen_through.whitening
    centre, root = whitening.exact_centre, whitening.inverse
    parts = parts_of(state.moments) if len(state.moments.count) > 1 else []
    detailed = [(part.share, centre + root @ part.mean, root @ part.cov @ root.T) for part in parts]
    near = root_near_columns(cov)
    doubt = state.moments.doubt
    moves = np.sqrt(doubt.mean) * rng.standard_normal((draws, d))
    covs = _moved(near, _symmetric_noise(rng, draws, d, doubt.shape, doubt.trace))
    moments = (count + count_sd * rng.standard_normal(draws), mean + moves @ near.T, covs)
    return _Class(
        float(state.moments.count.sum()),
        [(1.0, mean, cov / blur)],
        [(1.0, mean, cov * blur + variances.mean * cov)],
        detailed or [(1.0, mean, cov)],
        moments,
    )


def _scaled(one: _Class, state: ClassState, law: ScaleLaw) -> _Class:
    """A class whose records have several scales around the Gaussian of its middle.

    Where shells have spoken, they have measured the covariance of all its records; else it is that of all scales.
    """
    if law.is_gaussian:
        return one
    if state.best is not None:
        return replace(one, detailed=_spread(state.posterior.mean, state.posterior.cov, law))
    mixture, wide = (
        [(share, mean, law.level * cov) for share, mean, cov in parts] for parts in (one.mixture, one.wide)
    )
    ((_, mean, cov),) = one.wide
    counts, means, covs = one.draws
    draws = counts, means, law.level * covs
    return replace(one, mixture=mixture, wide=wide, detailed=_spread(mean, cov, law), draws=draws)


def _spread(mean: FloatArray, cov: FloatArray, law: ScaleLaw) -> list[_Part]:
    """A Gaussian for each scale."""
    return [(float(share), mean, scale * cov) for share, scale in zip(law.shares, law.scales, strict=True)]


def own_moments(
    posterior: ClassPosterior, drawn: PosteriorDraws, size: int, rng: PublicRng
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Draws of the class's own count, mean and covariance: the posterior, and what the damping leaves to chance."""
    weights, counts, means, roots = drawn
    spread = (np.arange(size) + rng.random()) / size
    chosen = np.searchsorted(np.cumsum(weights) / weights.sum(), spread, side="right").clip(max=len(weights) - 1)
    counts, means, roots = counts[chosen], means[chosen], roots[chosen]
    mean, off, trace = posterior.chance()
    each = np.sqrt(1 / np.maximum(counts, 1.0))
    d = posterior.dimension
    moves = np.sqrt(mean) * rng.standard_normal((size, d)) * each[:, None]
    noise = _symmetric_noise(rng, size, d, off, trace) * each[:, None, None]
    return counts, means + np.einsum("sab,sb->sa", roots, moves), _moved(roots, noise)


def _symmetric_noise(rng: PublicRng, size: int, d: int, shape: float, trace: float) -> FloatArray:
    """Symmetric matrices whose traceless coordinates have one variance and whose trace direction has another."""
    along = svec(np.eye(d)) / np.sqrt(d)
    normal = rng.standard_normal((size, len(along)))
    level = (normal @ along)[:, None] * along
    return smat(np.sqrt(shape) * (normal - level) + np.sqrt(trace) * level)


def _moved(root: FloatArray, exponent: FloatArray) -> FloatArray:
    """A exp(E) A'."""
    values, vectors = np.linalg.eigh(exponent)
    turned = np.matmul(root, vectors)
    moved: FloatArray = np.matmul(turned * np.exp(np.clip(values, -12, 12))[:, None, :], turned.transpose(0, 2, 1))
    return moved
