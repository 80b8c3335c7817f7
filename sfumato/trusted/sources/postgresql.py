"""A PostgreSQL server as a stream of Arrow batches, through ADBC."""

import decimal
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import cached_property

import pyarrow as pa

from sfumato.trusted.encoding.cells import cells_of
from sfumato.trusted.encoding.reading import family
from sfumato.trusted.sources.batches import ROWS_AT_ONCE
from sfumato.trusted.sources.sql import driver, header, quote, select

# Text comes as UTF-8, whatever the server stores; only bytes of no known encoding stay as they are.
_ENCODING = "case current_setting('server_encoding') when 'SQL_ASCII' then 'SQL_ASCII' else 'UTF8' end"
_BEGIN = (
    "begin transaction isolation level repeatable read, read only",
    "set local idle_in_transaction_session_timeout to 0",  # a model may be fitted between two sums
    f"select set_config('client_encoding', {_ENCODING}, true)",
)
# Without zeros at the end of a fraction; trim_scale is newer than many servers.
_DIGITS = (
    "case scale({0}::numeric) when 0 then {0}::numeric::text "
    "else rtrim(rtrim(nullif({0}::numeric, 'NaN')::text, '0'), '.') end"
)


class PostgreSQL:
    """See `Connection`. How libpq finds a password, a service or a certificate is its own business.

    Edge cases, what is read
        numeric, money              a float64, as from any decimal; infinite and NaN as they are. As the id of a person
                                    all its digits
        char(n), uuid, an enum      text, of char(n) without the blanks at its end
        a domain                    what lies under it
        an infinite day or moment   one before or after all others
        other types                 refused where the schema names the column
    """

    def __init__(self, address: str, rows: str, ids: Collection[str] = ()) -> None:
        self._connection = driver("adbc_driver_postgresql.dbapi").connect(address, autocommit=True)
        self._rows, self._ids = rows, ids

    def begin(self) -> None:
        """See `Connection`."""
        with self._connection.cursor() as cursor:
            for statement in _BEGIN:
                cursor.execute(statement)

    @cached_property
    def _fields(self) -> list[pa.Field]:
        with self._connection.cursor() as cursor:
            cursor.execute(header(self._rows))
            return list(cursor.fetch_record_batch().schema)

    @property
    def columns(self) -> list[tuple[str, pa.DataType]]:
        """See `Connection`."""
        return [(field.name, self._plainly(field)[1]) for field in self._fields]

    def read(self, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """See `Connection`."""
        ways = {field.name: self._plainly(field) for field in self._fields}
        expressions = [ways[name][0].format(quote(name)) for name in names]
        with self._connection.cursor() as cursor:
            cursor.execute(select(expressions, self._rows))
            for batch in cursor.fetch_record_batch():
                for start in range(0, batch.num_rows, ROWS_AT_ONCE):
                    part = batch.slice(start, ROWS_AT_ONCE)
                    columns = [_as(ways[name][1], column) for name, column in zip(names, part.columns, strict=True)]
                    yield pa.RecordBatch.from_arrays(columns, list(names))

    def _plainly(self, field: pa.Field) -> tuple[str, pa.DataType]:
        """How a column of this declared type is asked for, and the plain type that it then has."""
        declared = (field.metadata or {}).get(b"POSTGRESQL:type", b"").decode()
        if declared in ("numeric", "money"):
            if field.name in self._ids:
                return _DIGITS, pa.string()
            return "{}::numeric::text", pa.float64()
        if declared == "uuid" or (family(field.type) == "text" and declared != "bytea"):
            return "{}::text", pa.string()
        if family(field.type) in ("day", "moment"):  # the driver takes infinity for a day long ago
            return "case {0} when 'infinity' then '20000-01-01' else {0} end", field.type
        return "{}", field.type

    def beside(self, rows: str, ids: Collection[str]) -> "PostgreSQL":
        """See `Connection`."""
        other = object.__new__(PostgreSQL)
        other._connection = self._connection
        other._rows, other._ids = rows, ids
        return other

    def close(self) -> None:
        """See `Connection`."""
        with suppress(Exception):
            self._connection.close()


def _as(storage: pa.DataType, column: pa.Array) -> pa.Array:
    """A number that had to come as text is a number again, with all of its digits."""
    if not (pa.types.is_float64(storage) and family(column.type) == "text"):
        return column
    distinct = column.dictionary_encode()
    numbers = cells_of(map(decimal.Decimal, distinct.dictionary.to_pylist()))
    return pa.DictionaryArray.from_arrays(distinct.indices, numbers)
