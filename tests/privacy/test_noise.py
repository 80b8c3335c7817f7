"""Threats 1, 2, 3 and 12 of the noise, each with a figure to pass and a fault that it must see."""

import itertools
import math
import multiprocessing as mp

import mpmath
import numpy as np
import opendp.prelude as dp
import pytest
from scipy import stats

from sfumato.trusted import noise
from sfumato.trusted.noise import SecureNoise, SeededNoise, box_muller, refine, rounded_gaussian, secure_words
from tests.parameters import mostly_slow

dp.enable_features("contrib")
pytestmark = pytest.mark.fresh_noise


def law_p_value(draws: np.ndarray, sigma: float) -> float:
    """The chi-squared p-value of draws against the rounded normal law."""
    reach = math.ceil(4.2 * sigma) + 1
    edges = np.arange(-reach, reach + 1) + 0.5
    cumulative = stats.norm.cdf(edges / sigma)
    expected = np.diff(np.concatenate(([0.0], cumulative, [1.0]))) * len(draws)
    seen = np.bincount(np.searchsorted(edges, draws), minlength=len(expected))
    enough = expected >= 10
    pooled = [np.append(counts[enough], counts[~enough].sum()) for counts in (seen, expected)]
    if pooled[1][-1] == 0:
        pooled = [counts[:-1] for counts in pooled]
    return float(stats.chisquare(*pooled).pvalue)


@pytest.mark.parametrize("times", mostly_slow([3, 15], 3))
def test_the_law_is_exact_in_millions_of_draws(times):
    p_values = [
        law_p_value(rounded_gaussian(sigma, 10**6, secure_words), sigma)
        for sigma in (0.4, 1.0, 3.7, 50.0)
        for _ in range(times)
    ]
    assert stats.kstest(p_values, "uniform").pvalue > 1e-6


@pytest.mark.parametrize("factor", [0.98, 1.02])
def test_two_percent_of_wrong_scale_is_seen(factor):
    for sigma in (1.0, 50.0):
        assert law_p_value(rounded_gaussian(factor * sigma, 10**6, secure_words), sigma) < 1e-12


def test_the_slow_path_has_the_same_law(monkeypatch):
    def undecided(a, b, sigma):
        value, bound = box_muller(a, b, sigma)
        return value, np.full_like(bound, np.inf)

    monkeypatch.setattr(noise, "box_muller", undecided)
    for sigma in (1.0, 3.7):
        assert law_p_value(rounded_gaussian(sigma, 10_000, secure_words), sigma) > 1e-6


def test_two_samples_agree_with_opendp():
    sigma, count = 3.0, 40_000
    theirs = dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float), scale=sigma)(
        [0] * count
    )
    ours = rounded_gaussian(sigma, count, secure_words)
    cut = np.arange(-9, 11) - 0.5
    table = [np.histogram(np.clip(draws, -9, 9), cut)[0] for draws in (ours, theirs)]
    assert stats.chi2_contingency(table).pvalue > 1e-6


def exact_pair(a: int, b: int, sigma: float) -> tuple[mpmath.mpf, mpmath.mpf]:
    """The two normal values in the middle of what the words leave open, in 250-bit arithmetic."""
    u = (mpmath.mpf(a) + 0.5) / 2**64
    v = (mpmath.mpf(b) + 0.5) / 2**64
    radius = sigma * mpmath.sqrt(-2 * mpmath.log(u))
    return radius * mpmath.cos(2 * mpmath.pi * v), radius * mpmath.sin(2 * mpmath.pi * v)


