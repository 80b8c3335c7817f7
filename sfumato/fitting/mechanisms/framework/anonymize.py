"""Anonymize: what of the records leaves the curator, as noisy sums. Everything after it is post-processing of these."""

from collections.abc import Callable
from dataclasses import dataclass

from sfumato.fitting.generators.evidence import Evidence
from sfumato.fitting.mechanisms.counts.measure import measure_counts
from sfumato.fitting.mechanisms.counts.one_way import OneWays
from sfumato.fitting.mechanisms.counts.pairs import PairTables
from sfumato.fitting.mechanisms.framework.embedding import Embedded, measure_embedding
from sfumato.fitting.mechanisms.framework.histograms import HistogramEvidence
from sfumato.fitting.mechanisms.framework.plan import FrameworkPlan
from sfumato.fitting.mechanisms.framework.waves import EmbeddingEvidence
from sfumato.fitting.mechanisms.slices.directions import AlongDirections, measure_directions
from sfumato.fitting.mechanisms.tables.product_mixture import WholeRecords
from sfumato.fitting.retraining.evidence import evidence_of, histograms_of, waves_of
from sfumato.trusted.measurement import CuratorLike


@dataclass(frozen=True)
class Seen:
    """What was measured of the distribution: counts, and what whole records tell, along directions or embedded.

    plan   with the grids on which it was counted
    """

    plan: FrameworkPlan
    one_way: OneWays
    pairs: PairTables | None
    along: AlongDirections | None
    embedded: Embedded | None

    @property
    def whole(self) -> WholeRecords | None:
        """What a mixture is held against beside tables."""
        if self.embedded is not None:
            return EmbeddingEvidence(waves_of(self.embedded, self.one_way), self.one_way, self.embedded.sigma)
        if self.along is not None:
            return HistogramEvidence.of(histograms_of(self.along, self.one_way), self.one_way)
        return None

    @property
    def evidence(self) -> Evidence | None:
        """What a generator is held against."""
        if not self.one_way.columns:
            return None
        return evidence_of(self.one_way, self.pairs, self.along, self.embedded)


def anonymize(curator: CuratorLike, plan: FrameworkPlan, progress: Callable[[str], None] = lambda _: None) -> Seen:
    """Ask for what the plan has a mu for.

    Formal guarantees
        Every answer is mu-GDP given those before it, for the sensitivity that its statistic proves: `Cells` for counts,
        `Slices` for histograms along directions, `Embedding` for the mean embedding. The curator adds the noise.
    """
    plan, one_way, pairs = measure_counts(curator, plan, progress)
    progress("measuring what whole records tell, with noise")
    along = measure_directions(curator, plan, one_way, plan.mu_directions)
    return Seen(plan, one_way, pairs, along, measure_embedding(curator, plan, one_way, plan.mu_embedding))
