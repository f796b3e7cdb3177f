"""Scores and gradients of nets against their definitions."""

import math

import numpy as np
import pytest

from rankinite.nets._net_kernels import (
    add_gradient,
    add_start,
    score_batch,
    score_documents,
    tanh_all,
)
from tests.nets.cases import Case

SHAPES = [(0, 1), (0, 3), (0, 7), (0, 16), (1, 1), (3, 7), (4, 8), (10, 17), (13, 5)]


def scored(case, first, n, weights=None):
    weights = case.weights if weights is None else weights
    hidden, scores = np.full(n * case.width, np.nan), np.full(n, np.nan)
    flat = case.X.reshape(-1)
    score_documents(flat, case.n_features, first, n, weights, case.width, hidden, scores)
    return scores, hidden


def test_tanh():
    rng = np.random.default_rng(0)
    odd = [0.0, 5e-324, 1e-310, 1e-20, 0.17, 0.3465, 0.3466, 1.0, 19.0, 21.9, 22.1, 1e300, np.inf]
    spread = [rng.normal(size=20_000) * scale for scale in (1e-4, 0.1, 1.0, 4.0, 30.0)]
    x = np.concatenate([odd, np.negative(odd), *spread])
    expected = np.array([math.tanh(value) for value in x])
    values = x.copy()
    tanh_all(values, len(values))
    assert (np.abs(values - expected) <= 3 * np.spacing(np.abs(expected))).all()
    assert values[0] == 0 and (np.abs(values) <= 1).all()
    with_nan = np.array([np.nan, 1.0, np.nan])
    tanh_all(with_nan, 2)
    assert np.isnan(with_nan[[0, 2]]).all() and with_nan[1] == pytest.approx(math.tanh(1.0))


@pytest.mark.parametrize(("n_hidden", "n_features"), SHAPES)
def test_scores(n_hidden, n_features):
    case = Case(n_hidden, n_features)
    twin = case.twin()
    expected = [twin.score(x) for x in case.X]
    scores, _ = scored(case, 0, len(case.X))
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("n_hidden", "n_features"), SHAPES)
def test_a_score_is_the_same_in_every_batch(n_hidden, n_features):
    case = Case(n_hidden, n_features, sizes=(200,))
    whole, _ = scored(case, 0, 200)
    for n in (1, 2, 7, 8, 9, 63):
        for first in range(0, 200 - n, 31):
            np.testing.assert_array_equal(scored(case, first, n)[0], whole[first : first + n])
    batch = np.empty(200)
    for first, last in ((0, 150), (150, 200)):
        score_batch(first, last, case.X.reshape(-1), n_features, case.weights, case.width, batch)
    np.testing.assert_array_equal(batch, whole)


@pytest.mark.parametrize(("n_hidden", "n_features"), SHAPES)
def test_gradients(n_hidden, n_features):
    case = Case(n_hidden, n_features)
    first, n = 10, 17
    _, hidden = scored(case, first, n)
    lam = np.random.default_rng(1).normal(size=n)
    flat, weights = case.X.reshape(-1), case.weights.copy()
    deltas, out = np.empty(n * case.width), np.zeros(len(weights))
    arguments = (flat, n_features, first, n, lam, weights, case.width)
    add_gradient(*arguments, 1.0, hidden, deltas, out)
    # By finite differences of Σ λ s …
    for k in range(len(weights)):
        lower, upper = weights.copy(), weights.copy()
        lower[k] -= 1e-6
        upper[k] += 1e-6
        rise = lam @ (scored(case, first, n, upper)[0] - scored(case, first, n, lower)[0])
        assert out[k] == pytest.approx(rise / 2e-6, abs=1e-7)
    # … and a step of the weights by the twin.
    twin = case.twin()
    twin.step(case.X[first : first + n], lam, 0.1)
    add_gradient(*arguments, 0.1, hidden, deltas, weights)
    case.assert_same(weights, twin, rtol=1e-12, atol=1e-13)


def test_scores_that_are_no_numbers_are_told():
    for value in (np.nan, np.inf, -np.inf):
        scores = np.array([1.0, value, 2.0])
        assert not add_start(np.zeros(3), scores)
    scores = np.ones(3)
    assert add_start(np.arange(3.0), scores)
    np.testing.assert_array_equal(scores, [1, 2, 3])
