"""The codes of a column whose values lie on a bounded scale: a number, an integer, a day or a moment."""

import datetime as dt
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.trusted.arrays import CodeArray, FloatArray
from sfumato.trusted.encoding import reading
from sfumato.trusted.encoding.code_arrays import Limits, encode_array, one, put
from sfumato.trusted.encoding.decimals import MOMENTS, Unit, roundest_between, roundest_of_steps
from sfumato.trusted.encoding.multiples import CountedReader, CountedWriter, Step
from sfumato.trusted.encoding.scratch import scratch_array
from sfumato.trusted.encoding.text_formats import reader_of
from sfumato.trusted.encoding.values import float_of_text
from sfumato.trusted.schema import Column, IntegerColumn, NumberColumn, TextFormat

Read = Callable[[pa.Array], reading.Numbers]
Write = Callable[[FloatArray, NDArray[np.bool_] | None], pa.Array]

STEPS = 2**20
_TABLES = 32  # that are kept
_WRITTEN = 128  # of those that a sample needs, which comes back to all of its columns for every part
_MANY_CODES = 1 << 15  # whose numbers are worth a table
_SAME = 2.0**-22  # a value this near to an atom, relative to it, is the atom: float32 storage does not lose atoms
_EPOCH = dt.datetime(1970, 1, 1)
_ASTRAY, _ROUNDED = 2.0**-12, 2.0**-48  # far above the error of a logarithm in steps, and of a float64
_HAIR = 2.0**-30  # of a step
_SMALLEST_OF_LOG = 1e-4  # a log scale that starts at 0 or below grows from this share of the range on


class _Atom(NamedTuple):
    """The code of an atom, and the lowest and highest number that is it."""

    code: int
    low: float
    high: float


