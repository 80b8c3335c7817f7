"""From arrays to a release: with bounds that are known, or with bounds that are bought first."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.api import release
from sfumato.artefact.release import Release
from sfumato.artefact.statement import Before, PrivacyStatement, hash_measurements
from sfumato.fitting.mechanisms.mixture.plan import plan_mixture
from sfumato.sklearn.private_bounds import PUBLIC_BOX, Purchase, estimate_bounds
from sfumato.sklearn.public_inputs import schema_of, target_of, values_of
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.budget import Budget
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.noise import SecureNoise, SeededNoise
from sfumato.trusted.reservation import LedgerLike, Reservation
from sfumato.trusted.schema import Schema

_BOTH = "mixture within bought bounds"


@dataclass(frozen=True, eq=False)
class Records:
    """The private arrays, beside the public names of their columns and classes."""

    X: FloatArray
    codes: NDArray[np.int32] | None
    names: tuple[str, ...]
    classes: NDArray[Any] | None

    def table(self) -> pa.Table:
        """The records as a table that has the columns of the schema."""
        columns = dict(zip(self.names, self.X.T, strict=True))
        if self.classes is not None:
            columns[target_of(self.names)] = pa.array(values_of(self.classes)).take(pa.array(self.codes))
        return pa.table(columns)

    def schema(self, dataset: str, bounds: FloatArray) -> Schema:
        """What is public about the table, within these bounds."""
        return schema_of(dataset, self.names, bounds, self.classes)


@dataclass(frozen=True)
class Terms:
    """On which terms records are released. All public."""

    budget: Budget
    adjacency: Adjacency
    components: int | None
    dataset: str
    ledger: LedgerLike
    seed: int | None


@dataclass(frozen=True, eq=False)
class Released:
    """A release, the bounds of its columns, what was bought before it, and the statement of all that was spent."""

    release: Release
    statement: PrivacyStatement
    bounds: FloatArray
    bought: tuple[Measurement, ...] = ()


def release_within(records: Records, terms: Terms, bounds: FloatArray) -> Released:
    """Release a mixture within public bounds."""
    made = _mixture(records, terms, bounds, terms.budget, terms.ledger)
    return Released(made, made.statement, bounds)


def release_with_bought_bounds(records: Records, terms: Terms, share: float) -> Released:
    """Spend a share of mu squared on bounds and the rest on a mixture within them.

    Formal guarantees
        Both together are (epsilon, delta)-differentially private: see `Purchase`. The ledger reserves the whole budget
        at once, before a record is touched. The statement lists every measurement of both; that of the release itself
        lists the mixture's and promises both together, because a bundle of it shows the bounds.
    Edge cases
        What the mixture would refuse is refused before the bounds are paid for.
    """
    budget, adjacency = terms.budget, terms.adjacency
    purchase = Purchase.of(budget, share)
    widest = np.tile(PUBLIC_BOX, (len(records.names), 1))
    plan_mixture(records.schema(terms.dataset, widest), purchase.rest, adjacency, terms.components)

    noise = SecureNoise() if terms.seed is None else SeededNoise(-1 - terms.seed)  # other noise than the mixture's
    with Reservation(terms.ledger, terms.dataset, budget) as reservation:
        reservation.enter(adjacency, _BOTH, not noise.private)
        bounds, bought = estimate_bounds(records.X, purchase, adjacency, noise)
        made = _mixture(records, terms, bounds, purchase.rest, None)
        what = "bounds that were bought from the same records"
        before = Before(what=what, contents=hash_measurements(bought), units=purchase.units, epsilon=budget.epsilon)
        known = made.statement.model_copy(update={"reservation": reservation.hash, "before": before})
        made = replace(made, statement=known)
        statement = PrivacyStatement.of(
            (*bought, *made.measurements),
            contents=known.contents,
            dataset=terms.dataset,
            mechanism=_BOTH,
            adjacency=adjacency,
            budget=budget,
            seeded=not noise.private,
            reservation=reservation.hash,
        )
        reservation.commit(known.hash)  # of the statement that a bundle of the release holds
    return Released(made, statement, bounds, bought)


def _mixture(records: Records, terms: Terms, bounds: FloatArray, budget: Budget, ledger: LedgerLike) -> Release:
    return release(
        records.table(),
        records.schema(terms.dataset, bounds),
        epsilon=budget.epsilon,
        delta=budget.delta,
        mechanism="mixture",
        types="declared",  # floats and codes, as `Records` made them
        adjacency=terms.adjacency,
        components=terms.components,
        ledger=ledger,
        seed=terms.seed,
    )
