"""How training went, as a picture: the loss, and that of the slices that were held back."""

import math
from pathlib import Path

from markupsafe import Markup

from sfumato.archive.whole_files import whole_file
from sfumato.charts.svg import FAINT, INK, line, picture, text
from sfumato.fitting.generators.training import Epoch

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 560.0, 260.0, 58.0, 34.0, 26.0
_LOSS, _HELD_BACK = "#7a3b2e", "#3f7f68"


class Curve:
    """Keeps every epoch that it is told of: give it to `Release.retrain` as `progress`."""

    def __init__(self) -> None:
        self.epochs: list[Epoch] = []

    def __call__(self, epoch: Epoch) -> None:
        """One epoch more."""
        self.epochs.append(epoch)

    def svg(self) -> Markup:
        """Both losses against epochs, each on a scale of its own: their heights have nothing to do with each other."""
        loss = [(epoch.number, epoch.loss) for epoch in self.epochs]
        back = [(epoch.number, epoch.held_back) for epoch in self.epochs if epoch.held_back is not None]
        last = max((epoch.number for epoch in self.epochs), default=1)
        marks = [
            line(_LEFT, _HEIGHT - _BOTTOM, _WIDTH - 10, _HEIGHT - _BOTTOM),
            text((_LEFT + _WIDTH - 10) / 2, _HEIGHT - 6, "epoch", "middle", 11, FAINT),
            text(_LEFT, _HEIGHT - _BOTTOM + 14, 0, "middle"),
            text(_WIDTH - 10, _HEIGHT - _BOTTOM + 14, last, "end"),
            *_drawn(loss, last, _LOSS, "loss", 14),
            *_drawn(back, last, _HELD_BACK, "of slices held back", 230),
        ]
        return picture(_WIDTH, _HEIGHT, marks, "loss of a generator against epochs of training")

    def save(self, path: str | Path) -> None:
        """Write the picture, whole or not at all."""
        with whole_file(path) as file:
            file.write(str(self.svg()).encode())


def _drawn(points: list[tuple[int, float]], last: int, colour: str, name: str, at: float) -> list[Markup]:
    """A curve from its lowest to its highest value, and what these are."""
    values = [value for _, value in points if math.isfinite(value)]
    if not values:
        return []
    low, high = min(values), max(values)
    ends = f"{name}: {_shown(high)} to {_shown(low)}"

    def at_point(number: int, value: float) -> str:
        x = _LEFT + (_WIDTH - 10 - _LEFT) * number / last
        share = (value - low) / (high - low) if high > low else 0.0
        return f"{x:.1f} {_HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - _TOP):.1f}"

    path = "M" + "L".join(at_point(number, value) for number, value in points if math.isfinite(value))
    curve = Markup('<path d="{}" stroke="{}" stroke-width="1.6" fill="none"/>').format(path, colour)
    return [
        curve,
        line(_LEFT + at - 14, 12, _LEFT + at + 2, 12, colour, 2),
        text(_LEFT + at + 8, 16, ends, size=11, fill=INK),
    ]


def _shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"
