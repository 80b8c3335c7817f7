"""Lists of values through the curator: paid for first, above the threshold, and audited."""

import dataclasses
from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import beta

from sfumato.errors import BudgetExceededError, RequestError
from sfumato.trusted import curator as curator_module
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import noise_scale
from sfumato.trusted.curator import Curator
from sfumato.trusted.noise import SecureNoise, SeededNoise
from sfumato.trusted.privacy_filter import PrivacyFilter, units_of
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source
from sfumato.trusted.statistics import KeyCounts
from sfumato.trusted.thresholds import threshold

ONE = Schema.from_yaml("{sfumato: 1, name: t, columns: [{name: ward, type: category, values: discover}]}")
THREE = Schema.from_dict({**ONE.to_dict(), "unit": {"column": "who", "records": 3}})
MANY, DELTA = 1e9, 1e-6


def table(*wards: str, who: str = "x") -> pa.Table:
    """A record for each ward, all of one person."""
    return pa.table({"ward": pa.array(wards, pa.string()), "who": pa.array([who] * len(wards), pa.string())})


def curator_of(rows: pa.Table, schema: Schema = ONE, noise=None, delta: float = 0.5, adjacency=Adjacency.ADD_REMOVE):
    source = open_source(rows, schema, b"key", declared=True)
    records = schema.unit.records if schema.unit else 1
    return Curator(source, adjacency, PrivacyFilter(int(MANY * 10**12), records, delta), noise or SeededNoise(0))


class Quiet:
    """Noise that is none."""

    private = False

    def rounded_gaussian(self, _sigma, size):
        return np.zeros(size, dtype=np.int64)

    def key(self):
        return b"key"


@pytest.mark.parametrize("adjacency", Adjacency)
def test_a_value_is_named_from_the_threshold_on(adjacency):
    mu, question = 0.5, KeyCounts("ward", DELTA, 1)
    sigma = noise_scale(question.sensitivity(adjacency), mu)
    least = threshold(sigma, 1, DELTA)
    rows = table(*["a"] * (least + 1), *["b"] * least, *["c"] * (least + 5), "d")
    answer = curator_of(rows, noise=Quiet(), adjacency=adjacency).discover(question, mu)
    assert answer.statistic.keys == ("a", "c")
    assert answer.values.tolist() == [least + 1, least + 5]
    assert answer.sigma == sigma


def test_it_is_paid_for_before_it_is_read():
    class Source:
        unit = None

        def count_keys(self, name):
            raise AssertionError("read")

    question = KeyCounts("ward", DELTA, 1)
    for units, delta in ((units_of(0.5) - 1, DELTA), (units_of(0.5), DELTA / 2), (units_of(0.5), 0.0)):
        privacy_filter = PrivacyFilter(units, 1, delta)
        with pytest.raises(BudgetExceededError):
            Curator(Source(), Adjacency.REPLACE, privacy_filter, SecureNoise()).discover(question, 0.5)
        assert privacy_filter.spent == 0


def test_two_lists_cost_two_deltas():
    curator = curator_of(table("a"), delta=1.5 * DELTA)
    curator.discover(KeyCounts("ward", DELTA, 1), 0.5)
    with pytest.raises(BudgetExceededError, match="delta"):
        curator.discover(KeyCounts("ward", DELTA, 1), 0.5)
    assert len(curator.measurements) == 1


def test_a_question_for_other_persons_or_with_an_answer_is_refused():
    for question in (KeyCounts("ward", DELTA, 2), KeyCounts("ward", DELTA, 1, ("a",))):
        with pytest.raises(RequestError):
            curator_of(table("a")).discover(question, 0.5)


def test_the_order_of_the_records_does_not_show():
    wards = ["b"] * 300 + ["a"] * 200 + ["c"] * 400
    for rows in (table(*wards), table(*reversed(wards))):
        answer = curator_of(rows, noise=Quiet()).discover(KeyCounts("ward", DELTA, 1), 1.0)
        assert answer.statistic.keys == ("a", "b", "c")
        assert answer.values.tolist() == [200, 300, 400]


