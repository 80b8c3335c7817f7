"""The page of all figures, each with two sentences: what it shows, and where it differs from the paper."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from markupsafe import Markup

from experiments.liu.figure import Figure, Request, heading

HEAD = """\
# The figures of Liu, Scaglione and Peisert, drawn anew

*Differentially Private Distribution Release of Gaussian Mixture Models via KL-Divergence Minimization*: its ten
figures, its table, its first remark and its third example, by the paper's own formulas (`sfumato_papers.liu`), by its
three baselines, by the **proven** `mixture` of this library at the same (epsilon, delta), and without any privacy.
`python -m experiments.liu` writes this page; next to each picture lies a file of its numbers, with seeds, means and
their intervals, medians and quartiles.

**The first two kinds are not private**, whatever epsilon the axis says: [the truth page](../truth.md) has the
attacks. They are here so that the paper can be compared with.

* *proposed, as published*: algorithm 1 with (10) as printed, where only records that leave a class bound its noise;
  *both classes guarded*: as lemma 1 and (23) have it.
* *i.i.d. Laplace, i.i.d. Gaussian, colored Gaussian*: the baselines, with sensitivities from the range of the
  records. *Equal footing*: Laplace noise on covariances as if no record were longer than 1, which is what lemma 2
  lets the proposal assume.
* *proven, whole record*: nobody can tell whether any one record, features and label, was there (add-remove
  adjacency). *Proven, label alone*: features are public and one label is hidden, the paper's own notion of
  neighbours.
* *no privacy: another sample*: how far the fit of as many fresh records from the fitted mixture would be from it.
  Noise below this line is lost in chance.

A trial is a table (a fresh one; for Iris and the houses always the same) and one release by each method. The left panel
has **means over trials with 95 % intervals**: the paper averages 1,000 trials, and so do figures 1 to 4 (Iris and the
houses 200, images 50). The right panel has medians and quartiles, because means are made by a few tables with a tiny
class. Sentences say the mean, and the median in brackets. Proven releases take a second or more and have fewer trials,
which stand below each figure: means of a handful say little. The intervals are by resampling, and too narrow where
tables that make the mean are rarer than one in all trials. The paper's axes are not in its text, so these ranges are
ours.

**The floor** of the proposed mechanism is one number on all pages: (8), the expectation over the noise, at epsilon 8 on
200 synthetic tables, their median (figure 1).

How the semidefinite program (23) is solved, and how fast: [design.md](design.md).
"""


PARTS = {"published": "as published", "whole": "proven, whole record", "label": "proven, label alone"}


def trials(kept: Any) -> str:
    """How many there are of each kind, the fewest over the cells; nothing of figures that are not made of cells."""
    cells = [cell for cell in kept if isinstance(cell, dict) and "data sets" in cell]
    fewest = {
        words: min((cell["data sets"] for cell in cells if cell["part"] == part), default=0)
        for part, words in PARTS.items()
    }
    said = ", ".join(f"{words} {count:,}" for words, count in fewest.items() if count)
    return f" Trials: {said}." if said else ""


def is_picture(shown: str) -> bool:
    return isinstance(shown, Markup)


def page(figures: Iterable[Figure], folder: Path) -> str:
    """From what is kept in the folder; nothing is measured."""
    parts = [HEAD]
    for figure in figures:
        if not (folder / f"{figure.name}.json").exists():
            continue
        shown = figure.run(Request(folder, parts=()))[1]
        body = f"![{figure.title}]({figure.name}.svg)" if is_picture(shown) else shown
        first, second = figure.sentences(folder)
        second += trials(json.loads((folder / f"{figure.name}.json").read_text()))
        parts.append(
            f"## {heading(figure.name)}. {figure.title}\n\n{body}\n\n{first} {second} ([numbers]({figure.name}.json))\n"
        )
    return "\n".join(parts)
