"""The risk in sentences that a board understands: what is bounded depends on the adjacency and on who is protected."""

from typing import NamedTuple, assert_never

from sfumato.artefact.risk import Risk
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.schema import Unit

FALSE_ALARMS = (0.001, 0.01, 0.1)
GUESSES = (0.01, 0.1, 0.5)


class _Test(NamedTuple):
    """What an attacker tries to tell apart, and what a wrong accusation is."""

    about: str
    right: str
    wrong: str
    secret: str


def _test_of(adjacency: Adjacency, unit: Unit | None) -> _Test:
    who = "person" if unit else "record"
    all_of_it = ", with all of their records," if unit else ""
    match adjacency:
        case Adjacency.ADD_REMOVE:
            return _Test(
                f"whether a given {who}{all_of_it} is in the table",
                f"{who}s that are in the table",
                f"{who}s that are not in the table",
                f"a value of a {who}",
            )
        case Adjacency.REPLACE:
            return _Test(
                f"which of two possible contents a given {who}{all_of_it} has",
                f"{who}s with the one content",
                f"{who}s with the other",
                f"a value of a {who}",
            )
        case Adjacency.LABEL:
            return _Test(
                f"which of two target values a given {who} has",
                f"{who}s with the one target value",
                f"{who}s with the other",
                f"the target value of a {who}",
            )
        case _:
            assert_never(adjacency)


def summarise_risk(risk: Risk, adjacency: Adjacency, unit: Unit | None) -> str:
    """One sentence for a board.

    Example
        >>> summarise_risk(Risk(0.237), Adjacency.ADD_REMOVE, None)[:64]
        'Somebody who knows everything else and must tell whether a given'
    """
    test = _test_of(adjacency, unit)
    return (
        f"Somebody who knows everything else and must tell {test.about} is right at most "
        f"{100 * risk.membership_guess:.1f} times in 100; a coin is right 50 times."
    )


def explain_risk(risk: Risk, adjacency: Adjacency, unit: Unit | None) -> tuple[str, ...]:
    """The sentence above, hits against false alarms, and guesses at a secret value."""
    test = _test_of(adjacency, unit)
    found = [
        f"an attacker who accuses {_share(share)} of the {test.wrong} finds at most {_share(risk.hits(share))} of the "
        f"{test.right}"
        for share in FALSE_ALARMS
    ]
    secrets = [
        f"{test.secret} that is guessed right in {_share(before)} of all cases without the release is guessed right in "
        f"at most {_share(risk.secret_guess(before))} with it"
        for before in GUESSES
    ]
    advantage = f"the advantage over a blind guess is at most {risk.advantage:.3f}; 0 is nothing, 1 is certainty"
    return (summarise_risk(risk, adjacency, unit), advantage, *found, *secrets)


def _share(share: float) -> str:
    return f"{100 * share:.3g} %"
