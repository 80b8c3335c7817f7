"""How a release was made, in sentences: what was asked, how noise was drawn, how costs add up, what must be trusted.

They hold of every release that this library makes, wherever the records were stored. The public report and the
exports say the same.
"""

from typing import NamedTuple

from sfumato._version import __version__
from sfumato.archive.members import FORMAT_VERSION
from sfumato.artefact.families.release import FamilyRelease
from sfumato.artefact.release import Release
from sfumato.fitting.stored_plan import describe_mechanism

_MECHANISMS = {
    "tables": "Noisy counts of single columns, pairs and some triples of columns; a mixture of products is fitted to "
    "them, and a predictor of the target, where there is one, is corrected by noisy sums of its errors.",
    "mixture": "Noisy sums of bounded functions of the columns, class by class; a Gaussian is fitted to each class.",
    "subspace": "Noisy counts, means and second moments of records that are clipped to a ball; a Gaussian is fitted to "
    "each class along the directions that stand above the noise.",
    "family": "Noisy counts of single columns and pairs of columns, of persons with their first rows and of every "
    "later row with the row before it, where a person's rows share one unit of weight; mixtures are fitted to them, "
    "and predictors of targets are corrected by noisy sums of their errors.",
    "slices": "Noisy histograms of columns, pairs of columns and random directions; a generator is trained on them.",
    "3a": "Noisy counts, with histograms along random directions or a mean embedding where these were chosen; a model "
    "is fitted to them, and a predictor of the target is corrected by noisy sums of its errors where that was chosen.",
}


class Fact(NamedTuple):
    """One thing about how a release was made."""

    title: str
    words: str


def making_of(release: Release | FamilyRelease) -> list[Fact]:
    """The facts, in the order in which a reviewer asks for them.

    Example
        >>> [fact.title for fact in making_of(release)][:2]
        ['mechanism', 'noise']
    """
    return [
        Fact("mechanism", mechanism_of(release)),
        Fact("noise", noise_of(release)),
        Fact("composition", composition_of(release)),
        Fact("floating point", FLOATING_POINT),
        Fact("timing", TIMING),
        Fact("post-processing", POST_PROCESSING),
        Fact("trust", trust_in(release)),
        Fact("versions", f"bundle format {FORMAT_VERSION}; this text was written by sfumato {__version__}"),
    ]


def mechanism_of(release: Release | FamilyRelease) -> str:
    """What was measured, and what was fitted to it."""
    name = release.statement.mechanism
    words = describe_mechanism(name, release.plan.choices)
    return f"{words}: {_MECHANISMS.get(name, 'see the list of what was measured')}"


def noise_of(release: Release | FamilyRelease) -> str:
    """Where the noise came from."""
    if release.statement.seeded:
        return "Gaussian noise from a seed: for tests only. This release is not private."
    return (
        "Gaussian noise, rounded to integers, from the operating system's cryptographic source, added to every sum "
        "before anything else sees it."
    )


def composition_of(release: Release | FamilyRelease) -> str:
    """How costs add up."""
    statement = release.statement
    lists = (
        f"; {statement.delta_keys:.3g} of delta is for lists of values that were found" if statement.delta_keys else ""
    )
    reserved = " A ledger held the whole budget before a record was read." if statement.reservation else ""
    return (
        f"{len(statement.items)} measurements under one budget. Their costs add up as mu squared (Gaussian "
        f"differential privacy), in integers; all together are {statement.mu:.4g}-GDP. Epsilon and delta follow from "
        f"the exact curve of the Gaussian mechanism{lists}.{reserved}"
    )


FLOATING_POINT = (
    "Each record adds integers that depend on that record alone, and sums are exact 64-bit integers: their order, "
    "threads and machines change nothing. Noise is added to integers and is exact in distribution, so the bound holds "
    "of the program and not only of the formula."
)
TIMING = (
    "The release was made once, and nobody can ask the records again. How long that took, and what else the machine "
    "shows while it runs, is not hidden."
)
POST_PROCESSING = (
    "Everything after the noisy sums: fitting, sampling, prediction and this text. It sees no record and costs "
    "nothing. Counts and probabilities are made consistent and non-negative, so rare values are not unbiased."
)


def trust_in(release: Release | FamilyRelease) -> str:
    """Who and what must be trusted."""
    checked = "" if release.statement.reservation else " No ledger recorded the spending."
    return (
        "The custodian: that the library ran unchanged, that the schema was written without looking at the records, "
        "and that all releases from them are counted together. Readers need no trust in each other: the bound holds "
        f"whatever they know or share.{checked}"
    )
