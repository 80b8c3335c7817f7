"""Faults that an audit injects into its own process, one at a time, to show that its attacks would see them.

Each is a context manager that replaces a method or function of the library while it is open and puts it back at the
end, whatever happens. `release`, the command line and the other packages never import this module. While a fault is
open, every release of this process is faulty: an audit must not share its process with real ones.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.errors import DataError
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import CodeArray
from sfumato.trusted.budget import Budget
from sfumato.trusted.curator import Curator
from sfumato.trusted.encoding.lists import CategoricalCodec
from sfumato.trusted.encoding.scales import NumericCodec
from sfumato.trusted.families import assembly
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.noise import SecureNoise, SeededNoise
from sfumato.trusted.privacy_filter import PrivacyFilter
from sfumato.trusted.reservation import Reservation
from sfumato.trusted.sources import contribution_bounding, family_source, sums
from sfumato.trusted.statistics import Statistic
from sfumato.trusted.statistics.person_level import PARTS

Injection = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True)
class Fault:
    """A mistake that a library could make: its name, where it is, and what puts it in."""

    name: str
    place: str
    inject: Injection


@contextmanager
def _patched(owner: Any, **changes: Any) -> Iterator[None]:
    """Other attributes for a class or module, until the end."""
    before = {name: vars(owner)[name] for name in changes}
    try:
        for name, change in changes.items():
            setattr(owner, name, change)
        yield
    finally:
        for name, original in before.items():
            setattr(owner, name, original)


def thin_noise() -> AbstractContextManager[None]:
    """Noise has 70 percent of its standard deviation."""
    original = SecureNoise.rounded_gaussian
    return _patched(SecureNoise, rounded_gaussian=lambda self, sigma, size: original(self, 0.7 * sigma, size))


def repeated_noise() -> AbstractContextManager[None]:
    """Every answer gets the same random bits: a generator whose state does not move on."""
    return _patched(SecureNoise, rounded_gaussian=lambda _, sigma, size: SeededNoise(1).rounded_gaussian(sigma, size))


def no_noise() -> AbstractContextManager[None]:
    """The noise is zero."""
    return _patched(SecureNoise, rounded_gaussian=lambda _, __, size: np.zeros(size, dtype=np.int64))


def exact_fit() -> AbstractContextManager[None]:
    """The bundle holds noisy sums, and the model is fitted to the exact ones."""
    original = Curator.measure

    def measure(self: Curator, statistic: Statistic, mu: float) -> Measurement:
        return replace(original(self, statistic, mu), values=self._source.sum(statistic))

    return _patched(Curator, measure=measure)


def low_sensitivity() -> AbstractContextManager[None]:
    """The noise of every question is that of 1/sqrt(2) of its sensitivity: one side of a change is forgotten."""
    original = Curator.measure

    def measure(self: Curator, statistic: Statistic, mu: float) -> Measurement:
        class_of = type(statistic)
        true = class_of.sensitivity
        with _patched_sensitivity(class_of, true):
            return original(self, statistic, mu)

    return _patched(Curator, measure=measure)


@contextmanager
def _patched_sensitivity(owner: type, true: Callable[[Any, Adjacency], float]) -> Iterator[None]:
    own = "sensitivity" in vars(owner)
    owner.sensitivity = lambda self, adjacency: true(self, adjacency) / np.sqrt(2)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        if own:
            owner.sensitivity = true  # type: ignore[attr-defined]
        else:
            del owner.sensitivity  # type: ignore[attr-defined]


def twofold_sums() -> AbstractContextManager[None]:
    """Every record is counted twice, as by an engine that repeats a task."""
    original = sums._counted
    return _patched(sums, _counted=lambda *args: 2 * original(*args))


def forgetful_filter() -> AbstractContextManager[None]:
    """The privacy filter does not add up what was spent before."""
    original = PrivacyFilter.spend

    def spend(self: PrivacyFilter, mu: float, delta: float = 0.0) -> None:
        self._spent = 0
        original(self, mu, delta)

    return _patched(PrivacyFilter, spend=spend)


def silent_reservation() -> AbstractContextManager[None]:
    """Nothing is entered in the ledger."""
    return _patched(Reservation, enter=lambda *_: None)


def unpaid_question() -> AbstractContextManager[None]:
    """The first question is answered twice and paid for once."""
    original = Curator.measure

    def measure(self: Curator, statistic: Statistic, mu: float) -> Measurement:
        answer = original(self, statistic, mu)
        if "_repeated" not in vars(self):
            vars(self)["_repeated"] = True
            paying, self._filter = self._filter, PrivacyFilter(2**62, self._filter.records)
            original(self, statistic, mu)
            self._filter = paying
        return answer

    return _patched(Curator, measure=measure)


def unbounded_persons() -> AbstractContextManager[None]:
    """All records of a person count."""
    return _patched(contribution_bounding, choose_lowest=lambda person, *_: np.arange(len(person)))


@contextmanager
def persons_priced_as_records() -> Iterator[None]:
    """Budget and filter price a person as if one record counted."""
    spend, split, mu = PrivacyFilter.spend, Budget.split, vars(Budget)["mu"]

    def cheap_spend(self: PrivacyFilter, mu: float, delta: float = 0.0) -> None:
        records, self.records = self.records, 1
        try:
            spend(self, mu, delta)
        finally:
            self.records = records

    def cheap_split(self: Budget, *args: Any, **kwargs: Any) -> tuple[float, ...]:
        return split(replace(self, records=1), *args, **kwargs)

    cheap_mu = property(lambda self: mu.fget(replace(self, records=1)))
    with _patched(PrivacyFilter, spend=cheap_spend), _patched(Budget, split=cheap_split, mu=cheap_mu):
        yield


def unweighted_rows() -> AbstractContextManager[None]:
    """Each row of a person in a family has the weight of the whole person."""
    return _patched(assembly, share_unit=lambda person: np.full(len(person), PARTS))


def keys_of_one() -> AbstractContextManager[None]:
    """A key that two persons have leads to one of them alone: whoever comes may take the rows of somebody else."""
    original = family_source.join_owners

    def join_last(rows: pa.Table, owners: pa.Table) -> pa.RecordBatch:
        last = owners.group_by("key").aggregate([("person", "max")]).rename_columns(["key", "person"])
        return original(rows, last)

    return _patched(family_source, join_owners=join_last)


def codes_from_rows() -> AbstractContextManager[None]:
    """A code is the rank of a value among those that occur: ranges and lists are read off the rows."""
    return _recoded(lambda codes, *_: np.unique(codes, return_inverse=True)[1])


def strict_values() -> AbstractContextManager[None]:
    """A value that the schema does not allow stops the release with an error, as a checked type would."""

    def refuse(codes: CodeArray, array: pa.Array, codec: Any) -> CodeArray:
        values = array.unique().to_pylist()
        if any(codec.code_of(value) is None and not (value is None and codec.missing is not None) for value in values):
            raise DataError("a value is not allowed by the schema")
        return codes

    return _recoded(refuse)


@contextmanager
def _recoded(change: Callable[..., Any]) -> Iterator[None]:
    """Encoders whose codes are changed afterwards."""

    def changed(original: Callable[[Any, pa.Array], CodeArray]) -> Callable[..., Any]:
        return lambda self, array: change(original(self, array), array, self).astype(np.int32)

    numeric, listed = changed(NumericCodec.encode), changed(CategoricalCodec.encode)
    with _patched(NumericCodec, encode=numeric), _patched(CategoricalCodec, encode=listed):
        yield


FAULTS: Mapping[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault("noise at 70 % of its scale", "noise", thin_noise),
        Fault("the same noise in every answer", "noise", repeated_noise),
        Fault("no noise", "noise", no_noise),
        Fault("model fitted to exact sums", "noise", exact_fit),
        Fault("sensitivity understated by sqrt(2)", "sensitivity", low_sensitivity),
        Fault("every record counted twice", "sensitivity", twofold_sums),
        Fault("filter that forgets what was spent", "accounting", forgetful_filter),
        Fault("nothing entered in the ledger", "accounting", silent_reservation),
        Fault("a question answered twice, paid once", "accounting", unpaid_question),
        Fault("all records of a person count", "people", unbounded_persons),
        Fault("a person priced as one record", "people", persons_priced_as_records),
        Fault("every row of a person weighs in full", "people", unweighted_rows),
        Fault("a key of two persons leads to one of them", "people", keys_of_one),
        Fault("codes that depend on other rows", "encoding", codes_from_rows),
        Fault("an error for values that are not allowed", "encoding", strict_values),
    )
}
"""All faults by name."""
