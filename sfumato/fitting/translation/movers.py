"""What moves rows: networks that at first do nothing, or little.

Both take places of numbers on their scales, rows x columns, and give such. The same function moves every row, so that
rows of one label stay together and labels keep their meaning.
"""

from typing import Any

import numpy as np

from sfumato.trusted.arrays import FloatArray

CHANNELS, HIDDEN = 16, 64
RATE, RATE_OF_THE_PLANE = 2e-3, 2e-2


def image_mover(shape: tuple[int, int]) -> Any:
    """Turns, stretches and shifts all images alike, then corrects each a little by its pixels' neighbours."""
    import torch
    from torch import nn

    class Images(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.plane = nn.Parameter(torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
            last = nn.Conv2d(CHANNELS, 1, 5, padding=2)
            nn.init.zeros_(last.weight)
            nn.init.zeros_(last.bias)
            first, middle = nn.Conv2d(1, CHANNELS, 5, padding=2), nn.Conv2d(CHANNELS, CHANNELS, 5, padding=2)
            self.correction = nn.Sequential(first, nn.LeakyReLU(0.2), middle, nn.LeakyReLU(0.2), last)

        def forward(self, places: Any) -> Any:
            images = places.reshape(-1, 1, *shape)
            where = self.plane.expand(len(images), 2, 3)
            grid = nn.functional.affine_grid(where, list(images.shape), align_corners=False)
            moved = nn.functional.grid_sample(images, grid, align_corners=False)
            return (moved + self.correction(moved)).reshape(places.shape)

        def rates(self) -> list[dict[str, Any]]:
            return [
                {"params": self.correction.parameters(), "rate": RATE, "late": True},
                {"params": [self.plane], "rate": RATE_OF_THE_PLANE, "late": False},
            ]

    return Images()


def row_mover(mean: FloatArray, spread: FloatArray, to_mean: FloatArray, to_spread: FloatArray) -> Any:
    """Brings every column from one mean and spread to the released ones, then corrects each row by all its numbers."""
    import torch
    from torch import nn

    class Rows(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            for name, part in (("mean", mean), ("spread", spread), ("to_mean", to_mean), ("to_spread", to_spread)):
                self.register_buffer(name, torch.tensor(np.asarray(part), dtype=torch.float32))
            last = nn.Linear(HIDDEN, len(mean))
            nn.init.zeros_(last.weight)
            nn.init.zeros_(last.bias)
            layers = (nn.Linear(len(mean), HIDDEN), nn.SiLU(), nn.Linear(HIDDEN, HIDDEN), nn.SiLU())
            self.correction = nn.Sequential(*layers, last)

        def forward(self, places: Any) -> Any:
            at = (places - self.mean) / self.spread
            return self.to_mean + self.to_spread * (at + self.correction(at))

        def rates(self) -> list[dict[str, Any]]:
            return [{"params": self.parameters(), "rate": RATE, "late": False}]

    return Rows()
