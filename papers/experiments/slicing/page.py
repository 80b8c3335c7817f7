"""The page of the experiment, with its pictures."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments.clustmix.runs import Kept
from experiments.pictures import write
from experiments.slicing import adaptation, adaptive, divergences, drawings, predictions, table, toys, translator
from experiments.slicing.metrics import METRICS
from experiments.truth_page import wrapped

HEAD = """\
# The slicing mechanism: census tables, digits of two hands, toys

The experiments of *Privacy without Noisy Gradients: Slicing Mechanism for Generative Model Training* (NeurIPS 2024,
arXiv 2410.19941), drawn anew: by our reading of its formulas (`sfumato_papers.slicing`), by the rivals it names
(`sfumato_papers.baselines`) and by the **proven** releases of this library at the same epsilon. **Only the claims of
the abstract could be followed**: theorems, algorithm, kernel, settings and figures of the paper were not at hand. So
there are none beside ours, and *as published* is what the abstract says, filled in by us.

`python -m experiments.slicing` writes this page; [results.json](results.json) and [toys.json](toys.json) have every
run, and finished runs are not run again. `--quick` takes minutes on a CPU and writes nothing. The digits and the rivals
of the tables are for a machine with a GPU: it reads with `--arrays` what `--export` has written.

**Only the columns `slices`, `tables` and `mixture` are proven.** The others claim what their own papers claim, under
assumptions that `sfumato_papers` names one by one.

What differs from the paper:

* *Income, Coverage, Employment* are the public rules of folktables on the data at hand: Income of 37 states with
  coarser marital status and race; Coverage and Employment of Connecticut in three years, aged 15 and over, without MIG,
  ANC, DEAR, DEYE, DREM, RELP, FER and ST. Occupations and places of birth are by groups of the code book.
* *Mobility* and *TravelTime* ask for columns that are not at hand. Their rules are written and tested
  (`experiments/slicing/acs.py`) on the format of the public file; in their place stand *Adult*, and *Readmission*:
  71,518 people with diabetes who left a hospital, and whether they came back.
* Made-up numbers are rounded to whole ones where the schema says that they are whole, for all methods alike.
* 40,000 training rows at most, a public sub-sample; a quarter of the rows is held out, and all figures are against it.
* Epsilon 5.1 and delta 1e-5, three seeds: mean and standard deviation. Rivals run at their default settings, which
  were chosen on Coverage (its held-out rows, some fifty looks), to their advantage.
* All protect one replaced record, at the same epsilon and delta, but for DP-SGD GAN, whose claim is for one record more
  or less, which promises less at the same epsilon.
