"""Ranking one query, wholly or its top, against Python's sort."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankinite.lambdas._ranking_kernels import SMALL_TOP, rank_documents
from rankinite.measures._sorting_kernels import RUN
from tests.lambdas.cases import random_keys
from tests.naive.lambdas import ranking


def assert_ranked(scores, start, depth):
    """The first `depth` places are sorted; all documents are still there."""
    keys, seed = random_keys(len(scores)), np.uint64(12345)
    order = start.astype(np.int32)
    rank_documents(scores, keys, seed, depth, order, np.empty((3, len(scores)), np.int64))
    np.testing.assert_array_equal(order[:depth], ranking(scores, keys, seed)[:depth])
    np.testing.assert_array_equal(np.sort(order), np.arange(len(scores)))


@settings(deadline=None, max_examples=100, derandomize=True)
@given(st.integers(1, 300), st.integers(1, 1000), st.integers(1, 300), st.integers(0, 2**32))
def test_equals_sorted_from_any_order(n, n_levels, depth, seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, n_levels, n) / 7
    assert_ranked(scores, rng.permutation(n), depth)
    assert_ranked(scores, rng.permutation(n), n)


@pytest.mark.parametrize("n", [1, 2, *(m * RUN + d for m in (1, 2, 3, 4, 8) for d in (-1, 0, 1))])
def test_sizes_around_the_runs(n):
    ascending = np.arange(n, dtype=np.float64)
    for scores in (ascending, -ascending, np.zeros(n), ascending % 3, np.floor(ascending / 5)):
        for depth in (1, 2, n // 2, n // 2 + 1, n, n + 5, SMALL_TOP, SMALL_TOP + 1):
            assert_ranked(scores, np.arange(n), depth)


def test_infinite_scores_and_both_zeros():
    scores = np.array([0.0, np.inf, -0.0, -np.inf, 1e300, np.inf, 5e-324, -1e300])
    for depth in (1, 4, 8):
        assert_ranked(scores, np.arange(8), depth)
