import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankinite._numba import threads
from rankinite.data import Dataset, Preferences
from rankinite.lambdas import LambdaGradients, PreferenceGradients
from rankinite.lambdas._preference_gradient_kernels import PairArrays, pair_lambdas
from rankinite.measures import measure
from rankinite.measures._pair_measure_kernels import query_cost, unit_of
from tests.lambdas.pair_cases import bound, some_pairs
from tests.naive import preferences as naive


@pytest.mark.parametrize("sigma", [1.0, 0.3, 2.5])
@pytest.mark.parametrize("seed", range(4))
def test_as_the_twin(seed, sigma):
    offsets, queries, scores = some_pairs(seed)
    lam, w = PreferenceGradients(bound(offsets, queries), sigma=sigma)(scores)
    for query, own in enumerate(queries):
        rows = slice(offsets[query], offsets[query + 1])
        expected = naive.lambdas(own, scores[rows].tolist(), sigma)
        np.testing.assert_allclose(lam[rows], expected[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(w[rows], expected[1], rtol=0, atol=1e-12)


def test_lambdas_are_the_slope_of_the_cost():
    offsets, queries, scores = some_pairs(3)
    pairs, sigma, step = bound(offsets, queries), 0.7, 1e-3
    lam, w = PreferenceGradients(pairs, sigma=sigma)(scores)

    def cost(scores):
        arrays = (pairs.first, pairs.other, pairs.probability, pairs.weight)
        return query_cost(0, *arrays, scores, sigma)

    for row in range(len(scores)):
        nudge = np.zeros(len(scores))
        nudge[row] = step
        above, here, below = cost(scores + nudge), cost(scores), cost(scores - nudge)
        assert (below - above) / (2 * step) == pytest.approx(lam[row], abs=1e-5)
        assert (above - 2 * here + below) / step**2 == pytest.approx(w[row], abs=1e-4)


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.integers(0, 2**32), st.randoms(use_true_random=False))
def test_order_of_the_pairs_means_nothing(seed, random):
    offsets, queries, scores = some_pairs(seed)
    scores = scores + np.random.default_rng(seed).normal(size=len(scores))
    n_pairs = sum(map(len, queries))
    order = list(range(n_pairs))
    random.shuffle(order)
    lam, w = PreferenceGradients(bound(offsets, queries))(scores)
    again = PreferenceGradients(bound(offsets, queries, np.array(order)))(scores)
    assert lam.tobytes() == again[0].tobytes()
    assert w.tobytes() == again[1].tobytes()


def test_a_cycle_of_equal_documents_pulls_at_nobody():
    pairs = bound(np.array([0, 3]), [[(0, 1, 1.0, 1.0), (1, 2, 1.0, 1.0), (2, 0, 1.0, 1.0)]])
    lam, w = PreferenceGradients(pairs)(np.zeros(3))
    assert lam.tolist() == [0, 0, 0]
    assert w.tolist() == [0.5, 0.5, 0.5]


def test_a_probability_is_reached_where_the_gap_is_its_log_odds():
    pairs = bound(np.array([0, 2]), [[(0, 1, 0.8, 1.0)]])
    lam, _ = PreferenceGradients(pairs, sigma=2.0)(np.array([np.log(4) / 2, 0.0]))
    np.testing.assert_allclose(lam, 0, atol=1e-12)


def test_query_weights_multiply():
    offsets, queries, scores = some_pairs(1)
    pairs, weight = bound(offsets, queries), np.arange(len(queries)) * 0.5
    plain = PreferenceGradients(pairs)(scores)
    weighed = PreferenceGradients(pairs, query_weight=weight)(scores)
    factor = np.repeat(weight, np.diff(offsets))
    for a, b in zip(plain, weighed, strict=True):
        assert np.array_equal(factor * a, b)


@pytest.mark.parametrize("gap", [0.0, 1e-300, 40.0, 800.0, 1e9, 1e308])
@pytest.mark.parametrize("probability", [0.0, 0.3, 1.0])
def test_any_gap(gap, probability):
    scores = np.array([gap, -gap])
    for i, j in ((0, 1), (1, 0)):
        pairs = bound(np.array([0, 2]), [[(i, j, probability, 1.0)]])
        lam, w = PreferenceGradients(pairs)(scores)
        assert np.isfinite(lam).all() and (w >= 0).all() and (w <= 0.25).all()
        assert lam[0] == -lam[1] and abs(lam[0]) <= 1
        if gap > 40:
            assert lam[i] == pytest.approx(probability - (1.0 if i == 0 else 0.0), abs=1e-12)


@pytest.mark.parametrize("depth", [0.0, 500.0, 640.0, 700.0, 745.0, 5000.0, 1e12])
def test_documents_far_below_the_best_are_told_apart(depth):
    scores = np.array([0.0, -depth, -depth - 1.0])
    own = [(1, 2, 1.0, 1.0), (2, 1, 0.7, 1.0), (0, 1, 1.0, 1.0)]
    found = PreferenceGradients(bound(np.array([0, 3]), [own]))(scores)
    np.testing.assert_allclose(found, naive.lambdas(own, scores.tolist()), rtol=0, atol=1e-12)


@pytest.mark.parametrize("weight", [1e-280, 1e-20, 1e20, 1e290])
def test_any_scale_of_the_weights(weight):
    offsets, queries, scores = some_pairs(2)
    heavy = [[(i, j, p, weight * w) for i, j, p, w in own] for own in queries]
    for light, own in zip(
        PreferenceGradients(bound(offsets, queries))(scores),
        PreferenceGradients(bound(offsets, heavy))(scores),
        strict=True,
    ):
        np.testing.assert_allclose(own / weight, light, rtol=1e-9, atol=1e-9)


def test_threads_mean_nothing():
    offsets, queries, _ = some_pairs(5, sizes=(30,) * 400, pairs_a_query=200)
    scores = np.random.default_rng(0).normal(size=offsets[-1])
    found = []
    for n_threads in (1, 2):
        with threads(n_threads):
            found.append(PreferenceGradients(bound(offsets, queries))(scores))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(*found, strict=True))


def test_pairs_of_labels_give_the_lambdas_of_the_measure_pairs():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 60).astype(float)
    data = Dataset(np.zeros((60, 1)), labels, qid=np.repeat([1, 2, 3], 20))
    scores = rng.normal(size=60)
    keys = rng.integers(0, 2**64, 60, np.uint64)
    of_labels = LambdaGradients(measure("pairs"), labels, data.offsets, keys)(scores, 0)
    of_pairs = PreferenceGradients(Preferences.from_labels(data))(scores)
    for a, b in zip(of_labels, of_pairs, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_the_kernel_of_one_query_counts_rows_as_it_is_told():
    _, queries, scores = some_pairs(4)
    own, scores = queries[2], scores[3:12]
    first, other, probability, weight = (np.array(column) for column in zip(*own, strict=True))
    found = np.full((2, 9), np.nan)
    offsets = np.array([0, 0, len(first)])
    pairs = PairArrays(first + 100, other + 100, probability, weight, offsets)
    pair_lambdas(1, pairs, 100, scores, 1.0, *found)
    np.testing.assert_allclose(found, naive.lambdas(own, scores.tolist()), atol=1e-12)


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.floats(1e-290, 1e280), st.integers(1, 2**30))
def test_units_are_small_and_safe(largest, n_terms):
    unit = unit_of(largest, n_terms)
    assert np.frexp(unit)[0] == 0.5  # a power of two
    assert largest * n_terms <= 2.0**53 * unit
    assert unit <= largest * n_terms * 2.0**-49 or unit == 2.0**-1000
