"""Slices without a curator: every record gets its noise where it lives, before anybody gathers it.

Whoever holds a record turns it into a noisy one and hands that over; nobody needs to be trusted with the records. It is
dear: the noise of each record is many times as wide as what all records differ by (`cost`), so what can be read off
thousands of them is averages and how columns go together, no finer shape. Where there is a curator, `release` is the
better choice by far.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.errors import RequestError
from sfumato.fitting.public_rng import orthonormal, public_rng
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.budget import Budget, noise_scale
from sfumato.trusted.encoding import Batch, CategoricalCodec, Encoder, NumericCodec
from sfumato.trusted.encoding.frames import kind_of, names_of, to_arrow
from sfumato.trusted.encoding.inference import check_inferred
from sfumato.trusted.noise import Noise, SecureNoise
from sfumato.trusted.random_directions import OrthonormalFrame
from sfumato.trusted.redaction import redact_errors
from sfumato.trusted.schema import Schema

_UNIT = 1 << 20  # the length of the longest record
_FRAME_UNIT = 1 << 20
_INSIDE = 1 - 2.0**-40  # so that rounding towards zero stays inside the ball
_STREAM = 31


class Cost(NamedTuple):
    """What local noise costs.

    deviations   the noise of a slice in standard deviations of the slices of records of full length
    records      how many records it takes, about, before a slice can be told from a normal one at all
    """

    deviations: float
    records: float


class Moments(NamedTuple):
    """What noisy records tell: mean and covariance of their coordinates, and the deviation of each mean."""

    mean: FloatArray
    covariance: FloatArray
    deviation: float


@dataclass(frozen=True)
class LocalSlices:
    """Noisy slices of single records along a public frame, the same for all who take part.

    schema       the public knowledge of the table
    directions   how many; all coordinates by default. The frame is public and known before, so nothing is gained by its
                 being random: shadows are clipped, which makes the promise hold for every frame
    clip         square of the length that shadows are clipped to, in squared lengths of the longest record; by default
                 the mean of random ones and two deviations, at most 1

    A number is a coordinate from -1 to 1 by its bounds, each value of a category and a missing number one that is 0 or
    1; all divided by the square root of the number of columns, so that no record is longer than 1.

    Formal guarantees
        Each noisy record is (epsilon, delta)-differentially private for any change of that record: its shadow is a
        vector of whole numbers of length `radius` at most, so two of them differ by twice that at most, and rounding
        the Gaussian noise is post-processing. It holds for each record by itself, whatever the others are, and whoever
        gathers them. How many records there are is not hidden. A record that is made noisy twice is paid for twice:
        there is no ledger here.
    Edge cases
        A schema with a `unit` protects persons, and is refused; so is one with bounds or values that are not known.
    """

    schema: Schema
    epsilon: float
    delta: float = 1e-6
    directions: int | None = None
    clip: float | None = None

    def __post_init__(self) -> None:
        if self.schema.unit is not None:
            raise RequestError(
                "local noise protects one record, and the schema's unit one person with several: take the unit off, "
                "and share epsilon and delta out among the records of a person"
            )
        if not self.schema.is_complete:
            raise RequestError(
                "local noise needs bounds and lists of values as they are: nothing can be estimated or discovered of "
                "one record; write them into the schema"
            )
        _ = self.sigma  # bad budgets and frames are refused now

    @cached_property
    def layout(self) -> tuple[str, ...]:
        """The coordinates by name: `column`, or `column=value`, or `column=missing`."""
        names: list[str] = []
        for name, codes in Encoder(self.schema).columns.items():
            if isinstance(codes, NumericCodec):
                names += [name, *([f"{name}=missing"] if codes.missing is not None else [])]
            elif isinstance(codes, CategoricalCodec):
                values = [*(codes.words or codes.values), *([None] if codes.nullable else [])]
                names += [f"{name}={'missing' if value is None else value}" for value in values]
        return tuple(names)

    @cached_property
    def frame(self) -> OrthonormalFrame:
        """Dimension and number of directions."""
        return OrthonormalFrame.orthonormal(
            len(self.layout), len(self.layout) if self.directions is None else self.directions
        )

    @cached_property
    def radius(self) -> float:
        """The length that shadows are clipped to, in whole units."""
        usual = self.frame.mean + 2 * self.frame.deviation
        return _UNIT * math.sqrt(self.frame.most(min(usual, 1.0) if self.clip is None else self.clip))

    @cached_property
    def sigma(self) -> float:
        """The standard deviation of the noise of each slice, in whole units."""
        return noise_scale(2 * self.radius, Budget(self.epsilon, self.delta).mu)

    @cached_property
    def matrix(self) -> IntArray:
        """Coordinates x directions: an orthonormal frame in whole numbers."""
        frame = orthonormal(public_rng(_STREAM), self.frame.dimension, self.frame.width)
        whole: IntArray = np.rint(_FRAME_UNIT * frame).astype(np.int64)
        return whole

    @property
    def cost(self) -> Cost:
        """What it costs, before anything is done."""
        deviations = self.sigma / (_UNIT / math.sqrt(self.frame.dimension))
        return Cost(deviations, 27 * deviations**6)

    def randomize(
        self, records: Any, noise: Noise | None = None, *, types: Literal["declared"] | None = None
    ) -> pa.Table:
        """The noisy slices of some records, a row for each: what their holder may hand over.

        `noise` is for tests and studies; where it is seeded, the table says so. `types` says that those of a pandas or
        polars frame are declared, as in `release`.
        """
        wanted = list(self.schema.by_name)
        if kind_of(records) is None:
            raise RequestError(
                f"a {type(records).__name__} is not a table; give an Arrow table, a pandas or a polars frame"
            )
        named = [name for name in names_of(records) if name in self.schema.by_name]
        if sorted(named) != sorted(wanted):
            raise RequestError("the table lacks a column of the schema, or has one twice; check its header")
        if (frame := kind_of(records)) in ("pandas", "polars") and types != "declared":
            check_inferred(self.schema, str(frame))
        shadow = redact_errors(self._shadows)(records, wanted)
        if not len(shadow):
            raise RequestError("there is no record to make noisy")
        source = noise or SecureNoise()
        noisy = shadow + source.rounded_gaussian(self.sigma, shadow.size).reshape(shadow.shape)
        label = "private" if source.private else "seeded: not private"
        about = {"sfumato": f"local slices, epsilon {self.epsilon:g}, delta {self.delta:g}, {label}"}
        return pa.table(dict(zip(self._slices, noisy.T, strict=True))).replace_schema_metadata(about)

    def _shadows(self, records: Any, names: list[str]) -> IntArray:
        """Records x directions. It touches rows, and so is called discreetly."""
        batches = to_arrow(records, names).combine_chunks().to_batches()
        if not batches:
            return np.zeros((0, self.frame.width), dtype=np.int64)
        return self._clipped(self._coordinates(Encoder(self.schema).encode(batches[0])))

    @property
    def _slices(self) -> list[str]:
        return [f"slice {place}" for place in range(self.frame.width)]

    def _coordinates(self, batch: Batch) -> IntArray:
        """Records x coordinates, in whole units; a record is a function of itself alone."""
        blocks: list[IntArray] = []
        share = _UNIT / math.sqrt(len(self.schema.by_name)) * _INSIDE
        for name, codes in Encoder(self.schema).columns.items():
            numbers = batch.codes[name]
            if isinstance(codes, NumericCodec):
                there = np.ones(batch.rows, dtype=bool) if codes.missing is None else numbers != codes.missing
                place = np.where(there, codes.places.take(np.where(there, numbers, 0)), 0.5)
                blocks.append(np.trunc(share * (2 * place - 1)).astype(np.int64)[:, None])
                if codes.missing is not None:
                    blocks.append(np.where(there, 0, math.trunc(share)).astype(np.int64)[:, None])
            else:
                blocks.append((numbers[:, None] == np.arange(codes.size)) * np.int64(math.trunc(share)))
        return np.concatenate(blocks, axis=1)

    def _clipped(self, coordinates: IntArray) -> IntArray:
        """The shadows on the frame, cut towards zero to integers of length `radius` at most.

        The bound is checked on the integers: a shadow that floats made longer counts for nothing.
        """
        shadow = (coordinates @ self.matrix) / _FRAME_UNIT
        length = np.sqrt(np.square(shadow).sum(axis=1, keepdims=True))
        shrink = np.minimum(1.0, self.radius * _INSIDE / np.maximum(length, 1.0))
        whole: IntArray = np.trunc(shadow * shrink).astype(np.int64)
        within = np.square(whole).sum(axis=1, keepdims=True) <= math.floor(self.radius**2)
        return np.where(within, whole, 0)

    def moments(self, gathered: pa.Table) -> Moments:
        """Mean and covariance of the coordinates, the noise's own variance taken off.

        Needs all directions, and no clip but the longest record's own length. Post-processing of noisy records that
        were gathered from any number of holders.
        """
        if self.frame.width != self.frame.dimension or self.radius < _UNIT:
            raise RequestError(
                "coordinates cannot be read off fewer or clipped directions; ask for all, without a clip"
            )
        if gathered.column_names != self._slices or len(gathered) < 2 or any(c.null_count for c in gathered.columns):
            raise RequestError(
                f"two noisy records at least are needed, with columns slice 0 to slice {self.frame.width - 1} in order"
            )
        noisy = np.column_stack([column.to_numpy() for column in gathered.columns]).astype(float)
        turn = self.matrix.T / _FRAME_UNIT
        scale = math.sqrt(len(self.schema.by_name)) / _UNIT
        covariance = np.cov(noisy, rowvar=False) - self.sigma**2 * np.eye(noisy.shape[1])
        deviation = scale * math.sqrt((self.sigma**2 + _UNIT**2 / self.frame.dimension) / len(noisy))
        return Moments(scale * noisy.mean(axis=0) @ turn, scale**2 * turn.T @ covariance @ turn, deviation)
