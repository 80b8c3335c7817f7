"""From a user's request to the curator: check the terms, reserve the budget, open the table, hand out the curator.

Everything that one release needs of the private side is put together here, so that what asks for measurements cannot
put it together wrongly.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from sfumato.errors import RequestError
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.constraints import layout_of
from sfumato.trusted.curator import Curator
from sfumato.trusted.encoding import Header
from sfumato.trusted.ledger.purpose import UNSAID, Purpose
from sfumato.trusted.noise import SecureNoise, SeededNoise
from sfumato.trusted.privacy_filter import PrivacyFilter
from sfumato.trusted.reservation import LedgerLike, Reservation
from sfumato.trusted.schema import FamilySchema, Schema
from sfumato.trusted.sources import Source, open_source
from sfumato.trusted.sources.family_opening import open_family

Types = Literal["declared"] | None


@dataclass(frozen=True)
class Terms:
    """What a release promises, and to whom: fixed before any record is read.

    types    "declared": the custodian set the type of every column of a frame, the rows did not
    ledger   where the spending is written down
    purpose  who spends and why, for the ledger alone
    seed     of the noise, for tests and studies; such a release is marked as not private
    """

    schema: Schema | FamilySchema
    budget: Budget
    adjacency: Adjacency
    types: Types
    ledger: LedgerLike
    seed: int | None
    purpose: Purpose = UNSAID


def check_terms(
    schema: Schema | FamilySchema,
    epsilon: float,
    delta: float,
    adjacency: str,
    types: str | None,
    ledger: LedgerLike,
    seed: int | None,
    delta_keys: float = 0.0,
    purpose: Purpose = UNSAID,
) -> Terms:
    """Refuse what cannot be kept, before anything is opened. The budget is for all records of a person that count.

    `delta_keys` of delta is set aside for lists of values that are to be discovered.
    """
    if purpose.purpose is not None and ledger is None:
        raise RequestError("a purpose is written into the ledger, and there is none; name a ledger, or leave it out")
    if types not in (None, "declared"):
        raise RequestError(f'types is {types!r}; say "declared", or leave it out')
    if adjacency not in list(Adjacency):
        raise RequestError(f"adjacency is {adjacency!r}; use one of {', '.join(Adjacency)}")
    if isinstance(schema, FamilySchema):
        if adjacency == Adjacency.LABEL:
            raise RequestError(
                "label adjacency is not for families of tables: the target of a row is among what is measured of the "
                "next one; choose add-remove or replace"
            )
        budget = Budget(epsilon, delta, schema.unit.records, delta_keys)
        return Terms(schema, budget, Adjacency(adjacency), "declared" if types else None, ledger, seed, purpose)
    if adjacency == Adjacency.LABEL and schema.target is None:
        raise RequestError(
            "label adjacency protects the target, and the schema names none; name one or choose add-remove"
        )
    if adjacency == Adjacency.LABEL and layout_of(schema).target_moves_a_feature:
        raise RequestError(
            f"a constraint measures another column by its distance from the target {schema.target!r}, which label "
            "adjacency protects; turn the constraint round, or choose add-remove"
        )
    if adjacency == Adjacency.LABEL and schema.unit and schema.public_features:
        raise RequestError(
            "public_features are handed over record by record, and with a unit a secret key draws the records that "
            "count; remove one of the two from the schema"
        )
    budget = Budget(epsilon, delta, schema.unit.records if schema.unit else 1, delta_keys)
    return Terms(schema, budget, Adjacency(adjacency), "declared" if types else None, ledger, seed, purpose)


@dataclass(frozen=True)
class Session:
    """One release while it runs: what it may ask, what its table looked like, and its entry in the ledger."""

    curator: Curator
    header: Header | Mapping[str, Header]
    reservation: Reservation
    private: bool  # the noise is that of the operating system's cryptographic source


@contextmanager
def open_session(data: Any, terms: Terms, mechanism: str) -> Iterator[Session]:
    """Open the table, enter the whole budget in the ledger, then hand out a curator that can spend no more than it.

    Formal guarantees
        No record is read before the ledger holds the whole budget. The curator's filter holds the same budget, so the
        measurements together are (epsilon, delta)-differentially private for one change of the adjacency.
    Edge cases
        Whatever stops the release after the entry carries a note that the budget counts as spent.
    """
    schema, budget = terms.schema, terms.budget
    noise = SecureNoise() if terms.seed is None else SeededNoise(terms.seed)
    with Reservation(terms.ledger, schema.name, budget) as reservation, ExitStack() as opened:
        declared = terms.types == "declared"  # by the custodian, not by the rows
        source: Source
        public: tuple[str, ...] = ()
        if isinstance(schema, FamilySchema):
            source = open_family(data, schema, noise.key(), declared=declared)
        else:
            source = open_source(data, schema, noise.key(), declared=declared)
            public = layout_of(schema).measured.features if schema.public_features else ()
        opened.callback(source.close)
        unit = schema.unit.column if schema.unit else None
        reservation.enter(terms.adjacency, mechanism, not noise.private, unit, terms.purpose)
        privacy_filter = PrivacyFilter(budget.units, budget.records, budget.delta_keys)
        curator = Curator(source, terms.adjacency, privacy_filter, noise, public)
        opened.pop_all()
        opened.callback(curator.close)  # which closes the source that it uses then
        yield Session(curator, source.header, reservation, noise.private)
