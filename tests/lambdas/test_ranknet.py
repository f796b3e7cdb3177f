"""λs and cost of RankNet's pairs against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankinite.lambdas._ranknet_kernels import RANGE, pair_share, ranknet_lambdas
from tests.naive import nets as naive


def lambdas(labels, scores, sigma=1.0):
    """λs and cost, for labels from the best down."""
    n = len(labels)
    lower = np.searchsorted(-labels, -labels, side="right").astype(np.int64)
    # What earlier queries left must not matter.
    work, lam = np.full((3, n + 9), np.nan), np.full(n, np.nan)
    cost = ranknet_lambdas(scores, lower, sigma, work, lam)
    return lam, cost


def assert_right(labels, scores, sigma=1.0):
    lam, cost = lambdas(labels, scores, sigma)
    expected = naive.ranknet_lambdas(labels, scores, sigma)
    n_pairs = sum(1 for _ in naive.label_pairs(labels))
    np.testing.assert_allclose(lam, expected, rtol=1e-12, atol=1e-13 * sigma * len(labels))
    np.testing.assert_allclose(
        cost, naive.ranknet_cost(labels, scores, sigma), rtol=1e-12, atol=1e-14 * max(1, n_pairs)
    )


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    labels=st.lists(st.integers(0, 4), min_size=1, max_size=40),
    spread=st.sampled_from([0.0, 1e-9, 1.0, 6.0, RANGE, 300.0]),
    sigma=st.sampled_from([0.3, 1.0, 2.5]),
    seed=st.integers(0, 100),
)
def test_against_twin(labels, spread, sigma, seed):
    labels = np.sort(np.array(labels, float))[::-1].copy()
    scores = np.random.default_rng(seed).uniform(-0.5, 0.5, len(labels)) * spread
    assert_right(labels, scores, sigma)


@pytest.mark.parametrize("n", [150, 301])
def test_long_queries(n):
    rng = np.random.default_rng(n)
    labels = np.sort(rng.integers(0, 3, n).astype(float))[::-1].copy()
    for spread in (1.0, 38.0):
        # The widest products: half of the scores at either end.
        scores = np.where(rng.random(n) < 0.5, 0.0, spread)
        assert_right(labels, scores)


@pytest.mark.parametrize("sigma", [0.5, 1.0])
@pytest.mark.parametrize("spread", [2.0, 100.0])
def test_finite_differences(sigma, spread):
    rng = np.random.default_rng(0)
    labels = np.sort(rng.integers(0, 3, 15).astype(float))[::-1].copy()
    scores = rng.normal(size=15) * spread
    lam, _ = lambdas(labels, scores, sigma)
    for d in range(15):
        step = np.zeros(15)
        step[d] = 1e-5
        rise = lambdas(labels, scores + step, sigma)[1] - lambdas(labels, scores - step, sigma)[1]
        assert -rise / 2e-5 == pytest.approx(lam[d], abs=1e-5)


def test_forces_are_equal_and_opposite():
    rng = np.random.default_rng(1)
    labels = np.sort(rng.integers(0, 5, 90).astype(float))[::-1].copy()
    lam, _ = lambdas(labels, rng.normal(size=90))
    assert abs(lam.sum()) < 1e-11 and lam[0] > 0 > lam[-1]


def test_extremes():
    labels = np.array([1.0, 0.0])
    for lead in (1e3, 1e200, 1e308):
        lam, cost = lambdas(labels, np.array([lead, 0.0]))
        assert (lam == 0).all() and cost == 0
        lam, cost = lambdas(labels, np.array([0.0, lead]))
        np.testing.assert_array_equal(lam, [1, -1])
        assert cost == lead
    same = lambdas(np.ones(7), np.arange(7.0))
    assert (same[0] == 0).all() and same[1] == 0
    assert pair_share(0.0) == (0.5, np.log(2))
    # A wide lead that all pairs have: nothing left but rounding, and never below nothing.
    assert lambdas(np.repeat([1.0, 0.0], 20), np.repeat([39.0, 0.0], 20))[1] >= 0
