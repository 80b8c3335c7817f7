"""Pictures in the report, where the schema says that columns are one."""

import base64
import zlib

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import SchemaError
from sfumato.reports.images import image_grids, png, sheet_of
from sfumato.reports.public import public_report


def schema_of(image: object, target: bool = True) -> sfumato.Schema:
    columns = [
        {"name": "p_{0..11}", "type": "integer", "bounds": [0, 255], "image": image},
        *([{"name": "y", "type": "category", "values": ["dark", "light"]}] if target else []),
    ]
    content = {"sfumato": 1, "name": "pictures", "columns": columns}
    return sfumato.Schema.from_dict(content | ({"target": "y"} if target else {}))


def released(target: bool = True) -> sfumato.Release:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500)
    x = np.clip(rng.normal(60 + 120 * y[:, None], 15, (500, 12)), 0, 255).astype(np.int64)
    rows = {f"p_{j}": x[:, j] for j in range(12)} | ({"y": np.array(["light", "dark"])[y]} if target else {})
    return sfumato.release(
        pa.table(rows),
        schema_of([3, 4], target),
        epsilon=4,
        mechanism="subspace",
        ledger=None,
        seed=1,
        types="declared",
    )


def test_the_report_shows_drawn_pictures_by_class():
    release = released()
    (grid,) = image_grids(release)
    assert grid.rows == ("dark", "light")
    page = public_report(release)
    assert grid.uri in page
    assert "None of them is a record of the private table" in page


def test_without_a_target_there_is_one_row():
    (grid,) = image_grids(released(target=False))
    assert grid.rows == ("",)
    assert base64.b64decode(grid.uri.partition(",")[2]).startswith(b"\x89PNG")


def test_a_picture_of_one_value_is_drawn():
    columns = [{"name": "p_{0..3}", "type": "integer", "bounds": [7, 7], "image": [2, 2]}]
    schema = sfumato.Schema.from_dict({"sfumato": 1, "name": "flat", "columns": columns})
    flat = sfumato.release(
        pa.table({f"p_{j}": [7, 7, 7] for j in range(4)}),
        schema,
        epsilon=1,
        mechanism="tables",
        ledger=None,
        seed=1,
        types="declared",
    )
    assert len(image_grids(flat)) == 1


def test_a_schema_without_pictures_has_none():
    release = released()
    plain = sfumato.Schema.from_dict(
        {**release.schema.to_dict(), "columns": [{"name": "a", "type": "boolean"}], "target": "a"}
    )
    assert (
        image_grids(
            sfumato.artefact.release.Release(plain, release.header, release.statement, release.plan, (), release.fitted)
        )
        == []
    )


def test_pictures_lie_on_paper_with_gaps():
    dark = np.zeros((2, 3, 4), dtype=np.uint8)
    sheet = sheet_of([dark, dark[:1]])
    assert sheet.shape == (2 * (2 * 5 + 2), 2 * (2 * 6 + 2))
    assert (sheet[:4] > 200).all()
    assert (sheet == 0).sum() == 4 * 3 * 12


def test_a_png_holds_its_pixels():
    grey = np.arange(6, dtype=np.uint8).reshape(2, 3)
    content = png(grey)
    start = content.index(b"IDAT") + 4
    assert zlib.decompress(content[start : content.index(b"IEND") - 8]) == b"\0\0\1\2\0\3\4\5"


@pytest.mark.parametrize("image", [[3, 5], [0, 12], [-3, -4]])
def test_a_picture_that_the_columns_do_not_fill_is_refused(image):
    with pytest.raises(SchemaError, match="are not the 12 columns"):
        schema_of(image)


def test_a_picture_survives_yaml():
    schema = schema_of([3, 4])
    assert sfumato.Schema.from_yaml(schema.to_yaml()) == schema
