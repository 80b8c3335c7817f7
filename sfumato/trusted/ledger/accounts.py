"""What entries add up to, and what a limit refuses.

Adjacencies are different currencies, and so are records and persons. A limit is set in one of them, and every release
is held against it by what it gives there (`held_against`); a release that gives nothing there is refused.

A release that discovers lists of values costs a delta besides its units (`thresholds`). Deltas add up, and what is
left of a limit's delta buys the units that may be spent. Such a delta says nothing of two changes at once, so that the
release is refused under a limit that would need that.

Sums are in units of mu squared, which add up exactly; epsilons do not. What people read is in epsilon: `Account` has
what was spent and what is left in it, and a refusal says the largest epsilon that still fits.
"""

import decimal
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import assert_never

from sfumato.errors import BudgetExceededError
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import DEFAULT_DELTA, epsilon_of, units_bought
from sfumato.trusted.ledger.entries import Entry, PrivacyUnit
from sfumato.trusted.privacy_filter import UNITS_PER_MU_SQUARED, mu_of_units

_FOUR_DIGITS_DOWN = decimal.Context(prec=4, rounding=decimal.ROUND_DOWN)


def held_against(release: PrivacyUnit, limit: PrivacyUnit) -> int | None:
    """What a unit of mu squared in one currency counts in another; None where it promises nothing there.

    To replace a record is to remove one and add one, so mu-GDP for add-remove is 2 mu-GDP for replace (group privacy:
    Dong, Roth and Su 2019, theorem 2.14) and costs four times as much. To change a label is one way to replace.

    A release by person, and one record. One that comes or goes, or takes another label, is of one person, who may have
    others before and after: that person is replaced. One that is replaced may also take another id, and then two
    persons are: one loses a record and one gains it. So against a limit by record under replace mu doubles once more.
    A release by record bounds nobody's records, and promises nothing to persons.
    """
    if release == limit:
        return 1
    if limit.unit not in (None, release.unit):
        return None
    match limit.adjacency:
        case Adjacency.REPLACE:
            persons = 1 if release.unit == limit.unit else 2
        case Adjacency.ADD_REMOVE | Adjacency.LABEL:
            persons = 1
        case _:
            assert_never(limit.adjacency)
    match release.adjacency:
        case Adjacency.ADD_REMOVE:
            return (2 * persons) ** 2
        case Adjacency.REPLACE | Adjacency.LABEL:
            return persons**2 if limit.adjacency in (release.adjacency, Adjacency.LABEL) else None
        case _:
            assert_never(release.adjacency)


@dataclass(frozen=True)
class Account:
    """What a ledger says of one dataset in one currency, in units; `limit` is None where nobody set one.

    `uncounted` are releases in another currency that promise nothing in this one. `delta` is what lists of values cost
    besides; it makes the limit smaller.
    """

    dataset: str
    currency: PrivacyUnit
    spent: int
    limit: int | None
    limit_as_set: tuple[float, float] | None
    releases: int
    unfinished: int
    uncounted: int
    delta: float = 0.0

    @property
    def at_delta(self) -> float:
        """The delta at which epsilons of this account are told: the limit's, or 1e-6 without one."""
        return self.limit_as_set[1] if self.limit_as_set else DEFAULT_DELTA

    @property
    def epsilon_spent(self) -> float:
        """What all releases together promise at `at_delta`; infinite where lists of values have used up that delta."""
        for_noise = self.at_delta - self.delta
        if for_noise <= 0:
            return math.inf
        return epsilon_of(mu_of_units(self.spent), for_noise) if self.spent else 0.0

    def units_left(self, delta: float = 0.0) -> int | None:
        """The units that the limit still allows to a release with a delta for lists; None without a limit."""
        if self.limit is None:
            return None
        together = _sum_up((self.delta, delta))
        return max(0, (self.limit_with(together) if together else self.limit) - self.spent)

    @property
    def epsilon_left(self) -> float | None:
        """What one more release in this currency may promise at `at_delta` by this limit; None without a limit."""
        left = self.units_left()
        return None if left is None else largest_epsilon(0 if self.uncounted else left, self.at_delta)

    def limit_with(self, delta: float) -> int:
        """The units that the limit allows where so much of its delta goes to lists of values."""
        return units_bought(*self.limit_as_set, delta) if self.limit_as_set else 0


def accounts_of(entries: Sequence[Entry], dataset: str) -> list[Account]:
    """The accounts of one dataset: one for each currency that was ever used or limited."""
    own = [entry for entry in entries if entry.dataset == dataset]
    used = {entry.currency for entry in own if entry.is_limit or entry.is_reservation}
    order = list(Adjacency)
    in_order = sorted(used, key=lambda currency: (currency.unit or "", order.index(currency.adjacency)))
    return [_account(own, dataset, currency) for currency in in_order]


