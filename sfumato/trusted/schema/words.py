"""The words that a table has for false and true."""

import re
from collections.abc import Sequence

TRUE_WORDS, FALSE_WORDS = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
_WRITES_A_NUMBER = re.compile(r"0x[0-9a-f]+")


def plain_word(word: str | int | float) -> str:
    """A word as it is compared: without spaces around it, capitals of ASCII small."""
    return str(word).encode().strip().lower().decode()


def check_words(words: Sequence[str | int | float]) -> None:
    """Refuse words that would be read as something else: numbers, nulls, each other, or the other truth value."""
    plain = [plain_word(word) for word in words]
    if plain[0] == plain[1]:
        raise ValueError(f"{words[0]!r} and {words[1]!r} read the same; write two different words, false first")
    for word, contrary in zip(plain, (TRUE_WORDS, FALSE_WORDS), strict=True):
        if word in contrary:
            meant = "true" if contrary is TRUE_WORDS else "false"
            raise ValueError(
                f"{word!r} is read as {meant} in every table; write the word for false first, or use type: category"
            )
        if word not in ("0", "1") and (not word or _is_number(word)):
            raise ValueError(f"{word!r} is empty or a number; only 0 and 1 may be numbers. Use type: category")


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return _WRITES_A_NUMBER.fullmatch(word) is not None
    return True
