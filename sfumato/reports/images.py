"""Synthetic pictures in a grid, where a schema says that a run of columns is one."""

import base64
import struct
import zlib
from typing import NamedTuple

import numpy as np

from sfumato.artefact.release import Release
from sfumato.trusted.arrays import GreyArray
from sfumato.trusted.schema import IntegerColumn, NumberColumn

_ACROSS, _MOST_DOWN, _DRAWN = 16, 12, 2_000
_GAP, _PAPER = 2, 232


class Grid(NamedTuple):
    """A picture of pictures as a data URI, and the names of its rows."""

    name: str
    uri: str
    rows: tuple[str, ...]


def image_grids(release: Release) -> list[Grid]:
    """Of each run of columns that is a picture, some drawn records, a row for each class of the target."""
    return [
        _grid(release, column, column.image)
        for column in release.schema.columns
        if isinstance(column, NumberColumn | IntegerColumn) and column.image is not None
    ]


def _grid(release: Release, column: NumberColumn | IntegerColumn, shape: tuple[int, int]) -> Grid:
    table = release.sample(_DRAWN, seed=0, output="arrow")
    low, high = column.bounds
    numbers = np.column_stack([table.column(name).to_numpy() for name in column.names])
    grey = np.rint(255 * (1 - (numbers - low) / max(high - low, 1e-300))).clip(0, 255).astype(np.uint8)
    target = release.schema.target
    label = np.array(table.column(target).to_pylist() if target else [""] * len(grey), dtype=object)
    found = list(dict.fromkeys(sorted(label.tolist(), key=str)))[:_MOST_DOWN]
    images = [grey[label == one][:_ACROSS].reshape(-1, *shape) for one in found]
    uri = "data:image/png;base64," + base64.b64encode(png(sheet_of(images))).decode("ascii")
    return Grid(column.name, uri, tuple(map(str, found)))


def sheet_of(rows: list[GreyArray]) -> GreyArray:
    """Rows of pictures of one shape, with gaps between them, at twice their size."""
    high, wide = (side + _GAP for side in rows[0].shape[1:])
    sheet = np.full((len(rows) * high + _GAP, max(map(len, rows)) * wide + _GAP), _PAPER, dtype=np.uint8)
    for down, row in enumerate(rows):
        for across, image in enumerate(row):
            top, left = _GAP + down * high, _GAP + across * wide
            sheet[top : top + high - _GAP, left : left + wide - _GAP] = image
    return sheet.repeat(2, axis=0).repeat(2, axis=1)


def png(grey: GreyArray) -> bytes:
    """An 8-bit grey image."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", grey.shape[1], grey.shape[0], 8, 0, 0, 0, 0)
    lines = b"".join(b"\0" + line.tobytes() for line in grey)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")
