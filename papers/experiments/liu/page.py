"""The page of all figures, each with two sentences: what it shows, and where it differs from the paper."""

from collections.abc import Iterable
from pathlib import Path

from experiments.liu.figure import Figure

HEAD = """\
# The figures of Liu, Scaglione and Peisert, drawn anew

*Differentially Private Distribution Release of Gaussian Mixture Models via KL-Divergence Minimization*: its ten
figures and its table, by the paper's own formulas (`sfumato_papers.liu`), by its three baselines, by the
**proven** `mixture` of this library at the same (epsilon, delta), and without any privacy. `python -m
experiments.liu` writes this page; next to each picture lies a file of its numbers, with seeds, medians, quartiles and
means.

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

A trial is a fresh table (for Iris, the houses and the images: the same one) and one release by each method; the paper
plots means over 1,000 of them, these are medians and quartiles over 200 (images: 20), because means are made by a few
tables with a tiny class (they are in the files). Proven releases take a second or more and have fewer trials: `runs` in
the files. The paper's axes are not in its text, so the ranges are ours.

How the semidefinite program (23) is solved, and how fast: [design.md](design.md).
"""


def page(figures: Iterable[Figure], folder: Path) -> str:
    parts = [HEAD]
    for figure in figures:
        if not (folder / f"{figure.name}.json").exists():
            continue
        head = figure.name.replace("_", " ").capitalize()
        if figure.name.startswith("figure"):
            body = f"![{figure.title}]({figure.name}.svg)"
        else:
            body = figure.run(folder, quick=False)[1]
        first, second = figure.sentences(folder)
        parts.append(f"## {head}. {figure.title}\n\n{body}\n\n{first} {second} ([numbers]({figure.name}.json))\n")
    return "\n".join(parts)
