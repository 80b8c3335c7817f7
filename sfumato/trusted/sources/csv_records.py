"""A stream of CSV as pieces of whole records, so that no record is ever cut by the end of a block.

A record ends at a line feed outside of quotes. A quote opens a field only at the field's beginning, a doubled quote in
an open field is a letter, and so is a quote anywhere else: pyarrow's rules, to which the pieces go afterwards. Where
the header line ends in a carriage return alone, as on old Macs, carriage returns and line feeds change places.

Formal guarantees
    Which records there are, and what each of them is, does not depend on the size of blocks. A record that is longer
    than `LONGEST_RECORD` is left out, by itself: nothing in it counts, and all others do.
"""

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.sources.transcoding import Readable

BLOCK = 1 << 23  # bytes
LONGEST_RECORD = 1 << 26  # bytes, at least a block
_MARK = b"\xef\xbb\xbf"  # of UTF-8, at the beginning of some files
_QUOTE, _LINE_FEED = ord('"'), ord("\n")
_SWAPPED = bytes.maketrans(b"\r\n", b"\n\r")
_LINE_END = re.compile(rb"\n|\r.", re.DOTALL)
_SIGNS = re.compile(rb'["\n]')


class Lexer:
    """Where records end, in data that comes block by block and begins with a record. The definition; slow."""

    def __init__(self, delimiter: int) -> None:
        self._begins = (delimiter, _LINE_FEED)  # a field follows these
        self._quoted = False
        self._seen = 0  # bytes in earlier blocks
        self._closed = -2  # place of the last quote that closed a field
        self._last = _LINE_FEED  # byte before this block

    def ends(self, block: bytes) -> Iterator[int]:
        """The places behind the line feeds that end records. All must be taken before the next block comes."""
        for sign in _SIGNS.finditer(block):
            place = sign.start()
            if block[place] == _LINE_FEED:
                if not self._quoted:
                    yield place + 1
            elif self._quoted:
                self._quoted, self._closed = False, self._seen + place
            else:
                before = block[place - 1] if place else self._last
                self._quoted = before in self._begins or self._closed == self._seen + place - 1
        self._seen += len(block)
        self._last = block[-1] if block else self._last


class RecordStream:
    """The records of a stream: the header line, then pieces of whole records."""

    def __init__(self, stream: Readable, delimiter: str) -> None:
        self._stream, self._delimiter = stream, ord(delimiter)
        self._ended = self._swapped = False
        self._buffer = self._read(len(_MARK)).removeprefix(_MARK)
        self.header = self._take_header()

    @property
    def returns(self) -> str:
        """What a carriage return inside of a piece was in the file."""
        return "\n" if self._swapped else "\r"

    def pieces(self) -> Iterator[bytes]:
        """All records after the header, in pieces of about `BLOCK` bytes; each ends with a line feed."""
        self._fill(BLOCK)
        while self._buffer:
            if end := self._end_of_last(self._buffer):
                piece, self._buffer = self._without_long_first(self._buffer[:end]), self._buffer[end:]
                if piece:
                    yield piece
                self._fill(BLOCK)
            elif self._ended:
                self._buffer += b"\n" if len(self._buffer) < LONGEST_RECORD else b""
                if not self._end_of_last(self._buffer):  # too long, or a field that is never closed
                    return
            elif len(self._buffer) > LONGEST_RECORD:
                self._skip_record()
                self._fill(BLOCK)
            else:
                self._fill(len(self._buffer) + BLOCK)

    def _without_long_first(self, piece: bytes) -> bytes:
        """Only the first record of a piece can be too long: all others fit into a block."""
        if len(piece) <= LONGEST_RECORD:
            return piece
        end = next(self._lexer().ends(piece))
        return piece[end:] if end > LONGEST_RECORD else piece

    def _skip_record(self) -> None:
        """Leave out the record at the beginning of the buffer, which does not end in it."""
        lexer = self._lexer()
        while self._buffer:
            if end := next(lexer.ends(self._buffer), 0):
                self._buffer = self._buffer[end:]
                return
            self._buffer = self._read(BLOCK)

    def _take_header(self) -> bytes:
        while self._may_grow and not _LINE_END.search(self._buffer):
            self._fill(len(self._buffer) + BLOCK)
        first = re.match(rb'[^\r\n"]*(\r(?!\n))?', self._buffer)
        if first and first[1]:
            self._buffer, self._swapped = self._buffer.translate(_SWAPPED), True
        while not (end := next(self._lexer().ends(self._buffer), 0)) and self._may_grow:
            self._fill(len(self._buffer) + BLOCK)
        end = end or len(self._buffer)
        header, self._buffer = self._buffer[:end], self._buffer[end:]
        return header

    @property
    def _may_grow(self) -> bool:
        """Whether more can belong to the header: a packed file without lines must not fill the memory."""
        return not self._ended and len(self._buffer) <= LONGEST_RECORD

    def _lexer(self) -> Lexer:
        return Lexer(self._delimiter)

    def _fill(self, size: int) -> None:
        parts = [self._buffer]
        missing = size - len(self._buffer)
        while missing > 0 and not self._ended:
            parts.append(self._read(missing))
            missing -= len(parts[-1])
        self._buffer = b"".join(parts)

    def _read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._ended = not data
        return data.translate(_SWAPPED) if self._swapped else data

    def _end_of_last(self, data: bytes) -> int:
        """Where the last whole record of some that begin here ends; 0 where none does."""
        if b'"' not in data:
            return data.rfind(b"\n") + 1
        quotes = np.flatnonzero(np.frombuffer(data, np.uint8) == _QUOTE)
        if self._are_regular(data, quotes):
            return _end_by_parity(data, quotes)
        return max(self._lexer().ends(data), default=0)

    def _are_regular(self, data: bytes, quotes: NDArray[np.intp]) -> bool:
        """Whether every second quote, from the first on, begins a field or doubles the one before it.

        Then a place is outside of quotes if an even number of them stands before it.
        """
        opening = quotes[::2]
        before = np.frombuffer(data, np.uint8)[opening - 1]
        begins = (before == self._delimiter) | (before == _LINE_FEED) | (opening == 0)
        begins[1:] |= opening[1:] == quotes[1::2][: len(opening) - 1] + 1
        return bool(begins.all())


def _end_by_parity(data: bytes, quotes: NDArray[np.intp]) -> int:
    end = len(data)
    while (end := data.rfind(b"\n", 0, end)) >= 0:
        before = int(np.searchsorted(quotes, end))
        if before % 2 == 0:
            return end + 1
        end = int(quotes[before - 1])
    return 0