@pytest.mark.parametrize("adjacency", Adjacency)
def test_no_change_moves_the_counts_of_common_keys_further_than_claimed(adjacency):
    """A hunt over neighbours, by record and by person, and the claim is attained."""
    rng, worst = np.random.default_rng(0), {1: 0.0, 3: 0.0}
    others = pa.concat_tables([table(*"abcde" * 2, who=f"p{i}") for i in range(5)])
    for attempt in range(12):
        for schema, records in ((ONE, 1), (THREE, 3)):
            many = 1 if records == 1 else int(rng.integers(1, 8))
            before, after = (table(*rng.choice(list("abc"), many)) for _ in range(2))
            if attempt % 3 == 0:
                before, after = table(*["a"] * many), table(*["b"] * many)
            after = after.slice(0, 0) if adjacency == Adjacency.ADD_REMOVE else after
            counts = []
            for rows in (before, after):
                whole = pa.concat_tables([others, rows])
                with closing(open_source(whole, schema, bytes([attempt]), declared=True)) as source:
                    counts.append(source.count_keys("ward"))
            move = np.linalg.norm([counts[0].get(key, 0) - counts[1].get(key, 0) for key in counts[0] | counts[1]])
            worst[records] = max(worst[records], move)
    for records, move in worst.items():
        claim = records * KeyCounts("ward", DELTA, 1).sensitivity(adjacency)
        assert 0.99 * claim <= move <= claim * (1 + 1e-12)


def times_shown(schema: Schema, rows: pa.Table, question: KeyCounts, mu: float, times: int) -> int:
    """How often the key `rare`, which the person of these rows alone holds, is shown."""
    common = pa.concat_tables([table(*["a"] * 3, who=f"p{i}") for i in range(5)])
    with closing(open_source(pa.concat_tables([common, rows]), schema, b"key", declared=True)) as source:
        counted = Counted(schema.unit, source.count_keys("ward"))
    privacy_filter = PrivacyFilter(int(MANY * 10**12), question.records, 0.99)
    privacy_filter.spend = lambda *_: None  # an audit asks often
    curator = Curator(counted, Adjacency.ADD_REMOVE, privacy_filter, SeededNoise(3))
    return sum("rare" in curator.discover(question, mu).statistic.keys for _ in range(times))


@dataclasses.dataclass
class Counted:
    """A source whose keys are counted already."""

    unit: object
    counts: dict[bytes, int]

    def count_keys(self, _name: str) -> dict[bytes, int]:
        return self.counts


def lower_bound(shown: int, times: int, confidence: float = 0.999) -> float:
    """Clopper and Pearson: the probability is not below this."""
    return float(beta.ppf(1 - confidence, shown, times - shown + 1)) if shown else 0.0


AUDITS = {
    "one record": (ONE, table("rare"), 1),
    "a person with many records": (THREE, table(*["rare"] * 8), 3),
}


@pytest.mark.parametrize(("schema", "rows", "records"), AUDITS.values(), ids=AUDITS)
def test_an_audit_finds_no_more_than_delta(schema, rows, records):
    """The key of one person alone: shown or not tells whether the person is there (threats 7 and 22)."""
    delta, mu, times = 0.05, 0.5, 3_000
    shown = times_shown(schema, rows, KeyCounts("ward", delta, records), mu, times)
    assert lower_bound(shown, times) <= delta
    assert shown / times >= 0.2 * delta / records  # the audit can see something


@pytest.mark.parametrize(("schema", "rows", "records"), AUDITS.values(), ids=AUDITS)
def test_the_audit_sees_a_threshold_that_forgets_the_records(schema, rows, records, monkeypatch):
    delta, mu, times = 0.05, 0.5, 3_000
    broken = lambda sigma, _records, delta: threshold(sigma, 1, delta) - 1  # noqa: E731
    monkeypatch.setattr(curator_module, "threshold", broken)
    shown = times_shown(schema, rows, KeyCounts("ward", delta, records), mu, times)
    assert lower_bound(shown, times) > delta


def test_keys_of_one_record_stay_unseen_and_a_broken_threshold_is_seen(monkeypatch):
    """A column of ids: nothing is found."""
    rows = table(*(f"id {i}" for i in range(50_000)))
    question = KeyCounts("ward", DELTA, 1)
    assert curator_of(rows).discover(question, 0.1).statistic.keys == ()
    monkeypatch.setattr(curator_module, "threshold", lambda *_: 0)
    assert len(curator_of(rows).discover(question, 0.1).statistic.keys) > 10_000


def test_nothing_at_all():
    answer = curator_of(table()).discover(KeyCounts("ward", DELTA, 1), 0.1)
    assert answer.statistic.keys == ()
    assert answer.values.tolist() == []
