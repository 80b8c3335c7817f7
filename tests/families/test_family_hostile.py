"""Family bundles that somebody made up: a `BundleError` or a sound release, in bounded time and memory."""

import copy
import io
import json
import zipfile

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.archive import members as archive
from sfumato.archive.members import from_arrow_file, read_members, to_arrow_file, write_members
from sfumato.artefact.bundle import _from_members
from sfumato.artefact.families.release import FamilyRelease
from sfumato.errors import BundleError
from tests.families.fuzzing import made_up


@pytest.fixture(scope="module")
def members() -> dict[str, bytes]:
    return made_up()[0]


def rewritten(members: dict[str, bytes]) -> bytes:
    """A bundle with hashes that fit, as somebody who knows the format would write it."""
    file = io.BytesIO()
    write_members(members, file)
    return file.getvalue()


def reopen(members: dict[str, bytes]) -> FamilyRelease:
    return _from_members(read_members(rewritten(members)))


def lied(members: dict[str, bytes], name: str, path: tuple, value: object) -> dict[str, bytes]:
    """The members with another value at a place of a JSON file."""
    content = json.loads(members[name])
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return {**members, name: json.dumps(content).encode()}


def spoilt(members: dict[str, bytes], name: str, column: str, value: float) -> dict[str, bytes]:
    """The members with another number in an Arrow file."""
    table = from_arrow_file(members[name], name)
    held = table.column(column).combine_chunks()
    flat = held.flatten() if pa.types.is_fixed_size_list(held.type) else held
    numbers = flat.to_numpy().copy()
    numbers[len(numbers) // 2] = value
    fresh = pa.array(numbers)
    fresh = pa.FixedSizeListArray.from_arrays(fresh, held.type.list_size) if flat is not held else fresh
    table = table.set_column(table.column_names.index(column), table.schema.field(column), fresh)
    return {**members, name: to_arrow_file(table)}


def test_the_members_as_they_were_are_sound(members):
    assert reopen(members).sample(3)["people"].num_rows == 3


def test_a_bundle_without_any_of_its_members_is_refused(members):
    for name in members:
        with pytest.raises(BundleError):
            reopen({other: content for other, content in members.items() if other != name})


@pytest.mark.parametrize("extra", ["../../evil.json", "/etc/passwd", "model/999.arrow", "measurements/x.arrow", "x.py"])
def test_a_member_more_is_refused_and_nothing_is_written(members, extra, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BundleError):
        reopen({**members, extra: members["model/000.arrow"]})
    assert list(tmp_path.iterdir()) == []


def test_members_in_another_order_or_swapped_are_refused(members):
    with pytest.raises(BundleError):
        reopen(dict(reversed(members.items())))
    arrays = [name for name in members if name.startswith("model/")]
    with pytest.raises(BundleError):
        reopen({**members, arrays[1]: members[arrays[2]], arrays[2]: members[arrays[1]]})


def test_changed_bytes_and_cut_files_show(members):
    data, rng = rewritten(members), np.random.default_rng(0)
    for place in rng.integers(0, len(data), 60):
        changed = bytearray(data)
        changed[place] ^= int(rng.integers(1, 256))
        with pytest.raises(BundleError):
            read_members(bytes(changed))
    for length in rng.integers(0, len(data), 10):
        with pytest.raises(BundleError):
            read_members(data[:length])


@pytest.mark.parametrize("version", ["2.0.0", "4.0.0", "", None])
def test_another_version_is_refused(members, version, monkeypatch):
    monkeypatch.setattr(archive, "FORMAT_VERSION", version)
    data = rewritten(members)
    monkeypatch.undo()
    with pytest.raises(BundleError, match="format version"):
        read_members(data)


def test_a_compressed_archive_is_not_unpacked(members, tmp_path):
    with zipfile.ZipFile(tmp_path / "b.sfumato", "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    with pytest.raises(BundleError):
        sfumato.open(tmp_path / "b.sfumato")


STEP = "stays, next"
LIES = {
    "a table more in the header": ("header.json", ("tables", "wards"), {"frame": "arrow", "types": {}}),
    "a type that is none": ("header.json", ("tables", "stays", "types", "kind"), "nonsense"),
    "a header of nothing": ("header.json", ("tables",), {}),
    "a version of the schema": ("schema.json", ("sfumato",), 3),
    "a circle of parents": ("schema.json", ("tables", "stays", "parent"), "notes"),
    "more rows": ("schema.json", ("tables", "stays", "rows"), [0, 9_999]),
    "very many rows": ("schema.json", ("tables", "stays", "rows"), [0, 10**12]),
    "a table more": ("schema.json", ("tables", "wards"), {"parent": "stays", "rows": [0, 1], "columns": []}),
    "another key": ("schema.json", ("tables", "people", "key"), "sex"),
    "a view that is not there": ("measurements.json", ("measurements", 0, "statistic", "view"), "wards, next"),
    "a view that is another": ("measurements.json", ("measurements", 0, "statistic", "view"), STEP),
    "a size that is none": ("model.json", ("models", STEP, "size"), "nan"),
    "a size below zero": ("model.json", ("models", STEP, "size"), -1.0),
    "a size beyond all": ("model.json", ("models", STEP, "size"), 1e300),
    "weights that are none": ("model.json", ("models", STEP, "weights"), []),
    "weights beyond one": ("model.json", ("models", STEP, "weights"), [0.9, 0.9]),
    "no factors": ("model.json", ("models", STEP, "factors"), []),
    "factors of nothing": ("model.json", ("models", STEP, "factors"), [["nothing"]]),
    "no shapes": ("model.json", ("models", STEP, "shapes"), {}),
    "another model": ("model.json", ("models",), {}),
    "a labeller of nothing": ("model.json", ("labellers",), {"wards, next": {"x": {}}}),
    "a plan of nothing": ("plan.json", (), {}),
}


def parts_of(members: dict[str, bytes], name: str, path: tuple) -> bool:
    """Whether the place is there; what several members have in common stands elsewhere."""
    content = json.loads(members[name])
    for key in path[:-1]:
        if not isinstance(content, dict | list) or (isinstance(content, dict) and key not in content):
            return False
        content = content[key]
    return True


@pytest.mark.parametrize(("name", "path", "value"), LIES.values(), ids=LIES)
def test_content_that_does_not_fit_together_is_refused(members, name, path, value):
    if not path:
        changed = {**members, name: json.dumps(value).encode()}
    else:
        assert parts_of(members, name, path)
        changed = lied(members, name, path, value)
    with pytest.raises(BundleError):
        reopen(changed)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0, 1e308, 0.0])
