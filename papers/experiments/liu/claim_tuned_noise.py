"""The claim for the means as it stands: noise that is computed from the private records costs nothing."""

from typing import NamedTuple

import numpy as np
from sfumato_papers.liu import Reading
from sfumato_papers.liu.gaussian_loss import GaussianLoss
from sfumato_papers.liu.release import Prepared

from experiments.cells import progress
from experiments.liu.changes import (
    CHANGES_SEED,
    OTHER_SEEDS,
    READINGS,
    SYNTHETIC_SEED,
    Change,
    algorithm,
    all_changes,
    other_tables,
    relabelled,
    some_changes,
    tables,
)
from experiments.mixture_data import DELTA, Records
from experiments.truth_page import Figures, Finding, Section, Table, number, span, spread, yes
from sfumato.trusted.budget import epsilon_of

EPSILON = 1.0
DISTANCES = (5.0, 10.0, 20.0, 50.0, 100.0)
PLANTED, PLANTED_SEED = (200, 300), 11
PLACE = "(10), (23), theorem 1"


class Pair(NamedTuple):
    """The losses of the means between a table and a neighbour, in both directions."""

    here: GaussianLoss
    there: GaussianLoss

    def divergence(self) -> float:
        return max(side.divergence for side in self)

    def delta(self, epsilon: float) -> float:
        return max(side.delta(epsilon) for side in self)

    def epsilon(self) -> float:
        return max(side.epsilon(DELTA) for side in self)


def pair(here: Prepared, there: Prepared, changed: tuple[int, int]) -> Pair:
    """Only two classes differ; the others tell nothing."""
    return Pair(_loss(here, there, changed), _loss(there, here, changed))


def _loss(own: Prepared, other: Prepared, changed: tuple[int, int]) -> GaussianLoss:
    one, two = (
        GaussianLoss.between(
            own.fitted.means[k],
            own.plan.mean_covariances[k],
            other.fitted.means[k],
            other.plan.mean_covariances[k],
        )
        for k in changed
    )
    return one + two


def measure(quick: bool) -> Figures:
    few, closer, thinned = (2, 2, 307) if quick else (30, 50, 1)
    others = other_tables(quick)
    return {
        "epsilon": EPSILON,
        "delta": DELTA,
        "seed of the table": SYNTHETIC_SEED,
        "seed of the changes": CHANGES_SEED,
        "seed of the planted table": PLANTED_SEED,
        "random neighbours": few,
        "looked at closely": closer,
        "tables": [
            _table(name, records, reading, few, closer, thinned)
            for name, records in tables().items()
            for reading in READINGS
        ],
        "seeds of other tables": list(OTHER_SEEDS[: len(others)]),
        "others": [
            {"reading": reading, "times claim": [_times_claim(records, reading, few) for records in others]}
            for reading in READINGS
        ],
        "planted": [
            _planted(distance, reading) for distance in (DISTANCES[:1] if quick else DISTANCES) for reading in READINGS
        ],
    }


def _table(name: str, records: Records, reading: Reading, few: int, closer: int, thinned: int) -> Figures:
    here = algorithm(records, EPSILON, reading)
    chosen = some_changes(records, few)
    every = list(dict.fromkeys([*all_changes(records)[::thinned], *chosen]))
    pairs = {}
    for change in progress(every, f"means: {name}, {reading}"):
        there = algorithm(relabelled(records, change), EPSILON, reading)
        pairs[change] = pair(here, there, (int(records.label[change.record]), change.label))
    deltas = [one.delta(EPSILON) for one in pairs.values()]
    farthest = sorted(pairs, key=lambda change: -pairs[change].divergence())[:closer]
    epsilons = {change: pairs[change].epsilon() for change in farthest}
    worst = max(farthest, key=lambda change: epsilons[change])
    claimed = float(here.plan.mean_epsilons.max())
    return {
        "table": name,
        "reading": reading,
        "neighbours": len(pairs),
        "claimed": claimed,
        "worst": {
            "record": worst.record,
            "from": int(records.label[worst.record]),
            "to": worst.label,
            "epsilon": epsilons[worst],
            "delta": pairs[worst].delta(claimed),
            "total variation": pairs[worst].delta(0.0),
            "epsilon if frozen": _frozen(records, here, worst, reading),
        },
        "random": [
            float(one) for one in np.quantile([pairs[change].epsilon() for change in chosen], (0.25, 0.5, 0.75, 1))
        ],
        "deltas": [float(one) for one in np.quantile(deltas, (0.5, 0.75, 1))],
    }


def _times_claim(records: Records, reading: Reading, few: int) -> float:
    """The epsilon of the worst of a few random neighbours, over what is claimed."""
    here, found = algorithm(records, EPSILON, reading), []
    for change in progress(some_changes(records, few), f"means: other tables, {reading}"):
        there = algorithm(relabelled(records, change), EPSILON, reading)
        found.append(pair(here, there, (int(records.label[change.record]), change.label)).epsilon())
    return max(found) / float(here.plan.mean_epsilons.max())


