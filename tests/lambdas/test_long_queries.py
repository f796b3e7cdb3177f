"""Queries of many vectors: sizes around the borders, and everything in one query at once."""

import numpy as np
import pytest

from rankinite._numba import threads
from rankinite.lambdas._pair_kernels import MOST
from rankinite.lambdas._vector_kernels import LANES
from rankinite.measures import measure
from rankinite.order.seeds import derive_seed
from tests.lambdas.cases import assert_close, lambdas_of, random_keys
from tests.naive.lambdas import ranking

SIZES = [LANES - 1, LANES, LANES + 1, MOST, MOST + 1, MOST + 2, 2 * MOST + 9, LANES * MOST + 9]


def expected_lambdas(spec, labels, scores, normalize, top):
    """λ and w from the matrix of swaps (tested on its own) in float64, by numpy."""
    order = ranking(scores, random_keys(len(labels)), derive_seed(0, 0, "ties"))
    y, s = labels[order], scores[order]
    weight = np.ones((len(y), len(y))) if spec == "pairs" else np.abs(measure(spec).swap_deltas(y))
    lead = s[:, None] - s[None, :]
    if normalize:
        weight = weight / (0.01 + np.abs(lead))
    ranks = np.arange(len(y))
    counts = np.minimum(ranks[:, None], ranks[None, :]) < top
    rho = 1 / (1 + np.exp(lead))
    force = np.where((y[:, None] > y[None, :]) & counts, weight * rho, 0.0)
    bend = force * (1 - rho)
    lam, w = np.empty((2, len(y)))
    lam[order] = force.sum(axis=1) - force.sum(axis=0)
    w[order] = bend.sum(axis=1) + bend.sum(axis=0)
    factor = np.log1p(force.sum()) / np.log(2) / force.sum() if normalize else 1.0
    return factor * lam, factor * w


def a_query(n, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.choice(5, n, p=[0.5, 0.3, 0.13, 0.05, 0.02]).astype(np.float64)
    labels[:2] = 4.0, 0.0
    return labels, rng.normal(size=n).round(2)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("spec", ["ndcg", "err", "map", "pairs", "ndcg@10", "mrr@10"])
@pytest.mark.parametrize("normalize", [False, True])
def test_sizes_around_the_chunks(n, spec, normalize):
    labels, scores = a_query(n)
    top = min(10, n) if "@" in spec else n
    found = lambdas_of(spec, labels, scores, normalize=normalize)
    assert_close(found, expected_lambdas(spec, labels, scores, normalize, top), factor=3.0)


@pytest.mark.parametrize("truncation", [1, MOST - 1, MOST, MOST + 1, 200, 298, 299])
@pytest.mark.parametrize("spec", ["ndcg", "err"])
def test_truncation_at_any_rank(spec, truncation):
    labels, scores = a_query(300, seed=1)
    found = lambdas_of(spec, labels, scores, truncation=truncation)
    assert_close(found, expected_lambdas(spec, labels, scores, False, truncation), factor=3.0)


def test_as_many_grades_as_documents():
    labels, scores = np.random.default_rng(0).random(300), np.random.default_rng(1).normal(size=300)
    for spec in ("ndcg:gain=label", "pairs"):
        found = lambdas_of(spec, labels, scores)
        assert_close(found, expected_lambdas(spec, labels, scores, False, 300), factor=3.0)


def test_one_grade_of_more_documents_than_are_at_work_at_once():
    """Its sums are taken before they can overflow: every force is as large as they come."""
    labels = np.repeat([1.0, 0.0], [400, 300])
    scores = np.where(labels > 0, 0.0, 30.0)
    lam, _ = lambdas_of("pairs", labels, scores)
    np.testing.assert_allclose(lam, np.where(labels > 0, 300.0, -400.0), rtol=1e-6)


@pytest.mark.parametrize("spec", ["ndcg", "err", "map", "ndcg@10", "pairs"])
@pytest.mark.parametrize("normalize", [False, True])
def test_the_order_of_the_rows_is_irrelevant_to_the_last_bit(spec, normalize):
    rng = np.random.default_rng(5)
    for n in (100, 300):
        labels, scores = a_query(n, seed=n)
        keys = random_keys(n)
        lam, w = lambdas_of(spec, labels, scores, keys=keys, normalize=normalize)
        for _ in range(3):
            shuffle = rng.permutation(n)
            moved = lambdas_of(
                spec, labels[shuffle], scores[shuffle], keys=keys[shuffle], normalize=normalize
            )
            np.testing.assert_array_equal(moved, (lam[shuffle], w[shuffle]))


@pytest.mark.parametrize(
    "scores", [np.zeros(200), np.linspace(-900, 900, 200)], ids=["equal", "far"]
)
def test_threads_and_order_for_equal_and_for_far_scores(scores):
    labels, _ = a_query(200)
    keys, shuffle = random_keys(200), np.random.default_rng(0).permutation(200)
    with threads(2):
        two = lambdas_of("ndcg", labels, scores, keys=keys, normalize=True)
    with threads(1):
        one = lambdas_of(
            "ndcg", labels[shuffle], scores[shuffle], keys=keys[shuffle], normalize=True
        )
    np.testing.assert_array_equal(one, np.array(two)[:, shuffle])
