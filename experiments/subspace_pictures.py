"""Synthetic images in a grid, and images whose lower half a release has filled in, as grey PNG."""

import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.receiver import Release

_ACROSS, _GAP = 16, 2


def write_grid(release: Release, shape: tuple[int, int], path: Path) -> None:
    """Some synthetic rows of each class."""
    rows = release.sample(4_000, seed=0, frame="arrow")
    label = rows.column(str(release.schema.target)).to_numpy()
    names = release.schema.features
    low, high = (float(end) for end in release.schema[names[0]].bounds)  # type: ignore[union-attr, arg-type]
    pixels = np.column_stack([rows.column(name).to_numpy() for name in names])
    grey = np.rint(255 * (1 - (pixels - low) / (high - low))).clip(0, 255).astype(np.uint8)
    classes = np.unique(label)
    height, width = (side + _GAP for side in shape)
    sheet = np.full((len(classes) * height + _GAP, _ACROSS * width + _GAP), 232, dtype=np.uint8)
    for down, one in enumerate(classes):
        for across, image in enumerate(grey[label == one][:_ACROSS]):
            top, left = _GAP + down * height, _GAP + across * width
            sheet[top : top + shape[0], left : left + shape[1]] = image.reshape(shape)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png(_doubled(sheet)))


def write_filled(release: Release, images: NDArray[np.uint8], shape: tuple[int, int], path: Path) -> None:
    """Each image, and six times its upper half with what the release says of the lower."""
    names, half = release.schema.features, shape[0] // 2 * shape[1]
    strips = []
    for image in images:
        given = {name: int(value) for name, value in zip(names[:half], image[:half], strict=True)}
        rows = release.sample(6, given=given, seed=0, frame="arrow")
        filled = np.column_stack([rows.column(name).to_numpy() for name in names])
        parts = [image, *filled]
        strips.append(np.hstack([np.pad(255 - one.reshape(shape), 3, constant_values=232) for one in parts]))
    path.write_bytes(png(_doubled(np.vstack(strips).astype(np.uint8))))


def _doubled(grey: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return grey.repeat(2, axis=0).repeat(2, axis=1)


def png(grey: NDArray[np.uint8]) -> bytes:
    """An 8-bit grey image."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", grey.shape[1], grey.shape[0], 8, 0, 0, 0, 0)
    lines = b"".join(b"\0" + line.tobytes() for line in grey)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")
