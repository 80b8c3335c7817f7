"""Approximate: the model of the records' distribution that explains what was released. Post-processing."""

from collections.abc import Callable, Mapping
from typing import Any

from sfumato.errors import RequestError
from sfumato.fitting.mechanisms.framework.anonymize import Seen
from sfumato.fitting.mechanisms.tables.fit import Fit, fit_mixture
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.fitting.retraining.evidence import TrainingData
from sfumato.fitting.retraining.fit import SETTINGS, train_density

Approximate = Callable[[Seen, Mapping[str, Any]], TableMixture]


def by_mixture(seen: Seen, settings: Mapping[str, Any]) -> TableMixture:
    """A mixture of products, by its most likely parameters."""
    return fit_mixture(seen.plan, seen.one_way, seen.pairs, Fit(**settings), whole=seen.whole)


def by_generator(seen: Seen, settings: Mapping[str, Any]) -> TableMixture:
    """A network, by the chi-squared divergence of its records from what was released."""
    if unknown := settings.keys() - SETTINGS.keys():
        raise RequestError(f"generators have no {', '.join(sorted(unknown))} to set; see `retrain`")
    return train_density(TrainingData(seen.plan, seen.one_way, seen.evidence, seen.pairs), settings)


APPROXIMATE: Mapping[str, Approximate] = {"mixture": by_mixture, "generator": by_generator}
