"""A curator that asks for statistics of one view, and gives the answers in units of one person."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from sfumato.errors import RequestError
from sfumato.trusted.measurement import CuratorLike, Measurement
from sfumato.trusted.statistics import PersonLevel, Statistic
from sfumato.trusted.statistics.person_level import PARTS


class ViewCurator:
    """Every question is asked of the records of a view, by person: see `PersonLevel`."""

    def __init__(self, curator: CuratorLike, view: str) -> None:
        self._curator, self._view = curator, view

    def measure(self, statistic: Statistic, mu: float) -> Measurement:
        """See `Curator`."""
        return per_person(self._curator.measure(PersonLevel(statistic, self._view), mu))

    def features(self, names: Sequence[str]) -> NoReturn:
        """None are public: label adjacency is not for families."""
        raise RequestError(f"the columns {', '.join(names)} of a family of tables are private")


def per_person(answer: Measurement) -> Measurement:
    """An answer to a person-level question as one to the inner question, in units of one person."""
    if not isinstance(answer.statistic, PersonLevel):
        raise TypeError("a question of a family is asked by person")
    inner, values = answer.statistic.statistic, answer.values / PARTS
    return replace(answer, statistic=inner, sigma=answer.sigma / PARTS, values=values)  # type: ignore[arg-type]
