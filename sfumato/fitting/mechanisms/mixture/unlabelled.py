"""Records that nobody labelled: components are found from released values, then measured like classes.

1. waves and shells of all records together: where they lie and how they spread;
2. counts of boxes along their principal axes, in which components are found;
3. the rounds of labelled classes, the class of a record being the likeliest component;
4. the same again by the mixture of step 3, and its cuts undone;
5. how many records of a component lie at each distance: its tails.

How many components there are is decided by what was released: a further one must explain more of the counts than the
noise of measuring it costs. One Gaussian is where it ends if none does; all rounds then measure the same class.

The class of a record is a function of that record and of released numbers, so every question keeps its sensitivity.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sfumato.fitting.mechanisms.mixture.actions import model_of
from sfumato.fitting.mechanisms.mixture.components import find_components
from sfumato.fitting.mechanisms.mixture.design import Kind, design_risk
from sfumato.fitting.mechanisms.mixture.plan import MixturePlan, Search
from sfumato.fitting.mechanisms.mixture.posterior import Prior
from sfumato.fitting.mechanisms.mixture.rounds import (
    ClassState,
    Questions,
    measure_classes,
    measure_coarse,
    shell_whitening,
)
from sfumato.fitting.mechanisms.mixture.rules import rule_of, rule_of_boxes
from sfumato.fitting.mechanisms.mixture.scale_law import ScaleLaw, fit_scales, radii_around
from sfumato.fitting.mechanisms.mixture.shell_moments import read_shells
from sfumato.fitting.mechanisms.mixture.truncation import uncut
from sfumato.fitting.models.gaussian_mixture.model import GaussianMixture
from sfumato.fitting.public_rng import public_rng
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.encoding import NumericCodec
from sfumato.trusted.feature_maps import Boxes, ByRule, Radii, Shells, Whitening
from sfumato.trusted.measurement import CuratorLike


class Tuning(TuningConstants, group="mixture.unlabelled"):
    """See `sfumato.fitting.tuning`."""

    axes = 3  # along which boxes are cut, at most
    reach = 3.0  # standard deviations to either side
    fewest_boxes = 64
    most_boxes = 4096
    records_per_box = 2.0  # noise deviations that a box would hold if all held equally many
    least_spread = 1e-3  # of a principal axis, relative to the widest
    stream = 700_000
    second = 100_000


def release_unlabelled(
    curator: CuratorLike,
    plan: MixturePlan,
    search: Search,
    scales: Mapping[str, NumericCodec],
    progress: Callable[[str], None],
) -> GaussianMixture:
    """Find the components, measure them, and measure them again with each record where it belongs."""
    alone = ByRule((Whitening.of(np.eye(len(scales)), np.full(len(scales), 0.5)),), (0.0,))
    questions = Questions(curator, plan.places, alone, plan.adjacency)
    progress("measuring where components lie, with noise")
    rule = _found(questions, plan, search)
    progress(f"measuring {rule.size} components")
    rough = measure_classes(questions.partition(rule), search.first)
    if rule.size > 1:
        rule = rule_of(model_of(rough, scales, None).actions["mixture"])
    progress("measuring each component, with noise")
    second = questions.partition(rule)
    states = measure_classes(second, plan.rounds, Tuning.second, known=rough if rule.size == 1 else ())
    laws = _measure_scales(second, states, search.radii)
    return uncut(model_of(states, scales, None, laws), rule)


def _measure_scales(questions: Questions, states: Sequence[ClassState], mu: float) -> list[ScaleLaw]:
    """The scales of every component, seen through the Gaussian of its middle."""
    maps = [radii_around(shell_whitening(state.posterior.mean, state.posterior.cov)) for state in states]
    asked, values, noise = questions.ask(maps, mu)
    seen = [one for one in asked.maps if isinstance(one, Radii)]
    return [fit_scales(one, value[:, 0], noise) for one, value in zip(seen, values, strict=True)]


def _found(questions: Questions, plan: MixturePlan, search: Search) -> ByRule:
    """The rule that steps 1 and 2 lead to."""
    last = math.hypot(*plan.rounds.scores, plan.rounds.probe, *plan.rounds.last) / questions.unit
    kind: Kind = "lift" if plan.adjacency == Adjacency.REPLACE else "hampel"

    def risk(count: float) -> float:
        """What the noise of measuring a component of this many records costs, in nats over all of them."""
        return design_risk(kind, len(plan.places.names), count * last**2)

    prior = measure_coarse(questions, search.waves)[0]
    boxes = _boxes(questions, prior, search)
    asked, values, noise = questions.ask([boxes], search.boxes)
    seen = asked.maps[0]
    assert isinstance(seen, Boxes)  # noqa: S101 - the curator answers what it was asked
    side, rng = 2 * seen.reach / seen.cells, public_rng(Tuning.stream)
    components = find_components(seen.centres, values[0][:, 0], noise, side, search.components, risk, rng)
    return rule_of_boxes(components, seen)


def _boxes(questions: Questions, prior: Prior, search: Search) -> Boxes:
    """Boxes along the principal axes of the columns, as many as the number of records fills."""
    around = Whitening.of(np.diag(np.exp(-prior.log_sd)), prior.mean)
    asked, values, noise = questions.ask([Shells.of(around)], search.shells)
    seen = asked.maps[0]
    assert isinstance(seen, Shells)  # noqa: S101 - the curator answers what it was asked
    moments = read_shells(seen, values[0], noise, prior.count, prior.count_sd)
    matrix, centre = _principal(seen.whitening, moments.mean, moments.cov)
    axes = min(Tuning.axes, len(matrix))
    wanted = np.clip(
        prior.count / (Tuning.records_per_box * questions.unit / search.boxes), Tuning.fewest_boxes, Tuning.most_boxes
    )
    return Boxes(Whitening.of(matrix, centre), axes, int(wanted ** (1 / axes) + 1e-9), Tuning.reach)


def _principal(whitening: Whitening, mean: FloatArray, cov: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The map to principal axes of the columns' correlation, widest first, each of unit spread; and its centre."""
    sd = np.sqrt(np.diag(cov))
    values, vectors = np.linalg.eigh(cov / np.outer(sd, sd))
    spread = np.sqrt(np.maximum(values[::-1], Tuning.least_spread**2 * values[-1]))
    axes = (vectors.T[::-1] / sd) / spread[:, None]
    return axes @ whitening.exact_matrix, whitening.exact_centre + whitening.inverse @ mean
