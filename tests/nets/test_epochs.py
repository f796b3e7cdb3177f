"""Epochs against the twins: the same queries, in the same order, one step after the other."""

import numpy as np
import pytest

from rankinite.lambdas import LambdaGradients
from rankinite.measures import measure
from rankinite.nets._epoch_kernels import lambda_epoch, pairwise_epoch, ranknet_epoch
from rankinite.order.seeds import derive_seed
from tests.lambdas.cases import random_keys
from tests.naive import lambdas as naive_lambdas
from tests.naive import measures as naive_measures
from tests.naive import nets as naive
from tests.nets.cases import Case

HIDDEN = [0, 3, 4, 10]


def run_ranknet(epoch, case, rate=0.05, sigma=0.8):
    weights, costs = case.weights.copy(), np.zeros(len(case.offsets) - 1)
    good = epoch(case.order, case.rows, case.net(weights), rate, case.lower, sigma, costs)
    return weights, costs, good


@pytest.mark.parametrize("epoch", [ranknet_epoch, pairwise_epoch])
@pytest.mark.parametrize("n_hidden", HIDDEN)
def test_ranknet(epoch, n_hidden):
    case = Case(n_hidden)
    weights, costs, good = run_ranknet(epoch, case)
    assert good
    twin, expected = case.twin(), np.zeros(len(costs))

    def lambdas_of(query, scores):
        labels = case.labels[case.offsets[query] : case.offsets[query + 1]]
        expected[query] = naive.ranknet_cost(labels, scores, 0.8)
        return naive.ranknet_lambdas(labels, scores, 0.8)

    naive.epoch(twin, case.X, case.offsets, case.order, case.start, case.factor, 0.05, lambdas_of)
    case.assert_same(weights, twin, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(costs, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("n_hidden", HIDDEN)
def test_factorised_is_pairwise(n_hidden):
    case = Case(n_hidden, sizes=(30, 45, 2, 60), n_features=11)
    one, one_costs, _ = run_ranknet(ranknet_epoch, case)
    other, other_costs, _ = run_ranknet(pairwise_epoch, case)
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-10)
    np.testing.assert_allclose(one_costs, other_costs, rtol=1e-10)
    assert np.abs(one - case.weights).max() > 1e-3


@pytest.mark.parametrize("epoch", [ranknet_epoch, pairwise_epoch])
@pytest.mark.parametrize("n_hidden", [0, 5])
def test_ranknet_by_finite_differences(epoch, n_hidden):
    case = Case(n_hidden, sizes=(12,))
    case.factor[:] = 1.0
    step = run_ranknet(epoch, case, rate=1.0)[0] - case.weights

    def cost(weights):
        net = case.twin(weights)
        scores = np.array([net.score(x) for x in case.X]) + case.start
        return naive.ranknet_cost(case.labels, scores, 0.8)

    assert_descends(case, step, cost, 1e-6)


def assert_descends(case, step, cost, tolerance):
    """The step is the negative gradient of the cost, weight by weight."""
    used = np.ones(len(step), bool)
    if case.n_hidden:
        used = (np.arange(len(step)) % case.width) < case.n_hidden
    assert (step[~used] == 0).all()
    for k in np.flatnonzero(used):
        lower, upper = case.weights.copy(), case.weights.copy()
        lower[k] -= 1e-6
        upper[k] += 1e-6
        slope = (cost(upper) - cost(lower)) / 2e-6
        assert step[k] == pytest.approx(-slope, abs=tolerance * max(1, np.abs(step).max()))


def run_lambdarank(case, spec, rate=0.05, epoch=3, **options):
    gradients = LambdaGradients(
        measure(spec).resolve(case.labels),
        case.labels,
        case.offsets,
        random_keys(len(case.X)),
        sigma=0.8,
        **options,
    )
    weights = case.weights.copy()
    scores, lam, curvature = np.zeros((3, len(case.X)))
    at = gradients.round(scores, epoch, lam, curvature)
    assert lambda_epoch(case.order, case.rows, case.net(weights), rate, gradients.setup, at)
    return weights


@pytest.mark.parametrize(
    ("spec", "value"), [("ndcg", naive_measures.ndcg), ("map", naive_measures.ap)]
)
@pytest.mark.parametrize("n_hidden", [0, 6])
def test_lambdarank(n_hidden, spec, value):
    case = Case(n_hidden)
    weights = run_lambdarank(case, spec)
    twin, keys = case.twin(), random_keys(len(case.X))

    def lambdas_of(query, scores):
        inside = slice(case.offsets[query], case.offsets[query + 1])
        ties = derive_seed(0, 3, "ties")
        order = naive_lambdas.ranking(scores, keys[inside], ties)
        labels = list(case.labels[inside])
        return np.array(naive_lambdas.lambdas(value, labels, scores, order, sigma=0.8)[0])

    naive.epoch(twin, case.X, case.offsets, case.order, case.start, case.factor, 0.05, lambdas_of)
    # The λs of measures are right to about 1e-6 of the largest.
    case.assert_same(weights, twin, rtol=0, atol=2e-6)


@pytest.mark.parametrize("n_hidden", [0, 5])
def test_lambdarank_by_finite_differences(n_hidden):
    """The cost is Σ |ΔNDCG| log(1 + e^{−σ(s_i − s_j)}), with |ΔNDCG| as it is before the step."""
    case = Case(n_hidden, sizes=(12,))
    case.factor[:] = 1.0
    step = run_lambdarank(case, "ndcg", rate=1.0) - case.weights
    before = np.array([case.twin().score(x) for x in case.X]) + case.start
    order = sorted(range(12), key=lambda d: -before[d])
    weight_of = naive_lambdas.pair_weights(naive_measures.ndcg, list(case.labels), order)
    pairs = [(i, j, weight_of(i, j)) for i, j in naive.label_pairs(case.labels)]

    def cost(weights):
        net = case.twin(weights)
        s = 0.8 * (np.array([net.score(x) for x in case.X]) + case.start)
        return sum(weight * np.logaddexp(0.0, s[j] - s[i]) for i, j, weight in pairs)

    assert_descends(case, step, cost, 1e-5)


@pytest.mark.parametrize("epoch", [ranknet_epoch, pairwise_epoch])
def test_scores_that_are_no_numbers_end_an_epoch(epoch):
    case = Case(4)
    case.start[case.offsets[3]] = np.inf
    assert not run_ranknet(epoch, case)[2]
