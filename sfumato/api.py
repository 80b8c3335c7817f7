"""What a custodian runs: from a private table and a schema to a release."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Unpack, overload

from sfumato.artefact.families.quality import smallest_family_group
from sfumato.artefact.families.release import FamilyRelease
from sfumato.artefact.questions import quality_of
from sfumato.artefact.release import Release
from sfumato.artefact.statement import PrivacyStatement, hash_contents
from sfumato.artefact.warnings import warn_of
from sfumato.errors import ReleaseWarning
from sfumato.fitting.completion.plan import delta_of_lists, plan_completion
from sfumato.fitting.completion.tuning import COMPLETION_TUNING
from sfumato.fitting.devices import CPU
from sfumato.fitting.families.plan import plan_family
from sfumato.fitting.families.release import release_family
from sfumato.fitting.families.tuning import FAMILY, FAMILY_TUNING
from sfumato.fitting.mechanisms.choice import Settings, check_settings, choose_mechanism, refuse_for_family
from sfumato.fitting.mechanisms.mechanism import check_device_of, find_mechanism
from sfumato.fitting.stored_plan import StoredPlan
from sfumato.fitting.tuning import current_constants
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import DEFAULT_DELTA
from sfumato.trusted.constraints import layout_of
from sfumato.trusted.encoding import Header
from sfumato.trusted.families import family_layout_of
from sfumato.trusted.ledger.purpose import check_purpose
from sfumato.trusted.reservation import LedgerLike
from sfumato.trusted.schema import FamilySchema, Schema
from sfumato.trusted.schema.file import read_schema
from sfumato.trusted.session import Session, Terms, check_terms, open_session


class Options(Settings, total=False):
    """What may be said of a release besides; see `release`."""

    delta: float
    mechanism: str
    adjacency: Adjacency | str
    ledger: LedgerLike
    types: Literal["declared"] | None
    seed: int | None
    device: str
    purpose: str | None
    who: str | None
    progress: Callable[[str], None]


@overload
def release(data: Any, schema: Schema, *, epsilon: float, **options: Unpack[Options]) -> Release: ...


@overload
def release(data: Any, schema: FamilySchema, *, epsilon: float, **options: Unpack[Options]) -> FamilyRelease: ...


@overload
def release(
    data: Any, schema: Mapping[str, Any] | str | Path, *, epsilon: float, **options: Unpack[Options]
) -> Any: ...


def release(
    data: Any,
    schema: Schema | FamilySchema | Mapping[str, Any] | str | Path,
    *,
    epsilon: float,
    delta: float = DEFAULT_DELTA,
    mechanism: str = "auto",
    adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
    ledger: LedgerLike = "default",
    types: Literal["declared"] | None = None,
    components: int | None = None,
    anonymize: str | None = None,
    approximate: str | None = None,
    adapt: str | None = None,
    share: float | None = None,
    seed: int | None = None,
    device: str = CPU,
    purpose: str | None = None,
    who: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Release | FamilyRelease:
    """Release the distribution of a private table, or of a family of tables.

    data        a path to Parquet or CSV, or a folder of them, here or in the cloud, or to .zip, .xlsx, .npz or .npy; an
                Arrow table or dataset; a pandas, polars or Spark frame; a table or query of a `sfumato.Database`.
                Of a family: a dictionary of these by table, a folder with a file for each table, a workbook, or the
                path or address of a database
    schema      the public knowledge of the table, a dictionary of it, or the path of its YAML file; `sfumato: 2` and
                `tables:` make it a family
    epsilon, delta   the whole budget; nothing is spent on the side. Bounds and lists of values that the schema wants
                estimated or discovered are paid for out of it
    mechanism   "tables"; "mixture", Gaussians for up to 32 numeric columns; "subspace", Gaussians for hundreds of them;
                "slices", histograms along directions, for generators to train on;
                "3a", whose three parts are chosen by name, see docs/framework.md;
                or "auto": a subspace for 64 numeric columns or more with one category at most, as target, else tables
    adjacency   "add-remove" (one record more or less), "replace" or "label"
    components  the most Gaussians that a mixture without a category as target gets; noisy counts say how many
    anonymize, approximate, adapt   the parts of "3a": what leaves the curator ("tables", "slices", "kernel"), the model
                fitted to it ("mixture", "generator"), and what makes it predict the target ("gradients", "leaves",
                "released", "none"); by default the first of each
    share       of the budget that "3a" keeps for `adapt`, above 0 and below 1; by default as much as `tables` does
    types       of a pandas or polars frame: "declared" says that you set the type of every column yourself, so that the
                rows did not decide it. Else only columns that inference cannot change are accepted, see docs/values.md
    ledger      where the spending is written down: a `sfumato.Ledger`, its file, or `postgresql://host/database`; by
                default the user's ledger (`$SFUMATO_LEDGER`); None: nowhere
    seed        for tests and studies: the release is then marked "seeded: not private" for good
    device      where the model is fitted: "cuda" makes wide tables faster where there is a GPU and torch, for mechanism
                "tables"; on another kind of computer `verify` then cannot check the model to rounding
    purpose, who     why, and on whose account (by default the user's name): your words, one line each, which must
                not come from the rows. They are written into the ledger; the release and its bundle do not hold them
    progress    called with a few words when a stage begins

    Formal guarantees
        The release is (epsilon, delta)-differentially private for one change of the adjacency: it is a function of
        measurements that went through the curator, whose costs add up to the budget at most, and of public values.
        Unless it is seeded.
    Edge cases
        Bad input raises an error of `sfumato.errors` before anything is reserved or read. Whatever the rows hold - none
        at all, nulls, infinities, values that are not in the schema - is no error: the same path, the same spend, the
        same type. Whatever stops it later - storage that breaks, Ctrl-C - carries a note that the spend counts.
        An epsilon above 10, a delta above 1 over the noisy number of records, fewer records than the noise bears: a
        `ReleaseWarning`, which depends on public values alone.
    Example
        >>> import pyarrow as pa
        >>> schema = sfumato.Schema.from_yaml("{sfumato: 1, name: rain, columns: [{name: wet, type: boolean}]}")
        >>> release = sfumato.release(pa.table({"wet": [True, False, True]}), schema, epsilon=1.0, ledger=None)
        >>> release.sample(5).num_rows
        5
    """
    schema = read_schema(schema)
    settings = Settings(components=components, anonymize=anonymize, approximate=approximate, adapt=adapt, share=share)
    if isinstance(schema, FamilySchema):
        refuse_for_family(mechanism, settings, device)
        purposed = check_purpose(who, purpose)
        terms = check_terms(schema, epsilon, delta, adjacency, types, ledger, seed, purpose=purposed)
        return _release_family(data, schema, terms, progress)
    chosen = choose_mechanism(mechanism, layout_of(schema).measured)
    terms = check_terms(
        schema,
        epsilon,
        delta,
        adjacency,
        types,
        ledger,
        seed,
        delta_keys=delta_of_lists(schema, delta),
        purpose=check_purpose(who, purpose),
    )
    checked = check_settings(chosen, settings)
    used = find_mechanism(chosen)
    check_device_of(used, device)
    completion = plan_completion(schema, terms.budget)
    for guess in completion.guesses:
        plan = used.build_plan(
            layout_of(guess).measured, completion.rest, terms.adjacency, checked
        )  # what it refuses costs nothing yet
    stored = StoredPlan(plan.to_dict(), checked, current_constants(used.tuning))
    _warn(warn_of(terms.budget.epsilon, terms.budget.delta))
    with open_session(data, terms, chosen) as session:
        if not schema.is_complete:
            asked, schema = schema, completion.ask(session.curator, progress)
            session.curator.adopt(schema)
            plan = used.build_plan(layout_of(schema).measured, completion.rest, terms.adjacency, checked)
            constants = current_constants((*used.tuning, *COMPLETION_TUNING))
            stored = StoredPlan(plan.to_dict(), checked, constants, asked.to_dict())
        model = used.release(session.curator, plan, progress, device)
        measurements = session.curator.measurements
        assert isinstance(session.header, Header)  # noqa: S101 - a single table has one
        statement = _statement(session, terms, schema, chosen, stored)
        released = Release(schema, session.header, statement, stored, measurements, model)
    with suppress(Exception):  # it is made and paid for: whatever happens now must not lose it
        _warn(warn_of(0.0, terms.budget.delta, released.size, quality_of(released).smallest_group))
    return released


def _release_family(data: Any, schema: FamilySchema, terms: Terms, progress: Callable[[str], None]) -> FamilyRelease:
    layout = family_layout_of(schema)
    plan = plan_family(layout, terms.budget, terms.adjacency)  # what it refuses costs nothing yet
    stored = StoredPlan(plan.to_dict(), {}, current_constants(FAMILY_TUNING))
    _warn(warn_of(terms.budget.epsilon, terms.budget.delta))
    with open_session(data, terms, FAMILY) as session:
        model = release_family(session.curator, plan, layout, progress)
        measurements = session.curator.measurements
        assert not isinstance(session.header, Header)  # noqa: S101 - a family has one for each table
        statement = _statement(session, terms, schema, FAMILY, stored)
        released = FamilyRelease(schema, session.header, statement, stored, measurements, model)
    with suppress(Exception):  # it is made and paid for: whatever happens now must not lose it
        _warn(warn_of(0.0, terms.budget.delta, released.size, smallest_family_group(released), "person"))
    return released


def _statement(
    session: Session, terms: Terms, schema: Schema | FamilySchema, mechanism: str, stored: StoredPlan
) -> PrivacyStatement:
    """What is promised of all that came through the curator, entered in the ledger as done."""
    measurements = session.curator.measurements
    statement = PrivacyStatement.of(
        measurements,
        contents=hash_contents(schema, session.header, stored, measurements),
        dataset=schema.name,
        mechanism=mechanism,
        adjacency=terms.adjacency,
        budget=terms.budget,
        seeded=not session.private,
        reservation=session.reservation.hash,
        unit=schema.unit,
        tables=tuple(schema.tables) if isinstance(schema, FamilySchema) else None,
    )
    session.reservation.commit(statement.hash)
    return statement


def _warn(found: Iterable[str]) -> None:
    for words in found:
        warnings.warn(words, ReleaseWarning, stacklevel=3)
