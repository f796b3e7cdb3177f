"""Labels made of a teacher's scores, by the loops that define them."""

import numpy as np
import pytest

import rankinite as rk
from rankinite.ensemble.targets import TARGETS, quantiles, ranks, standardised
from tests.subjects import quiet

SIZES = (1, 2, 7, 12)


def scored(seed=0):
    """Queries of several sizes, and scores of which some are tied."""
    rng = np.random.default_rng(seed)
    n = sum(SIZES)
    data = rk.Dataset(rng.normal(size=(n, 2)), qid=np.repeat(np.arange(len(SIZES)), SIZES))
    return data, np.round(rng.normal(size=n), 1)


def share_below(score, others):
    return (np.sum(others < score) + np.sum(others == score) / 2) / len(others)


def test_quantiles_and_ranks_by_hand():
    data, scores = scored()
    assert len(np.unique(scores)) < len(scores)
    expected = [share_below(score, scores) for score in scores]
    np.testing.assert_allclose(quantiles(scores, data), expected, rtol=1e-15)
    own = [scores[a:b] for a, b in zip(data.offsets[:-1], data.offsets[1:], strict=True)]
    expected = [share_below(score, query) for query in own for score in query]
    np.testing.assert_allclose(ranks(scores, data), expected, rtol=1e-15)


def test_scores_are_standardised():
    data, scores = scored()
    found = standardised(100 * scores + 7, data)
    assert abs(found.mean()) < 1e-12 and abs(found.std() - 1) < 1e-12
    assert np.array_equal(np.argsort(found, kind="stable"), np.argsort(scores, kind="stable"))


@pytest.mark.parametrize("name", TARGETS)
def test_the_order_of_rows_is_no_matter(name):
    data, scores = scored()
    order = np.random.default_rng(1).permutation(data.n_rows)
    qid = np.repeat(data.qids, data.query_sizes)
    shuffled = quiet(data.X[order], qid=qid[order])
    found = TARGETS[name](shuffled.in_stored_order(scores[order]), shuffled)
    assert np.array_equal(shuffled.in_caller_order(found), TARGETS[name](scores, data)[order])
