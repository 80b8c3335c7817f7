"""Where the paper's method can be followed at all: which budgets, and how large a table."""

import math
import os

from scipy.optimize import brentq

from sfumato.errors import BudgetError, DataError
from sfumato.trusted.budget import delta_of

_COPIES_OF_THE_RECORDS, _COPIES_OF_THE_OUTCOMES = 12, 6  # that live at once, each number of 8 bytes


def largest_mean_epsilon(delta: float) -> float:
    """Up to which epsilon_k lemma 1 holds, by the exact curve of the Gaussian mechanism.

    Lemma 1 lets a mean move by  epsilon / sqrt(2 ln(2 / delta))  standard deviations.
    """

    def excess(epsilon: float) -> float:
        return delta_of(epsilon, epsilon / math.sqrt(2 * math.log(2 / delta))) / delta - 1

    high = 1.0
    while excess(high) <= 0:
        high *= 2
    return float(brentq(excess, high / 2 if high > 1 else 1e-9, high))


def check_budget(epsilon: float, delta: float) -> None:
    """Both must be what the paper takes them for, and lemma 1 must hold for every mean, which gets 2/3 at most."""
    if not 0 < epsilon < math.inf or not 0 < delta < 1:
        raise BudgetError(
            f"epsilon is {epsilon} and delta {delta}; the paper assumes an epsilon above 0 and a delta between 0 and 1"
        )
    largest = largest_mean_epsilon(delta)
    most = math.floor(150 * largest) / 100
    if epsilon > most:
        raise BudgetError(
            f"epsilon is {epsilon:g}, of which a mean may get two thirds. The paper assumes that lemma 1 holds at any "
            f"epsilon; at a delta of {delta:g} it holds up to {largest:.3g} for a mean: ask for {most:g} at most"
        )


def check_size(records: int, dimensions: int, classes: int) -> None:
    """The shifts of one class and the outcomes of the weights must fit into memory."""
    needed, there = needed_bytes(records, dimensions, classes), memory_bytes()
    if needed > there:
        raise DataError(
            f"{records:,} records in {classes:,} classes need about {needed / 2**30:,.1f} GiB, and this machine has "
            f"{there / 2**30:,.1f}. The paper assumes that the N K^2 = {records * classes**2:.2g} constraints of (23) "
            "can be handled: take fewer records or classes"
        )


def needed_bytes(records: int, dimensions: int, classes: int) -> int:
    """One row for each record (of N K^2 constraints only N differ in a class), and K (K - 1) outcomes of K counts."""
    return 8 * (_COPIES_OF_THE_RECORDS * records * dimensions + _COPIES_OF_THE_OUTCOMES * classes**3)


def memory_bytes() -> int:
    """What the machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
