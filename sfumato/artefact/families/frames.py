"""From drawn rows to tables that hang together: fresh keys, and the names, order and types of the private tables."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sfumato.artefact.drawing import with_keys
from sfumato.artefact.frames import to_frame
from sfumato.fitting.families.drawn_rows import DrawnRows
from sfumato.trusted.constraints import layout_of
from sfumato.trusted.encoding.header import TEXT, FrameKind
from sfumato.trusted.families.layout import TableLayout
from sfumato.trusted.schema import FamilySchema
from sfumato.trusted.schema.family import OrderColumn

if TYPE_CHECKING:
    from sfumato.artefact.families.release import FamilyRelease


def linked_tables(
    drawn: Mapping[str, DrawnRows], schema: FamilySchema, before: Mapping[str, int], rng: np.random.Generator
) -> dict[str, pa.Table]:
    """The tables with their keys, which go on from how many rows there were `before`."""
    tables = {}
    for name, rows in drawn.items():
        own, columns = schema.tables[name], {}
        if own.key is not None:
            columns[own.key] = before[name] + 1 + np.arange(len(rows))
        if own.parent is not None:
            columns[schema.foreign_key_of(name)] = before[own.parent] + 1 + rows.parent
        if own.person is not None:
            columns[own.person] = before[schema.root] + 1 + rows.person
        if isinstance(own.order, OrderColumn) and own.order.type == "integer":
            columns[own.order.column] = 1 + rows.place
        keys = {key: pa.array(numbers, pa.int64()) for key, numbers in columns.items()}
        values = dict(zip(rows.values.column_names, rows.values.columns, strict=True))
        fresh = layout_of(schema.schema_of(name)).keys
        tables[name] = with_keys(pa.table({**keys, **values}), fresh, before[name], rng)
    return {name: tables[name] for name in schema.tables}


def to_family_frame(table: pa.Table, release: "FamilyRelease", name: str, output: FrameKind | None) -> Any:
    """One table as the kind of frame that it was, in the order of its columns."""
    header, schema = release.header[name], release.schema.schema_of(name)
    for place, column in enumerate(table.column_names):
        if column in schema.linking and header.types.get(column) == TEXT:
            table = table.set_column(place, column, table.column(column).cast(pa.string()))
    frame = to_frame(table, header, schema, output)
    order = [*(column for column in header.types if column in set(table.column_names))]
    order += [column for column in table.column_names if column not in set(order)]
    return frame[order] if (output or header.frame) == "pandas" else frame.select(order)


def with_order(table: pa.Table, layout: TableLayout) -> pa.Table:
    """A synthetic table with the column that puts rows in order, where that is not released: they are in order."""
    if layout.ordered_by is None or layout.ordered_by in table.column_names:
        return table
    place = np.arange(table.num_rows)
    match layout.table.order.type:  # type: ignore[union-attr]
        case "date":
            column = pa.array(place.astype("datetime64[D]"))
        case "datetime":
            column = pa.array(place.astype("datetime64[s]"))
        case _:
            column = pa.array(place)
    return table.append_column(layout.ordered_by, column)
