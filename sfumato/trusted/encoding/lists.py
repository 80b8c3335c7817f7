"""The codes of a column whose values are listed: a category, or true and false."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from sfumato.trusted.arrays import CodeArray, FloatArray, IntArray
from sfumato.trusted.encoding import reading
from sfumato.trusted.encoding.code_arrays import Limits, encode_array, one
from sfumato.trusted.encoding.listings import IS_NULL, NOT_LISTED, Listing
from sfumato.trusted.encoding.values import TruthWords
from sfumato.trusted.schema import BooleanColumn, CategoryColumn, text_of
from sfumato.trusted.schema.words import plain_word


@dataclass(frozen=True)
class CategoricalCodec:
    """One code for each value of a public list.

    Edge cases, the code they get
        null                 missing, or `otherwise` where the schema does not allow it
        a value not listed   `otherwise`
    """

    values: tuple[str | int | float | bool, ...]
    nullable: bool
    otherwise: int
    truth: bool  # whether the values are false and true
    words: tuple[str | int | float, ...] = ()  # how the schema spells false and true

    @classmethod
    def of(cls, column: CategoryColumn | BooleanColumn) -> "CategoricalCodec":
        """The codes of a category or boolean column."""
        values = (False, True) if isinstance(column, BooleanColumn) else column.values
        if column.otherwise is not None:
            otherwise = [text_of(value) for value in values].index(text_of(column.otherwise))
        elif column.missing:
            otherwise = len(values)
        else:
            otherwise = 0 if isinstance(column, BooleanColumn) else len(values) - 1
        truth = isinstance(column, BooleanColumn)
        return cls(tuple(values), column.missing, otherwise, truth, column.listed if truth else ())

    @property
    def size(self) -> int:
        """See `Codes`."""
        return len(self.values) + self.nullable

    @property
    def missing(self) -> int | None:
        """See `Codes`."""
        return len(self.values) if self.nullable else None

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The values as text."""
        return tuple(text_of(value) for value in self.words or self.values)

    @cached_property
    def plain(self) -> tuple[str | int | float | bool, ...]:
        """What the values come back as, in one type: their own, or text where the list mixes types."""
        values = self.words or self.values
        return self.texts if len({type(value) for value in values}) > 1 else values

    def encode(self, array: pa.Array) -> CodeArray:
        """See `Codes`."""
        return encode_array(array, self._of_values, self._absent)

    @property
    def _absent(self) -> int:
        """The code of a null."""
        return self.otherwise if self.missing is None else self.missing

    def _of_values(self, array: pa.Array) -> CodeArray:
        codes: CodeArray = self._of_places.take(self.find(array))
        return codes

    @cached_property
    def _of_places(self) -> CodeArray:
        """The code of each place in the list; last, where `IS_NULL` and `NOT_LISTED` lead, those of such values."""
        return np.array([*range(len(self.values)), self._absent, self.otherwise], dtype=np.int32)

    @cached_property
    def _listing(self) -> Listing:
        return Listing(self.texts)

    @cached_property
    def _truth_words(self) -> TruthWords:
        return {plain_word(word).encode(): float(place) for place, word in enumerate(self.words)}

    def find(self, array: pa.Array) -> IntArray:
        """The place of each value in the list, or why it has none."""
        if not self.truth:
            return reading.positions(array, self._listing)
        truth, unread = reading.as_truth(array, self._truth_words)
        place = np.where(np.isnan(truth), IS_NULL, truth == 1)
        return place if unread is None else np.where(unread, NOT_LISTED, place)

    def code_of(self, value: object) -> int | None:
        """See `Codes`."""
        if value is None:
            return self.missing
        found = int(self.find(one(value))[0])
        return found if found >= 0 else None

    def decode(self, codes: CodeArray, inside: FloatArray, limits: Limits = (None, None)) -> pa.Array:  # noqa: ARG002
        """See `Codes`."""
        null = codes == len(self.values)
        if self.truth and not self.words:
            return pa.array(codes == 1, mask=null)
        return pa.array(self.plain).take(pa.array(codes, mask=null))

    def refer(self, codes: CodeArray) -> pa.DictionaryArray:
        """The value for each code, as references to the list."""
        null = codes == len(self.values)
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=null), pa.array(self.plain))

    def width(self, codes: CodeArray) -> FloatArray:
        """See `Codes`."""
        return np.ones(len(codes))
