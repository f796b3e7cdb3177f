"""λ and w of every measure against the loops over pairs, and against finite differences."""

import numpy as np
import pytest

from rankinite.measures import Measure
from rankinite.order.seeds import derive_seed
from tests.lambdas.cases import (
    assert_close,
    gradients,
    lambdas_of,
    random_keys,
    some_queries,
    twin_lambdas,
)
from tests.measures.cases import TWINS, deeper_twin, with_twin
from tests.naive import lambdas as naive
from tests.naive import measures as naive_measures


@with_twin
@pytest.mark.parametrize("normalize", [False, True])
def test_every_measure_equals_its_twin(spec, twin, normalize):
    labels, scores = some_queries()
    for sigma in (0.1, 1.0, 3.0):
        fast = gradients(spec, labels, sigma=sigma, normalize=normalize)
        expected = twin_lambdas(twin, labels, scores, sigma=sigma, normalize=normalize)
        assert_close(fast(np.concatenate(scores), 0), expected)


@pytest.mark.parametrize(
    "spec", ["ndcg", "ndcg@3", "err", "err@3", "map@3", "mrr@2", "p@3", "pairs"]
)
@pytest.mark.parametrize("truncation", [1, 2, 5, 100])
@pytest.mark.parametrize("normalize", [False, True])
def test_truncation_keeps_pairs_whose_upper_document_is_near_the_top(spec, truncation, normalize):
    labels, scores = some_queries(seed=1)
    fast = gradients(spec, labels, truncation=truncation, normalize=normalize)
    twin = deeper_twin(spec, truncation)
    expected = twin_lambdas(twin, labels, scores, top=truncation, normalize=normalize)
    assert_close(fast(np.concatenate(scores), 0), expected)


@pytest.mark.parametrize("spec", ["ndcg", "err", "map", "mrr", "pairs"])
def test_long_queries(spec):
    """Longer than one run of the sort and than the vectors of the pair loop."""
    rng = np.random.default_rng(4)
    for n in (31, 64, 67):
        labels = rng.integers(0, 5, n).astype(np.float64)
        labels[0] = 4.0
        scores = rng.normal(size=n)
        expected = twin_lambdas(TWINS[spec], [labels], [scores])
        assert_close(lambdas_of(spec, labels, scores), expected)


@pytest.mark.parametrize("spec", ["ndcg", "ndcg@3", "err", "map", "mrr", "pairs"])
def test_finite_differences_of_the_pair_cost(spec):
    """λ = −∂C/∂s and w = ∂²C/∂s², with |ΔZ| as it is at the scores."""
    sigma, step = 1.5, 1e-3
    rng = np.random.default_rng(7)
    labels = np.array([4.0, 0.0, 2.0, 1.0, 0.0, 3.0])
    scores = rng.normal(size=6)
    order = naive.ranking(scores, random_keys(6), derive_seed(0, 0, "ties"))
    weight = naive.pair_weights(TWINS[spec], labels, order)
    lam, w = lambdas_of(spec, labels, scores, sigma=sigma)
    for document in range(6):
        below, here, above = (
            naive.pair_cost(weight, labels, moved, order, sigma)
            for moved in (scores + shift * np.eye(6)[document] for shift in (-step, 0.0, step))
        )
        assert lam[document] == pytest.approx((below - above) / (2 * step), abs=1e-5)
        assert w[document] == pytest.approx((below - 2 * here + above) / step**2, abs=1e-5)


def test_two_documents_by_hand():
    """One pair in the wrong order: NDCG goes from 1/log2(3) to 1 when it is turned."""
    s, delta = 0.7, 1 - 1 / np.log2(3)
    rho = 1 / (1 + np.exp(-2 * s))
    lam, w = lambdas_of("ndcg", [0, 1], [s, 0.0], sigma=2.0)
    np.testing.assert_allclose(lam, [-2 * delta * rho, 2 * delta * rho], rtol=1e-6)
    np.testing.assert_allclose(w, 4 * delta * rho * (1 - rho), rtol=1e-6)


class SlowNDCG(Measure):
    """NDCG as a user would write it."""

    name = "slow-ndcg"

    def value(self, labels):
        return naive_measures.ndcg(list(labels))


@pytest.mark.parametrize("options", [{}, {"truncation": 2}, {"normalize": True, "sigma": 2.0}])
def test_a_measure_written_in_python_gives_the_lambdas_of_the_built_in(options):
    labels, scores = some_queries(seed=2)
    flat = np.concatenate(scores)
    own = gradients(SlowNDCG(), labels, **options)
    for round_number in range(2):
        built_in = gradients("ndcg", labels, **options)(flat, round_number)
        assert_close(own(flat, round_number), built_in)


def test_a_measure_written_in_python_with_weights_and_blank_queries():
    labels = [np.zeros(3), np.array([1.0, 0.0]), np.array([2.0])]
    weight = np.array([9.0, 9.0, 9.0, 3.0, 5.0, 9.0])
    lam, w = gradients(SlowNDCG(), labels, weight=weight)(np.zeros(6), 0)
    delta = 1 - 1 / np.log2(3)
    np.testing.assert_allclose(lam, np.array([0, 0, 0, 3, -5, 0]) * delta / 2, rtol=1e-13)
    np.testing.assert_allclose(w, np.array([0, 0, 0, 3, 5, 0]) * delta / 4, rtol=1e-13)