def _frozen(records: Records, here: Prepared, change: Change, reading: Reading) -> float:
    """The epsilon of the same pair if both tables had the noise of the first."""
    there = algorithm(relabelled(records, change), EPSILON, reading)
    moved = there.fitted.means - here.fitted.means
    square = np.einsum("ki,kij,kj->", moved, np.linalg.inv(here.plan.mean_covariances), moved)
    return epsilon_of(float(np.sqrt(square)), DELTA)


def planted(distance: float) -> Records:
    """Two round classes; the first record of the first is far out."""
    rng = np.random.default_rng(PLANTED_SEED)
    first, second = (rng.standard_normal((count, 3)) for count in PLANTED)
    second[:, 0] += 4
    first[0] = [0, distance, 0]
    end = np.full(3, max(DISTANCES))
    return Records(np.concatenate((first, second)), np.repeat([0, 1], PLANTED), 2, -end, end)


def _planted(distance: float, reading: Reading) -> Figures:
    records = planted(distance)
    here = algorithm(records, EPSILON, reading)
    found = pair(here, algorithm(relabelled(records, Change(0, 1)), EPSILON, reading), (0, 1))
    return {
        "distance": distance,
        "reading": reading,
        "claimed": float(here.plan.mean_epsilons.max()),
        "epsilon": found.epsilon(),
        "delta": found.delta(EPSILON),
    }


def findings(figures: Figures) -> list[Finding]:
    both, leave = (
        [number(row["worst"]["epsilon"]) for row in _read(figures, reading)] for reading in ("both", "leave")
    )
    return [
        Finding(
            "The noise may be fitted to the private records for free",
            "(23), theorem 1",
            yes(all(row["worst"]["epsilon"] <= row["claimed"] for row in figures["tables"])),
            f"epsilon of the means up to {both[0]} on synthetic data and {both[1]} on Iris (*both*), {leave[0]} and "
            f"{leave[1]} (*leave*); {span([row['claimed'] for row in figures['tables']])} is claimed",
            "How much noise there is betrays what it was meant to hide.",
        )
    ]


def _read(figures: Figures, reading: Reading) -> list[Figures]:
    return [row for row in figures["tables"] if row["reading"] == reading]


def section(figures: Figures) -> Section:
    one = _read(figures, "both")[0]
    far = [row for row in figures["planted"] if row["reading"] == "leave"]
    most = next(max(row["times claim"]) for row in figures["others"] if row["reading"] == "both")
    text = f"""
        The paper computes the shape of the noise from the private records, so that it fits them best, and does not
        count what that shape tells. A neighbouring table gets another shape.

        On synthetic data, with both classes guarded, the worst of {number(one["neighbours"])} neighbours has an
        epsilon of {number(one["worst"]["epsilon"])} for a claimed {number(one["claimed"])}. With the same noise on
        both sides that pair would have {number(one["worst"]["epsilon if frozen"])}: it is the noise that tells. On
        {len(figures["seeds of other tables"])} other synthetic tables the worst of {figures["random neighbours"]}
        random neighbours has up to {number(most)} times what is claimed.

        With *leave*, one record far away makes it as bad as one likes: {number(far[0]["epsilon"])} at a distance of
        {number(far[0]["distance"])} standard deviations, {number(far[-1]["epsilon"])} at
        {number(far[-1]["distance"])}. Those who stand out most are protected least.
    """
    caption = f"""
        Means only, both tables run the algorithm, epsilon {number(EPSILON)} in all: exact epsilon at a delta of
        {number(figures["delta"])}. The worst is that of the {figures["looked at closely"]} neighbours of largest
        divergence, so that the true worst may be worse still; quartiles and most are of {figures["random neighbours"]}
        random neighbours, deltas (median, upper quartile, most) of all.
    """
    head = ["table", "reading", "neighbours", "claimed", "worst neighbour", "the same, noise frozen"]
    head += ["its delta at the claim", "its total variation", "random neighbours", f"delta at {number(EPSILON)}"]
    return Section(
        "Noise may be fitted to the private records for free",
        PLACE,
        text,
        [
            Table(caption, head, [_row(row) for row in figures["tables"]]),
            Table(
                f"Over {len(figures['seeds of other tables'])} other synthetic tables: epsilon of the worst of "
                f"{figures['random neighbours']} random neighbours, times the claim.",
                ["reading", "least", "median", "most"],
                [[row["reading"], *spread(row["times claim"])] for row in figures["others"]],
            ),
            Table(
                f"One record far from its class of {number(PLANTED[0])}, in standard deviations.",
                ["distance", "reading", "claimed", "exact epsilon", f"delta at {number(EPSILON)}"],
                [
                    [
                        number(row["distance"]),
                        row["reading"],
                        *(number(row[name]) for name in ("claimed", "epsilon", "delta")),
                    ]
                    for row in figures["planted"]
                ],
            ),
        ],
    )


def _row(row: Figures) -> list[str]:
    worst = row["worst"]
    return [
        row["table"],
        row["reading"],
        number(row["neighbours"]),
        number(row["claimed"]),
        f"**{number(worst['epsilon'])}**",
        *(number(worst[name]) for name in ("epsilon if frozen", "delta", "total variation")),
        " / ".join(map(number, row["random"])),
        " / ".join(map(number, row["deltas"])),
    ]