"""
ALIKE = 0.01
"""Means over tasks that are no further apart are called the same."""
FIGURES = {
    "KSComp": "1 less the Kolmogorov-Smirnov statistic of each number, mean over numbers.",
    "CorrSim": "1 less half the difference of correlations, mean over pairs of numbers; Employment has one number.",
    "LogitRegression": "Area under the ROC curve on real rows, of a logistic regression that learnt from made-up ones.",
    "2-way TV": "1 less the total variation, mean over pairs of columns; beyond the paper.",
    "LightGBM": "Area under the ROC curve on real rows, of trees that learnt from made-up ones; beyond the paper.",
}
DIGITS = """\
The labelled set is public, the other private and without labels; images of 16 x 16 pixels. Slices of the private images
are released once, at delta 1e-5. A translator learns to make public images whose slices are the released ones, and a
classifier learns from them. *Source only*: no translator. *SliceWass*: noisy projections of each image along 64 random
directions, noise by the authors' bound, or by the exact profile. *Slicing as published*: along 64 orthonormal ones,
noise by the exact profile, compared by the smoothed divergence in place of quantiles. *slices*: counts of all images
along 64 public directions through this library's curator (the statistic `Slices`). Centre, radius, directions and
ranges are those of the public set. One setting of the translator, the learning rate of its moves, was raised tenfold
after a look at accuracy on USPS; it is the same for all methods.
"""
TOYS = """\
20,000 records, delta 1e-5, one seed. A cloud is found if more than 2 % of the points lie within 0.2 of it. Points
spread evenly over the square find all eight, so read it with *near*, the share of points within 0.2 of any cloud: a
quarter if spread evenly, nearly all of the records. *distance* is the mean over directions of the one-dimensional
Wasserstein distance to fresh records.
"""

TRANSLATOR = """\
What users get: USPS is released once by `sfumato.release`, as any table whose columns are one image, and MNIST is moved
by `release.translate` from the bundle alone; then a classifier learns from the moved images for 1,000 steps (`python -m
experiments.slicing.translator`; delta 1e-5, replace adjacency, mean and standard deviation over seeds, on the test
images of USPS). *Held back*: what slices that were not learnt from are off, squared, over their variance; noise alone
leaves 1. Rates are those of the experiment above. A first draft, without the share of steps in which an image is only
turned and stretched, was looked at once on the test images; that share was settled on made pictures of bars.
"""
DIVERGENCES = """\
`retrain` by each divergence of the family from the same bundles, epsilon 1 (`python -m
experiments.slicing.divergences`). Means over {bundles}.
"""
ADAPTIVE = """\
Directions chosen from released residuals, at the same budget as random ones (`python -m experiments.slicing.adaptive`):
16 random ones with half of their share, a generator, then 16 along which its pairs are farthest from the released ones.
Epsilon 1, 400 epochs; nothing was tuned, and Coverage is kept for whoever wants to tune. {verdict}
"""
PREDICTIONS = """\
Area under the ROC curve on held-out rows of the release itself, by `predict_proba`
(`python -m experiments.slicing.predictions`). *slices, its mixture*: the probability of the class given all other
columns by the mixture of latent points. *slices*: by its labeller, distilled from the mixture's own records. The number
of its directions was chosen on seed 0 of four of these tables and on two others (held-out rows, a dozen looks).
"""
ARCHITECTURES = """\
Coverage, released once by `slices`; every line is trained from the bundle alone, each architecture from two starts
(`python -m experiments.slicing.architectures`). The last has no hidden layer and is not of the library.
"""
MORE = """\
## More

* [Noise of random slices](accounting.md): the exact account beside published bounds, and what shuffling brings
  (`python -m experiments.slicing.accounting_tables`).
* The estimator of the smoothed-sliced divergence is consistent (`python -m experiments.slicing.consistency`):

