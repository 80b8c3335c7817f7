"""The two small networks of domain adaptation."""

from typing import Any

Network = Any
"""A torch module."""
CHANNELS = 16


def translator() -> Network:
    """Turns, stretches and moves all images alike, then corrects each a little; at first it does nothing."""
    import torch
    from sfumato_papers.baselines.networks import device
    from torch import nn

    class Translator(nn.Module):  # type: ignore[misc]
        """`place` is the map of the plane, `correct` what is added."""

        def __init__(self) -> None:
            super().__init__()
            self.place = nn.Parameter(torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
            last = nn.Conv2d(CHANNELS, 1, 5, padding=2)
            nn.init.zeros_(last.weight)
            nn.init.zeros_(last.bias)
            first = nn.Conv2d(1, CHANNELS, 5, padding=2)
            middle = nn.Conv2d(CHANNELS, CHANNELS, 5, padding=2)
            self.correct = nn.Sequential(first, nn.LeakyReLU(0.2), middle, nn.LeakyReLU(0.2), last)

        def forward(self, images: Any) -> Any:
            """Images of the same size, black where there was nothing."""
            where = self.place.expand(len(images), 2, 3)
            grid = nn.functional.affine_grid(where, list(images.shape), align_corners=False)
            moved = nn.functional.grid_sample(images, grid, align_corners=False)
            return moved + self.correct(moved)

    return Translator().to(device())


def classifier(classes: int) -> Network:
    """Two layers of convolutions and one behind them."""
    from sfumato_papers.baselines.networks import device
    from torch import nn

    return nn.Sequential(
        *(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(64 * 16, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, classes)),
    ).to(device())
