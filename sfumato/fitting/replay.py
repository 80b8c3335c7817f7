"""A stand-in for the curator that repeats recorded answers, so that anyone can fit a release anew."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from sfumato.errors import BundleError
from sfumato.trusted.encoding import Batch
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.statistics import KeyCounts, Statistic

Same = Callable[[Statistic, Statistic], bool]


def equal(asked: Statistic, recorded: Statistic) -> bool:
    """Whether two questions are the same to the last digit."""
    return asked.to_dict() == recorded.to_dict()


class Replay:
    """The recorded answers in order; a question must be `same` as the recorded one, and cost the same."""

    def __init__(
        self, measurements: tuple[Measurement, ...], same: Same = equal, features: Batch | None = None
    ) -> None:
        self.left = list(measurements)
        self._same = same
        self._features = features

    def features(self, names: Sequence[str]) -> Batch:
        """The public features, if they were given."""
        if self._features is None or not set(names) <= set(self._features.codes):
            raise BundleError("this release was fitted with the public features; give them to fit it anew")
        return self._features

    def must_be_left(self, mus: Sequence[float]) -> None:
        """Refuse answers that nobody asks for; those left must have cost this."""
        if tuple(answer.mu for answer in self.left) != tuple(mus):
            raise BundleError("there are other measurements than the budget asks for; use the one that made the bundle")

    def measure(self, statistic: Statistic, mu: float) -> Measurement:
        """The next recorded answer."""
        answer = self.left.pop(0) if self.left else None
        if answer is None or answer.mu != mu or not self._same(statistic, answer.statistic):
            raise BundleError("the measurements are not what this version asks for; use the one that made the bundle")
        return answer

    def discover(self, question: KeyCounts, mu: float) -> Measurement:
        """The next recorded answer, which holds the keys that were found."""
        recorded = self.left[0].statistic if self.left else None
        return self.measure(replace(question, keys=recorded.keys) if isinstance(recorded, KeyCounts) else question, mu)
