"""What an attack on the library found, each as a test."""

import dataclasses
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pytest

import sfumato
from sfumato.archive.members import from_json, read_members, to_json, write_members
from sfumato.artefact.bundle import restore
from sfumato.artefact.check import Outcome
from sfumato.artefact.verify import verify
from sfumato.errors import BudgetError, BundleError, DataError
from sfumato.fitting.conditions import Condition
from sfumato.trusted.encoding.inference import check_inferred
from sfumato.trusted.schema import Schema

SCHEMA = Schema.from_dict(
    {
        "sfumato": 1,
        "name": "attacked",
        "columns": [
            {"name": "a", "type": "number", "bounds": [0, 1]},
            {"name": "b", "type": "category", "values": ["u", "v", "w"]},
            {"name": "y", "type": "category", "values": ["no", "yes"]},
        ],
        "target": "y",
    }
)


def table(rows: int = 2_000) -> pa.Table:
    rng = np.random.default_rng(1)
    y = rng.random(rows) < 0.3
    return pa.table(
        {
            "a": np.clip(rng.normal(0.3 + 0.3 * y, 0.1), 0, 1),
            "b": np.array(["u", "v", "w"])[rng.integers(0, 3, rows)],
            "y": np.where(y, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    return sfumato.Ledger(tmp_path_factory.mktemp("books") / "ledger.sqlite")


@pytest.fixture(scope="module")
def release(book):
    return sfumato.release(table(), SCHEMA, epsilon=2.0, ledger=book)


def outcomes(release, **more) -> dict[str, Outcome]:
    return {check.what: check.outcome for check in verify(release, **more)}


def column(**content) -> Schema:
    return Schema.from_dict({"sfumato": 1, "name": "t", "columns": [{"name": "x", **content}]})


NULL_WORDS_COUNT = {
    "a number": {"type": "number", "bounds": [0, 9], "missing": True, "otherwise": 0},
    "an integer": {"type": "integer", "bounds": [0, 9], "missing": True, "otherwise": 0},
    "a truth": {"type": "boolean", "missing": True, "otherwise": True},
    "a list": {"type": "category", "values": ["1", "2"], "missing": True, "otherwise": "1"},
    "a country": {"type": "category", "values": ["NA", "US", "other"], "otherwise": "other"},
    "no allergy": {"type": "category", "values": ["None", "nuts"], "missing": True},
    "an integer that floats round": {"type": "category", "values": [str(2**53), "1"]},
    "a time": {"type": "category", "values": ["12:30:00", "later"]},
}


@pytest.mark.parametrize("content", NULL_WORDS_COUNT.values(), ids=NULL_WORDS_COUNT)
def test_words_that_a_parser_may_take_for_nulls(content):
    """pandas keeps every NA of a column as text once a value of 64 bits or more joins it."""
    with pytest.raises(DataError, match=r"count differently here|only where all rows|is rounded"):
        check_inferred(column(**content), "pandas")


@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("kind", ["integer", "number"])
def test_where_they_count_alike_a_frame_is_accepted(kind, missing):
    check_inferred(column(type=kind, bounds=[0, 9], missing=missing), "pandas")


def test_arrow_tables_may_have_inferred_types_too(tmp_path):
    """Types that pyarrow.csv guessed: one word more, and 007 is text for all."""
    codes = column(type="category", values=["7", "007"])
    (tmp_path / "a.csv").write_text("x\n" + "007\n" * 5)
    guessed = pa.csv.read_csv(tmp_path / "a.csv")
    with pytest.raises(DataError, match="an Arrow table whose types were inferred"):
        sfumato.release(guessed, codes, epsilon=1.0, ledger=None)
    one = pa.dataset.dataset(tmp_path / "a.csv", format="csv")
    with pytest.raises(DataError, match="declare their types"):
        sfumato.release(pa.dataset.dataset([one, one]), codes, epsilon=1.0, ledger=None)


def test_the_header_of_an_arrow_table_is_chosen_too():
    whole = pa.table({"a": pa.array([0.5, 0.25], pa.float32()), "b": ["u", "v"], "y": ["no", "yes"]})
    for types, kept in ((None, ""), ("declared", "float32")):
        made = sfumato.release(whole, SCHEMA, epsilon=1.0, ledger=None, types=types)
        assert made.header.types["a"] == kept


NO_SCHEMA = """
import sys
import pyarrow as pa
from sfumato.archive.members import from_arrow_file
from sfumato.errors import BundleError

data, kinds = open(sys.argv[1], "rb").read(), set()
for byte in range(16, 64):
    changed = bytearray(data)
    for changed[byte] in range(0, 256, 3):
        try:
            first = pa.ipc.MessageReader.open_stream(pa.BufferReader(bytes(changed[8:]))).read_next_message()
        except (pa.ArrowException, OSError, EOFError):
            continue
        if first.type != "schema":
            kinds.add(first.type)
            try:
                from_arrow_file(bytes(changed), "x")
            except BundleError:
                continue
            sys.exit("read as a schema")
print(len(kinds))
"""


def test_a_message_that_is_no_schema_is_not_read_as_one(release, tmp_path):
    """Arrow checks nothing of it and dies. In a process of its own."""
    release.save(tmp_path / "whole.sfumato")
    (tmp_path / "model.arrow").write_bytes(read_members((tmp_path / "whole.sfumato").read_bytes())["model.arrow"])
    done = subprocess.run(
        [sys.executable, "-c", NO_SCHEMA, tmp_path / "model.arrow"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 1


def test_the_ledger_vouches_for_schema_and_measurements(release, book):
    assert set(outcomes(release, ledger=book).values()) == {Outcome.HOLDS}
    first, *others = release.measurements
    peeked = dataclasses.replace(first, values=first.values + 1)
    other = SCHEMA.model_copy(update={"columns": (SCHEMA.columns[1], SCHEMA.columns[0], SCHEMA.columns[2])})
    what = "statement is of this schema, header, plan and measurements"
    for forged in (
        dataclasses.replace(release, measurements=(peeked, *others)),
        dataclasses.replace(release, schema=other),
        dataclasses.replace(release, header=dataclasses.replace(release.header, frame="pandas")),
    ):
        assert outcomes(forged)[what] == Outcome.FAILS
    bolder = dataclasses.replace(release, statement=release.statement.model_copy(update={"reservation": None}))
    assert outcomes(bolder, ledger=book)["statement is in the ledger"] == Outcome.FAILS


def test_a_record_smuggled_into_the_model_does_not_pass(release):
    """One component, one part in a hundred, put on one record: near in total variation, and a leak."""
    model = release.fitted
    component = int(np.argmin(model.weights))
    weights = model.weights * 0.99
    weights[component] += 0.01
    columns = {}
    for name, pieces in model.columns.items():
        theta = pieces.theta.copy()
        theta[component] = np.eye(theta.shape[1])[0]
        columns[name] = dataclasses.replace(pieces, theta=theta)
    forged = dataclasses.replace(release, fitted=dataclasses.replace(model, weights=weights, columns=columns))
    assert outcomes(forged)["model follows from the measurements"] != Outcome.HOLDS
    other = dataclasses.replace(release, fitted=dataclasses.replace(model, weights=np.roll(model.weights, 1)))
    assert outcomes(other)["model follows from the measurements"] == Outcome.FAILS
    quiet = {name: dataclasses.replace(one, noise=np.zeros_like(one.noise)) for name, one in model.columns.items()}
    surer = dataclasses.replace(release, fitted=dataclasses.replace(model, columns=quiet))
    assert outcomes(surer)["model follows from the measurements"] != Outcome.HOLDS


def forged(release, tmp_path, **changes) -> bytes:
    """The bundle with some of its JSON members changed."""
    release.save(tmp_path / "whole.sfumato")
    members = read_members((tmp_path / "whole.sfumato").read_bytes())
    for name, change in changes.items():
        content = from_json(members[f"{name}.json"], name)
        change(content)
        members[f"{name}.json"] = to_json(content)
    with (tmp_path / "forged.sfumato").open("wb") as file:
        write_members(members, file)
    return tmp_path / "forged.sfumato"


def test_a_grid_that_stands_for_more_than_was_measured_is_refused(release, tmp_path):
    def stretch(content):
        content["plan"]["grids"][0] |= {"starts": [[0, 1, 2**30]], "cells": [[0, 1, 2**30]], "codes": 2**30}

    with pytest.raises(BundleError, match="more cells than were measured"):
        sfumato.open(forged(release, tmp_path, plan=stretch))


def test_a_part_that_is_repeated_without_end_is_refused(release, tmp_path):
    large = {"shape": [1], "int32": "A" * 200_000}

    def repeat(content):
        content["measurements"][0]["statistic"] = {"kind": "stacked", "parts": [{"features": "big"}] * 20_000}

    path = forged(release, tmp_path, parts=lambda parts: parts.update(big=large), measurements=repeat)
    with pytest.raises(BundleError, match="repeat each other too often"):
        sfumato.open(path)


def test_shared_parts_come_back():
    assert restore({"a": [{"places": "x"}]}, {"x": [1]}) == {"a": [{"places": [1]}]}


def test_runs_of_a_condition_do_not_overlap(release, tmp_path):
    with pytest.raises(ValueError, match="overlap"):
        Condition("a", ((0, 5), (4, 6)))

    def many(model):
        model["given"] = [{"column": "a", "runs": [[k, k + 1] for k in range(2**16 + 1)], "low": None, "high": None}]

    with pytest.raises(BundleError, match="too many conditions"):
        sfumato.open(forged(release, tmp_path, model=many))


def test_a_budget_without_measure_is_refused(release, tmp_path):
    with pytest.raises(BundleError):
        sfumato.open(forged(release, tmp_path, statement=lambda content: content.update(units_budget=10**400)))


@pytest.mark.parametrize(("epsilon", "records"), [(0.005, 1), (0.5, 100), (1.0, 1_000)])
def test_noise_beyond_the_lattice_is_refused_before_the_spend(epsilon, records, book):
    wide = Schema.from_dict(
        {
            "sfumato": 1,
            "name": f"wide {records}",
            "columns": [{"name": "x_{0..15}", "type": "number", "bounds": [0, 1]}, {"name": "y", "type": "boolean"}],
            "target": "y",
            "unit": {"column": "id", "records": records},
        }
    )
    rows = pa.table({**{f"x_{k}": np.zeros(50) for k in range(16)}, "y": [True] * 50, "id": list(range(50))})
    before = len(book.entries())
    with pytest.raises(BudgetError, match="too small to split"):
        sfumato.release(rows, wide, epsilon=epsilon, mechanism="subspace", ledger=book, types="declared")
    assert len(book.entries()) == before
