"""What a mechanism must do, and the list of those that there are.

A new mechanism is a folder with a subclass of `Mechanism`, and one line: `register_mechanism(...)`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from sfumato.errors import BundleError, RequestError
from sfumato.fitting.devices import CPU, check_device
from sfumato.fitting.models.model import Model
from sfumato.fitting.stored_plan import StoredPlan
from sfumato.fitting.tuning import Constants, TuningConstants, read_constants, stored_constants
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.encoding import Batch
from sfumato.trusted.measurement import CuratorLike, Measurement
from sfumato.trusted.schema import Schema

if TYPE_CHECKING:
    from sfumato.fitting.retraining.evidence import TrainingData

Measurements = tuple[Measurement, ...]


class Plan(Protocol):
    """What will be asked and what each question may spend: a function of schema, budget and adjacency alone."""

    def to_dict(self) -> dict[str, Any]:
        """Plain content for the bundle; what the schema says is left out."""


class Mechanism(ABC):
    """One way to release a table. Settings are what a user may choose of the plan, or of a fit, which is free.

    name     as users and bundles call it
    tuning   the constants of its modules, which a bundle stores
    devices  where its fit can be computed
    """

    name: ClassVar[str]
    tuning: ClassVar[tuple[type[TuningConstants], ...]] = ()
    devices: ClassVar[tuple[str, ...]] = (CPU,)

    @abstractmethod
    def build_plan(self, schema: Schema, budget: Budget, adjacency: Adjacency, settings: Mapping[str, Any]) -> Plan:
        """The plan for a table; what the mechanism cannot release is refused here, before anything is spent."""

    @abstractmethod
    def read_plan(self, content: Mapping[str, Any], schema: Schema, adjacency: Adjacency) -> Plan:
        """The plan that `to_dict` wrote; whatever is too little or too much raises."""

    @abstractmethod
    def release(self, curator: CuratorLike, plan: Any, progress: Callable[[str], None], device: str = CPU) -> Model:
        """Measure through the curator as planned, and fit a model to the answers on one of the `devices`."""

    @abstractmethod
    def refit(
        self, measurements: Measurements, plan: Any, settings: Mapping[str, Any], features: Batch | None = None
    ) -> Model:
        """Fit the model anew to recorded answers; every question must be the one that plan and answers ask for.

        `features` are the public features, where the release was made with them.
        """

    def needs_features(self, schema: Schema, adjacency: Adjacency) -> bool:  # noqa: ARG002 - most never do
        """Whether a refit needs the public features."""
        return False

    def training_data(self, measurements: Measurements, plan: Any, schema: Schema) -> "TrainingData":  # noqa: ARG002
        """What a generator can be trained on, read off recorded answers."""
        raise RequestError(
            f"a generator trains on the distributions of single columns, and a release by {self.name} has none: each "
            f"column's contribution depends on the rest of the record; use a release by slices, tables or mixture"
        )


_REGISTERED: dict[str, Mechanism] = {}
_BUILT_IN = {
    "tables": "sfumato.fitting.mechanisms.tables.release",
    "mixture": "sfumato.fitting.mechanisms.mixture.release",
    "subspace": "sfumato.fitting.mechanisms.subspace.release",
    "slices": "sfumato.fitting.mechanisms.slices.release",
    "3a": "sfumato.fitting.mechanisms.framework.release",
}
"""The module that registers each; it is loaded when the mechanism is first needed."""


def register_mechanism(mechanism: Mechanism) -> None:
    """Make a mechanism known by its name."""
    _REGISTERED[mechanism.name] = mechanism


def mechanism_names() -> list[str]:
    """Every name that `find_mechanism` knows."""
    return list(dict.fromkeys((*_BUILT_IN, *_REGISTERED)))


def find_mechanism(name: str) -> Mechanism:
    """The mechanism of a name; an unknown one is refused."""
    if name not in _REGISTERED and name in _BUILT_IN:
        import_module(_BUILT_IN[name])
    if name not in _REGISTERED:
        raise RequestError(f"mechanism is {name!r}; use one of {', '.join(mechanism_names())}")
    return _REGISTERED[name]


def check_device_of(mechanism: Mechanism, device: str) -> None:
    """Refuse a device that this computer does not have, or that the mechanism's fit cannot use."""
    check_device(device)
    if device not in mechanism.devices:
        raise RequestError(f"the fit of mechanism {mechanism.name} has no use for {device!r}; leave device out")


def restore_plan(stored: StoredPlan, mechanism: str, schema: Schema, adjacency: Adjacency) -> tuple[Any, Constants]:
    """The plan of a bundle, and the constants that it was made with.

    Edge cases
        Content that is no plan for this schema: `BundleError`.
    """
    used = find_mechanism(mechanism)
    constants = restore_constants(stored.constants, used)
    try:
        with stored_constants(constants):
            return used.read_plan(stored.plan, schema, adjacency), constants
    except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
        raise BundleError(f"the plan does not fit the schema ({type(error).__name__}: {error})") from None


def restore_constants(content: Mapping[str, Any], mechanism: Mechanism) -> Constants:
    """The constants of a bundle, for the modules of its mechanism, of completion and of generators."""
    from sfumato.fitting.completion.tuning import COMPLETION_TUNING
    from sfumato.fitting.retraining.tuning import RETRAINING_TUNING

    return read_constants(content, (*mechanism.tuning, *COMPLETION_TUNING, *RETRAINING_TUNING))
