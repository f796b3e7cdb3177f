from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankinite.combination.normalising import by_query
from rankinite.errors import DataError

SIZES = np.array([1, 4, 2, 7])
OFFSETS = np.concatenate([[0], np.cumsum(SIZES)])


def scores(seed=0, scale=1.0):
    return scale * np.random.default_rng(seed).normal(size=(SIZES.sum(), 2))


@given(st.integers(0, 1000), st.sampled_from([1e-300, 1e-3, 1.0, 1e8, 1e307]))
@settings(deadline=None, derandomize=True, max_examples=50)
def test_unit_variance_is_that_of_a_loop(seed, scale):
    raw = scores(seed, scale)
    found = by_query("query", ["a", "b"], raw, OFFSETS)
    for low, high in pairwise(OFFSETS):
        part = raw[low:high] / scale
        if high - low == 1:
            assert (found[low:high] == 0).all()
        else:
            expected = (part - part.mean(axis=0)) / part.std(axis=0)
            np.testing.assert_allclose(found[low:high], expected, rtol=1e-9, atol=1e-9)


def test_the_order_of_a_querys_documents_is_no_matter():
    raw = scores()
    order = np.concatenate(
        [np.random.default_rng(1).permutation(np.arange(*pair)) for pair in pairwise(OFFSETS)]
    )
    found = by_query("query", ["a", "b"], raw, OFFSETS)
    assert (by_query("query", ["a", "b"], raw[order], OFFSETS) == found[order]).all()


def test_equal_scores_of_a_query_are_0():
    raw = np.full((SIZES.sum(), 1), 0.1)
    assert (by_query("query", ["a"], raw, OFFSETS) == 0).all()


def test_the_highest_score_of_a_query():
    raw = np.abs(scores()) / 10
    found = by_query("query_max", ["a", "b"], raw, OFFSETS)
    for low, high in pairwise(OFFSETS):
        best = raw[low:high].max(axis=0)
        assert (found[low:high] == best * (1 + raw[low:high] - best)).all()
    with pytest.raises(DataError, match=r"for scores from 0 on.* the ranker 'b' gives -2"):
        by_query("query_max", ["a", "b"], raw * [1, 0] - [0, 2], OFFSETS)


def test_queries_are_needed():
    with pytest.raises(DataError, match="a matrix does not say which rows belong to a query"):
        by_query("query", ["a", "b"], scores(), None)
    raw = scores()
    assert by_query("data", ["a", "b"], raw, None) is raw
