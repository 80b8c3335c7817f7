"""Which claims of the papers hold: `python -m experiments.truth [--quick] [--only PAPER]`.

Measures every claim, prints the numbers, and writes docs/truth.json (the figures, with their seeds) and docs/truth.md
(the page that is made of them). About ten minutes on one core; --quick takes fewer draws and writes nothing. The second
paper's claims are measured on Adult, which is read from $SFUMATO_DATA; --quick makes do with a made table. Those of the
third need torch.
"""

import argparse
import json
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from experiments.clustmix import claim_black_box, claim_count, claim_factor, claim_one_point, claim_search
from experiments.liu import (
    claim_budget,
    claim_clustering,
    claim_covariances,
    claim_objective,
    claim_one_mean,
    claim_proven,
    claim_release,
    claim_tuned_noise,
    claim_two_classes,
    claim_weights,
)
from experiments.slicing import claim_consistency, claim_guarantee, claim_quality, claim_restarts
from experiments.truth_page import Figures, Paper, Table, wrapped

DOCS = Path(__file__).parent.parent / "docs"
DIGITS = 6  # of a figure that is kept


def _named(*modules: ModuleType) -> dict[str, Any]:
    """Claims by what their files are called: claim_two_classes is `two classes`."""
    return {module.__name__.rpartition("claim_")[2].replace("_", " "): module for module in modules}


PAPERS = {
    "liu": Paper(
        "Liu et al.",
        "H. Liu, A. Scaglione and S. Peisert, *Differentially Private Distribution Release of Gaussian Mixture Models "
        "via KL-Divergence Minimization*",
        _named(
            claim_release,
            claim_weights,
            claim_covariances,
            claim_one_mean,
            claim_two_classes,
            claim_tuned_noise,
            claim_clustering,
            claim_budget,
            claim_objective,
            claim_proven,
        ),
    ),
    "madl": Paper(
        "Madl et al.",
        "T. Madl, W. Xu, O. Choudhury and M. Howard, *Approximate, Adapt, Anonymize (3A): a Framework for Privacy "
        "Preserving Training Data Release for Machine Learning*",
        _named(claim_count, claim_one_point, claim_black_box, claim_search, claim_factor),
    ),
    "slicing": Paper(
        "the slicing paper",
        "*Privacy without Noisy Gradients: Slicing Mechanism for Generative Model Training* (NeurIPS 2024). "
        "**Only the claims of its abstract could be followed**: theorems, algorithm, kernel, settings and figures of "
        "the paper were not at hand, so nothing here is said of them, and what is called *as published* is our reading "
        "of the abstract",
        _named(claim_guarantee, claim_consistency, claim_quality, claim_restarts),
    ),
}

OPENING = """\
# Which claims hold

This page is for the person who signs a release, and who has been told that a paper proves it private. Every claim of
the papers on which this library builds was tested by code. Each number below was measured, none was typed:
`python -m experiments.truth` measures them again, and [truth.json](truth.json) keeps them with their seeds.

**What you can rely on.** A result of `sfumato release` carries a proof and an audit: see
[the promise](../../docs/promise.md). A result *as claimed by the paper*, as everything in `papers/sfumato_papers/` says
of itself, carries neither. That code is for study: it repeats the papers as printed, so that their faults can be seen.
Never release with it.

Words that come back:

- **epsilon, delta**: what is promised. One change of the table makes any result more likely by a factor of e^epsilon at
  most, but for an excess of delta. Smaller is safer.
- **neighbour**: the table after that one change. In the first paper one record gets another label, in the others it
  becomes any other record.
- **advantage**: an attacker sees a release and says which of two neighbours it was made of. The advantage is how much
  more often that is right than wrong: 0 is a coin, 1 is certainty. Epsilon and delta set a bound to it.
- **log-ratio**: how far one change moves the logarithm of a result's likelihood. Epsilon is the most that is promised.
- **mu**: how far one change moves a result with Gaussian noise, in standard deviations of the noise.
- **as published, proven**: the mechanism of the paper, word for word; the mechanism of this library.
"""


def page(figures: dict[str, dict[str, Figures]]) -> str:
    """The whole page, from the figures of each claim of each paper."""
    parts = [OPENING.rstrip(), "## All claims", _overview(figures)]
    for place, (name, paper) in enumerate(PAPERS.items(), start=1):
        parts += [f"## {place}. Claims, {paper.short}", wrapped(f"{paper.title}.")]
        for at, (claim, module) in enumerate(paper.claims.items(), start=1):
            parts.append(module.section(figures[name][claim]).markdown(f"{place}.{at}"))
    return "\n\n".join(parts) + "\n"


def _overview(figures: dict[str, dict[str, Figures]]) -> str:
    rows = [
        [
            finding.claim,
            f"{paper.short}, {finding.place}" if finding.place else "not in the paper",
            finding.holds,
            finding.measured,
            finding.meaning,
        ]
        for name, paper in PAPERS.items()
        for claim, module in paper.claims.items()
        for finding in module.findings(figures[name][claim])
    ]
    head = ["claim", "where in the paper", "does it hold?", "measured", "what it means for you"]
    return Table("One row for each claim; the sections below say more.", head, rows).markdown


def measure(quick: bool, only: str | None = None) -> dict[str, dict[str, Figures]]:
    """Every claim of all papers or one, its tables printed as soon as they are there."""
    found: dict[str, dict[str, Figures]] = {}
    for name, paper in PAPERS.items():
        if only not in (None, name):
            continue
        found[name] = {}
        for claim, module in paper.claims.items():
            begin = time.perf_counter()
            found[name][claim] = kept = rounded(module.measure(quick))
            print(f"{paper.short}: {module.section(kept).plain}\n\n{time.perf_counter() - begin:.0f} s\n", flush=True)
    return found


def rounded(figure: Any) -> Any:
    """As it is kept, so that the page is the same from the file as from the run."""
    if isinstance(figure, dict):
        return {key: rounded(value) for key, value in figure.items()}
    if isinstance(figure, list | tuple):
        return [rounded(value) for value in figure]
    return float(f"{figure:.{DIGITS}g}") if isinstance(figure, float) else figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer draws, about fifteen seconds; writes nothing")
    parser.add_argument("--only", choices=list(PAPERS), help="one paper; the figures of the others are kept")
    asked = parser.parse_args()
    figures = measure(asked.quick, asked.only)
    if asked.only and not asked.quick:
        figures = json.loads((DOCS / "truth.json").read_text()) | figures
    if not asked.quick:
        (DOCS / "truth.json").write_text(json.dumps(figures, indent=1, allow_nan=False) + "\n")
        (DOCS / "truth.md").write_text(page(figures))
        print("written: docs/truth.json, docs/truth.md")


if __name__ == "__main__":
    main()