def words_to_try(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Random words, and those near 0, near 2**64, near quarter turns and near the edge of the bound."""
    edges = [
        0,
        1,
        2,
        3,
        1 << 23,
        1 << 24,
        (1 << 24) + 1,
        1 << 40,
        1 << 62,
        (1 << 63) - 1,
        1 << 63,
        (1 << 63) + 1,
        3 << 62,
    ]
    extreme = np.array([*edges, *(2**64 - 1 - edge for edge in edges)], dtype=np.uint64)
    a, b = (grid.ravel() for grid in np.meshgrid(extreme, extreme))
    random = secure_words(2 * count).reshape(2, -1)
    return np.concatenate((a, random[0])), np.concatenate((b, random[1]))


def worst_error(sigma: float, count: int) -> float:
    """The largest distance between the float pair and the exact one, as a share of the bound."""
    a, b = words_to_try(count)
    value, bound = box_muller(a, b, sigma)
    worst = 0.0
    with mpmath.workprec(250):
        for i in np.flatnonzero(np.isfinite(bound)):
            for float_value, exact in zip(value[:, i], exact_pair(int(a[i]), int(b[i]), sigma), strict=True):
                worst = max(worst, float(abs(exact - float_value) / bound[i]))
    return worst


@pytest.mark.parametrize("draws", mostly_slow([5_000, 50_000], 5_000))
def test_the_float_bound_holds_on_this_machine_with_half_to_spare(draws):
    assert worst_error(2.0**20, draws) <= 0.5
    assert worst_error(3.7, draws) <= 0.5


def test_the_bound_test_sees_a_bound_that_is_too_small(monkeypatch):
    monkeypatch.setattr(noise, "_RELATIVE_ERROR", 2.0**-53)
    assert worst_error(3.7, 2_000) > 0.5


def test_no_decided_draw_is_rounded_wrongly():
    a, b = words_to_try(20_000)
    sigma = 2.0**20
    value, bound = box_muller(a, b, sigma)
    nearest = np.floor(value + 0.5)
    decided = np.flatnonzero((0.5 - np.abs(value - nearest) > bound).all(axis=0))
    assert len(decided) > 19_000
    with mpmath.workprec(250):
        for i in decided:
            for rounded, exact in zip(nearest[:, i], exact_pair(int(a[i]), int(b[i]), sigma), strict=True):
                assert int(rounded) == int(mpmath.floor(exact + 0.5))


def test_refinement_decides_next_to_a_half():
    """The sum with one half is exact: 53 bits would round 2.5 - 2**-200 up."""
    interval = mpmath.MPIntervalContext()
    interval.prec = 300
    just_below = interval.mpf(5) / 2 - interval.mpf(2) ** -200
    assert noise._decided(just_below) == 2
    assert noise._decided(interval.mpf(5) / 2) == 3
    assert noise._decided(interval.mpf([2.4, 2.6])) is None
    assert refine(0, 0, 3.0, secure_words)[0] >= 28  # the far tail: sqrt(-2 log 2**-64) = 9.4
    assert refine(2**64 - 1, 0, 3.0, secure_words) == (0, 0)


def finest_bit(values: np.ndarray) -> np.ndarray:
    """The power of two of each number's last binary digit: what the precision attack looks at."""
    mantissa, exponent = np.frexp(values)
    whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    last = np.maximum(whole & -whole, 1)
    return exponent - 53 + np.log2(last)


def precision_advantage(release, draws: int) -> float:
    """How much more often some precision occurs without the record than the promise of any epsilon allows.

    Never with it.
    """
    without, with_record = (finest_bit(release(x, draws)) for x in (0, 1))
    return max(
        (float((without < limit).mean()) for limit in range(-80, 60) if not (with_record < limit).any()), default=0.0
    )


@pytest.mark.parametrize("sigma", [1.0, 8.0, 64.0, 1024.0])
def test_the_precision_attack_finds_nothing(sigma):
    advantage = precision_advantage(lambda x, n: (x + rounded_gaussian(sigma, n, secure_words)).astype(float), 10**6)
    assert advantage <= 1e-5


def test_the_precision_attack_breaks_float_noise():
    rng = np.random.default_rng()
    assert precision_advantage(lambda x, n: x + rng.standard_normal(n), 10**6) > 0.2


def test_neighbours_differ_no_more_than_the_gaussian_allows():
    """The hockey-stick divergence of two rounded laws, summed over integers, never exceeds the Gaussian's."""
    for sigma in (0.5, 1.0, 3.0, 10.0):
        k = np.arange(-int(40 * sigma) - 5, int(40 * sigma) + 5)
        here, there = (stats.norm.cdf((k + 0.5 - x) / sigma) - stats.norm.cdf((k - 0.5 - x) / sigma) for x in (0, 1))
        for epsilon in (0.1, 1.0, 2.0):
            rounded = np.maximum(here - math.exp(epsilon) * there, 0).sum()
            mu = 1 / sigma
            ideal = stats.norm.cdf(-epsilon / mu + mu / 2) - math.exp(epsilon) * stats.norm.cdf(-epsilon / mu - mu / 2)
            assert rounded <= ideal + 1e-12


def _child(queue):
    queue.put(secure_words(10_000).tobytes())


def test_64_forked_workers_share_no_word():
    context = mp.get_context("fork")
    queue = context.Queue()
    words = []
    for _ in range(8):  # eight at a time
        workers = [context.Process(target=_child, args=(queue,)) for _ in range(8)]
        for worker in workers:
            worker.start()
        words += [np.frombuffer(queue.get(), dtype=np.uint64) for _ in workers]
        for worker in workers:
            worker.join()
    drawn = np.concatenate(words)
    assert len(np.unique(drawn)) == len(drawn) == 640_000


def check_noise_is_fresh(make) -> None:
    """Made anew, with everything else the same, it is other noise; and it says that it is private."""
    draws = [make().rounded_gaussian(100, 50) for _ in range(4)]
    assert make().private
    assert len({draw.tobytes() for draw in draws}) == 4


def test_production_noise_is_fresh():
    check_noise_is_fresh(SecureNoise)


def test_seeded_production_noise_is_seen(monkeypatch):
    """The fault: a seed in the words, or a seeded generator in the place of the secure one."""
    with pytest.raises(AssertionError):
        check_noise_is_fresh(lambda: SeededNoise(1))
    monkeypatch.setattr(noise, "secure_words", lambda count: SeededNoise(1)._words(count))
    with pytest.raises(AssertionError):
        check_noise_is_fresh(SecureNoise)


def test_seeded_noise_repeats_and_has_the_same_law():
    first, second = SeededNoise(1), SeededNoise(1)
    assert np.array_equal(first.rounded_gaussian(100, 50), second.rounded_gaussian(100, 50))
    assert not np.array_equal(first.rounded_gaussian(100, 50), SeededNoise(1).rounded_gaussian(100, 50))
    assert law_p_value(SeededNoise(7).rounded_gaussian(3.7, 10**6), 3.7) > 1e-6


@pytest.mark.parametrize("size", [0, 1, 2, 7, 300_001])
def test_any_number_of_draws(size):
    draws = rounded_gaussian(5.0, size, secure_words)
    assert draws.shape == (size,)
    assert draws.dtype == np.int64


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.nan, math.inf, 2.0**41])
def test_a_sigma_out_of_reach_is_refused(sigma):
    with pytest.raises(ValueError, match="sigma"):
        rounded_gaussian(sigma, 3, secure_words)


