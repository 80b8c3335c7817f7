"""What the target of a row is, from the rows above it and the rows before it."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sfumato.artefact.families.frames import with_order
from sfumato.artefact.families.row_predictor import MOST_ROWS, RowPredictor, fit_row_predictor
from sfumato.errors import RequestError
from sfumato.fitting.families.step_mixture import StepMixture
from sfumato.fitting.models.table_mixture.labeller import Labeller
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.trusted.arrays import CodeArray, FloatArray, IntArray
from sfumato.trusted.encoding import Batch, CategoricalCodec, Codes
from sfumato.trusted.encoding.frames import kind_of, names_of, to_arrow
from sfumato.trusted.families.assembly import Linked, codes_of_view, link_rows
from sfumato.trusted.families.layout import FamilyLayout
from sfumato.trusted.families.tickets import Tickets
from sfumato.trusted.families.views import PERSONS, View

if TYPE_CHECKING:
    from sfumato.artefact.families.release import FamilyRelease

_KEY = bytes(32)  # the order of what is given is no secret
_DRAWN, _SEED = 1 << 14, 7  # persons that predictors are fitted to


def classes_of(release: "FamilyRelease", table: str) -> list[Any]:
    """The values of a table's target; None stands for missing."""
    codes = _target_codes(release, table)
    return [*(codes.words or codes.values), *([None] if codes.nullable else [])]


def _target_codes(release: "FamilyRelease", table: str) -> CategoricalCodec:
    layout, target = release.layout.tables[table], release.targets[table]
    codes = layout.codes.get(target)
    if not isinstance(codes, CategoricalCodec):
        raise RequestError(f"the target {target!r} is numeric, or follows from other columns, and has no classes")
    return codes


def predict_target(release: "FamilyRelease", tables: Mapping[str, Any], table: str) -> FloatArray:
    """Class probabilities of each row of a table (rows x classes)."""
    codes, layout = _target_codes(release, table), release.layout
    linked, places, rows = _linked(release, tables, table)
    target = f"{table}.{release.targets[table]}"
    found = np.repeat(_marginal(release, table, target, codes)[None], rows, axis=0)
    predictors = release.predictors(table, frozenset(layout.tables) - set(tables))
    for view, own in _views(release, linked, table):
        if view in predictors:
            records = _records(release, layout.views[view], linked, table, own)
            found[places[linked[table].ticket[own]]] = predictors[view].probabilities(records, len(own))
    return found


def _views(release: "FamilyRelease", linked: Linked, table: str) -> Iterator[tuple[str, IntArray]]:
    """The views that tell of a table's first rows and of its later ones, each with those rows; where there are any."""
    below = release.schema.level(table) > 2  # else first rows are in the view of persons
    place = linked[table].place
    for view, at in ((f"{table}, first" if below else PERSONS, place == 0), (f"{table}, next", place > 0)):
        if view in release.layout.views and at.any():
            yield view, np.flatnonzero(at)


def _unknown(layout: FamilyLayout, view: str, tables: frozenset[str]) -> set[str]:
    """The columns of a view that say something of these tables."""
    found = set()
    for one in layout.views[view].columns:
        child = {column: name for name, column in layout.tables[one.table].counts.items()}.get(one.column)
        if one.table in tables or child in tables:
            found.add(one.name)
    return found


def _linked(release: "FamilyRelease", tables: Mapping[str, Any], table: str) -> tuple[Linked, IntArray, int]:
    """The rows that are given, linked by their keys; of the asked table the place of each ticket, and its rows."""
    layout = release.layout
    if not isinstance(tables, Mapping):
        raise RequestError(f"a {type(tables).__name__} was given; give a dictionary with the frame of each table")
    tickets = Tickets(layout, _KEY)
    found, rows, places = {}, 0, np.zeros(0, dtype=np.int64)
    for name in layout.tables:
        if name not in tables:
            if name in layout.family.path(table):
                raise RequestError(f"the rows of {name!r} are needed as well; give a dictionary with its frame")
            found[name] = tickets.schema(name).empty_table()
            continue
        records = _read(release, name, tables[name], table)
        written, here = tickets.write(name, records, keep_all=True), np.arange(records.num_rows)
        if name == layout.family.root:  # a row without a key is nobody's
            here = np.flatnonzero(written.column("person").is_valid().to_numpy(zero_copy_only=False))
            written = written.take(pa.array(here))
        rows, places = (records.num_rows, here) if name == table else (rows, places)
        if not tickets.names_person(name):
            written = _with_persons(written, found[layout.family.tables[name].parent or ""])
        found[name] = pa.Table.from_batches([written], tickets.schema(name))
    return link_rows(layout, tickets, found), places, rows


def _with_persons(rows: pa.RecordBatch, parents: pa.Table) -> pa.RecordBatch:
    """Rows with the person of the row that they name."""
    owner = dict(zip(parents.column("key").to_pylist(), parents.column("person").to_pylist(), strict=True))
    person = pa.array([owner.get(key) for key in rows.column("parent").to_pylist()], pa.large_binary())
    return rows.set_column(0, "person", person)


