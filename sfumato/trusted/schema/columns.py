"""What is public about one column: its name, type, bounds or list of values."""

import datetime as dt
import math
import re
from collections import Counter
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WrapSerializer,
    WrapValidator,
    field_validator,
    model_validator,
)

from sfumato.trusted.schema.steps import MOST_DECIMALS, check_multiples, check_step, written
from sfumato.trusted.schema.unknown import (
    DAYS,
    DISCOVER,
    ESTIMATE,
    SECONDS,
    UNLISTED,
    WIDE,
    Unknown,
    may_be_estimated,
    or_word,
    write_unknown,
)
from sfumato.trusted.schema.words import check_words

LARGEST_WHOLE = 2**53  # every integer up to here is a float64, so arithmetic on codes is exact
LARGEST_NUMBER, SMALLEST_SPAN = 1e100, 1e-100
_RUN = re.compile(r"\{(\d+)\.\.(\d+)\}")
MOST_COLUMNS = 100_000
_MOST_POWERS = 1e150


def text_of(value: str | int | float) -> str:
    """A category's value as text, the same for 3, 3.0 and "3": tables store codes in many types."""
    if isinstance(value, float) and value.is_integer() and abs(value) < LARGEST_WHOLE:
        value = int(value)
    return str(value)


def _plain(value: object) -> str | int | float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(  # noqa: TRY004 - pydantic turns a ValueError into ours
            f"{value!r} is not text or a number; put it in quotes, or say `missing: true` for null"
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value!r} is not a value that can be listed; say `missing: true` for null")
    if isinstance(value, int) and abs(value) >= 2**63:
        raise ValueError(f"{value!r} is a number of more than 64 bits; put it in quotes")
    if isinstance(value, str) and not value.isascii():
        value.encode()  # a lone half of a surrogate pair is no text; pydantic tells
    if value == "FILL":
        raise ValueError(
            "FILL stands for what only you can know; write the values from the code book, not from the rows"
        )
    return value


def _real(value: object) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(
            f"{value!r} is not a number; write one that follows from what the column means, not from its rows"
        )
    return number


def _whole(value: object) -> int:
    number = _real(value)
    if not number.is_integer() or abs(number) > LARGEST_WHOLE:
        raise ValueError(f"{value!r} is not a whole number within 2**53; use type: number, or round it")
    return int(number)


def _utc(value: dt.datetime) -> dt.datetime:
    """Whole seconds of universal time, without a zone."""
    try:
        utc = value.astimezone(dt.UTC) if value.tzinfo else value
    except OverflowError:
        raise ValueError(f"{value} lies before the year 1 or after 9999 in universal time") from None
    return utc.replace(tzinfo=None, microsecond=0)


Plain = Annotated[str | int | float, BeforeValidator(_plain)]
Real = Annotated[float, BeforeValidator(_real)]
Whole = Annotated[int, BeforeValidator(_whole)]
_WORD = WrapSerializer(write_unknown)
Reals = Annotated[tuple[Real, Real], WrapValidator(or_word(ESTIMATE, WIDE)), _WORD]
Wholes = Annotated[tuple[Whole, Whole], WrapValidator(or_word(ESTIMATE, WIDE)), _WORD]
Days = Annotated[tuple[dt.date, dt.date], WrapValidator(or_word(ESTIMATE, DAYS)), _WORD]
Moments = Annotated[tuple[dt.datetime, dt.datetime], WrapValidator(or_word(ESTIMATE, SECONDS)), _WORD]


