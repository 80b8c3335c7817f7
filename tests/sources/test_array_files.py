"""Numpy files: an array for each run of columns, or all columns in one."""

import contextlib
import zipfile

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import DataError
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source
from tests.mechanisms.test_subspace import NAMES, records, table, wide_schema

SCHEMA = wide_schema()


def answers(data, schema=SCHEMA):
    made = sfumato.release(
        data, schema, epsilon=1, delta=1e-5, mechanism="subspace", ledger=None, seed=1, types="declared"
    )
    return [one.values for one in made.measurements]


def same(one, other) -> bool:
    return all(np.array_equal(mine, theirs) for mine, theirs in zip(one, other, strict=True))


@pytest.fixture(scope="module")
def rows():
    x, y = records(800)
    return x, np.array(["a", "b", "c"])[y], table(x, y)


@pytest.mark.parametrize("name", ["x", "x_", "x_{0..29}"])
def test_an_archive_gives_what_the_table_gives(rows, tmp_path, name):
    x, label, plain = rows
    np.savez_compressed(tmp_path / "a.npz", **{name: x.reshape(800, 5, 6), "y": label, "more": np.arange(3)})
    assert same(answers(tmp_path / "a.npz"), answers(plain))


def test_one_array_gives_what_the_table_gives(rows, tmp_path):
    x, _, _ = rows
    schema = wide_schema(target=False)
    np.save(tmp_path / "a.npy", x)
    plain = pa.table({name: x[:, j] for j, name in enumerate(NAMES)})
    assert same(answers(tmp_path / "a.npy", schema), answers(plain, schema))


def test_types_that_somebody_chose_come_back(rows, tmp_path):
    x, label, _ = rows
    np.savez(tmp_path / "a.npz", x=x.astype(np.float32), y=label)
    made = sfumato.release(
        tmp_path / "a.npz", SCHEMA, epsilon=1, delta=1e-5, mechanism="subspace", ledger=None, seed=1, types="declared"
    )
    assert made.sample(3, output="arrow").schema.field("x_0").type == pa.float32()


def test_only_headers_are_read_before_a_sum(rows, tmp_path, monkeypatch):
    x, label, _ = rows
    np.savez(tmp_path / "a.npz", x=x, y=label)
    monkeypatch.setattr(
        "sfumato.trusted.sources.array_files.npy.read_array", lambda *_, **__: pytest.fail("a row was read")
    )
    assert list(open_source(tmp_path / "a.npz", SCHEMA, declared=True).header.types) == [*NAMES, "y"]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"y": np.zeros(5, dtype=int)}, "has no array 'x'"),
        ({"x": np.zeros((5, 30))}, "has no array 'y'"),
        ({"x": np.zeros((5, 29)), "y": np.zeros(5)}, "has 29 columns, and 'x_{0..29}' has 30"),
        ({"x": np.zeros((5, 30)), "y": np.zeros(4)}, "different numbers of records"),
        ({"x": np.zeros((5, 30)), "y": np.zeros((5, 2))}, "has 2 columns, and 'y' has 1"),
        ({"x": np.zeros((5, 30), dtype=complex), "y": np.zeros(5)}, "other things than numbers"),
        ({"x": np.zeros((5, 30), dtype=">f8"), "y": np.zeros(5)}, "another byte order"),
        ({"x": np.zeros((5, 30), dtype=np.longdouble), "y": np.zeros(5)}, "more than 64 bits"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_spent(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(DataError, match=message):
        open_source(tmp_path / "a.npz", SCHEMA, declared=True)


def test_a_file_without_records_takes_the_same_path(tmp_path):
    """Whether there are any is private: no error may tell."""
    np.savez(tmp_path / "a.npz", x=np.zeros((0, 30)), y=np.zeros(0, dtype="<U1"))
    assert same(answers(tmp_path / "a.npz"), answers(table(*records(0))))
    np.save(tmp_path / "a.npy", np.zeros((0, 30)))
    schema = wide_schema(target=False)
    assert same(answers(tmp_path / "a.npy", schema), answers(table(records(0)[0], None), schema))


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_layout_of_an_array_does_not_matter(rows, tmp_path, order):
    x, label, plain = rows
    np.savez(tmp_path / "a.npz", x=np.array(x, order=order), y=label)
    assert same(answers(tmp_path / "a.npz"), answers(plain))


def test_objects_are_never_loaded(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.zeros((5, 30)), y=np.array([{"a": 1}] * 5, dtype=object))
    with pytest.raises(DataError, match="other things than numbers"):
        open_source(tmp_path / "a.npz", SCHEMA, declared=True)


@pytest.mark.parametrize("name", ["a.npz", "a.npy"])
def test_what_is_no_numpy_file_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"nothing of the kind")
    with pytest.raises(DataError, match="cannot be read as a numpy file"):
        open_source(tmp_path / name, SCHEMA, declared=True)
    with pytest.raises(DataError, match="does not exist"):
        open_source(tmp_path / "missing.npz", SCHEMA, declared=True)


POINTS = [[0x61, 0, 0], [0x61, 0, 0x62], [0x61, 0, 0x63], [0xD800, 0, 0], [0xDFFF, 0, 0], [0x61, 0xD800, 0]]
POINTS += [[0x7FFFFFFF, 0, 0], [0xFFFFFFFF, 0, 0], [0x110000, 0, 0], [0xFFFD, 0, 0], [0x10FFFF, 0xE000, 0], [0, 0, 0]]
TEXTS = np.array(POINTS, np.uint32).view("<U3")[:, 0]
WORDS = {"sfumato": 1, "name": "t", "columns": [{"name": "w", "type": "category", "values": ["b", "a", "\ufffd", "z"]}]}


def test_what_no_text_can_hold_is_a_value_like_any_other_that_is_not_listed(tmp_path):
    np.savez(tmp_path / "a.npz", w=TEXTS)
    (batch,) = open_source(tmp_path / "a.npz", Schema.from_dict(WORDS), declared=True).batches(("w",))
    assert batch.codes["w"].tolist() == [1, *[3] * 8, 2, 3, 3]


def test_each_text_is_a_person_of_its_own(tmp_path):
    np.savez(tmp_path / "a.npz", w=np.full(len(TEXTS), "a"), who=TEXTS)
    schema = Schema.from_dict(WORDS | {"unit": {"column": "who", "records": 1}})
    with contextlib.closing(open_source(tmp_path / "a.npz", schema, b"k", declared=True)) as source:
        assert sum(batch.rows for batch in source.batches(("w",))) == len(TEXTS) - 1  # the empty one names nobody


def test_text_without_room_for_a_character(tmp_path):
    """As a header may declare it."""
    header = b"{'descr': '<U0', 'fortran_order': False, 'shape': (3,), }".ljust(117) + b"\n"
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("w.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    (batch,) = open_source(tmp_path / "a.npz", Schema.from_dict(WORDS), declared=True).batches(("w",))
    assert batch.codes["w"].tolist() == [3, 3, 3]
