"""Files by address, through pyarrow's file systems; secrets have no place in one."""

import gzip

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

from sfumato.errors import DataError, RequestError
from sfumato.fitting.mechanisms.counts.grids import fine_grid
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.sources import open_source
from sfumato.trusted.sources.files import header_types
from sfumato.trusted.sources.locations import Location, is_address, redact_address, refuse_credentials
from sfumato.trusted.statistics import Cells
from tests.sources.test_sources import as_csv


@pytest.fixture
def cells(schema):
    grids = {name: fine_grid(codes) for name, codes in Encoder(schema).columns.items()}
    return Cells((("age", "ill"), ("job", "ill")), grids, "ill")


@pytest.fixture
def folder(tmp_path, table):
    (tmp_path / "rows" / "year=2024").mkdir(parents=True)
    pyarrow.parquet.write_table(table.slice(0, 150), tmp_path / "rows" / "a.parquet")
    pyarrow.parquet.write_table(table.slice(150), tmp_path / "rows" / "year=2024" / "b.parquet")
    for hidden in ("_temporary", ".old"):
        (tmp_path / "rows" / hidden).mkdir()
        pyarrow.parquet.write_table(table, tmp_path / "rows" / hidden / "c.parquet")
    pyarrow.csv.write_csv(as_csv(table), tmp_path / "one.csv")
    (tmp_path / "one.csv.gz").write_bytes(gzip.compress((tmp_path / "one.csv").read_bytes()))
    return tmp_path


@pytest.mark.parametrize("name", ["rows", "one.csv", "one.csv.gz"])
def test_an_address_and_a_path_lead_to_the_same_records(folder, schema, cells, table, name):
    expected = open_source(table, schema, declared=True).sum(cells)
    for where in (folder / name, f"file://{folder / name}"):
        assert np.array_equal(open_source(where, schema, declared=True).sum(cells), expected)
    assert set(header_types(f"file://{folder / name}")) == set(table.column_names)


def test_hidden_folders_hide_what_is_in_them(folder):
    names = [file.path.removeprefix(str(folder)) for file in Location.of(folder / "rows").files]
    assert names == ["/rows/a.parquet", "/rows/year=2024/b.parquet"]


def test_a_hidden_folder_that_is_named_is_read(folder, schema, cells, table):
    assert np.array_equal(
        open_source(folder / "rows" / ".old", schema, declared=True).sum(cells),
        open_source(table, schema, declared=True).sum(cells),
    )


@pytest.mark.parametrize(
    "address",
    [
        "s3://AKIA:topsecret@bucket/rows",
        "s3://bucket/rows?access_key=x&secret_key=topsecret",
        "abfs://account:topsecret@container/rows",
        "hdfs://anna:topsecret@host/rows",
        "abfs://container@account/rows?client_secret=topsecret",
        "gs://bucket/rows?access_token=topsecret",
        "s3://AKIA:half/topsecret@bucket/rows.parquet",
        "https://account.blob/rows.parquet?sp=r&sig=topsecret",
        "s3://bucket/rows?credentials=topsecret",
        "gs://bucket/rows?scheme=http&Access=topsecret",
        "abfs://container@account/rows?sig=topsecret",
    ],
)
def test_an_address_holds_no_secret(address, schema):
    with pytest.raises(RequestError, match=r"holds a password or key, .* leave it out") as refused:
        open_source(address, schema, declared=True)
    assert "topsecret" not in str(refused.value)


NEARLY = [
    "jdbc:postgresql://anna:topsecret@host/db",
    "jdbc:postgresql://host/db?user=anna&password=topsecret",
    "jdbc:sqlserver:host;user=anna;Password = topsecret",
    "host=host password=topsecret dbname=x",
    "password=topsecret",
    "postgresql:/anna:topsecret@host/db",
    "anna:topsecret@host/rows.parquet",
    "anna:topsecret@host/" + 5_000 * "x",
]


@pytest.mark.parametrize("where", NEARLY, ids=range(len(NEARLY)))
def test_what_is_nearly_an_address_is_no_path_to_be_quoted(where, schema):
    for work in (
        lambda: open_source(where, schema, declared=True),
        lambda: header_types(where),
        lambda: refuse_credentials(where),
    ):
        with pytest.raises(RequestError, match="is no path here, and looks like the address of a server") as refused:
            work()
        assert "topsecret" not in str(refused.value)
    assert redact_address(where) == "what is given"


def test_a_path_may_look_odd(folder, schema, cells, table):
    expected = open_source(table, schema, declared=True).sum(cells)
    for name in ("key=3", "a:b@c", "x password=1"):
        odd = (folder / "rows").rename(folder / name)
        assert np.array_equal(open_source(str(odd), schema, declared=True).sum(cells), expected)
        odd.rename(folder / "rows")
    with pytest.raises(DataError, match=r"rows/key=3/token=4 does not exist"):
        open_source("rows/key=3/token=4", schema, declared=True)


@pytest.mark.parametrize(
    "address",
    [
        "s3://bucket/rows?region=eu-west-1&scheme=http&endpoint_override=host:9000",
        "abfs://container@account.dfs.core.windows.net/rows",
        "s3a://bucket/x=1/part-?.parquet",
        "s3://bucket/t=10:00/a@b.parquet?region=eu-west-1",
        "file:///data/2024-01-01T10:00/ann@clinic.csv",
        "s3a://bucket/year=202?/month=7/rows.parquet",
    ],
)
def test_an_address_may_say_where(address):
    refuse_credentials(address)


def test_errors_quote_neither_user_nor_options():
    assert redact_address("abfs://container@account/a?enable_tls=true") == "abfs://account/a"
    assert redact_address("s3://bucket/rows#secret_key=1") == redact_address("s3://bucket/rows") == "s3://bucket/rows"
    assert redact_address("rows/what?@.csv") == "rows/what?@.csv"


@pytest.mark.parametrize("address", ["nowhere://bucket/rows", "ftp://host/rows.csv"])
def test_an_address_of_no_known_kind_is_refused(address, schema):
    with pytest.raises(DataError, match="cannot be reached"):
        open_source(address, schema, declared=True)


def test_what_is_an_address():
    assert is_address("s3://bucket/key")
    assert not is_address("rows/a.parquet")
    assert not is_address("C:/rows/a.parquet")
    assert is_address("postgresql://host/db")
