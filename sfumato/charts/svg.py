"""A few marks of SVG, escaped and rounded."""

import textwrap
from collections.abc import Sequence

from markupsafe import Markup, escape

INK, FAINT = "#2f2a26", "#8a8178"
BAR, BAND, ATOM = "#b08d63", "#5b4630", "#7a3b2e"
LINE = 1.15  # height of a line of words, in font sizes


def picture(width: float, height: float, marks: Sequence[Markup], title: str, largest: float = 0) -> Markup:
    """A drawing that scales with the page; `title` is what a screen reader says.

    It is never wider than `largest` times its own width, if that is given.
    """
    limit = Markup(' style="max-width: {}px"').format(_round(largest * width)) if largest else ""
    head = Markup('<svg viewBox="0 0 {} {}" role="img" xmlns="http://www.w3.org/2000/svg"{}><title>{}</title>')
    return head.format(_round(width), _round(height), limit, title) + Markup("").join(marks) + Markup("</svg>")


def box(x: float, y: float, width: float, height: float, fill: str, opacity: float = 1.0, hint: str = "") -> Markup:
    """A filled rectangle; `hint` shows when the pointer rests on it."""
    mark = Markup('<rect x="{}" y="{}" width="{}" height="{}" fill="{}" fill-opacity="{}">{}</rect>')
    inner = Markup("<title>{}</title>").format(hint) if hint else ""
    return mark.format(
        _round(x), _round(y), _round(max(width, 0)), _round(max(height, 0)), fill, _round(opacity), inner
    )


def line(x1: float, y1: float, x2: float, y2: float, stroke: str = FAINT, width: float = 1.0) -> Markup:
    """A straight line."""
    mark = Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="{}" stroke-width="{}"/>')
    return mark.format(_round(x1), _round(y1), _round(x2), _round(y2), stroke, _round(width))


def outline(
    points: Sequence[tuple[float, float]], stroke: str, width: float = 1.0, fill: str = "none", opacity: float = 1.0
) -> Markup:
    """A closed line through points, filled or not."""
    path = "M" + "L".join(f"{_round(x)} {_round(y)}" for x, y in points) + "Z"
    mark = Markup('<path d="{}" stroke="{}" stroke-width="{}" fill="{}" fill-opacity="{}" stroke-opacity="{}"/>')
    return mark.format(path, stroke, _round(width), fill, _round(opacity), _round(min(1.0, 4 * opacity)))


def path(points: Sequence[tuple[float, float]], stroke: str, width: float = 1.0, dashes: str = "") -> Markup:
    """An open line through points; `dashes` as in SVG's stroke-dasharray."""
    drawn = "M" + "L".join(f"{_round(x)} {_round(y)}" for x, y in points)
    mark = Markup('<path d="{}" stroke="{}" stroke-width="{}" stroke-dasharray="{}" fill="none"/>')
    return mark.format(drawn, stroke, _round(width), dashes or "none")


def dot(x: float, y: float, radius: float, fill: str, hint: str = "") -> Markup:
    """A filled circle."""
    inner = Markup("<title>{}</title>").format(hint) if hint else ""
    return Markup('<circle cx="{}" cy="{}" r="{}" fill="{}">{}</circle>').format(
        _round(x), _round(y), _round(radius), fill, inner
    )


def text(
    x: float,
    y: float,
    words: object,
    anchor: str = "start",
    size: float = 10,
    fill: str = INK,
    turn: float = 0,
    hint: str = "",
) -> Markup:
    """Words at a point; `turn` in degrees around it; `hint` shows when the pointer rests on them."""
    spin = Markup(' transform="rotate({} {} {})"').format(_round(turn), _round(x), _round(y)) if turn else ""
    inner = Markup("<title>{}</title>").format(hint) if hint else ""
    mark = Markup('<text x="{}" y="{}" text-anchor="{}" font-size="{}" fill="{}"{}>{}{}</text>')
    return mark.format(_round(x), _round(y), anchor, _round(size), fill, spin, inner, escape(words))


def lines_of(words: str, length: int, most: int = 4) -> list[str]:
    """Words in lines of at most `length` characters; of more than `most` lines the last ends in an ellipsis.

    Example
        >>> lines_of("emergency room, children", 16)
        ['emergency room,', 'children']
    """
    lines = textwrap.wrap(words, length) or [""]
    return lines if len(lines) <= most else [*lines[: most - 1], shorten(lines[most - 1] + "…", length)]


def label(
    x: float, y: float, words: str, length: int, anchor: str = "start", size: float = 11, fill: str = INK
) -> Markup:
    """Words in as many lines as they need, the block centred at height y; the whole in the hint where it is cut."""
    lines = lines_of(words, length)
    hint = words if "".join(lines).replace(" ", "") != words.replace(" ", "") else ""
    top = y - (len(lines) - 1) * LINE * size / 2 + 0.35 * size
    marks = [text(x, top + k * LINE * size, line, anchor, size, fill, hint=hint) for k, line in enumerate(lines)]
    return Markup("").join(marks)


def shorten(words: str, length: int) -> str:
    """At most so many characters, the last an ellipsis where some are left out."""
    return words if len(words) <= length else words[: length - 1] + "…"


def _round(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