![error against the number of points](consistency.svg)
"""


def write_page(kept: Kept, panels: toys.Panels, folder: Path) -> None:
    """README.md, digits.svg, and a picture of each toy."""
    write(drawings.accuracy(kept), folder / "digits.svg")
    for name in toys.TOYS:
        write(drawings.toy(panels, name), folder / f"{name.replace(' ', '_')}.svg")
    (folder / "README.md").write_text(page(kept, panels), encoding="utf-8")


def page(kept: Kept, panels: toys.Panels) -> str:
    """Every cell is a figure or says why it is none."""
    parts = [HEAD, f"## Census tables, epsilon 5.1\n\n{_means(kept)}\n{_sentence(kept)}\n"]
    for metric in METRICS:
        rows = grid(["", *table.METHODS], table.lines(kept, metric, table.TASKS))
        parts.append(f"### {metric}\n\n{FIGURES[metric]}\n\n{rows}")
    digits = grid(["accuracy", *adaptation.METHODS], adaptation.lines(kept))
    parts.append(f"## MNIST and USPS\n\n{DIGITS}\n![accuracy against epsilon](digits.svg)\n\n{digits}")
    parts.append(f"### The translator of users\n\n{TRANSLATOR}\n{_translator()}")
    pictures = "\n".join(f"![{name}]({name.replace(' ', '_')}.svg)\n" for name in toys.TOYS)
    parts.append(f"## Toys\n\n{TOYS}\n{pictures}\n{grid(['', *toys.METHODS], toy_lines(panels))}")
    parts += [_predictions(), _architectures(), _divergences(), _adaptive()]
    return "\n".join([*parts, MORE])


def _sentence(kept: Kept) -> str:
    """How far `slices` is above the best of the others, and `tables` above it."""
    ahead: list[str] = []
    behind: dict[str, float] = {}
    for metric in METRICS:
        means = {method: table.mean_over_tasks(kept, metric, method) for method in table.METHODS}
        rivals = [value for method in (*table.RIVALS, *table.SLICED) if (value := means[method]) is not None]
        ours, tables = means["slices"], means["tables"]
        if ours is not None and rivals:
            ahead.append(f"{metric} {ours - max(rivals):+.3f}")
        if ours is not None and tables is not None:
            behind[metric] = tables - ours
    if not ahead or not behind:
        return ""
    return wrapped(
        f"`slices` against the best of all others, mean over tasks: {', '.join(ahead)}. `tables` against `slices`: "
        f"{', '.join(f'{metric} {value:+.3f}' for metric, value in behind.items())}. {_rows_of_both(behind)} The "
        "choice is between an answer in seconds (`tables`), and histograms that any generator can be trained on, at "
        "any time (`slices`). `mixture` has no place for categories."
    )


def _rows_of_both(behind: Mapping[str, float]) -> str:
    """Whether the rows of `tables` and `slices` are worth the same, and where not, which are worth more."""
    apart = {metric: value for metric, value in behind.items() if abs(value) > ALIKE}
    if not apart:
        return f"So at this budget the rows of both are worth the same: no mean is more than {ALIKE:g} apart."
    leads = (f"{'`tables`' if value > 0 else '`slices`'} by {metric}" for metric, value in apart.items())
    return f"Ahead by more than {ALIKE:g}: {', '.join(leads)}."


def _predictions() -> str:
    """The table of `experiments.slicing.predictions`, as far as it has been run."""
    found = json.loads(predictions.RESULTS.read_text()) if predictions.RESULTS.exists() else {}
    return f"## Predictions\n\n{PREDICTIONS}\n{grid(['', *predictions.METHODS], predictions.lines(found))}"


def _translator() -> str:
    return grid(["", *translator.HEAD], translator.lines(_kept(translator.RESULTS)))


def _divergences() -> str:
    found = _kept(divergences.RESULTS)
    text = wrapped(DIVERGENCES.format(bundles=divergences.bundles(found)))
    return f"## One bundle, five divergences\n\n{text}\n\n{grid(['', *METRICS], divergences.lines(found))}"


def _adaptive() -> str:
    found = _kept(adaptive.RESULTS)
    text = wrapped(ADAPTIVE.format(verdict=adaptive.verdict(found)))
    return f"## Adaptive directions\n\n{text}\n\n{grid(['', *METRICS], adaptive.lines(found))}"


def _kept(path: Path) -> dict[str, dict[str, float]]:
    """Runs that an experiment has written beside itself, as far as there are any."""
    found: dict[str, dict[str, float]] = json.loads(path.read_text()) if path.exists() else {}
    return found


def _architectures() -> str:
    """The table of `experiments.slicing.architectures`, where it has been run."""
    path = Path(__file__).parent / "architectures.json"
    if not path.exists():
        return "## One bundle, three architectures\n\nnot run: `python -m experiments.slicing.architectures`\n"
    found = json.loads(path.read_text())
    rows = [
        [name, *(f"{one[metric]:.3f}" for metric in METRICS), f"{one['seconds']:.0f}"]
        for name, one in found["runs"].items()
    ]
    ledger = "did not move" if found["ledger unchanged"] else "MOVED"
    return (
        f"## One bundle, three architectures\n\n{ARCHITECTURES}The ledger {ledger}.\n\n"
        f"{grid(['', *METRICS, 'seconds'], rows)}"
    )


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)) + "\n"


def _means(kept: Kept) -> str:
    """Means over tasks of all figures at a glance."""
    rows = [[metric, *(table.over_tasks(kept, metric, method) for method in table.METHODS)] for metric in METRICS]
    return grid(["mean over tasks", *table.METHODS], rows)


def toy_lines(panels: toys.Panels) -> list[list[str]]:
    """A row for each toy and epsilon."""
    return [
        [f"{name}, epsilon {epsilon:g}", *(_toy_cell(panels.of(name, method, epsilon)) for method in toys.METHODS)]
        for name in toys.TOYS
        for epsilon in toys.EPSILONS
    ]


def _toy_cell(found: dict[str, object]) -> str:
    if "why" in found:
        return f"not run: {found['why']}"
    clouds = f", {found['clouds']} of {toys.CLOUDS} clouds, near {found['near']:.2f}" if "clouds" in found else ""
    return f"distance {found['distance']:.3f}{clouds}"
