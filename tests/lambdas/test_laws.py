"""What holds for the λs of any measure: sums, signs, scaling, weights, ties, order and threads."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankinite._numba import threads
from tests.lambdas.cases import (
    assert_close,
    gradients,
    lambdas_of,
    random_keys,
    some_queries,
    twin_lambdas,
)
from tests.measures.cases import TWINS

SPECS = ["ndcg", "ndcg@3", "dcg@3", "err", "map", "mrr", "p@3", "pairs", "avendcg"]
every_measure = pytest.mark.parametrize("spec", SPECS)


@every_measure
@pytest.mark.parametrize("normalize", [False, True])
def test_lambdas_of_a_query_sum_to_zero_and_w_is_not_negative(spec, normalize):
    labels, scores = some_queries(seed=3, n_random=20)
    lam, w = gradients(spec, labels, normalize=normalize)(np.concatenate(scores), 0)
    assert (w >= 0).all()
    borders = np.cumsum([len(own) for own in labels])[:-1]
    for own in np.split(lam, borders):
        assert abs(own.sum()) <= 1e-14 * len(own) * (1 + np.abs(own).max())


@every_measure
def test_queries_without_a_pair_have_no_gradient(spec):
    labels = [np.array([3.0]), np.zeros(4), np.full(3, 2.0), np.array([0.0])]
    for normalize in (False, True):
        lam, w = gradients(spec, labels, normalize=normalize)(np.arange(9.0), 0)
        np.testing.assert_array_equal(lam, 0.0)
        np.testing.assert_array_equal(w, 0.0)


@every_measure
def test_sigma_is_a_unit_of_the_scores(spec):
    """λ(σ, s/σ) = σ·λ(1, s) and w(σ, s/σ) = σ²·w(1, s), for a power of two to the last bit."""
    labels, scores = some_queries(seed=5)
    flat = np.concatenate(scores)
    for normalize in (False, True):
        lam, w = gradients(spec, labels, normalize=normalize)(flat, 0)
        for sigma in (0.25, 8.0):
            scaled = gradients(spec, labels, sigma=sigma, normalize=normalize)(flat / sigma, 0)
            np.testing.assert_array_equal(scaled, (sigma * lam, sigma**2 * w))


def test_weights_multiply():
    labels, scores = some_queries(seed=6)
    flat = np.concatenate(scores)
    sizes = [len(own) for own in labels]
    rng = np.random.default_rng(0)
    weight, query_weight = rng.random(len(flat)), rng.random(len(sizes))
    plain = np.array(gradients("ndcg", labels)(flat, 0))
    spread = np.repeat(query_weight, sizes)
    for options, factor in (
        ({"weight": weight}, weight),
        ({"query_weight": query_weight}, spread),
        ({"weight": weight, "query_weight": query_weight}, weight * spread),
    ):
        np.testing.assert_array_equal(gradients("ndcg", labels, **options)(flat, 0), plain * factor)


@pytest.mark.parametrize("spec", ["ndcg", "err", "map", "pairs"])
def test_ties_are_ranked_by_the_seeded_shuffle_of_the_round(spec):
    labels = [np.array([0.0, 4.0, 1.0, 0.0, 2.0, 4.0, 0.0]), np.array([4.0, 0.0, 0.0, 1.0])]
    scores = [np.array([1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0]), np.zeros(4)]
    for seed in (0, 5):
        fast = gradients(spec, labels, seed=seed)
        for round_number in (0, 1, 2):
            expected = twin_lambdas(
                TWINS[spec], labels, scores, round_number=round_number, seed=seed
            )
            found = fast(np.concatenate(scores), round_number)
            assert_close(found, expected)


def test_rounds_and_seeds_shuffle_differently():
    labels, scores = [np.arange(8.0)], np.zeros(8)
    found = [
        gradients("ndcg", labels, seed=seed)(scores, round_number)[0].tobytes()
        for seed in range(3)
        for round_number in range(3)
    ]
    assert len(set(found)) == 9


def test_a_round_does_not_depend_on_the_rounds_before():
    """The ranking and the units of the forces are kept from call to call, for speed alone."""
    labels, _ = some_queries(seed=8)
    rng = np.random.default_rng(0)
    for spec, normalize in itertools.product(("ndcg", "ndcg@3", "err"), (False, True)):
        used = gradients(spec, labels, normalize=normalize)
        for round_number, spread in enumerate((1.0, 1e-6, 400.0, 0.1, 15.0, 60.0, 1e9, 1.0)):
            scores = spread * rng.integers(0, 4, sum(map(len, labels)))
            fresh = gradients(spec, labels, normalize=normalize)(scores, round_number)
            np.testing.assert_array_equal(used(scores, round_number), fresh)


@settings(deadline=None, max_examples=50, derandomize=True)
@given(st.integers(2, 70), st.integers(0, 2**32), st.sampled_from(SPECS), st.booleans())
def test_the_order_of_the_rows_is_irrelevant_to_the_last_bit(n, seed, spec, normalize):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, n).astype(np.float64)
    scores = rng.normal(size=n).round(1)
    keys, shuffle = random_keys(n), rng.permutation(n)
    lam, w = lambdas_of(spec, labels, scores, keys=keys, normalize=normalize)
    moved = lambdas_of(
        spec, labels[shuffle], scores[shuffle], keys=keys[shuffle], normalize=normalize
    )
    np.testing.assert_array_equal(moved, (lam[shuffle], w[shuffle]))


@pytest.mark.parametrize("spec", ["ndcg@10", "err"])
def test_one_thread_and_two_give_equal_bytes(spec):
    rng = np.random.default_rng(1)
    labels = [rng.integers(0, 5, n).astype(np.float64) for n in rng.integers(1, 90, 200)]
    scores = rng.normal(size=sum(map(len, labels)))
    found = []
    for n_threads in (1, 2):
        with threads(n_threads):
            found.append(np.array(gradients(spec, labels)(scores, 0)).tobytes())
    assert found[0] == found[1]
