"""What the target of a row is, from the rows above it and the rows before it."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

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
    kept = linked[table]
    below = layout.family.level(table) > 2  # else first rows are in the view of persons
    for view, at in ((f"{table}, first" if below else PERSONS, kept.place == 0), (f"{table}, next", kept.place > 0)):
        own = np.flatnonzero(at)
        if view in layout.views and len(own):
            records = _records(release, layout.views[view], linked, table, own)
            told = _tell(release, layout.views[view], target, records, _unknown(layout, view, tables))
            found[places[kept.ticket[own]]] = told[:, : codes.size]
    return found


def _unknown(layout: FamilyLayout, view: str, tables: Mapping[str, Any]) -> set[str]:
    """The columns of a view that say something of tables which are not given, and are summed out."""
    found = set()
    for one in layout.views[view].columns:
        child = {column: name for name, column in layout.tables[one.table].counts.items()}.get(one.column)
        if one.table not in tables or (child is not None and child not in tables):
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


def _tell(
    release: "FamilyRelease", view: View, target: str, records: dict[str, CodeArray], unknown: set[str]
) -> FloatArray:
    """The probability of every code of the target, with what comes after the row summed out.

    So is what is not known; but a labeller, which needs all columns, gets the likeliest value of each.
    """
    model: TableMixture | StepMixture = (
        release.fitted.persons if view.name == PERSONS else release.fitted.steps[view.name]
    )
    labeller = release.fitted.labellers.get(view.name, {}).get(target)
    rows = len(records[target])
    known = {name: codes for name, codes in records.items() if name != target and name not in unknown}
    if labeller is not None:
        others = Batch(rows, dict(known))
        known |= {name: _likeliest(model, others, name) for name in unknown}
    total = np.zeros((rows, _size(model, target)))
    for weight, batch in _futures(release, model, view, target, known, rows):
        total += weight[:, None] * _told(model, labeller, batch, target)
    found: FloatArray = total / np.maximum(total.sum(axis=1, keepdims=True), 1e-300)
    return found


def _likeliest(model: TableMixture | StepMixture, others: Batch, name: str) -> CodeArray:
    """The first code of the likeliest cell of a column, for each record."""
    starts = _first_codes(model, name)
    codes: CodeArray = starts[model.conditional(others, name).argmax(axis=1)].astype(np.int32)
    return codes


def _first_codes(model: TableMixture | StepMixture, name: str) -> IntArray:
    """Of every cell of a column as the model tells it."""
    if not isinstance(model, StepMixture):
        return np.asarray(model.columns[name].starts, dtype=np.int64)
    shape = model.shapes[name]
    return np.array([shape.pieces.starts[np.flatnonzero(shape.cells == cell)[0]] for cell in range(shape.grid.size)])


def _size(model: TableMixture | StepMixture, target: str) -> int:
    if isinstance(model, StepMixture):
        return model.shapes[target].grid.codes
    return int(model.columns[target].stops[-1])


def _futures(
    release: "FamilyRelease",
    model: TableMixture | StepMixture,
    view: View,
    target: str,
    known: Mapping[str, CodeArray],
    rows: int,
) -> Iterator[tuple[FloatArray, Batch]]:
    """What is known with every number of rows that may still come, and the probability of each."""
    hidden = _hidden(release, view, target)
    if hidden is None:
        yield np.ones(rows), Batch(rows, known)
        return
    others = Batch(rows, {name: codes for name, codes in known.items() if name != hidden})
    if isinstance(model, StepMixture):
        share = model.conditional(others, hidden)
        typical = _first_codes(model, hidden).tolist()
    else:
        pieces = model.columns[hidden]
        by_piece = model.conditional(others, hidden)
        octave = np.unique(np.rint(2 * np.log2(pieces.starts + 1.0)), return_inverse=True)[1]
        share = np.stack([by_piece[:, octave == one].sum(axis=1) for one in range(octave.max() + 1)], axis=1)
        typical = [int(pieces.starts[np.flatnonzero(octave == one)[0]]) for one in range(octave.max() + 1)]
        share = share * _may_be(release, view, target, np.array(typical))
    share = share / np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
    for place, code in enumerate(typical):
        yield share[:, place], Batch(rows, {**known, hidden: np.full(rows, code, dtype=np.int32)})


def _hidden(release: "FamilyRelease", view: View, target: str) -> str | None:
    """The column that says how many rows will still come."""
    table, layout = view.by_name[target].table, release.layout
    if view.name == PERSONS:
        root = layout.family.root
        return None if table == root else f"{root}.{layout.tables[root].counts[table]}"
    left = f"{table} (left)"
    return left if left in view.by_name else None


def _may_be(release: "FamilyRelease", view: View, target: str, codes: IntArray) -> FloatArray:
    """A person whose first row is there has at least one."""
    least = release.schema.rows_of(view.by_name[target].table)[0]
    return (codes + least >= 1).astype(np.float64)


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
