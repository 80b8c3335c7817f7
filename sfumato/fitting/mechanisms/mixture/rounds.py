"""The rounds: waves, then scores through ever better whitenings, then shells where a class is not Gaussian.

Every question is chosen from released values only. Which map a class is looked at through may depend on them; what a
round spends does not.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np

from sfumato.fitting.mechanisms.mixture.coarse import CoarsePosterior
from sfumato.fitting.mechanisms.mixture.combining import Estimate, bias, combine_estimates
from sfumato.fitting.mechanisms.mixture.design import Kind, build_design
from sfumato.fitting.mechanisms.mixture.plan import Rounds
from sfumato.fitting.mechanisms.mixture.plan import Tuning as Planning
from sfumato.fitting.mechanisms.mixture.pooling import shared_shapes
from sfumato.fitting.mechanisms.mixture.posterior import ClassPosterior, Prior, Score
from sfumato.fitting.mechanisms.mixture.shell_moments import ShellMoments, read_shells, shell_risk
from sfumato.fitting.mechanisms.mixture.symmetric import root_near_columns
from sfumato.fitting.public_rng import public_rng
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.feature_maps import FourierFeatures, Hampel, Lift, Partition, ScaledColumns, Shells, Whitening
from sfumato.trusted.feature_maps.bounded_map import UNIT, BoundedMap
from sfumato.trusted.measurement import CuratorLike, Measurement
from sfumato.trusted.statistics import ClassSums


class Tuning(TuningConstants, group="mixture.rounds"):
    """See `sfumato.fitting.tuning`."""

    least_sd = 2.0**-24  # of a whitening: finer than the steps of a scale
    rough = 0.05  # expected KL below which the Laplace approximation whitens as well as samples
    probed = 0.5  # a class is probed if the noise of its first shell costs less KL than this
    clearly = 4.0  # deviations by which shells must contradict a Gaussian
    poolings = (1, 3)  # how often classes learn from each other: after each round, after the last
    worth = 0.5  # of the noise of the last rounds that the contradiction must exceed


@dataclass(eq=False)
class ClassState:
    """All that is known of a class so far. `best` and `moments` are there once shells have spoken."""

    posterior: ClassPosterior
    best: Estimate | None = None
    moments: ShellMoments | None = None
    seen_through: Shells | None = None  # the last one

    @property
    def count(self) -> tuple[float, float]:
        """The count without assuming a Gaussian: coarse counts and the constants of the scores; and its sd."""
        prior = self.posterior.prior
        precision, weighted = 1 / prior.count_sd**2, prior.count / prior.count_sd**2
        for score in self.posterior.scores:
            if isinstance(score.one, Hampel):
                precision += (score.one.w / score.deviation) ** 2
                weighted += score.value[0] * score.one.w / score.deviation**2
        return max(weighted / precision, 2.0), 1 / math.sqrt(precision)

    def take_in(self, before: "ClassState") -> None:
        """Add what earlier rounds have said of the same class, and go on from there."""
        self.posterior.continue_from(before.posterior)
        self.best, self.moments, self.seen_through = before.best, before.moments, before.seen_through


@dataclass(frozen=True)
class Questions:
    """Who asks what: the columns, what parts the classes, and the sensitivity of a question in a record's norm."""

    curator: CuratorLike
    places: ScaledColumns
    parting: Partition
    adjacency: Adjacency

    @property
    def unit(self) -> float:
        """The sensitivity of every question in units of a record's norm."""
        match self.adjacency:
            case Adjacency.ADD_REMOVE:
                return 1.0
            case Adjacency.REPLACE | Adjacency.LABEL:
                return math.sqrt(2)
            case _:
                assert_never(self.adjacency)

    def partition(self, parting: Partition) -> "Questions":
        """The same with other classes."""
        return replace(self, parting=parting)

    def ask(self, maps: Sequence[BoundedMap], mu: float) -> tuple[ClassSums, list[FloatArray], float]:
        """The sums of every class in units of a record's norm, with the sd of their noise."""
        answer: Measurement = self.curator.measure(ClassSums(self.places, self.parting, tuple(maps)), mu)
        asked = answer.statistic
        assert isinstance(asked, ClassSums)  # noqa: S101 - the curator answers what it was asked
        return asked, asked.split(answer.values), answer.sigma / UNIT


