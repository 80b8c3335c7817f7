"""How far a release, an evaluation or a training has come, in a terminal and in a notebook."""

import time
from html import escape
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress_bar import ProgressBar as Bar
from rich.text import Text

from sfumato.trusted.schema.display import BOX

if TYPE_CHECKING:
    from sfumato.fitting.generators import Epoch

_WIDTH, _WORDS = 30, 45  # characters of the bar, and of what stands beside it
_PAUSE = 0.1  # seconds between two pictures of a bar


class ProgressBar:
    """Shows what is going on; pass it wherever a function takes `progress`.

    A release or an evaluation tells when a stage begins: each gets a line with the seconds since the start. A training
    tells every epoch: a bar fills. In a terminal it goes to the error stream, in a notebook below the cell, and into a
    pipe or a file nothing is written. It has no end of its own, and can be used again.

    console   where to write; by default the terminal or notebook that there is

    Example
        >>> bar = sfumato.ProgressBar()
        >>> kept = release.retrain("mlp", epochs=5, progress=bar)
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = Console(stderr=True) if console is None else console
        self._start = time.monotonic()
        self._stages: list[str] = []
        self._drawn = 0.0
        self._handle: Any = None

    def __repr__(self) -> str:
        return f"<ProgressBar after {len(self._stages)} stages>"

    def __call__(self, step: "str | Epoch") -> None:
        """A stage begins, or an epoch has ended."""
        if isinstance(step, str):
            self._begin_stage(f"{time.monotonic() - self._start:6.1f} s  {step}")
        elif step.number >= step.of or time.monotonic() - self._drawn >= _PAUSE:
            self._drawn = time.monotonic()
            self._draw_epoch(step)

    def _begin_stage(self, line: str) -> None:
        self._stages.append(line)
        if self._console.is_jupyter:
            self._show("")
        elif self._console.is_terminal:
            self._console.print(Text(line))

    def _draw_epoch(self, epoch: "Epoch") -> None:
        words = f"epoch {epoch.number:,} of {epoch.of:,}, loss {epoch.loss:,.4g}"
        if self._console.is_jupyter:
            self._show(f'<progress value="{epoch.number}" max="{epoch.of}"></progress> {escape(words)}')
        elif self._console.is_terminal:
            self._console.print(Bar(epoch.of, epoch.number, width=_WIDTH), Text(f" {words:<{_WORDS}}"), end="\r")
            if epoch.number >= epoch.of:
                self._console.print()

    def _show(self, bar: str) -> None:
        """Replace what the notebook shows."""
        from IPython.display import HTML, display

        lines = "".join(f"<div>{escape(line)}</div>" for line in self._stages)
        shown = HTML(f'<div style="{BOX};white-space:pre-wrap">{lines}{bar}</div>')
        if self._handle is None:
            self._handle = display(shown, display_id=True)
        else:
            self._handle.update(shown)
