"""Sums over the rows of every feature, against numpy."""

import numpy as np
import pytest

from rankinite._numba import threads
from rankinite.boosting.feature_blocks import FeatureBlocks, linear_scores
from rankinite.models.standardizing import Standardizer


def some_rows(n_rows, n_features=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) * [1, 100, 1e-3, 0, 1] + [0, 5, 0, 3, 0]
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, rng.permutation(n_rows), rng


@pytest.mark.parametrize("n_rows", [1, 7, 1023, 1024, 1025, 5000])
def test_sums_are_those_of_numpy(n_rows):
    X, rows, rng = some_rows(n_rows)
    standardizer = Standardizer.learn(X, rows)
    blocks = FeatureBlocks(X, rows, standardizer)
    Z = standardizer.transform(X, rows)
    values, weight = rng.normal(size=n_rows), rng.uniform(0, 2, n_rows)
    # The values are kept as float32.
    bound = 1e-7 * np.abs(values) @ np.abs(Z)
    assert (np.abs(blocks.products(values) - values @ Z) <= bound).all()
    squares = blocks.weighted_squares(weight)
    np.testing.assert_allclose(squares, weight @ Z**2, rtol=3e-7)
    assert squares[3] == 0
    assert [blocks.weighted_square(weight, j) for j in range(5)] == squares.tolist()
    scores = values.copy()
    blocks.add(1, -0.75, scores)
    np.testing.assert_allclose(scores, values - 0.75 * Z[:, 1], rtol=0, atol=1e-6)


def test_no_rows():
    X, _, _ = some_rows(3)
    none = np.empty(0, np.int64)
    blocks = FeatureBlocks(X, none, Standardizer.learn(X, none))
    assert blocks.products(np.empty(0)).tolist() == [0.0] * 5
    assert blocks.weighted_squares(np.empty(0)).tolist() == [0.0] * 5


def test_threads_do_not_matter():
    X, rows, rng = some_rows(20_000)
    values, weights = rng.normal(size=len(X)), rng.normal(size=5)
    found = []
    for n_threads in (1, 2):
        with threads(n_threads):
            standardizer = Standardizer.learn(X, rows)
            blocks = FeatureBlocks(X, rows, standardizer)
            scores = linear_scores(X, standardizer, weights)
            found.append((blocks.products(values), blocks.weighted_squares(values**2), scores))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("n_features", [1, 3, 4, 8, 17, 46])
def test_linear_scores(n_features):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2100, n_features))
    weights = rng.normal(size=n_features)
    standardizer = Standardizer.learn(X, np.arange(len(X)))
    whole = linear_scores(X, standardizer, weights)
    np.testing.assert_allclose(whole, standardizer.transform(X) @ weights, rtol=0, atol=1e-12)
    parts = [linear_scores(X[i : i + 100], standardizer, weights) for i in range(0, 2100, 100)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    columns = [standardizer.column(X, j) for j in range(n_features)]
    np.testing.assert_array_equal(np.column_stack(columns), standardizer.transform(X))
    assert linear_scores(X[:0], standardizer, weights).shape == (0,)
