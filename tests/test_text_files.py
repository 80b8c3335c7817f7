"""A sample as CSV looks as the private table did, and is read back as it was drawn."""

import datetime as dt
import io

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import RequestError
from sfumato.table_files import single as table_files
from sfumato.table_files.text import TextWriter
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source

SCHEMA = Schema.from_yaml("""
sfumato: 1
name: office
columns:
  - {name: Größe, type: number, bounds: [0, 1.0e+9], missing: true}
  - {name: stufe, type: category, values: [0.5, 1.5]}
  - {name: ort, type: category, values: [Köln, 'a;"b', "x\\ny"], missing: true}
  - {name: geboren, type: date, bounds: [1950-01-01, 2020-12-31], missing: true}
  - {name: gesehen, type: datetime, bounds: [2020-01-01T00:00:00, 2020-12-31T23:59:00]}
  - {name: krank, type: boolean}
types: {gesehen: zone Europe/Berlin}
text:
  {separator: ";", encoding: cp1252, decimal: ",", thousands: ".", units: [kg], dates: "%d.%m.%Y",
   datetimes: "%d.%m.%Y %H:%M:%S"}
""")
TYPES = [
    *(pa.float64(), pa.float64(), pa.string(), pa.date32(), pa.timestamp("us", "Europe/Berlin"), pa.bool_()),
]


def table_of(rows: list[tuple]) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table(
        {name: pa.array(column, kind) for name, column, kind in zip(SCHEMA.by_name, columns, TYPES, strict=True)}
    )


def written(*tables: pa.Table, schema: Schema = SCHEMA) -> bytes:
    file = io.BytesIO()
    writer = TextWriter(file, tables[0].column_names, schema)
    for table in tables:
        writer.write_table(table)
    writer.close()
    return file.getvalue()


ROW = (1234.5, 0.5, "Köln", dt.date(2021, 9, 4), dt.datetime(2020, 1, 3, 8, 15), True)


def test_it_looks_as_an_office_writes_it():
    rows = table_of([ROW, (None, 1.5, None, None, dt.datetime(2020, 1, 3), False)])
    assert written(rows).decode("cp1252").splitlines() == [
        "Größe;stufe;ort;geboren;gesehen;krank",
        "1234,5;0.5;Köln;04.09.2021;03.01.2020 08:15:00;true",
        ";1.5;;;03.01.2020 00:00:00;false",
    ]


ROWS = st.tuples(
    st.none() | st.floats(0, 1e9),
    st.sampled_from([0.5, 1.5]),
    st.sampled_from([None, "Köln", 'a;"b', "x\ny"]),
    st.none() | st.dates(dt.date(1950, 1, 1), dt.date(2020, 12, 31)),
    st.datetimes(dt.datetime(2020, 1, 1), dt.datetime(2020, 12, 31)).map(lambda one: one.replace(microsecond=0)),
    st.booleans(),
)


@given(st.lists(ROWS, min_size=1, max_size=5), st.sampled_from(["cp1252", "utf-8", "utf-16"]))
def test_it_is_read_back_as_it_was(tmp_path_factory, rows, encoding):
    path = tmp_path_factory.getbasetemp() / "back.csv"
    schema = SCHEMA.model_copy(update={"text": SCHEMA.text.model_copy(update={"encoding": encoding})})
    table = table_of(rows)
    path.write_bytes(written(table, schema=schema))
    names, encoder = tuple(SCHEMA.by_name), Encoder(schema)
    (back,) = open_source(path, schema).batches(names)
    was = encoder.encode(table.to_batches()[0])
    again = encoder.encode(table_files.read(path, schema).combine_chunks().to_batches()[0])
    for name in names:
        assert back.codes[name].tolist() == was.codes[name].tolist() == again.codes[name].tolist()


def test_what_the_encoding_cannot_write_is_refused_at_once():
    columns = [{"name": "a", "type": "category", "values": ["x", "Łódź"]}]
    schema = Schema.from_dict(SCHEMA.to_dict() | {"columns": columns, "types": {}})
    with pytest.raises(RequestError, match="'Łódź' cannot be written in cp1252"):
        TextWriter(io.BytesIO(), ["a"], schema)


def test_without_a_format_a_csv_file_is_what_it_was(tmp_path, table, schema):
    plain = table_files.open_writer(io.BytesIO(), table.schema, schema, ".csv")
    assert isinstance(plain, pyarrow.csv.CSVWriter)
