"""Threat 14: a token that stands in the rows shows up nowhere but behind the curator, whatever breaks."""

import subprocess
import sys
import warnings

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import sfumato
from sfumato.errors import DataError, ReleaseWarning, SfumatoError
from sfumato.trusted import redaction as discretion
from sfumato.trusted.encoding import codes, lists, reading, scales
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import batches, samples
from sfumato.trusted.statistics import Cells
from tests.conftest import make_table, without_dates
from tests.leaks import TOKEN, everything_shown


def tokened(rows: int = 200) -> pa.Table:
    """A table with the token in every column that can hold text."""
    table = make_table(rows)
    for name in ("job", "ill", "age", "wage", "born", "member"):
        values = [TOKEN if row % 7 == 0 else str(row) for row in range(rows)]
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    return table


def check_nothing_is_told(work) -> SfumatoError:
    with pytest.raises(SfumatoError) as caught:
        work()
    assert TOKEN not in everything_shown(caught.value)
    return caught.value


def fault(*_args, **_kwargs):
    raise RuntimeError(f"could not convert {TOKEN!r}")


PLACES = {
    "reading a number": (reading, "as_numbers"),
    "looking up a category": (reading, "positions"),
    "reading a truth value": (reading, "as_truth"),
    "encoding a listed column": (lists.CategoricalCodec, "encode"),
    "encoding a measured column": (scales.NumericCodec, "encode"),
    "counting": (Cells, "__call__"),
    "adding up": (samples, "sum_of"),
}


@pytest.mark.parametrize("kind", ["arrow", "pandas", "parquet"])
@pytest.mark.parametrize(("owner", "name"), PLACES.values(), ids=PLACES)
def test_an_error_among_the_rows_quotes_nothing(owner, name, kind, schema, tmp_path, monkeypatch):
    table = tokened()
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    data = {"arrow": table, "pandas": table.to_pandas().astype(object), "parquet": tmp_path / "t.parquet"}[kind]
    monkeypatch.setattr(owner, name, fault)
    if name in ("as_numbers",):  # kept by the codes from when they were imported
        monkeypatch.setitem(scales._HANDS, "integer", (float, fault, scales._write_whole))
        monkeypatch.setattr(codes, "_codes_like", codes._codes_like.__wrapped__)  # no codes from before
    error = check_nothing_is_told(lambda: sfumato.release(data, schema, epsilon=1.0, ledger=None, types="declared"))
    assert isinstance(error, DataError)


@pytest.mark.parametrize("mechanism", ["tables", "mixture"])
def test_nor_does_one_while_public_features_are_read(mechanism, tmp_path):
    """The target is private all the same, and a query may fail on it."""
    columns = [{"name": name, "type": "number", "bounds": [0, 50]} for name in "xz"]
    columns.append({"name": "y", "type": "category", "values": ["0", "1"]})
    content = {"sfumato": 1, "name": "t", "columns": columns, "target": "y", "public_features": True}
    with duckdb.connect(tmp_path / "t.duckdb") as connection:
        connection.execute(
            f"create table t as select i % 50 x, i % 40 z, if(i = 7, '{TOKEN}', '1') y from range(300) as rows(i)"
        )
    data = sfumato.Database(tmp_path / "t.duckdb", query="select * from t where cast(y as int) >= 0")
    schema = Schema.from_dict(content)
    settings = {"epsilon": 1.0, "adjacency": "label", "mechanism": mechanism}
    error = check_nothing_is_told(lambda: sfumato.release(data, schema, **settings))
    assert isinstance(error, DataError)
    assert "counts epsilon 1" in error.__notes__[0]


def test_the_class_of_an_error_may_be_made_of_a_row(schema, monkeypatch):
    def raise_a_class_of_its_own(*_):
        raise type(TOKEN, (ValueError,), {})

    monkeypatch.setattr(Cells, "__call__", raise_a_class_of_its_own)
    error = check_nothing_is_told(
        lambda: sfumato.release(tokened(), schema, epsilon=1.0, ledger=None, types="declared")
    )
    assert "(ValueError)" in str(error)