@dataclass(frozen=True)
class NumericCodec:
    """Steps of a bounded scale, then atoms.

    Numbers here are those of the scale: days of a date, seconds of a moment, and where the schema says that values are
    multiples of something, how many. `read` and `write` lead from values to them and back.

    Edge cases, the code they get
        below or above the bounds, infinite   the bound's
        null or NaN                           missing, or `otherwise` where the schema does not allow it
        a value that cannot be read           `otherwise`
    """

    low: float
    high: float
    whole: bool
    log: bool
    dated: bool  # 0 is a day that people agreed on, not nothing
    listed_atoms: tuple[float, ...]
    nullable: bool
    place: float | None  # the schema's `otherwise`
    read_public: Read  # values in a request, which are written as in the schema
    write: Write
    read: Read = field(compare=False)  # values of tables, which may be text of the schema's format
    unit: Step | None = None  # what the scale counts, where values are multiples of it

    @classmethod
    def of(cls, column: Column, text: TextFormat) -> "NumericCodec":
        """The codes of a number, integer, date or datetime column whose texts are written so."""
        if isinstance(column, NumberColumn | IntegerColumn) and column.spacing is not None:
            return cls._of_multiples(column, Step.of(column.spacing), text)
        whole = column.type != "number"
        log = getattr(column, "scale", "linear") == "log"
        to_number, read, write = _HANDS[column.type]
        low, high = (to_number(bound) for bound in column.bounds)  # type: ignore[union-attr]
        place = None if column.otherwise is None else to_number(column.otherwise)
        atoms, dated = tuple(getattr(column, "atoms", ())), column.type in ("date", "datetime")
        return cls(low, high, whole, log, dated, atoms, column.missing, place, read, write, read_of(column, text))

    @classmethod
    def _of_multiples(cls, column: NumberColumn | IntegerColumn, unit: Step, text: TextFormat) -> "NumericCodec":
        """The codes of a column of multiples: those of whole numbers, which count them."""
        points = [*column.bounds, *column.atoms, *([] if column.otherwise is None else [column.otherwise])]
        low, high, *others = np.rint(unit.counts(np.array(points, dtype=np.float64))).tolist()
        atoms, place = others[: len(column.atoms)], others[len(column.atoms) :]
        return cls(
            *(low, high, True, column.scale == "log", False, tuple(atoms), column.missing, place[0] if place else None),
            *(CountedReader(unit), CountedWriter(unit, column.type == "integer")),
            *(CountedReader(unit, reader_of(column.type, text) or float_of_text), unit),
        )

    def in_units(self, number: FloatArray) -> FloatArray:
        """Numbers of the scale, such as means, in the units of the column."""
        return number if self.unit is None else self.unit.numbers(number)

    @cached_property
    def _range(self) -> float:
        return self.high - self.low + self.whole

    @cached_property
    def exact(self) -> bool:
        """Whether every value has a code of its own."""
        return self.whole and self._range <= STEPS

    @cached_property
    def steps(self) -> int:
        """How many steps the scale has."""
        if self.exact:
            return int(self._range)
        return len(self._table) - 1 if self.whole else STEPS

    @cached_property
    def atoms(self) -> tuple[float, ...]:
        """The values that have a code of their own besides the steps; a whole number has a step of its own instead."""
        return () if self.whole else self.standing_out

    @cached_property
    def standing_out(self) -> tuple[float, ...]:
        """The values that may occur more often than their neighbours.

        Those listed, 0, and the bounds, where clamping leads.
        """
        values = {*self.listed_atoms, self.low, self.high} | (set() if self.dated else {0.0})
        return tuple(sorted(value for value in values if self.low <= value <= self.high))

    def ends(self, step: NDArray[np.integer[Any]]) -> FloatArray:
        """The values at which steps begin; step number `steps` is the end of the last."""
        return self._table[step] if self._by_table else self.low + step * self._range / self.steps

    @cached_property
    def _by_table(self) -> bool:
        """Whether steps are uneven, so that values must be compared with a table of ends.

        A logarithm is not exact to the last bit, and long ranges of whole numbers do not divide evenly.
        """
        return (self.log or self.whole) and not self.exact

    @property
    def _table(self) -> FloatArray:
        """All ends. Of whole numbers each step holds one at least, so short steps are left out."""
        return _ends_of(self)

    @cached_property
    def _log_start(self) -> float:
        """log(1 + (x - low) / start) is the scale: a plain logarithm where low is above 0."""
        if self.low > 0:
            return self.low
        if self.whole and self.unit is None:
            return 1.0
        return max(_SMALLEST_OF_LOG * self._range, float(self.whole))

    @cached_property
    def growth(self) -> float:
        """How many times the start of a log scale its range is."""
        return self._range / self._log_start

    def place_of(self, number: FloatArray) -> FloatArray:
        """Where numbers lie on the scale, from 0 at its beginning to 1 at its end; a whole number begins there."""
        share = (number - self.low) / self._range
        if not self.log:
            return share
        place: FloatArray = np.log1p(share * self.growth) / math.log1p(self.growth)
        return place

    def number_at(self, place: FloatArray) -> FloatArray:
        """The number at a place of the scale: the inverse of `place_of`, not yet rounded or clamped."""
        if not self.log:
            return self.low + place * self._range
        grown: FloatArray = np.expm1(place * math.log1p(self.growth))
        return self.low + self._log_start * grown

    @cached_property
    def places(self) -> FloatArray:
        """Where the middle of each step lies on the scale, then each atom; a missing value has no place."""
        ends = self.place_of(self.ends(np.arange(self.steps + 1)))
        return np.concatenate(((ends[:-1] + ends[1:]) / 2, self.place_of(np.array(self.atoms))))

    @property
    def size(self) -> int:
        """See `Codes`."""
        return self.steps + len(self.atoms) + self.nullable

    @property
    def missing(self) -> int | None:
        """See `Codes`."""
        return self.size - 1 if self.nullable else None

    @cached_property
    def otherwise(self) -> int:
        """The code of a value that cannot be read."""
        if self.place is not None:
            return int(self._of_numbers(np.array([self.place]))[0])
        return self.steps // 2 if self.missing is None else self.missing

    def encode(self, array: pa.Array) -> CodeArray:
        """See `Codes`."""
        return encode_array(array, self._of_values, self._absent)

    @property
    def _absent(self) -> int:
        """The code of a null."""
        return self.otherwise if self.missing is None else self.missing

    def _of_values(self, array: pa.Array) -> CodeArray:
        types = pa.types
        whole = types.is_integer(array.type) and not types.is_uint64(array.type)
        if whole and self.exact and not self.dated and self.unit is None:
            return self._of_integers(array.to_numpy())
        numbers, unread = self.read(array)
        codes = self._of_numbers(numbers, self._absent)
        if unread is not None:
            put(self.otherwise, codes, unread)
        return codes

    def _of_integers(self, number: NDArray[np.integer[Any]]) -> CodeArray:
        """The codes of integers where each has its own, which are the same as those of floats, sooner."""
        step = number.astype(np.int64, copy=False)
        if not self.low <= step.min(initial=self._int_low) <= step.max(initial=self._int_low) <= self.high:
            step = step.clip(self._int_low, int(self.high))
        code: CodeArray = np.subtract(step, self._int_low, out=scratch_array(len(step), np.int32), casting="unsafe")
        return code

    @cached_property
    def _int_low(self) -> int:
        return int(self.low)

    def number_of(self, value: object) -> float:
        """One public value as a number of this column's scale, NaN if it cannot be read."""
        number = self.read_public(one(value)).values
        return float((number if self.unit is None else self.unit.settled(number))[0])

    def code_of(self, value: object) -> int | None:
        """See `Codes`."""
        if value is None:
            return self.missing
        number = self.number_of(value)
        return int(self._of_numbers(np.array([number]))[0]) if self.low <= number <= self.high else None

    def _of_numbers(self, number: FloatArray, absent: int = 0) -> CodeArray:
        """The codes of numbers: the atom's, or the step's; `absent` for NaN.

        Elementwise IEEE arithmetic: no value sees another. The lowest and highest only tell what can be left out.
        """
        lowest, highest = number.min(initial=math.inf), number.max(initial=-math.inf)
        if math.isnan(lowest):
            blank = np.isnan(number)
            code = self._of_numbers(np.where(blank, self.low + self._range / 3, number))  # any number would do
            put(absent, code, blank)
            return code
        if self.whole:
            number = np.rint(number, out=scratch_array(len(number)))
        if not self.low <= lowest <= highest <= self.high:
            number = number.clip(self.low, self.high, out=scratch_array(len(number)))
            lowest, highest = (min(max(end, self.low), self.high) for end in (lowest, highest))
        code = self._steps_of_clamped(number)
        for atom in self._atoms_around:
            if atom.low <= highest and lowest <= atom.high:
                same = (atom.low <= number) & (number <= atom.high)
                if same.any():
                    put(atom.code, code, same)
        return code

    @cached_property
    def _atoms_around(self) -> "tuple[_Atom, ...]":
        """The atoms. Of two that a value may be, it is the last."""
        return tuple(
            _Atom(self.steps + place, *_around(atom, self._reach(atom))) for place, atom in enumerate(self.atoms)
        )

    def _reach(self, atom: float) -> float:
        """How far from an atom a value may lie and still be it; never further than a step."""
        step = self.steps_of(np.array([atom]))
        return min(_SAME * abs(atom), float(self.ends(step + 1)[0] - self.ends(step)[0]))

    def steps_of(self, number: FloatArray) -> CodeArray:
        """The step in which each number lies."""
        return self._steps_of_clamped((np.rint(number) if self.whole else number).clip(self.low, self.high))

    def _steps_of_clamped(self, number: FloatArray) -> CodeArray:
        if self._by_table:
            return self._steps_of_table(number)
        place = np.subtract(number, self.low, out=scratch_array(len(number)))
        if not self.exact:
            place *= self.steps / self._range
        step = _whole(place)
        return np.minimum(step, self.steps - 1, out=step)

    def _steps_of_table(self, number: FloatArray) -> CodeArray:
        """The step of the table in which each number lies.

        Its place on the even scale, of which the table was made, tells. But a logarithm is not exact to the last bit:
        near an end, and where whole numbers of one place lie in several steps, exact comparisons decide.
        """
        place = self._even_places(number)
        if self._sure:
            place += _HAIR
            step = self._steps_of_places.take(_whole(place), out=scratch_array(len(place), np.int32), mode="clip")
            where = np.flatnonzero(step < 0)
        else:
            end = np.rint(place, out=scratch_array(len(place)))
            step = _whole(place)
            np.minimum(step, STEPS - 1, out=step)
            place -= end
            doubtful = np.abs(place, out=place) <= self._margin
            doubtful &= end > 0  # the first, the lower bound, is exact
            if self.whole:
                step = self._steps_of_places.take(step)
                doubtful |= step < 0
            where = np.flatnonzero(doubtful)
        if len(where):
            step[where] = self._compared(np.maximum(step[where], ~step[where]), number[where])
        return step

    @cached_property
    def _sure(self) -> bool:
        """Whether the place of a whole number on an even scale tells its step, a hair added.

        Exact places are multiples of 1 / range, so one that is not at an end is 2**-29 away from it at least. Computed
        places err by less than 2**-31, and the ends of the table, multiples of 2**-20, lie on the right side of every
        whole number: 2**-30 more leads all places, and those at ends, to where they belong.
        """
        return self.whole and not self.log and self._range < 2**29 and max(abs(self.low), abs(self.high)) < 2**31

    def _even_places(self, number: FloatArray) -> FloatArray:
        """`place_of` in steps, in few operations."""
        place: FloatArray = np.subtract(number, self.low, out=scratch_array(len(number)))
        if not self.log:
            place *= STEPS / self._range
            return place
        place *= 1 / self._log_start
        np.log1p(place, out=place)
        place *= STEPS / math.log1p(self.growth)
        return place

    @cached_property
    def _margin(self) -> float:
        """How near to an end, in steps, the rounding of places and of the ends themselves might lead astray."""
        start, length = (self._log_start, math.log1p(self.growth)) if self.log else (self._range, 1.0)
        return _ASTRAY + _ROUNDED * STEPS / length * (1 + max(abs(self.low), abs(self.high)) / start)

    @property
    def _steps_of_places(self) -> CodeArray:
        """The step of the whole numbers in each even place; the complement of the first where they lie in several."""
        return _steps_of_even_places(self)

    def _compared(self, guess: CodeArray, number: FloatArray) -> CodeArray:
        """The step of the table in which each number lies, by exact comparisons; a good guess saves time."""
        right = (number < self._table.take(guess + 1)) | (guess == self.steps - 1)
        wrong = ~(right & (self._table.take(guess) <= number))
        guess[wrong] = np.searchsorted(self._table[1:-1], number[wrong], side="right")
        return guess

    def decode(self, codes: CodeArray, inside: FloatArray, limits: Limits = (None, None)) -> pa.Array:
        """See `Codes`."""
        number = self._of_many(codes, inside) if self._worth_table(codes) else self._of_few(codes, inside)
        low, high = limits
        if low is not None or high is not None:
            within = np.clip(number, self.low if low is None else low, self.high if high is None else high)
            number = np.where(codes < self.steps, within, number)
        return self.write(number, codes == self.missing if self.nullable else None)

    def _worth_table(self, codes: CodeArray) -> bool:
        return len(codes) >= _MANY_CODES and not self.exact

    def _of_few(self, codes: CodeArray, inside: FloatArray) -> FloatArray:
        """The number of each code, one inside its interval where it is written as none."""
        step = np.clip(codes, 0, self.steps - 1)
        number = np.clip(self.ends(step) if self.exact else self._written(step, inside), self.low, self.high)
        for place, atom in enumerate(self.atoms):
            number = np.where(codes == self.steps + place, atom, number)
        return number

    def _of_many(self, codes: CodeArray, inside: FloatArray) -> FloatArray:
        """The same from a table of all codes."""
        number = _numbers_written(self).take(codes)
        where = np.flatnonzero(np.isnan(number))
        left, right = self.ends(codes[where]), self.ends(codes[where] + 1)
        number[where] = np.clip(left + inside[where] * (right - left), self.low, self.high)
        return number

    def edges(self, codes: CodeArray, upper: bool) -> pa.Array:
        """The lowest or highest value of each code; null for the missing one."""
        step = np.clip(codes, 0, self.steps - 1)
        left, right = self.ends(step), self.ends(step + 1)
        above = right - 1 if self.whole else np.where(step < self.steps - 1, np.nextafter(right, left), right)
        number = np.clip(above if upper else left, self.low, self.high)
        for place, atom in enumerate(self.atoms):
            number = np.where(codes == self.steps + place, atom, number)
        return self.write(number, codes == self.missing if self.nullable else None)

    def _written(self, step: CodeArray, inside: FloatArray) -> FloatArray:
        """The roundest number of each step, so that a value that was round is so again.

        Where that is another code's, such as an atom, a number at random.
        """
        steps, place = np.unique(step, return_inverse=True)
        left, right = self.ends(steps), self.ends(steps + 1)
        number = roundest_between(left, right, self.chain)
        own = self._of_numbers(number.copy()) == steps
        return np.where(own[place], number[place], left[place] + inside * (right - left)[place])

    @cached_property
    def chain(self) -> tuple[Unit, ...] | None:
        """The units by which a value is round, finest first, where they are not those of decimal numbers."""
        if self.unit is not None:
            return self.unit.chain
        return MOMENTS if self.dated else None

    @cached_property
    def by_day(self) -> bool:
        """Whether values are days."""
        return self.read_public is reading.as_days

    @property
    def numbers(self) -> FloatArray:
        """The number that each step is written as; its middle, where the roundest is another code's."""
        return _numbers_of(self)

    def width(self, codes: CodeArray) -> FloatArray:
        """See `Codes`."""
        step = np.clip(codes, 0, self.steps - 1)
        return np.where(codes < self.steps, self.ends(step + 1) - self.ends(step), 1.0)

    @property
    def lowest_and_highest(self) -> tuple[int, int]:
        """The codes of the bounds."""
        low, high = self._of_numbers(np.array([self.low, self.high], dtype=np.float64)).tolist()
        return low, high

    def codes_at(self, places: FloatArray) -> CodeArray:
        """The code at each place of the scale; beyond its ends that of the bound."""
        number = self.number_at(np.clip(places, 0.0, 1.0))
        return self._of_numbers(np.floor(number) if self.whole else number)

    def slope(self, codes: CodeArray) -> FloatArray:
        """How much of the scale a unit of the column takes up, at each code; an atom counts as its step."""
        steps = (np.arange(self.steps, dtype=np.int32), self.steps_of(np.array(self.atoms, dtype=np.float64)))
        step = np.concatenate(steps)[codes]
        left, right = self.ends(step), self.ends(step + 1)
        return (self.place_of(right) - self.place_of(left)) / (right - left)