def test_probabilities_that_are_none_are_refused(members, value):
    models = [name for name in members if name.startswith("model/")]
    for name in models[1:]:
        with pytest.raises(BundleError):
            reopen(spoilt(members, name, "theta", value))


def test_a_measurement_with_more_or_other_numbers_is_refused(members):
    name = "measurements/000.arrow"
    table = from_arrow_file(members[name], name)
    for changed in (
        pa.concat_tables([table, table]),
        table.slice(1),
        pa.table({"value": table.column("value").cast(pa.float64())}),
        pa.table({"values": table.column("value")}),
    ):
        with pytest.raises(BundleError):
            reopen({**members, name: to_arrow_file(changed)})


def test_a_grid_that_is_longer_than_its_column_takes_no_memory(members):
    content = json.loads(members["model.json"])
    shape = next(iter(content["models"][STEP]["shapes"].values()))
    for codes in (2**31, 2**53):
        changed = copy.deepcopy(content)
        own = next(iter(changed["models"][STEP]["shapes"].values()))
        own["stops"] = [*shape["stops"][:-1], codes] if isinstance(shape["stops"], list) else codes
        own["grid"] = {"codes": codes, "cells": [0], "starts": [0]}
        with pytest.raises(BundleError):
            reopen({**members, "model.json": json.dumps(changed).encode()})
