"""A draft of numpy files: names, types and shapes of arrays, nothing of the rows; completed, it fits the file."""

import gzip
import re
import zipfile

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from sfumato.cli.app import app
from sfumato.drafting.draft import draft_schema
from sfumato.errors import DataError
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source

ROWS = 1717
ARRAYS = {
    "pixel": np.full((ROWS, 28, 28), 201, dtype=np.uint8),
    "f_": np.full((ROWS, 5), 3.25),
    "wave-": np.full((ROWS, 3, 2, 2), 3.25, dtype=np.float32),
    "mask": np.ones((ROWS, 2, 2), dtype=bool),
    "digit": np.full(ROWS, 7),
    "weight": np.full((ROWS, 1), 3.25),
    "dot": np.full((ROWS, 1, 1), 3.25),
    "odd: name": np.full(ROWS, "secret"),
}
DRAFTED = [
    "{name: 'pixel_{0..783}', type: integer, bounds: [FILL, FILL], image: [28, 28]}",
    "{name: 'f_{0..4}', type: number, bounds: [FILL, FILL]}",
    "{name: 'wave-{0..11}', type: number, bounds: [FILL, FILL]}",
    "{name: 'mask_{0..3}', type: boolean}",
    "{name: digit, type: integer, bounds: [FILL, FILL]}",
    "{name: weight, type: number, bounds: [FILL, FILL]}",
    "{name: dot, type: number, bounds: [FILL, FILL]}",
    "{name: 'odd: name', type: category, values: [FILL]}",
]


def columns_of(draft: str) -> list[str]:
    return re.findall(r"^  - (.*)$", draft, re.MULTILINE)


def completed(draft: str) -> Schema:
    return Schema.from_yaml(draft.replace("[FILL, FILL]", "[0, 255]").replace("[FILL]", "[secret]"))


def test_an_archive_is_drafted_array_by_array_and_fits_when_completed(tmp_path):
    np.savez(tmp_path / "a.npz", **ARRAYS)
    draft = draft_schema(tmp_path / "a.npz").text
    assert columns_of(draft) == DRAFTED
    source = open_source(tmp_path / "a.npz", completed(draft), declared=True)
    assert len(source.header.types) == 784 + 5 + 12 + 4 + 4


def test_nothing_of_the_rows_is_told_not_even_their_number(tmp_path, monkeypatch):
    np.savez(tmp_path / "a.npz", **ARRAYS)
    monkeypatch.setattr(
        "sfumato.trusted.sources.array_files.npy.read_array", lambda *_, **__: pytest.fail("a row was read")
    )
    draft = draft_schema(tmp_path / "a.npz").text
    assert not any(word in draft for word in ("secret", "201", "3.25", str(ROWS)))
    np.savez(tmp_path / "a.npz", **{name: array[:0] for name, array in ARRAYS.items()})
    assert draft_schema(tmp_path / "a.npz").text == draft


@pytest.mark.parametrize(
    ("array", "drafted"),
    [
        (np.zeros((5, 30)), "{name: 'column_{0..29}', type: number, bounds: [FILL, FILL]}"),
        (
            np.zeros((5, 4, 6), dtype=np.uint8),
            "{name: 'column_{0..23}', type: integer, bounds: [FILL, FILL], image: [4, 6]}",
        ),
        (np.zeros(5, dtype=bool), "{name: column, type: boolean}"),
    ],
)
def test_one_array_has_columns_without_names_of_their_own(tmp_path, array, drafted):
    np.save(tmp_path / "a.npy", array)
    draft = draft_schema(tmp_path / "a.npy").text
    assert columns_of(draft) == [drafted]
    assert len(open_source(tmp_path / "a.npy", completed(draft), declared=True).header.types) == array[0].size


def test_what_no_release_takes_has_no_type_and_what_holds_no_column_is_left_out(tmp_path):
    arrays = {"z": np.zeros((5, 2), dtype=complex), "o": np.array([{"a": 1}] * 5, dtype=object)}
    np.savez(tmp_path / "a.npz", **arrays, big=np.zeros(5, dtype=">f8"), one=np.float64(3), none=np.zeros((5, 0)))
    lines = columns_of(draft_schema(tmp_path / "a.npz").text)
    assert lines == ["{name: 'z_{0..1}', type: FILL}", "{name: o, type: FILL}", "{name: big, type: FILL}"]


def test_what_is_no_numpy_file_is_refused(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"nothing of the kind")
    with pytest.raises(DataError, match="cannot be read as a numpy file"):
        draft_schema(tmp_path / "a.npz")
    with pytest.raises(DataError, match="does not exist"):
        draft_schema(tmp_path / "missing.npy")


def test_the_command(tmp_path):
    np.savez(tmp_path / "digits.npz", **ARRAYS)
    done = CliRunner().invoke(app, ["schema", "init", str(tmp_path / "digits.npz")])
    assert done.exit_code == 0
    assert done.output == draft_schema(tmp_path / "digits.npz").text
    assert "name: digits\n" in done.output


@pytest.mark.parametrize("separator", [";", "\t", "|", ","])
@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz", "rows.zip"])
def test_the_separator_is_that_of_the_header(tmp_path, separator, name):
    content = separator.join(("age", "job", "pay")).encode() + b"\n3,,,,,,,,4\n"
    if name.endswith("zip"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("rows.csv", content)
    else:
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    draft = draft_schema(tmp_path / name).text
    assert [line.split(",")[0] for line in columns_of(draft)] == ["{name: age", "{name: job", "{name: pay"]
    said = yaml.safe_load(draft).get("text", {})
    assert said == ({} if separator == "," else {"separator": separator})


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16"])
def test_the_encoding_is_that_of_the_header(tmp_path, encoding):
    (tmp_path / "rows.csv").write_bytes("Größe;job\n".encode(encoding))
    draft = draft_schema(tmp_path / "rows.csv").text
    assert columns_of(draft)[0].startswith("{name: Größe,")
    assert yaml.safe_load(draft)["text"].get("encoding", "utf-8") == encoding


def test_no_row_is_looked_at(tmp_path):
    drafts = []
    for row in ("3,cook", "3,K\xf6ln", "3;;;;;;;;4"):
        (tmp_path / "rows.csv").write_bytes(f"age,job\n{row}\n".encode("latin-1"))
        drafts.append(draft_schema(tmp_path / "rows.csv").text)
    assert len(set(drafts)) == 1
