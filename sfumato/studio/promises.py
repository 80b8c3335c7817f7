"""What a release would promise and cost, before it is made, and a mark of all that the custodian was shown."""

import hashlib
import json
from dataclasses import asdict, dataclass

from sfumato.artefact.statement import PrivacyStatement
from sfumato.bookkeeping.accounts import describe_accounts
from sfumato.planning.families import plan_of_family
from sfumato.planning.request import check_request
from sfumato.studio.tables import Terms
from sfumato.trusted.ledger import Ledger
from sfumato.trusted.schema import FamilySchema
from sfumato.trusted.schema.file import AnySchema


@dataclass(frozen=True)
class Promise:
    """One release that is asked for.

    words      the promise, as the statement of the release will word it
    protects   one record, or one person
    accounts   what the ledger says of the dataset, a sentence for each way of counting
    fits       the largest epsilon that all limits still allow; None where there is no limit
    mark       changes with schema, terms, and every entry that the ledger gets for this dataset
    """

    dataset: str
    words: str
    protects: str
    mechanism: str
    accounts: tuple[str, ...]
    fits: float | None
    mark: str

    def is_allowed(self, terms: Terms) -> bool:
        """Whether the ledger allows it now, as far as can be told; the release itself asks the ledger again."""
        return self.fits is None or terms.epsilon <= self.fits


def make_promise(schema: AnySchema, terms: Terms, book: Ledger) -> Promise:
    """What a release on these terms would promise. Raises an error of `sfumato.errors` for what none takes."""
    if isinstance(schema, FamilySchema):
        planned = plan_of_family(schema, 1, terms.epsilon, terms.delta, terms.adjacency)
        budget, adjacency, mechanism = planned.budget, planned.adjacency, "family"
    else:
        request = check_request(schema, 1, terms.epsilon, terms.delta, terms.mechanism, terms.adjacency)
        budget, adjacency, mechanism = request.budget, request.adjacency, request.mechanism
        _ = request.mechanism_plan  # what it refuses is refused here
    statement = PrivacyStatement.of(
        (),
        contents="",
        dataset=schema.name,
        mechanism=mechanism,
        adjacency=adjacency,
        budget=budget,
        seeded=False,
        reservation=None,
        unit=schema.unit,
        tables=tuple(schema.tables) if isinstance(schema, FamilySchema) else None,
    )
    unit = schema.unit.column if schema.unit else None
    entries = [entry.hash for entry in book.entries() if entry.dataset == schema.name]
    shown = json.dumps([schema.to_dict(), asdict(terms), entries[-1:], book.place], sort_keys=True)
    return Promise(
        schema.name,
        statement.promise,
        statement.protects,
        mechanism,
        tuple(describe_accounts(book, schema.name)),
        book.epsilon_that_fits(schema.name, terms.delta, adjacency, unit),
        hashlib.sha256(shown.encode()).hexdigest()[:32],
    )