@lru_cache(maxsize=_TABLES)
def _ends_of(scale: NumericCodec) -> FloatArray:
    """See `NumericCodec._table`. A table is 8 MB, so that only some are kept."""
    if not scale.whole:
        return scale.number_at(np.arange(STEPS + 1) / STEPS)
    ends = _whole_ends(scale)
    ends = ends[np.diff(ends, prepend=-np.inf) > 0]
    alone = np.array(scale.standing_out)  # each is a step of its own
    added = np.setdiff1d(np.concatenate((alone, alone + 1)), ends)
    return np.insert(ends, np.searchsorted(ends, added), added)


@lru_cache(maxsize=_TABLES)
def _numbers_of(scale: NumericCodec) -> FloatArray:
    """See `NumericCodec.numbers`."""
    ends = scale.ends(np.arange(scale.steps + 1))
    if scale.exact:
        return ends[:-1]
    number = _numbers_written(scale)[: scale.steps]
    return np.where(np.isnan(number), (ends[:-1] + ends[1:]) / 2, number)


@lru_cache(maxsize=_WRITTEN)
def _numbers_written(scale: NumericCodec) -> FloatArray:
    """The number that each code is written as; NaN for a step whose roundest number is an atom, which has a code."""
    number = roundest_of_steps(scale.ends(np.arange(scale.steps + 1)), scale.chain)
    own = scale._of_numbers(number.copy()) == np.arange(scale.steps, dtype=np.int32)
    return np.concatenate((np.where(own, number, np.nan), scale.atoms, [scale.low] * scale.nullable))


