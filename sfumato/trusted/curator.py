"""The curator: the only place where a statistic of private records gets its noise and becomes public.

To check the privacy of this library, start here; then read `noise.py`, the `sensitivity` of each class in `statistics/`
and the rest of this folder.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sfumato.errors import RequestError
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import noise_scale
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps.grid import forget_tables
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.noise import Noise
from sfumato.trusted.privacy_filter import PrivacyFilter
from sfumato.trusted.redaction import redact_errors
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import Source
from sfumato.trusted.statistics import KeyCounts, Statistic
from sfumato.trusted.thresholds import threshold

_NOTHING = np.zeros(0, dtype=np.int32)


class Curator:
    """Holds the records of one source, and answers statistics while the privacy filter allows it."""

    def __init__(
        self,
        source: Source,
        adjacency: Adjacency,
        privacy_filter: PrivacyFilter,
        noise: Noise,
        public: Sequence[str] = (),
    ) -> None:
        """`public` are the columns that the schema says are public; they are so under label adjacency alone."""
        self._public = frozenset(public) if adjacency == Adjacency.LABEL else frozenset()
        self._source = source
        self._adjacency = adjacency
        self._filter = privacy_filter
        if privacy_filter.records != (source.unit.records if source.unit else 1):
            raise RequestError("the privacy filter and the source count different persons; open both from one schema")
        self._noise = noise
        self._measurements: list[Measurement] = []

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """Every measurement so far, in order."""
        return tuple(self._measurements)

    def features(self, names: Sequence[str]) -> Batch:
        """Columns as they are, without noise, where schema and label adjacency say that they are public.

        Formal guarantees
            Neighbouring tables differ in the target alone, which is never among `public`, so the answer is the same for
            both: it spends nothing.
        """
        if not set(names) <= self._public:
            raise RequestError("these columns are private, and are not let out as they are")
        return _read(self._source, tuple(names))

    def measure(self, statistic: Statistic, mu: float) -> Measurement:
        """The sum of `statistic` over the records, with the Gaussian noise that makes it mu-GDP.

        Formal guarantees
            Given everything released before, the answer is mu-GDP for one change of the adjacency (Dong, Roth and Su
            2019, theorem 2.7): the sum moves by at most `statistic.sensitivity(adjacency)` in the blocks' weights, each
            block has noise sigma / weight, and rounding the noise to integers is post-processing, because the sum is of
            integers. Where the source has a `unit`, mu is for one record and the change is one person with all of their
            records: k = `unit.records` of them count at most, nobody else's choice moves, so the sum moves by at most k
            times as much and the answer is k mu-GDP, which is what the privacy filter counts. Under replace a person
            may come to have fewer or more records than before: each that comes or goes moves the sum by the sensitivity
            for add-remove, which is not above that for replace (see `Statistic`).
        Edge cases
            A sum beyond 64 bits wraps around, with the noise that is added to it: what comes out is the noisy sum
            modulo 2^64, post-processing once more. No records: the sum is zero and everything else is the same. Not
            enough budget: `BudgetExceededError`, nothing is read. A crash after the spend: the spend stands.
        """
        self._filter.spend(mu)
        sigma = noise_scale(statistic.sensitivity(self._adjacency), mu)
        total = self._source.sum(statistic)
        forget_tables(getattr(statistic, "grids", {}).values())  # the question itself is kept
        noise = [self._noise.rounded_gaussian(sigma / block.weight, block.size) for block in statistic.blocks]
        return self._keep(Measurement(statistic, mu, sigma, total + np.concatenate(noise)))

    def _keep(self, measurement: Measurement) -> Measurement:
        self._measurements.append(measurement)
        return measurement

    def discover(self, question: KeyCounts, mu: float) -> Measurement:
        """The values of a column that stand out, and how often each occurs, with noise.

        Formal guarantees
            Given everything released before, the answer is mu-GDP (k mu-GDP where k records of a person count) but for
            a total variation of `question.delta`: see `thresholds`. The order of the answer is that of the texts,
            whatever order the records come in.
        Edge cases
            As those of `measure`. No value stands out: an answer without any.
        """
        if question != question.question or question.records != self._filter.records:
            raise RequestError("a list of values is asked for without an answer, for the records that count")
        self._filter.spend(mu, question.delta)
        sigma = noise_scale(question.sensitivity(self._adjacency), mu)
        least = threshold(sigma, question.records, question.delta)
        counts = sorted(self._source.count_keys(question.column).items())
        noise = self._noise.rounded_gaussian(sigma, len(counts)).tolist()
        noisy = ((key.decode(), count + more) for (key, count), more in zip(counts, noise, strict=True))
        found = [(key, count) for key, count in noisy if count > least]
        values = np.array([count for _, count in found], dtype=np.int64)
        return self._keep(Measurement(replace(question, keys=tuple(key for key, _ in found)), mu, sigma, values))

    def adopt(self, schema: Schema) -> None:
        """From now on measure the same records by another schema, whose bounds and lists follow from earlier answers.

        Formal guarantees
            Given those answers the schema is fixed, and everything that is asked by it is as private as if the
            custodian had written it.
        """
        self._source = self._source.recode(schema)

    def close(self) -> None:
        """Let go of the records."""
        self._source.close()


@redact_errors
def _read(source: Source, names: tuple[str, ...]) -> Batch:
    """All records in one batch. Storage that breaks on the way may quote any cell, of other columns too."""
    batches = list(source.batches(names))
    codes = {name: np.concatenate([batch.codes[name] for batch in batches] or [_NOTHING]) for name in names}
    return Batch(sum(batch.rows for batch in batches), codes)
