"""The mixture of products of a plan, fitted to what was measured, and the labeller beside it. Post-processing."""

import warnings
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from sfumato.errors import ReleaseWarning, RequestError
from sfumato.fitting.devices import CPU, check_device
from sfumato.fitting.mechanisms.counts.assembly import assemble_mixture
from sfumato.fitting.mechanisms.counts.one_way import OneWays
from sfumato.fitting.mechanisms.counts.pairs import PairTables
from sfumato.fitting.mechanisms.counts.plan import CountsPlan
from sfumato.fitting.mechanisms.counts.plan import Tuning as Planning
from sfumato.fitting.mechanisms.tables.approximation import evidence
from sfumato.fitting.mechanisms.tables.averaging import average_fits
from sfumato.fitting.mechanisms.tables.product_mixture import WholeRecords
from sfumato.fitting.mechanisms.tables.start import start_anywhere, start_in_boxes, target_in_boxes
from sfumato.fitting.mechanisms.tables.tuning import Components
from sfumato.fitting.models.table_mixture.labeller import Labeller
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.feature_maps import Softmax

_MOST_COMPONENTS, _MOST_STEPS, _MOST_STARTS = 1_000, 10_000, 100


@dataclass(frozen=True)
class Fit:
    """How the models are fitted to what was released. Post-processing: any setting is free.

    components   the most that a class of the target gets; without a target each of a few fits gets fewer
    steps        of the fit of the mixture, as above
    prior        standard deviation of the labeller's coefficients around what the mixture says
    device       where the steps are computed: "cuda" for wide tables, where there is one
    start        the number of a public start; from another one a fit leads elsewhere, to what explains the answers as
                 well
    """

    components: int = 80
    steps: int = 500
    prior: float = 0.5
    device: str = CPU
    start: int = 0

    def __post_init__(self) -> None:
        if not (1 <= self.components <= _MOST_COMPONENTS and 1 <= self.steps <= _MOST_STEPS):
            raise RequestError(f"a fit needs 1 to {_MOST_COMPONENTS} components and 1 to {_MOST_STEPS} steps")
        if not 0 < self.prior < np.inf:
            raise RequestError("the prior of a fit must be a number above 0")
        if not 0 <= self.start <= _MOST_STARTS:
            raise RequestError(f"a fit has starts 0 to {_MOST_STARTS}")
        check_device(self.device)

    @property
    def settings(self) -> dict[str, Any]:
        """As a model stores them."""
        usual = {"device": CPU, "start": 0}
        return {name: value for name, value in asdict(self).items() if name not in usual or value != usual[name]}


def attach_labeller(
    mixture: TableMixture, plan: CountsPlan, model: Softmax | None, *, of_samples: bool = True
) -> TableMixture:
    """The mixture with a labeller, where there is one; `of_samples`: whether it labels records of a sample, too."""
    if model is None or plan.target is None:
        return mixture
    forbidden = () if plan.support is None else plan.support.forbidden
    return replace(mixture, labeller=Labeller.of(model, plan.target, of_samples, forbidden))


def fit_mixture(
    plan: CountsPlan,
    one_way: OneWays,
    pairs: PairTables | None,
    fit: Fit,
    *,
    average: bool = True,
    whole: WholeRecords | None = None,
) -> TableMixture:
    """The fitted mixture over the codes of every column, the target among them; the average of some fits.

    whole   what was measured of whole records beside the tables
    """
    if whole is not None and fit.device != CPU:
        raise RequestError("a fit to whole records runs on the processor; leave device out")
    fits, most, steps = _fits(plan, one_way, pairs, fit) if average else (1, fit.components, fit.steps)
    components, support = count_components(one_way, _noise(pairs, whole), most), plan.support
    steps = max(1, steps * Planning.many_classes // max(Planning.many_classes, one_way.classes.count))
    if support is None:
        start = start_anywhere(one_way, components)
    else:
        start = start_in_boxes(plan, support, one_way, components)
        steps = max(1, steps * Components.many // max(Components.many, len(start.owner)))
    weights, thetas = (start.weights, list[FloatArray]())
    if one_way.columns:
        seen = evidence(one_way, pairs, whole, paired_only=whole is None and support is None)
        try:
            weights, thetas = average_fits(one_way, seen, start, steps, fits, fit.device, fits * fit.start)
        except RuntimeError as error:  # of torch, such as a lack of memory: what was measured is paid for, so go on
            if fit.device == CPU:
                raise
            with suppress(ReleaseWarning):  # where warnings are errors
                told = f"the GPU gave up ({type(error).__name__}); the model was fitted on the processor"
                warnings.warn(told, ReleaseWarning, stacklevel=2)
            fit = replace(fit, device=CPU)
            weights, thetas = average_fits(one_way, seen, start, steps, fits, first=fits * fit.start)
    ties, target = {} if pairs is None else pairs.ties, None
    if plan.target is not None and support is not None:
        target = target_in_boxes(plan, support, one_way, start, weights)
    return assemble_mixture(plan, one_way, weights, thetas, np.tile(start.owner, fits), fit.settings, target, ties)


def _fits(plan: CountsPlan, one_way: OneWays, pairs: PairTables | None, fit: Fit) -> tuple[int, int, int]:
    """How many fits there are, the components that each has at most, and its steps.

    With a target there is one: its labeller mends what chance there is in a fit.
    """
    groups = sum(len(column.grouped) for column in one_way.columns.values())
    fits = min(Components.fits_alone, Components.most_averaged // max(groups, 1))
    if plan.target is not None or pairs is None or fits < 2:
        return 1, fit.components, fit.steps
    components, steps = Components.components_alone * fit.components, Components.steps_alone * fit.steps
    return fits, max(1, int(components)), max(1, int(steps))


def _noise(pairs: PairTables | None, whole: WholeRecords | None) -> float | None:
    """Of a count of what columns tell together; None where nothing was asked of that."""
    if pairs is not None:
        return pairs.typical_sigma
    return None if whole is None else whole.sigma


def count_components(one_way: OneWays, sigma: float | None, most: int) -> list[int]:
    """A component for every few noise deviations that a class holds.

    sigma   the noise of a count of what columns tell together; None: nothing was asked, and one is all there can be
    """
    if sigma is None:
        return [1] * one_way.classes.count
    held = one_way.totals / sigma
    return [int(np.clip((h - Components.first_component) / Components.next_component, 1, most)) for h in held]