def _whole_ends(scale: NumericCodec) -> FloatArray:
    """The ends of the even scale as whole numbers; its own end is exact, whatever a logarithm makes of it."""
    return np.minimum(np.ceil(scale.number_at(np.arange(STEPS + 1) / STEPS)), scale.high + 1)


@lru_cache(maxsize=_TABLES)
def _steps_of_even_places(scale: NumericCodec) -> CodeArray:
    """See `NumericCodec._steps_of_places`."""
    ends, table = _whole_ends(scale), _ends_of(scale)
    first, last = (np.searchsorted(table[1:-1], end, side="right") for end in (ends[:-1], ends[1:] - 1))
    return np.where(first == last, first, ~first).astype(np.int32)


def _whole(places: FloatArray) -> CodeArray:
    """Without what stands behind the point."""
    steps = scratch_array(len(places), np.int32)
    np.copyto(steps, places, casting="unsafe")
    return steps


def _around(value: float, reach: float) -> tuple[float, float]:
    """The lowest and highest float64 that is no further from a value than this."""
    low, high = value - reach, value + reach  # rounded, perhaps outwards
    low = low if value - low <= reach else math.nextafter(low, value)
    high = high if high - value <= reach else math.nextafter(high, value)
    return low, high


def read_of(column: Column, text: TextFormat) -> Read:
    """How values of a number, integer, date or datetime column are read as numbers, its texts being written so."""
    read, of_text = _HANDS[column.type][1], reader_of(column.type, text)
    return read if of_text is None else partial(read, of_text=of_text)


def _write_number(number: FloatArray, null: NDArray[np.bool_] | None) -> pa.Array:
    return pa.array(number, mask=null)


def _write_whole(number: FloatArray, null: NDArray[np.bool_] | None) -> pa.Array:
    return pa.array(number.astype(np.int64), mask=null)


def _write_days(number: FloatArray, null: NDArray[np.bool_] | None) -> pa.Array:
    return pa.array(number.astype(np.int32), mask=null).cast(pa.date32())


def _write_seconds(number: FloatArray, null: NDArray[np.bool_] | None) -> pa.Array:
    return pa.array(number.astype(np.int64), mask=null).cast(pa.timestamp("s"))


def _seconds_of(moment: dt.datetime) -> float:
    return float((moment - _EPOCH) // dt.timedelta(seconds=1))


def _days_of(day: dt.date) -> float:
    return float(day.toordinal() - _EPOCH.toordinal())


_HANDS: dict[str, tuple[Callable[[Any], float], Callable[..., reading.Numbers], Write]] = {
    "number": (float, reading.as_numbers, _write_number),
    "integer": (float, reading.as_numbers, _write_whole),
    "date": (_days_of, reading.as_days, _write_days),
    "datetime": (_seconds_of, reading.as_seconds, _write_seconds),
}