class Part(BaseModel):
    """A part of a schema: keys that it does not know are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class _Column(Part):
    name: str = Field(min_length=1, description="as in the file's header; `x_{0..9}` stands for x_0 to x_9")
    type: str
    missing: bool = Field(default=False, description="whether a null is a value of this column")

    @property
    def length(self) -> int:
        """How many columns the name stands for."""
        run = _RUN.search(self.name)
        return int(run[2]) - int(run[1]) + 1 if run else 1

    @property
    def names(self) -> tuple[str, ...]:
        """The names that a run stands for; one name otherwise."""
        run = _RUN.search(self.name)
        if not run:
            return (self.name,)
        first, last = run.groups()
        digits = len(first) if first.startswith("0") else 0
        return tuple(
            f"{self.name[: run.start()]}{number:0{digits}d}{self.name[run.end() :]}"
            for number in range(int(first), int(last) + 1)
        )

    @field_validator("name")
    @classmethod
    def _run_goes_up(cls, name: str) -> str:
        runs = _RUN.findall(name)
        if len(runs) > 1:
            raise ValueError(f"{name!r} has more than one run; write one line for each of the first")
        for first, last in runs:
            if not 0 <= int(last) - int(first) < MOST_COLUMNS:
                raise ValueError(f"{name!r} must run upwards over at most {MOST_COLUMNS} columns")
        return name


def _or_a_file(content: dict[str, Any]) -> None:
    """In a YAML file a list may also be named, see `schema.file`, or is to be discovered."""
    described = content.pop("description", None)
    listed = dict(content)
    content.clear()
    keys = {"file": {"type": "string"}, "column": {"type": "string"}}
    named = {"type": "object", "properties": keys, "required": ["file"], "additionalProperties": False}
    content.update({"anyOf": [listed, named, {"const": DISCOVER}], "description": described})


class CategoryColumn(_Column):
    """One value of a list. A value that is not listed goes to `otherwise`."""

    type: Literal["category"]
    values: Annotated[tuple[Plain, ...], Field(min_length=1), WrapValidator(or_word(DISCOVER, UNLISTED)), _WORD] = (
        Field(description="every value that may occur, from the code book", json_schema_extra=_or_a_file)
    )
    otherwise: Plain | None = Field(default=None, description="default: missing if allowed, else the last value")

    @property
    def listed(self) -> tuple[Plain, ...]:
        """The values as the schema spells them."""
        return self.values

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if isinstance(self.values, Unknown):
            return self
        texts = [text_of(value) for value in self.values]
        if len(set(texts)) < len(texts):
            twice = Counter(texts).most_common(1)[0][0]
            raise ValueError(f"values: {twice!r} is listed twice; list it once")
        if self.otherwise is not None and text_of(self.otherwise) not in texts:
            raise ValueError(f"otherwise: {self.otherwise!r} is not one of the values; name one of them")
        return self


class BooleanColumn(_Column):
    """True or false."""

    type: Literal["boolean"]
    words: tuple[Plain, Plain] | None = Field(
        default=None, description="how false and true are spelt in the table and in samples, false first; or [0, 1]"
    )
    otherwise: bool | None = Field(default=None, description="default: missing if allowed, else false")

    @field_validator("words")
    @classmethod
    def _false_first(cls, words: tuple[Plain, Plain] | None) -> tuple[Plain, Plain] | None:
        if words is not None:
            check_words(words)
        return words

    @property
    def listed(self) -> tuple[Plain, ...]:
        """The words for false and true, where the schema has its own."""
        return self.words or ()


class _Ordered(_Column):
    @model_validator(mode="after")
    def _inside(self) -> Self:
        low, high = self.bounds  # type: ignore[attr-defined]
        if isinstance(self.bounds, Unknown):  # type: ignore[attr-defined]
            return self
        if low > high or (low == high and self.type == "number"):
            raise ValueError(f"bounds: {low} is not below {high}; write the lowest value first, then the highest")
        points = {"atoms": getattr(self, "atoms", ()), "otherwise": (getattr(self, "otherwise", None),)}
        for key, values in points.items():
            for value in values:
                if value is not None and not low <= value <= high:
                    raise ValueError(f"{key}: {value} lies outside the bounds; widen them or leave it out")
        return self


class _Pictured(_Ordered):
    image: tuple[Whole, Whole] | None = Field(
        default=None, description="rows and columns of the picture that a run of columns is"
    )

    @model_validator(mode="after")
    def _fills_the_picture(self) -> Self:
        if self.image is not None and (min(self.image) < 1 or math.prod(self.image) != self.length):
            high, wide = self.image
            raise ValueError(
                f"image: {high} x {wide} pixels are not the {self.length} columns of {self.name!r}; write the rows and "
                "columns of the picture"
            )
        return self


class _Scaled(_Pictured):
    @model_validator(mode="after")
    def _room_for_powers(self) -> Self:
        low, high = self.bounds  # type: ignore[attr-defined]
        if getattr(self, "scale", "linear") == "log" and low > 0 and high / low > _MOST_POWERS:
            raise ValueError(
                f"bounds: {low} and {high} lie too many powers of ten apart for a log scale; raise the lower"
            )
        return self

    @property
    def spacing(self) -> Fraction | None:
        """The step whose multiples the values are, where the schema names one; every integer is a multiple of 1."""
        decimals, step = getattr(self, "decimals", None), getattr(self, "step", None)
        if decimals is not None:
            return Fraction(1, 10**decimals)
        return None if step is None or (step == 1 and self.type == "integer") else written(step)

    @model_validator(mode="after")
    def _of_multiples(self) -> Self:
        decimals, step = getattr(self, "decimals", None), getattr(self, "step", None)
        if decimals is not None and step is not None:
            raise ValueError("decimals and step say the same thing twice; keep one of them")
        if self.spacing is not None:
            key, bounds = "step" if decimals is None else "decimals", self.bounds  # type: ignore[attr-defined]
            if isinstance(bounds, Unknown):
                raise ValueError(f"{key}: needs bounds that are known; write them, or leave {key} out")
            points = [("atoms", atom) for atom in self.atoms]  # type: ignore[attr-defined]
            points += [] if self.otherwise is None else [("otherwise", self.otherwise)]  # type: ignore[attr-defined]
            check_step(key, self.spacing, bounds if self.type == "number" else (0,))
            check_multiples(key, self.spacing, bounds, points)
        return self


class NumberColumn(_Scaled):
    """A number between bounds. A value outside is clamped; one that cannot be read goes to `otherwise`."""

    type: Literal["number"]
    bounds: Reals = Field(json_schema_extra=may_be_estimated)
    decimals: int | None = Field(
        default=None, ge=0, le=MOST_DECIMALS, description="how many digits stand behind the point: 2 for a price"
    )
    step: Real | None = Field(default=None, description="values are multiples of it: 0.25; instead of decimals")
    atoms: tuple[Real, ...] = Field(default=(), description="values that occur exactly; 0 and the bounds always count")
    scale: Literal["linear", "log"] = "linear"
    otherwise: Real | None = Field(
        default=None, description="default: missing if allowed, else the middle of the scale"
    )

    @field_validator("bounds")
    @classmethod
    def _room_for_steps(cls, bounds: tuple[float, float]) -> tuple[float, float]:
        size, span = max(map(abs, bounds)), bounds[1] - bounds[0]
        if size > LARGEST_NUMBER or 0 < span < max(SMALLEST_SPAN, 2.0**-30 * size):
            raise ValueError(
                f"{list(bounds)} are larger than 1e100 or so close that a float64 cannot tell steps between them; "
                "scale or shift the column first"
            )
        return bounds


class IntegerColumn(_Scaled):
    """A whole number between bounds. A fraction is rounded."""

    type: Literal["integer"]
    bounds: Wholes = Field(json_schema_extra=may_be_estimated)
    step: Whole | None = Field(default=None, description="values are multiples of it: 10000")
    atoms: tuple[Whole, ...] = Field(default=(), description="values that stand out; 0 and the bounds always count")
    scale: Literal["linear", "log"] = "linear"
    otherwise: Whole | None = Field(
        default=None, description="default: missing if allowed, else the middle of the scale"
    )


class DateColumn(_Ordered):
    """A day between bounds."""

    type: Literal["date"]
    bounds: Days = Field(json_schema_extra=may_be_estimated)
    otherwise: dt.date | None = Field(default=None, description="default: missing if allowed, else the middle")


class DatetimeColumn(_Ordered):
    """A second between bounds, in universal time where no zone is given."""

    type: Literal["datetime"]
    bounds: Moments = Field(json_schema_extra=may_be_estimated)
    otherwise: dt.datetime | None = Field(default=None, description="default: missing if allowed, else the middle")

    @field_validator("bounds")
    @classmethod
    def _bounds_in_utc(cls, bounds: tuple[dt.datetime, dt.datetime]) -> tuple[dt.datetime, dt.datetime]:
        return bounds if isinstance(bounds, Unknown) else (_utc(bounds[0]), _utc(bounds[1]))

    @field_validator("otherwise")
    @classmethod
    def _otherwise_in_utc(cls, value: dt.datetime | None) -> dt.datetime | None:
        return value and _utc(value)


Column = CategoryColumn | BooleanColumn | NumberColumn | IntegerColumn | DateColumn | DatetimeColumn


def is_unknown(column: Column) -> bool:
    """Whether the column's bounds, or its list of values, are to be bought."""
    return isinstance(getattr(column, "bounds", None), Unknown) or isinstance(getattr(column, "values", None), Unknown)