def _account(own: Sequence[Entry], dataset: str, currency: PrivacyUnit) -> Account:
    limits = [entry for entry in own if entry.is_limit and entry.currency == currency]
    reserved = [entry for entry in own if entry.is_reservation]
    done = [entry for entry in own if entry.kind == "commit"]
    factors = [_factor(entry.currency, currency, entry.delta) for entry in reserved]
    last = json.loads(limits[-1].detail) if limits else None
    delta = _sum_up(entry.delta for entry, factor in zip(reserved, factors, strict=True) if factor)
    found = Account(
        dataset=dataset,
        currency=currency,
        spent=sum(entry.units * (factor or 0) for entry, factor in zip(reserved, factors, strict=True)),
        limit=limits[-1].units if limits else None,
        limit_as_set=(last["epsilon"], last["delta"]) if last else None,
        releases=len(done),
        unfinished=len(reserved) - len(done),
        uncounted=factors.count(None),
        delta=delta,
    )
    return replace(found, limit=found.limit_with(delta)) if delta and limits else found


def _factor(release: PrivacyUnit, limit: PrivacyUnit, delta: float) -> int | None:
    """`held_against`; of a release with a delta only where one change here is one change there."""
    factor = held_against(release, limit)
    return factor if factor == 1 or not delta else None


def _sum_up(deltas: Iterable[float]) -> float:
    """The sum, rounded up."""
    exact = sum(map(Fraction, deltas), Fraction(0))
    return float(exact) if Fraction(float(exact)) >= exact else math.nextafter(float(exact), 1.0)


@dataclass(frozen=True)
class Request:
    """What a release would spend: units in a currency, `delta_keys` besides; `epsilon` and `delta` are for words."""

    currency: PrivacyUnit
    units: int
    delta_keys: float = 0.0
    epsilon: float | None = None
    delta: float = DEFAULT_DELTA


def refuse_beyond(accounts: Sequence[Account], request: Request) -> None:
    """Raise `BudgetExceededError` if a release would go beyond a limit, or cannot be held against it.

    Formal guarantees
        Where it returns, each limit is at least what was spent by its account and what the release counts there, and
        every release of the dataset counts there: by composition all of them together keep the limit's promise.
    """
    for account in accounts:
        left = account.units_left(request.delta_keys)
        if left is None:
            continue
        factor = _factor(request.currency, account.currency, request.delta_keys)
        if factor is None or account.uncounted:
            raise _refused(
                account,
                "does not cover a release under another adjacency or unit, which gives no guarantee for it",
                request.units,
                left,
            )
        if factor * request.units > left:
            raise _refused(account, f"does not allow {_too_much(request, accounts)}", factor * request.units, left)


def _refused(account: Account, words: str, requested: int, left: int) -> BudgetExceededError:
    return BudgetExceededError(
        f"the {account.currency} limit of dataset {account.dataset!r} {words}; nothing was read",
        requested=requested / UNITS_PER_MU_SQUARED,
        remaining=left / UNITS_PER_MU_SQUARED,
    )


def _too_much(request: Request, accounts: Sequence[Account]) -> str:
    """What was asked for, and what a custodian could still ask for."""
    release = "this release" if request.epsilon is None else f"this release of epsilon {request.epsilon:g}"
    largest = epsilon_that_fits(accounts, request.currency, request.delta, request.delta_keys)
    if not largest:
        return f"{release}: nothing is left; the largest epsilon that still fits is 0"
    return f"{release}: the largest epsilon that still fits is {largest:g} at delta {request.delta:g}"


def epsilon_that_fits(
    accounts: Sequence[Account], currency: PrivacyUnit, delta: float, delta_keys: float = 0.0
) -> float | None:
    """The largest epsilon of one more release that all limits of a dataset allow; None where there is no limit."""
    units = []
    for account in accounts:
        left, factor = account.units_left(delta_keys), _factor(currency, account.currency, delta_keys)
        if left is not None:
            units.append(0 if factor is None or account.uncounted else left // factor)
    return largest_epsilon(min(units), delta, delta_keys) if units else None


def largest_epsilon(units: int, delta: float, delta_keys: float = 0.0) -> float:
    """The largest epsilon of four digits that costs no more than these units at this delta; 0 where nothing fits."""
    for_noise = delta - delta_keys
    exact = epsilon_of(mu_of_units(units), for_noise) if units > 0 and for_noise > 0 else 0.0
    nearest = float(f"{exact:.4g}")
    if nearest and units_bought(nearest, delta, delta_keys) > units:
        return float(_FOUR_DIGITS_DOWN.create_decimal_from_float(exact))
    return nearest
