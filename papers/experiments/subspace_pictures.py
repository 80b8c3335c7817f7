"""Synthetic images in a grid, and images whose lower half a release has filled in, as grey PNG."""

import base64
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.artefact.release import Release
from sfumato.reports.images import image_grids, png, sheet_of


def write_grid(release: Release, path: Path) -> None:
    """Some synthetic rows of each class, as in the report."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(base64.b64decode(image_grids(release)[0].uri.partition(",")[2]))


def write_filled(release: Release, images: NDArray[Any], shape: tuple[int, int], path: Path) -> None:
    """Each image, and six times its upper half with what the release says of the lower."""
    names, half = release.schema.features, shape[0] // 2 * shape[1]
    rows = []
    for image in images:
        given = {name: int(value) for name, value in zip(names[:half], image[:half], strict=True)}
        drawn = release.sample(6, given=given, seed=0, output="arrow")
        filled = np.column_stack([drawn.column(name).to_numpy() for name in names])
        rows.append((255 - np.vstack([image, filled])).astype(np.uint8).reshape(-1, *shape))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png(sheet_of(rows)))