def _read(release: "FamilyRelease", name: str, frame: Any, asked: str) -> pa.RecordBatch:
    """The columns of a frame that a table's rows are linked and encoded by; a target that is not there is null."""
    layout = release.layout.tables[name]
    if kind_of(frame) is None:
        raise RequestError(f"a {type(frame).__name__} is not a table; give an Arrow table, a pandas or a polars frame")
    there = set(names_of(frame))
    may_lack = {release.targets.get(name)} if name == asked else set()
    lacking = [column for column in layout.reads if column not in there and column not in may_lack]
    if lacking:
        raise RequestError(f"the rows of {name!r} have no column {lacking[0]!r}; it is needed to tell the target")
    wanted = [column for column in layout.reads if column in there]
    table = to_arrow(frame, wanted, layout.schema.ids).combine_chunks()
    columns = {column: _whole(table.column(column)) for column in wanted}
    columns |= {column: pa.nulls(table.num_rows) for column in layout.reads if column not in there}
    return pa.record_batch([columns[column] for column in layout.reads], list(layout.reads))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _records(release: "FamilyRelease", view: View, linked: Linked, table: str, own: IntArray) -> dict[str, CodeArray]:
    """The codes of a view, for these rows of a table; the view of persons is that of their first rows."""
    if view.name != PERSONS or table == view.table:
        return codes_of_view(release.layout, view, linked, own)
    return codes_of_view(release.layout, view, linked, linked[table].parent[own])


def _model_of(release: "FamilyRelease", view: str) -> TableMixture | StepMixture:
    return release.fitted.persons if view == PERSONS else release.fitted.steps[view]


def fit_predictors(release: "FamilyRelease", table: str, unknown: frozenset[str]) -> dict[str, RowPredictor]:
    """For first rows and later ones of a table, from drawn persons; `unknown` are tables that will not be given."""
    layout, target = release.layout, f"{table}.{release.targets[table]}"
    drawn = release.sample(release.most_persons(_DRAWN), seed=_SEED, output="arrow")
    tables = {name: with_order(drawn[name], layout.tables[name]) for name in layout.tables}
    linked, _, _ = _linked(release, tables, table)
    found = {}
    for view, own in _views(release, linked, table):
        own = own[:MOST_ROWS]
        records = _records(release, layout.views[view], linked, table, own)
        model, labeller = _model_of(release, view), release.fitted.labellers.get(view, {}).get(target)
        others = Batch(len(own), {name: codes for name, codes in records.items() if name != target})
        told = _told(model, labeller, others, target)[:, : _target_codes(release, table).size]
        told /= np.maximum(told.sum(axis=1, keepdims=True), 1e-300)
        left_out = {_hidden(release, layout.views[view], target), *_unknown(layout, view, unknown)}
        groups = {name: _groups(model, labeller, name) for name in others.codes if name not in left_out}
        found[view] = fit_row_predictor(others.codes, told, groups)
    return found


def _groups(model: TableMixture | StepMixture, labeller: Labeller | None, name: str) -> IntArray:
    """The cell of each code of a column, as the labeller sees it, or the model where that does not look at it."""
    grids = [grid for column, grid in labeller.model.features.grids if column == name] if labeller is not None else []
    if grids:
        return np.asarray(max(grids, key=lambda grid: grid.size).cell_of_code, dtype=np.int64)
    pieces = model.shapes[name].pieces if isinstance(model, StepMixture) else model.columns[name]
    return np.repeat(np.arange(len(pieces.starts)), np.diff(pieces.starts, append=pieces.stops[-1]))


def _hidden(release: "FamilyRelease", view: View, target: str) -> str | None:
    """The column that says how many rows will still come."""
    table, layout = view.by_name[target].table, release.layout
    if view.name == PERSONS:
        root = layout.family.root
        return None if table == root else f"{root}.{layout.tables[root].counts[table]}"
    left = f"{table} (left)"
    return left if left in view.by_name else None


def _told(model: TableMixture | StepMixture, labeller: Labeller | None, batch: Batch, target: str) -> FloatArray:
    """The probability of every code of the target given the other columns (records x codes)."""
    if isinstance(model, StepMixture):
        shape = model.shapes[target]
        cells = labeller.probabilities(batch) if labeller is not None else model.conditional(batch, target)
        held = shape.pieces.theta[0]
        share = held / np.bincount(shape.cells, weights=held)[shape.cells]
        pieces, by_piece = shape.pieces, cells[:, shape.cells] * share
    else:
        pieces = model.columns[target]
        by_piece = model.conditional(batch, target)
        if labeller is not None:
            held, classes = model.marginal(target), labeller.probabilities(batch)
            inside = pieces.groups < classes.shape[1]
            total = np.bincount(pieces.groups, weights=held)[pieces.groups]
            share = np.where(inside, held / np.maximum(total, 1e-300), 0.0)
            by_piece = classes[:, np.where(inside, pieces.groups, 0)] * share
    codes = np.zeros((batch.rows, int(pieces.stops[-1])))
    codes[:, pieces.starts] = by_piece  # a target of classes has a piece for each code
    return codes


def _marginal(release: "FamilyRelease", table: str, target: str, codes: Codes) -> FloatArray:
    """The distribution of the target of first rows, for rows that nothing is known of."""
    model: TableMixture | StepMixture = release.fitted.persons
    if f"{table}, first" in release.fitted.steps:
        model = release.fitted.steps[f"{table}, first"].column_model(target)
    assert isinstance(model, TableMixture)  # noqa: S101 - one of the two
    share = np.zeros(codes.size + 1)
    share[model.columns[target].starts] = model.marginal(target)
    own: FloatArray = share[: codes.size] / share[: codes.size].sum()
    return own