def farthest_by_bits_not_drawn(sigma: float) -> float:
    """The largest distance of the float pair from what any further bits can make of it, as a share of the bound."""
    edge = 1 << 24
    a = np.array([edge, edge + 1, 1 << 30, 1 << 63, 2**64 - 1 - edge, 2**64 - 1 - (1 << 30)], dtype=np.uint64)
    b = np.full(len(a), 1 << 61, dtype=np.uint64)
    value, bound = box_muller(a, b, sigma)
    worst = 0.0
    with mpmath.workprec(250):
        for i, end in itertools.product(range(len(a)), (0, 1)):
            radius = sigma * mpmath.sqrt(-2 * mpmath.log((mpmath.mpf(int(a[i])) + end) / 2**64))
            exact = radius * mpmath.cos(2 * mpmath.pi * (mpmath.mpf(int(b[i])) + mpmath.mpf("0.5")) / 2**64)
            worst = max(worst, float(abs(exact - value[0, i]) / bound[i]))
    return worst


def test_the_bound_covers_all_bits_that_are_not_drawn_yet():
    assert 0.1 < farthest_by_bits_not_drawn(1.0) <= 0.5
    assert 0.1 < farthest_by_bits_not_drawn(2.0**20) <= 0.5


def test_the_bound_is_infinite_where_first_order_does_not_serve():
    edge = 1 << 24
    near = np.array([0, 1, edge - 1, 2**64 - 1, 2**64 - edge], dtype=np.uint64)
    far = np.array([edge, 1 << 63, 2**64 - 1 - edge], dtype=np.uint64)
    assert np.isinf(box_muller(near, near, 3.0)[1]).all()
    assert np.isfinite(box_muller(far, far, 3.0)[1]).all()