def measure_classes(
    questions: Questions, rounds: Rounds, stream: int = 0, known: Sequence[ClassState] = ()
) -> list[ClassState]:
    """All rounds; `known` is what earlier rounds have said of the same classes."""
    states = [ClassState(ClassPosterior(prior)) for prior in measure_coarse(questions, rounds.waves)]
    for state, before in zip(states, known, strict=False):
        state.take_in(before)
    mus = (*rounds.scores, rounds.probe, *rounds.last)
    probe = len(rounds.scores)
    for t, mu in enumerate(mus):
        maps = [_next_map(questions, rounds, state, k, t, stream) for k, state in enumerate(states)]
        asked, values, deviation = questions.ask(maps, mu)
        for state, one, value in zip(states, asked.maps, values, strict=True):
            if isinstance(one, Shells):
                _take_shells(state, one, value, deviation, probing=t == probe, left=_left(questions, rounds))
            elif isinstance(one, Hampel | Lift):
                state.posterior.scores.append(Score(one, value[0], deviation))
                state.posterior.solve(30 if t == len(mus) - 1 else 8)
        _pool(states, Tuning.poolings[t == len(mus) - 1])
    return states


def _pool(states: Sequence[ClassState], times: int) -> None:
    """Let classes of like correlations learn from each other."""
    posteriors = [state.posterior for state in states]
    for _ in range(times):
        before = posteriors[0].shape
        shapes = shared_shapes(posteriors, before.tau if before else None)
        if shapes is None and before is None:
            return
        for k, posterior in enumerate(posteriors):
            posterior.shape = shapes[k] if shapes else None
            posterior.solve(8)


def measure_coarse(questions: Questions, mus: Sequence[float]) -> list[Prior]:
    """The waves."""
    classes, columns = questions.parting.size, len(questions.places.names)
    coarse = CoarsePosterior(classes, columns, Planning.resolution)
    for t, mu in enumerate(mus):
        frequencies = coarse.frequencies(first=t == 0)
        weight = frequencies[0].size if questions.adjacency == Adjacency.REPLACE else 1
        asked, values, deviation = questions.ask([FourierFeatures.of(mine, weight) for mine in frequencies], mu)
        coarse.add(
            [one for one in asked.maps if isinstance(one, FourierFeatures)], [value[0] for value in values], deviation
        )
    return [Prior.of(coarse.now, k) for k in range(classes)]


def _left(questions: Questions, rounds: Rounds) -> float:
    """The noise of the last rounds taken together."""
    return questions.unit / math.hypot(*rounds.last)


def _next_map(questions: Questions, rounds: Rounds, state: ClassState, k: int, t: int, stream: int) -> BoundedMap:
    """What a class is looked at through in round t."""
    posterior, probing = state.posterior, t == len(rounds.scores)
    mu = (*rounds.scores, rounds.probe, *rounds.last)[t]
    deviation = questions.unit / mu
    if state.best is not None:
        return Shells.of(shell_whitening(state.best.mean, state.best.cov))
    rough = t == 0 or posterior.expected_kl() <= Tuning.rough
    centre, scale = posterior.whitening(public_rng(stream + 1000 * t + k), rough)
    if probing:
        shells = Shells.of(shell_whitening(centre, scale))
        if shell_risk(shells, deviation, posterior.count) < Tuning.probed:
            return shells
    kind: Kind = "lift" if questions.adjacency == Adjacency.REPLACE else "hampel"
    return build_design(kind, score_whitening(centre, scale), posterior.count, 1 / deviation)


def score_whitening(centre: FloatArray, scale: FloatArray) -> Whitening:
    """The symmetric whitening by an estimate."""
    values, vectors = np.linalg.eigh(scale)
    return Whitening.of((vectors / np.sqrt(np.maximum(values, Tuning.least_sd**2))) @ vectors.T, centre)


def shell_whitening(centre: FloatArray, scale: FloatArray) -> Whitening:
    """The whitening by an estimate, its axes near the columns, where heavy tails live."""
    floor = Tuning.least_sd**2 * np.eye(len(centre))
    inverse = np.linalg.inv(root_near_columns(scale + floor))
    return Whitening.of(np.asarray(inverse, dtype=np.float64), centre)


def _take_shells(
    state: ClassState, one: Shells, value: FloatArray, deviation: float, *, probing: bool, left: float
) -> None:
    """Read the shells; a probe counts only if it clearly contradicts the Gaussian and the matter is worth it."""
    moments = read_shells(one, value, deviation, *state.count)
    centre, root = one.whitening.exact_centre, one.whitening.inverse
    before = state.best or Estimate.of(state.posterior)
    if probing:
        excess, sd = bias(before, centre, root, moments)
        clear = excess > Tuning.clearly * sd or moments.excess > Tuning.clearly
        if not (clear and excess > Tuning.worth * shell_risk(one, left, state.posterior.count)):
            return
    state.best, state.moments, state.seen_through = combine_estimates(before, centre, root, moments), moments, one
