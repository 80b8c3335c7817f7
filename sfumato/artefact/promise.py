"""The promise of a release in plain words, and what an attacker gains at most, as sentences."""

from typing import NamedTuple

from sfumato.artefact.risk import Risk
from sfumato.artefact.statement import PrivacyStatement
from sfumato.trusted.adjacency import Adjacency

_CONFIDENT = 0.75  # of guesses between two that are right


class RiskLine(NamedTuple):
    """A bound on what an attacker gains: before the release, after it, and what is meant."""

    before: str
    after: str
    words: str


def plain_promise(statement: PrivacyStatement, target: str | None) -> str:
    """To whom what is promised, in one sentence without a formula.

    statement   of the release
    target      the column that `label` adjacency protects

    Example
        >>> plain_promise(release.statement, "sex")[:33]
        'Nobody who reads this release can'
    """
    if statement.seeded:
        return "This release is not private: its noise came from a seed and can be taken off again."
    secret, right = secret_of(statement, target), risk_of(statement).membership_guess
    if right > _CONFIDENT:
        return f"At this budget somebody may tell {secret}: up to {share(right)} of such guesses are right."
    return f"Nobody who reads this release can tell with confidence {secret}."


def secret_of(statement: PrivacyStatement, target: str | None) -> str:
    """What stays secret, by adjacency and unit: the end of a sentence."""
    person = statement.unit is not None
    match statement.adjacency:
        case Adjacency.ADD_REMOVE if statement.tables is not None:
            return "whether a given person is in the database, with few rows or with many"
        case Adjacency.ADD_REMOVE if person:
            return "whether a given person is in the table, with one record or with many"
        case Adjacency.ADD_REMOVE:
            return "whether a given record is in the table"
        case Adjacency.REPLACE:
            return f"what the records of a given {'person' if person else 'row'} say"
        case Adjacency.LABEL:
            whose = "the records of a given person have" if person else "a given record has"
            return f"which {target or 'target value'} {whose}; all other columns are public"


def risk_of(statement: PrivacyStatement) -> Risk:
    """The bounds on an attacker's success that follow from what was spent."""
    return Risk(statement.mu, statement.delta_keys or 0.0)


def risk_lines(statement: PrivacyStatement, target: str | None) -> list[RiskLine]:
    """What an attacker gains at most who knows everything but the secret, in three figures."""
    risk, one = risk_of(statement), "person" if statement.unit else "record"
    found, secret = "hits of a test that raises 1 false alarm in 100", f"right guesses of a secret of one {one}"
    match statement.adjacency:
        case Adjacency.ADD_REMOVE:
            where = "table" if statement.tables is None else "database"
            guessed = f"right guesses whether a {one} is in the {where}"
            found = "of those looked for are found, if 1 of 100 others is accused falsely"
        case Adjacency.REPLACE:
            guessed = f"right guesses which of two contents a {one} has"
        case Adjacency.LABEL:
            guessed = f"right guesses which of two values of {target or 'the target'} a {one} has"
            secret = f"right guesses of {target or 'the target'}, where it has many values"
    return [
        RiskLine("50%", share(risk.membership_guess), guessed),
        RiskLine("1%", share(risk.hits(0.01)), found),
        RiskLine("10%", share(risk.secret_guess(0.1)), secret),
    ]


def share(value: float) -> str:
    """A share as a person reads it: 62%, 2.7%, and never 100% for what is not certain."""
    if value >= 1:
        return "100%"
    if value > 0.99:
        return f"{min(value, 0.9999):.2%}"
    return f"{value:.0%}" if value >= 0.1 else f"{value:.1%}"
