"""A lower bound on mu from guesses about many canaries in a single release.

The game: m canaries (records, groups of records or persons) are put into the table or left out by m independent fair
coins, or are given one of two values each. One release is made. A guesser who sees it names the outcome of r of the
coins, and W guesses are right (Steinke, Nasr and Jagielski 2023).

Why the bound holds. Let the mechanism be mu-GDP for one canary, T(p) = Phi(Phi^-1(p) + mu), and A a set of integers.
Take canary i, a value s of its coin, and the event E: "i is guessed to be s, and the number of right guesses about the
others is w - 1 for a w in A". Given the other coins, E is an event of the release alone, so that
P(E | coin is s) <= T(P(E | coin is not s)); T is concave, so this holds of the mean over the other coins, too. Where
E happens and the coin is s, guess i is right and W is in A. Where it happens and the coin is not s, guess i is wrong
and W + 1 is in A. Sum over i and s, use the concavity of T once more, and with F(a) = P(W >= a) and A = {a, a + 1, ...}

    E[W; W >= a] / m  <=  T( E[r - W; W >= a - 1] / m ),                     (the form of Mahloujifar et al. 2024)
    E[W; W >= a] = a F(a) + sum_{w > a} F(w),     E[r - W; W >= a - 1] = (r - a + 1) F(a - 1) - sum_{w >= a} F(w).

Solved for F(a - 1) this is a lower bound on it that grows with every F(w), w >= a. If F(v) were alpha for the v guesses
that were right, the bounds on F(v - 1), F(v - 2), ... follow one after the other; if one of them exceeds 1, then
F(v) < alpha under this mu: such luck has probability below alpha, and mu is rejected at level alpha. The bound is the
largest mu that is rejected. Nothing is assumed about how canaries interfere or how guesses are made.
"""

from scipy.special import ndtr, ndtri

_HALVINGS = 40
_LARGEST = 20.0


def mu_from_guesses(right: int, guesses: int, canaries: int, confidence: float = 0.999) -> float:
    """The largest mu that `right` of `guesses` guesses about `canaries` coins reject at level 1 - confidence.

    Arguments
        right, guesses, canaries   with 0 <= right <= guesses <= canaries; the number of guesses is fixed beforehand
        confidence                 a mu-GDP mechanism gives a bound above mu with probability 1 - confidence at most
    Returns
        The bound; 0 where the guesses show nothing.
    Raises
        ValueError where the numbers are not in this order.
    Example
        >>> from sfumato.auditing.one_run import mu_from_guesses
        >>> round(mu_from_guesses(90, 100, 100), 2)
        0.49
    """
    if not 0 <= right <= guesses <= canaries:
        raise ValueError(f"{right} right of {guesses} guesses about {canaries} canaries cannot be")
    low, high = 0.0, _LARGEST
    if not _is_rejected(low, right, guesses, canaries, 1 - confidence):
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _is_rejected(middle, right, guesses, canaries, 1 - confidence) else (low, middle)
    return low


def _is_rejected(mu: float, right: int, guesses: int, canaries: int, alpha: float) -> bool:
    """Whether so many right guesses have probability below alpha under mu."""
    tail, beyond = alpha, 0.0  # F(a), and the sum of F(w) over w > a
    for a in range(right, 0, -1):
        seen = (a * tail + beyond) / canaries
        if seen >= 1:
            return True
        needed = canaries * float(ndtr(ndtri(seen) - mu))
        beyond += tail
        tail = max(tail, (needed + beyond) / (guesses - a + 1))
        if tail > 1:
            return True
    return False


def most_provable(canaries: int, confidence: float) -> float:
    """The bound if every guess is right: no claim above it can be disproved by so many canaries."""
    return mu_from_guesses(canaries, canaries, canaries, confidence)