def test_the_error_is_the_same_on_neighbours(schema, monkeypatch):
    monkeypatch.setattr(Cells, "__call__", fault)
    texts = {
        str(check_nothing_is_told(lambda t=t: sfumato.release(t, schema, epsilon=1.0, ledger=None, types="declared")))
        for t in (tokened(), tokened(199))
    }
    assert len(texts) == 1


def test_an_error_that_quotes_a_row_is_seen(monkeypatch, schema):
    """The check has teeth: with discretion taken off, the token is told."""
    monkeypatch.setattr(discretion, "redact_errors", lambda work: work)
    monkeypatch.setattr(batches.StreamSource, "sum", lambda self, statistic: fault())
    monkeypatch.setattr("sfumato.trusted.sources.memory.MemorySource.sum", lambda self, statistic: fault())
    with pytest.raises(RuntimeError) as caught:
        sfumato.release(tokened(), schema, epsilon=1.0, ledger=None, types="declared")
    assert TOKEN in everything_shown(caught.value)

    def careless():
        try:
            fault()
        except RuntimeError as error:
            raise DataError("the table cannot be read") from error

    with pytest.raises(AssertionError):
        check_nothing_is_told(careless)


def test_a_release_tells_nothing_of_a_row(schema, tmp_path, capfd, recwarn):
    """Output, log, warnings, bundle, report, ledger: not a byte of the token, not one warning."""
    bundle = tmp_path / "b.sfumato"
    stages = []
    release = sfumato.release(
        tokened(), schema, epsilon=1.0, ledger=tmp_path / "l.sqlite", progress=stages.append, types="declared"
    )
    release.save(bundle)
    from sfumato.reports.public import public_report

    output = capfd.readouterr()
    everything = [
        output.out.encode(),
        output.err.encode(),
        bundle.read_bytes(),
        (tmp_path / "l.sqlite").read_bytes(),
        public_report(release).encode(),
        " ".join(stages).encode(),
        " ".join(str(one.message) for one in recwarn).encode(),
        release.sample(2_000, output="pandas").to_csv().encode(),
    ]
    assert all(TOKEN.encode() not in part for part in everything)
    assert [one for one in recwarn if one.category is not ReleaseWarning] == []


@pytest.mark.parametrize("command", ["release", "release of a broken file"])
def test_the_command_line_tells_nothing_of_a_row(schema, tmp_path, command):
    table = tokened(3_000)
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(table, path, compression="NONE", use_dictionary=False)
    if "broken" in command:
        data = bytearray(path.read_bytes())
        data[200:6_000] = b"\xee" * 5_800
        path.write_bytes(data)
    (tmp_path / "s.yaml").write_text(schema.to_yaml())
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "sfumato",
            "release",
            str(path),
            "--schema",
            str(tmp_path / "s.yaml"),
            "--epsilon",
            "1",
            "--out",
            str(tmp_path / "b"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == (2 if "broken" in command else 0)
    assert TOKEN not in run.stdout + run.stderr
    assert "3000" not in run.stdout + run.stderr  # nor the number of rows
    assert "Traceback" not in run.stderr


def test_warnings_among_the_rows_are_swallowed(recwarn):
    frame = make_table(100).to_pandas()
    frame["age"] = np.where(np.arange(100) % 2, 1e308, np.nan)
    frame["wage"] = pd.Series([np.inf, np.nan] * 50)
    sfumato.release(frame, without_dates(), epsilon=1.0, ledger=None, types="declared")
    assert [one for one in recwarn if one.category is not ReleaseWarning] == []


def test_values_that_numpy_would_warn_of_are_quiet():
    """A warning would tell that such a value is there."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isinf(discretion.redact_errors(lambda: np.ones(1) / np.zeros(1))()).all()
