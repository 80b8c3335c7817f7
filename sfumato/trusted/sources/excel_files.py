"""Excel workbooks (.xlsx): one sheet, its header in the first row, each cell a value of its own kind.

Excel stores no type of a column, so none is guessed: every cell is a number, a text, a truth value or a date by itself,
as in a pandas frame of objects, and the schema says how to read it. `stays.xlsx#2023` is the sheet of that name, else
the first visible one is read.

Edge cases
    A formula counts as the value that was stored with it. An empty cell and an empty text are nulls, a row without any
    value is no record, and what stands right of the header is not read. A cell that holds an error (#N/A) is that text.
"""

import datetime as dt
import importlib
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.errors import DataError
from sfumato.trusted.encoding.cells import cells_of
from sfumato.trusted.encoding.header import check_columns, header_of_arrow
from sfumato.trusted.encoding.objects import id_of_object
from sfumato.trusted.redaction import public_name
from sfumato.trusted.schema import Schema, text_of
from sfumato.trusted.sources.batches import ROWS_AT_ONCE, Parts, StreamSource
from sfumato.trusted.sources.locations import Location
from sfumato.trusted.sources.sums import alone

_WORKBOOK = re.compile(r"(?P<path>.+\.xlsx)(?:#(?P<sheet>.+))?", re.IGNORECASE | re.DOTALL)
_MOST_ROWS = 1 << 20  # of a sheet, by Excel's own rule
_MIDNIGHT = dt.time()


def is_workbook(where: str | Path) -> bool:
    """Whether a path or an address leads to a workbook, or to a sheet of one."""
    return _WORKBOOK.fullmatch(str(where)) is not None


def of_workbook(where: str | Path, schema: Schema) -> StreamSource:
    """The source of one sheet. It is read once and kept in memory: a sheet has a million rows at most.

    Edge cases
        No such file or sheet, a column that the header lacks, no openpyxl: `DataError`. Only the header is read.
    """
    sheet = Sheet(where)
    names = sheet.names
    check_columns(names, schema, str(sheet))
    untyped = pa.schema([(name, pa.null()) for name in names])
    table = _Table(sheet, schema)
    return StreamSource(header_of_arrow(untyped, schema), schema, table.read)


def header_types(where: str | Path) -> dict[str, pa.DataType]:
    """The columns of a sheet, which declare no types."""
    return dict.fromkeys(filter(None, Sheet(where).names), pa.null())


class Sheet:
    """One sheet of a workbook, row by row."""

    def __init__(self, where: str | Path) -> None:
        found = _WORKBOOK.fullmatch(str(where))
        if found is None:
            raise DataError(f"{where} is no .xlsx file; correct its name")
        self._file, self._title = Location.of(found["path"]), found["sheet"]

    def __str__(self) -> str:
        return str(self._file) if self._title is None else f"{self._file}#{self._title}"

    @property
    def names(self) -> list[str]:
        """What stands in the first row, as text; it ends where it is empty."""
        _ = self._file.files  # is there such a file?
        try:
            with self._rows() as rows:
                return _without_blank_end([_name(cell) for cell in next(rows, ())])
        except DataError:
            raise
        except Exception as error:  # noqa: BLE001 - of XML and archives in many kinds
            kind = public_name(type(error))
        raise DataError(
            f"{self} cannot be read as an Excel workbook ({kind}); check the file, and save it anew in Excel"
        )

    def records(self) -> Iterator[tuple[object, ...]]:
        """The rows below the header that hold anything, with a value or None for each of its columns."""
        width = len(self.names)
        blank = (None,) * width
        with self._rows() as rows:
            for cells in islice(rows, 1, _MOST_ROWS):
                record = (*map(_value, cells[:width]), *blank[len(cells) :])
                if record != blank:
                    yield record

    @contextmanager
    def _rows(self) -> Iterator[Iterator[tuple[object, ...]]]:
        """All rows as they are stored. openpyxl warns of dates that are none, and quotes them: nobody may hear it."""
        with warnings.catch_warnings(), self._file.system.open_input_file(self._file.path) as file:
            warnings.simplefilter("ignore")
            workbook = _library().load_workbook(file, read_only=True, data_only=True, keep_links=False)
            try:
                sheet = self._sheet_of(workbook)
                sheet.reset_dimensions()  # what a file says of its own size may be wrong
                yield sheet.iter_rows(min_row=1, min_col=1, values_only=True)
            finally:
                workbook.close()

    def _sheet_of(self, workbook: Any) -> Any:
        sheets = workbook.worksheets
        found = [one for one in sheets if self._title == one.title or (self._title is None and _is_visible(one))]
        if not found:
            raise DataError(f"{self._file} has no visible sheet, or none of that name; check its {len(sheets)} sheets")
        return found[0]


class _Table:
    """The records of a sheet in the columns that a schema reads."""

    def __init__(self, sheet: Sheet, schema: Schema) -> None:
        self._sheet, self._names = sheet, schema.read
        self._ids = schema.ids

    def read(self, names: tuple[str, ...]) -> Parts:
        """See `StreamSource`."""
        return alone(batch.select(list(names)) for batch in self._batches)

    @cached_property
    def _batches(self) -> list[pa.RecordBatch]:
        header = self._sheet.names
        places = [header.index(name) for name in self._names]
        records, batches = self._sheet.records(), []
        while rows := list(islice(records, ROWS_AT_ONCE)):
            columns = [
                self._column(name, [row[at] for row in rows]) for name, at in zip(self._names, places, strict=True)
            ]
            batches.append(pa.RecordBatch.from_arrays(columns, list(self._names)))
        return batches

    def _column(self, name: str, values: list[object]) -> pa.Array:
        if name in self._ids:
            return pa.array(map(id_of_object, values), pa.large_binary())
        return cells_of(values)


def _is_visible(sheet: Any) -> bool:
    return bool(sheet.sheet_state == "visible")


def _without_blank_end(names: list[str]) -> list[str]:
    while names and not names[-1]:
        names = names[:-1]
    return names


def _name(cell: object) -> str:
    if cell is None:
        return ""
    return text_of(cell) if isinstance(cell, str | int | float) else str(_value(cell))


def _value(cell: object) -> object:
    """A moment at midnight is a day: Excel stores both alike."""
    if isinstance(cell, dt.datetime) and cell.time() == _MIDNIGHT:
        return cell.date()
    return None if cell == "" else cell


def _library() -> Any:
    try:
        return importlib.import_module("openpyxl")
    except ImportError:
        raise DataError(
            "Excel files need openpyxl, which is not installed; run: pip install 'sfumato[excel]'"
        ) from None