@pytest.mark.parametrize("doubtful", [0, 1])
def test_a_pair_is_refined_where_either_of_the_two_is_in_doubt(monkeypatch, doubtful):
    value = np.array([[0.25, 7.25], [3.0, -2.1]])
    value[doubtful, 1] = 5.5 - 1e-9
    monkeypatch.setattr(noise, "box_muller", lambda a, b, sigma: (value, np.full(2, 1e-8)))
    monkeypatch.setattr(noise, "refine", lambda a, b, sigma, words: (a, b))
    words = np.array([[10, 20], [30, 40]], dtype=np.uint64)
    rounded = noise._rounded_pairs(words[0], words[1], 1.0, secure_words)
    assert rounded.tolist() == [[0, 20], [3, 40]]


def test_no_draw_takes_no_word():
    def refuse(count):
        raise AssertionError(count)

    assert rounded_gaussian(3.0, 0, refuse).tolist() == []


def test_a_pair_has_two_independent_numbers():
    draws = rounded_gaussian(100.0, 200_000, secure_words).reshape(-1, 2)
    assert abs(np.corrcoef(draws.T)[0, 1]) < 0.02
    assert abs(np.corrcoef(np.abs(draws).T)[0, 1]) < 0.02


def test_refinement_draws_bits_for_both_numbers():
    """The same bits for both would tie them to each other."""
    bits = iter([np.array([2**64 - 1, 0], dtype=np.uint64)])
    a, b = 1 << 63, (1 << 62) - 1  # b with ones behind it is a quarter turn
    first, second = refine(a, b, 2.0**40, lambda _: next(bits, np.array([5, 7], dtype=np.uint64)))
    with mpmath.workprec(400):
        u, v = (mpmath.mpf(word) / 2**128 for word in ((a << 64) + 2**64 - 1, b << 64))
        radius = 2.0**40 * mpmath.sqrt(-2 * mpmath.log(u))
        assert first == int(mpmath.floor(radius * mpmath.cos(2 * mpmath.pi * v) + mpmath.mpf("0.5")))
        assert second == int(mpmath.floor(radius * mpmath.sin(2 * mpmath.pi * v) + mpmath.mpf("0.5")))


def test_the_key_of_persons_is_fresh_and_that_of_a_seed_is_not():
    assert len({SecureNoise().key() for _ in range(4)}) == 4
    assert len(SecureNoise().key()) == 32
    assert SeededNoise(1).key() == SeededNoise(1).key() != SeededNoise(2).key()
    assert not SeededNoise(1).private


def test_each_number_of_a_pair_gets_bits_of_its_own():
    """A pair whose second number lies on the edge of rounding: the bits that decide it are those drawn for it."""
    sigma, a = 2.0**40, 2**63
    radius = sigma * math.sqrt(2 * math.log(2))  # of the word a, which is one half
    with mpmath.workdps(60):
        step = 2 * mpmath.pi / mpmath.mpf(2) ** 64
        value = mpmath.mpf(sigma) * mpmath.sqrt(2 * mpmath.log(2))
        half = mpmath.floor(value / 2) + mpmath.mpf(1) / 2
        b = int(mpmath.floor(mpmath.asin(half / value) / step))
    assert radius == pytest.approx(float(value))
    low, high = (refine(a, b, sigma, words_of([0, more]))[1] for more in (0, 2**64 - 1))
    assert high == low + 1


def words_of(words):
    return lambda count: np.array(words[:count], dtype=np.uint64)
