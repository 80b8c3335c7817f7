"""What an attacker gains from a release, at most: the promise in terms of guesses.

The attacker knows every other record, the schema, the whole release and how it was made. A mu-GDP mechanism bounds
every test between two neighbouring tables by that of a Gaussian shifted by mu (Dong, Roth and Su 2019, definition 2.1):

    hits <= Phi(Phi^-1(false alarms) + mu)

A guess at a secret value is such a test, too. Say that a guess without the release is right with probability p, over
the secret and all else that the attacker knows. For each value v of the secret let S_v be the releases after which the
attacker guesses v. With the person's record, P(S_v) <= T(Q(S_v)), where Q is the mechanism without it and T the bound
above. T is concave, so the mean over v is at most T(mean of Q(S_v)), and that mean is the chance of a guess that does
not depend on the secret, p at most: T(p) bounds the chance of a right guess (Hayes, Mahloujifar and Balle 2023).
"""

from dataclasses import dataclass
from statistics import NormalDist

_NORMAL = NormalDist()


@dataclass(frozen=True)
class Risk:
    """The bounds that follow from mu.

    `delta_keys` is the probability that a discovered list of values names what only one of the protected holds; it adds
    to every chance.
    """

    mu: float
    delta_keys: float = 0.0

    @property
    def advantage(self) -> float:
        """The largest difference of hits and false alarms of any test of membership: 0 is nothing, 1 is certainty."""
        return min(1.0, 2 * _NORMAL.cdf(self.mu / 2) - 1 + self.delta_keys)

    @property
    def membership_guess(self) -> float:
        """The chance of guessing right whether somebody took part, where a coin would be right half of the time."""
        return min(1.0, (1 + self.advantage) / 2)

    def hits(self, false_alarms: float) -> float:
        """The share of participants that a test finds, at most, at this share of false alarms."""
        if not 0 < false_alarms < 1:
            return self.delta_keys if false_alarms <= 0 else 1.0
        return min(1.0, _NORMAL.cdf(_NORMAL.inv_cdf(false_alarms) + self.mu) + self.delta_keys)

    def secret_guess(self, before: float) -> float:
        """The chance of guessing a secret value, at most, that is guessed with chance `before` without the release."""
        return self.hits(before)


def mu_of_advantage(advantage: float) -> float:
    """The largest mu that gives an attacker no more than this advantage, which lies between 0 and 1."""
    return 2 * _NORMAL.inv_cdf((1 + advantage) / 2)
