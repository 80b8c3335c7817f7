"""The order in which people expect the values of a list: months, days of the week, grades, numbers, ranges of numbers.

All of it is read off the public list of values.
"""

import re
from collections.abc import Hashable, Sequence

_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_SEASONS = ["spring", "summer", "autumn", "winter"]
_GRADES = (
    "none|very low|low|medium|moderate|high|very high",
    "never|former|current",
    "never|rarely|seldom|sometimes|often|usually|always",
    "none|mild|moderate|severe|critical",
    "very poor|poor|fair|good|very good|excellent",
    "strongly disagree|disagree|neutral|agree|strongly agree",
    "child|teenager|adult|senior",
    "small|medium|large|very large",
    "no|yes",
    "false|true",
)
_NUMBER = re.compile(r"^\D{0,12}?(-?\d+(?:[.,]\d+)?)")


def natural_order(values: Sequence[Hashable]) -> list[int] | None:
    """The places of the values in the order that people expect, or None where they have none.

    values   a list as the schema has it, without missing

    Example
        >>> natural_order(["Feb", "Jan", "Mar"])
        [1, 0, 2]
        >>> natural_order(["surgery", "maternity"]) is None
        True
    """
    if len(values) < 2:
        return None
    words = [str(value).strip().lower() for value in values]
    for known in _known_lists():
        if len(set(words)) == len(words) and set(words) <= set(known):
            return sorted(range(len(words)), key=lambda place: known.index(words[place]))
    return _by_number(words)


def _known_lists() -> list[list[str]]:
    whole = [_MONTHS, _DAYS, _SEASONS, *(grades.split("|") for grades in _GRADES)]
    short = [[name[:length] for name in names] for names in (_MONTHS, _DAYS) for length in (2, 3)]
    return [*whole, *(names for names in short if len(set(names)) == len(names))]


def _by_number(words: Sequence[str]) -> list[int] | None:
    """By the first number in each value: `0-9, 10-19, 20+`; words below it, as in `under 18`, before words after it."""
    found = [_NUMBER.match(word) for word in words]
    if not all(found):
        return None
    numbers = [float(match.group(1).replace(",", ".")) for match in found if match]
    if len(set(numbers)) < len(numbers) - 1:  # one may begin where another does: under 20, 20-29
        return None
    below = [bool(re.match(r"^(<|under|below|less|up to|to )", word)) for word in words]
    return sorted(range(len(words)), key=lambda place: (numbers[place], not below[place], place))
