"""A stream of text in any encoding of the schema as UTF-8, so that records are cut and fields compared in one encoding.

Formal guarantees
    After the mark that UTF-16 begins with, no byte can stop the reading, and what a character becomes does not depend
    on the size of the blocks. Different texts stay different: a byte that the encoding does not define, or half of a
    pair of UTF-16, becomes three bytes that are no UTF-8. So a field with one of them is no listed value, no number and
    no date.
Edge cases
    UTF-16 without a mark: `UnicodeError` at the first bytes, which belong to the header. An odd byte at the end of it
    is left out.
"""

import codecs
from typing import Protocol

_LONGEST = 3  # bytes of UTF-8 for one byte of another encoding
_PAIR = 2  # bytes of a character of UTF-16, at least
_KEPT = {"utf-16": "surrogatepass"}  # by single bytes: surrogateescape


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """About so many bytes; none at the end."""


class Transcoded:
    """See the module."""

    def __init__(self, stream: Readable, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)(_KEPT.get(encoding, "surrogateescape"))

    def read(self, size: int, /) -> bytes:
        """See `Readable`. A byte becomes three at most, so that it is no more than was asked for, from six on."""
        while data := self._stream.read(max(1, size // _LONGEST)):
            if text := self._decoder.decode(data):
                return text.encode("utf-8", "surrogatepass")
        return self._rest().encode("utf-8", "surrogatepass")

    def _rest(self) -> str:
        """What waits at the end for its other half, which does not come."""
        waiting, order = self._decoder.getstate()
        self._decoder.setstate((b"", order))
        return self._decoder.decode(waiting[: len(waiting) // _PAIR * _PAIR], final=True)
