"""The same sum from every kind of storage, to the bit; bad storage is refused by its header alone."""

import datetime as dt
import gzip
import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet
import pytest

from sfumato.errors import DataError
from sfumato.fitting.mechanisms.counts.grids import fine_grid
from sfumato.trusted.encoding import Batch, Encoder
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import files, open_source
from sfumato.trusted.statistics import Cells
from tests.conftest import in_pandas, make_table


@pytest.fixture
def cells(schema):
    grids = {name: fine_grid(codes) for name, codes in Encoder(schema).columns.items()}
    return Cells(tuple((name, "ill") for name in schema.features), grids, "ill")


def as_csv(table: pa.Table) -> pa.Table:
    """The table as CSV can hold it."""
    return table.set_column(table.column_names.index("seen"), "seen", table.column("seen").cast(pa.string()))


@pytest.fixture
def storages(tmp_path, table):
    """The same records in every kind of storage that this version reads."""
    pyarrow.parquet.write_table(table, tmp_path / "one.parquet", row_group_size=37)
    folder = tmp_path / "many"
    (folder / "below").mkdir(parents=True)
    for part in range(5):
        pyarrow.parquet.write_table(
            table.slice(80 * part, 80), folder / ("below" if part % 2 else "") / f"part-{part}.parquet"
        )
    (folder / "_SUCCESS").write_text("")
    (folder / ".hidden.parquet").write_text("not for us")
    pyarrow.csv.write_csv(as_csv(table), tmp_path / "one.csv")
    text = (tmp_path / "one.csv").read_bytes()
    (tmp_path / "one.csv.gz").write_bytes(gzip.compress(text))
    (tmp_path / "bom.csv").write_bytes(b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n"))
    pyarrow.csv.write_csv(as_csv(table), tmp_path / "one.tsv", pyarrow.csv.WriteOptions(delimiter="\t"))
    frame = in_pandas(table)
    return {
        "arrow": table,
        "arrow in pieces": pa.concat_tables([table.slice(0, 1), table.slice(1, 200), table.slice(201)]),
        "arrow backwards": table.take(pa.array(np.arange(len(table))[::-1])),
        "arrow dictionaries": table.set_column(2, "job", table.column("job").dictionary_encode()),
        "record batch": table.combine_chunks().to_batches()[0],
        "dataset": pyarrow.dataset.dataset(tmp_path / "one.parquet"),
        "pandas": frame,
        "pandas categories": frame.astype({"job": "category", "ill": "category"}),
        "polars": pl.from_arrow(table),
        "polars categories": pl.from_arrow(table).with_columns(pl.col("job").cast(pl.Categorical)),
        "parquet": tmp_path / "one.parquet",
        "parquet folder": folder,
        "csv": tmp_path / "one.csv",
        "csv by name": str(tmp_path / "one.csv"),
        "csv packed": tmp_path / "one.csv.gz",
        "csv with a mark": tmp_path / "bom.csv",
        "tsv": tmp_path / "one.tsv",
    }


def test_every_storage_gives_the_same_sum_to_the_bit(storages, schema, cells):
    sums = {kind: open_source(data, schema, declared=True).sum(cells) for kind, data in storages.items()}
    reference = sums["arrow"]
    assert reference.sum() == 400 * len(cells.tables)
    for kind, total in sums.items():
        assert np.array_equal(total, reference), kind
        assert total.dtype == np.int64


def check_any_partition_gives_the_same_sum(folder, schema, statistic) -> None:
    """Threat 4: the same bits for 1, 2, 7 and 16 files, any row groups and any order of the rows."""
    table = make_table(400)
    whole = open_source(table, schema, declared=True).sum(statistic)
    backwards = table.take(pa.array(np.arange(400)[::-1]))
    assert open_source(backwards, schema, declared=True).sum(statistic).tobytes() == whole.tobytes()
    for parts in (1, 2, 7, 16):
        place = folder / str(parts)
        place.mkdir()
        for number, (start, stop) in enumerate(itertools.pairwise(np.linspace(0, 400, parts + 1).astype(int))):
            part = table.slice(start, stop - start)
            pyarrow.parquet.write_table(part, place / f"{number}.parquet", row_group_size=1 + number * 3)
        assert open_source(place, schema, declared=True).sum(statistic).tobytes() == whole.tobytes()


def test_any_partition_gives_the_same_sum(tmp_path, schema, cells):
    check_any_partition_gives_the_same_sum(tmp_path, schema, cells)


def test_a_float_sum_is_seen(tmp_path, schema, cells, monkeypatch):
    """The fault: a record's part is a fraction, and parts are added up as floats."""

    def add_floats(statistic, parts):
        total = np.zeros(sum(block.size for block in statistic.blocks))
        for batch in itertools.chain.from_iterable(parts):
            for row in range(batch.rows):
                one = Batch(1, {name: codes[row : row + 1] for name, codes in batch.codes.items()})
                total += statistic(one) / (3.0 + batch.codes["age"][row])
        return total

    monkeypatch.setattr("sfumato.trusted.sources.samples.sum_of", add_floats)
    with pytest.raises(AssertionError):
        check_any_partition_gives_the_same_sum(tmp_path, schema, cells)


def test_the_header_keeps_order_and_types_and_nothing_else(storages, schema):
    header = open_source(storages["pandas"], schema, declared=True).header
    assert list(header.types) == ["ill", "age", "job", "wage", "debt", "born", "seen", "member"]
    assert set(open_source(storages["csv"], schema, declared=True).header.types.values()) == {""}
    assert open_source(storages["arrow dictionaries"], schema, declared=True).header.types["job"] == "category"


def test_a_file_is_read_anew_for_every_sum(tmp_path, schema, cells, table):
    pyarrow.parquet.write_table(table, tmp_path / "one.parquet")
    source = open_source(tmp_path / "one.parquet", schema, declared=True)
    assert np.array_equal(source.sum(cells), source.sum(cells))


MOMENTS = [
    dt.datetime(1500, 3, 1, 12, 0, 1),
    dt.datetime(9999, 12, 31, 23, 59, 59),
    dt.datetime(2020, 3, 29, 1, 30),
    None,
]
OF_96_BITS = Schema.from_yaml("""
sfumato: 1
name: t
columns: [{name: m, type: datetime, bounds: ["1400-01-01T00:00:00", "9999-12-31T23:59:59"], missing: true}]
""")


@pytest.mark.parametrize("groups", [1, 100], ids=["one group", "many groups"])
def test_moments_of_96_bits_reach_as_far_as_others(tmp_path, groups):
    table = pa.table({"m": pa.array(MOMENTS * groups, pa.timestamp("us"))})
    path = tmp_path / "old.parquet"
    pyarrow.parquet.write_table(table, path, row_group_size=4, use_deprecated_int96_timestamps=True)
    codes = [
        [batch.codes["m"].tolist() for batch in open_source(data, OF_96_BITS, declared=True).batches(("m",))]
        for data in (path, table)
    ]
    assert sorted(itertools.chain(*codes[0])) == sorted(itertools.chain(*codes[1]))
    assert files.header_types(path) == {"m": pa.timestamp("us")}


def test_only_named_columns_are_read(tmp_path, schema, cells, table, monkeypatch):
    asked = []
    real = files._read_parquet

    def spy(storages, names):
        asked.append(names)
        return real(storages, names)

    monkeypatch.setattr(files, "_read_parquet", spy)
    pyarrow.parquet.write_table(table, tmp_path / "one.parquet")
    source = open_source(tmp_path / "one.parquet", schema, declared=True)
    source.sum(Cells((("age",),), {"age": cells.grids["age"]}, None))
    assert asked == [("age",)]


class TestRefusedByTheHeader:
    def test_a_column_that_is_not_there(self, schema, table):
        with pytest.raises(DataError, match="the table has no column 'wage'; correct the schema"):
            open_source(
                table.rename_columns([{"wage": "wages"}.get(name, name) for name in table.column_names]),
                schema,
                declared=True,
            )

    def test_a_column_that_is_there_twice(self, schema, table):
        with pytest.raises(DataError, match="more than one column 'age'"):
            open_source(table.append_column("age", table.column("age")), schema, declared=True)
        twice = pd.concat([table.to_pandas(), table.to_pandas()[["age"]]], axis=1)
        with pytest.raises(DataError, match="more than one column 'age'"):
            open_source(twice, schema, declared=True)

    def test_one_file_of_many_lacks_a_column(self, tmp_path, schema, table):
        pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
        pyarrow.parquet.write_table(table.drop(["age"]), tmp_path / "b.parquet")
        with pytest.raises(DataError, match=r"b\.parquet has no column 'age'"):
            open_source(tmp_path, schema, declared=True)

    def test_a_type_that_cannot_hold_the_values(self, schema, table):
        lists = table.set_column(1, "age", pa.array([[1]] * 400))
        with pytest.raises(DataError, match=r"stores column 'age' as list.*cannot be read as integer"):
            open_source(lists, schema, declared=True)
        dates = table.set_column(1, "age", table.column("born"))
        with pytest.raises(DataError, match="'age' as date32"):
            open_source(dates, schema, declared=True)

    def test_a_polars_object(self, schema, table):
        frame = pl.from_arrow(table).with_columns(pl.Series("age", [object()] * 400, dtype=pl.Object))
        with pytest.raises(DataError, match="'age' as Python objects of any kind"):
            open_source(frame, schema, declared=True)

    @pytest.mark.parametrize("name", ["none.parquet", "none.csv", "nowhere"])
    def test_a_path_that_leads_nowhere(self, tmp_path, schema, name):
        with pytest.raises(DataError, match="does not exist"):
            open_source(tmp_path / name, schema, declared=True)

    def test_a_folder_without_tables_or_with_two_kinds(self, tmp_path, schema, table):
        with pytest.raises(DataError, match=r"holds no \.parquet"):
            open_source(tmp_path, schema, declared=True)
        pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
        pyarrow.csv.write_csv(as_csv(table), tmp_path / "b.csv")
        with pytest.raises(DataError, match="mixes CSV and Parquet"):
            open_source(tmp_path, schema, declared=True)

    @pytest.mark.parametrize("content", [b"", b"not a table", b"PAR1\x00\x00PAR1"])
    def test_a_file_that_is_no_parquet(self, tmp_path, schema, content):
        (tmp_path / "bad.parquet").write_bytes(content)
        with pytest.raises(DataError, match="cannot be read as Parquet"):
            open_source(tmp_path / "bad.parquet", schema, declared=True)

    def test_a_csv_that_has_no_header(self, tmp_path, schema):
        (tmp_path / "empty.csv").write_bytes(b"")
        with pytest.raises(DataError, match="no column 'age'"):
            open_source(tmp_path / "empty.csv", schema, declared=True)
        (tmp_path / "bad.csv.gz").write_bytes(b"not packed")
        with pytest.raises(DataError, match="cannot be read as CSV"):
            open_source(tmp_path / "bad.csv.gz", schema, declared=True)

    def test_another_kind_of_file_or_thing(self, tmp_path, schema):
        (tmp_path / "a.ods").write_bytes(b"")
        with pytest.raises(DataError, match=r"neither \.parquet"):
            open_source(tmp_path / "a.ods", schema, declared=True)
        with pytest.raises(DataError, match="a dict cannot be released"):
            open_source({"age": [1]}, schema, declared=True)


def test_lines_that_are_no_records_are_left_out(tmp_path, schema, cells, table):
    """A ragged line of a CSV file is no record, whatever it says.

    Quoted line ends and bytes that are no text are no trouble.
    """
    pyarrow.csv.write_csv(as_csv(table), tmp_path / "good.csv")
    good = (tmp_path / "good.csv").read_text().splitlines(keepends=True)
    columns = good[0].count(",") + 1
    (tmp_path / "ragged.csv").write_text(
        "".join([*good[:200], "only,three,fields\n", ",".join(["x"] * (columns + 3)) + "\n", *good[200:]])
    )
    assert np.array_equal(
        open_source(tmp_path / "ragged.csv", schema, declared=True).sum(cells),
        open_source(tmp_path / "good.csv", schema, declared=True).sum(cells),
    )
    odd = good[1].encode().replace(b'"secret 0"', b'"two\nlines and \xff\xfe"')
    assert odd != good[1].encode()
    (tmp_path / "odd.csv").write_bytes("".join(good[:1]).encode() + odd + "".join(good[2:]).encode())
    assert np.array_equal(
        open_source(tmp_path / "odd.csv", schema, declared=True).sum(cells),
        open_source(tmp_path / "good.csv", schema, declared=True).sum(cells),
    )


def test_header_only_files_have_no_records(tmp_path, schema, cells, table):
    pyarrow.parquet.write_table(table.slice(0, 0), tmp_path / "none.parquet")
    pyarrow.csv.write_csv(as_csv(table.slice(0, 0)), tmp_path / "none.csv")
    for data in (tmp_path / "none.parquet", tmp_path / "none.csv", table.slice(0, 0), in_pandas(table.slice(0, 0))):
        assert not open_source(data, schema, declared=True).sum(cells).any()


def test_files_that_break_while_they_are_read_say_nothing(tmp_path, schema, cells):
    table = make_table(5_000)
    path = tmp_path / "broken.parquet"
    pyarrow.parquet.write_table(table, path, compression="NONE", use_dictionary=False)
    data = bytearray(path.read_bytes())
    data[4:60_000] = b"\xee" * (60_000 - 4)
    path.write_bytes(data)
    with pytest.raises(DataError, match="could not be read to its end") as error:
        open_source(path, schema, declared=True).sum(cells)
    assert error.value.__context__ is None
    assert error.value.__cause__ is None
