"""What every model can do, so that a release need not know which it holds; and the list of those that there are.

A new kind of model is a folder with a subclass of `Model`, and one line: `register_model(...)`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import pyarrow as pa

from sfumato.errors import RequestError
from sfumato.fitting.conditions import Condition
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.encoding import Batch, Codes
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.schema.display import shorten

_PLAIN = (str, int, float, type(None))
_STRIPS = 2_000  # of equal probability, by which a spread is found


class Model(ABC):
    """The distribution of a table over the codes of its columns.

    kind       the name under which a bundle holds it
    size       the noisy number of records
    settings   how it was fitted
    """

    kind: ClassVar[str]
    size: float
    settings: Mapping[str, Any]

    def __repr__(self) -> str:
        settings = shorten(str(dict(self.settings)), 120)
        return f"<{type(self).__name__} of about {self.size:,.0f} records, settings {settings}>"

    @abstractmethod
    def sample(self, rows: int, rng: np.random.Generator) -> Batch:
        """Records, as codes."""

    @abstractmethod
    def log_density(self, batch: Batch, columns: Mapping[str, Codes]) -> FloatArray:
        """The log probability of each record, per unit for columns of type number; columns not given are summed out."""

    @abstractmethod
    def predict(self, batch: Batch, target: str, codes: Codes) -> FloatArray:
        """Of each record, given its other columns: the probability of every value of the target, or its mean."""

    @abstractmethod
    def condition(self, given: Sequence[Condition]) -> Self:
        """The model given that conditions hold."""

    @abstractmethod
    def describe(
        self, column: str, codes: Codes, given: Sequence[Condition] = (), measured: Sequence[Measurement] = ()
    ) -> pa.Table:
        """A column's distribution given that conditions hold, with the 95 % band of the noise.

        A listed column has a row for each `value`; an ordered one a row for each interval, `first` to `last`, in order.
        A missing value is a null in the last row. `measured` is as in `estimate_mean`, and
        asked for where conditions are.
        """

    @abstractmethod
    def estimate_mean(
        self, column: str, codes: Codes, given: Sequence[Condition], measured: Sequence[Measurement]
    ) -> tuple[float, float, float]:
        """The mean of a column given that conditions hold, and the ends of its 95 % interval.

        `measured` is what the model was fitted to, for models that do not store the noise of their parameters.
        """

    def summarise(
        self,
        column: str,
        shares: Sequence[float],
        codes: Codes,
        given: Sequence[Condition],
        measured: Sequence[Measurement],
    ) -> list[tuple[float, float, float]]:
        """Mean, standard deviation and the quantiles at some shares, given that conditions hold.

        Each with the ends of its 95 % interval, which are NaN where a model cannot tell them.
        """
        law, middles = self.condition(given), (np.arange(_STRIPS) + 0.5) / _STRIPS
        spread = float(law.quantile(column, middles, codes).std())
        numbers = [spread, *law.quantile(column, np.array(shares), codes).tolist()]
        return [
            self.estimate_mean(column, codes, given, measured),
            *((number, math.nan, math.nan) for number in numbers),
        ]

    @abstractmethod
    def cdf(self, column: str, numbers: FloatArray, codes: Codes) -> FloatArray:
        """The probability that a column is at or below each number, among the records that have a value."""

    @abstractmethod
    def quantile(self, column: str, shares: FloatArray, codes: Codes) -> FloatArray:
        """The number at or below which each share of the records lies."""

    @abstractmethod
    def dependence(self, first: str, second: str) -> float:
        """How much one column tells of another, from 0 to 1."""

    @abstractmethod
    def distance(self, other: Any) -> float:
        """How far two models of this kind are apart, as a total variation or a bound of one."""

    @abstractmethod
    def to_parts(self) -> tuple[dict[str, Any], pa.Table]:
        """The model as plain content and one Arrow table."""

    @classmethod
    @abstractmethod
    def from_parts(cls, content: Mapping[str, Any], table: pa.Table, columns: Mapping[str, Codes]) -> Self:
        """The model that `to_parts` wrote; one that does not fit these columns raises."""

    def tabulate_parameters(self, columns: Mapping[str, Codes], level: float) -> pa.Table:  # noqa: ARG002
        """The model's parameters, with the interval that holds each at this level."""
        raise RequestError("this release has no parameters; make one with mechanism mixture or subspace")

    def choose_estimate(self, name: str) -> Self:  # noqa: ARG002
        """The same posterior, summarised another way."""
        raise RequestError(_NO_MIXTURE)

    def kl(self, other: "Model") -> float:  # noqa: ARG002
        """KL(this || other) in nats."""
        raise RequestError(_NO_MIXTURE)


_M = TypeVar("_M", bound=Model)
_NO_MIXTURE = "this release is not a Gaussian mixture; make one with mechanism mixture"
_REGISTERED: dict[str, type[Model]] = {}
_BUILT_IN = {
    "table-mixture": "sfumato.fitting.models.table_mixture.model",
    "gaussian-mixture": "sfumato.fitting.models.gaussian_mixture.model",
    "subspace": "sfumato.fitting.models.subspace.model",
}
"""The module that registers each; it is loaded when a model of that kind is first read."""


def register_model(model: type[_M]) -> type[_M]:
    """Make a kind of model known by its name."""
    _REGISTERED[model.kind] = model
    return model


def read_model(content: Mapping[str, Any], table: pa.Table, columns: Mapping[str, Codes]) -> Model:
    """The model that `to_parts` wrote; an unknown kind is refused."""
    settings, kind = content.get("settings", {}), content.get("kind")
    if not isinstance(settings, dict) or not all(isinstance(one, _PLAIN) for one in settings.values()):
        raise TypeError("the settings of a model are plain values with names")
    if isinstance(kind, str) and kind not in _REGISTERED and kind in _BUILT_IN:
        import_module(_BUILT_IN[kind])
    if not isinstance(kind, str) or kind not in _REGISTERED:
        raise ValueError(f"a model of kind {kind!r} is not known to this version; update sfumato")
    return _REGISTERED[kind].from_parts(content, table, columns)
