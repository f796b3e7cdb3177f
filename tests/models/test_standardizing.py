"""Features with mean 0 and variance 1."""

import numpy as np
import pytest

import rankinite as rk
from rankinite._numba import threads
from rankinite.models.standardizing import Standardizer
from rankinite.order.canonical import canonical
from tests.subjects import quiet


def some_values(n_rows=3000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 6)) * [1, 1e-6, 1e6, 3, 3, 1] + [0, 5, -1e7, 0, 0, 2]
    X[:, 3] = 7.25
    X[rng.random(n_rows) < 0.3, 4] = np.nan
    X[rng.random(n_rows) < 0.1, 5] = np.inf
    X[rng.random(n_rows) < 0.1, 5] = -np.inf
    return X


def learned(X):
    return Standardizer.learn(X, np.arange(len(X)))


def test_against_numpy():
    X = some_values()
    ours = learned(X)
    finite = np.where(np.isfinite(X), X, np.nan)
    np.testing.assert_allclose(ours.mean, np.nanmean(finite, axis=0), rtol=1e-12)
    deviation = np.nanstd(finite, axis=0)
    deviation[3] = np.inf  # never varies
    np.testing.assert_allclose(ours.scale, 1 / deviation, rtol=1e-9)
    np.testing.assert_array_equal(ours.low, np.nanmin(finite, axis=0))
    np.testing.assert_array_equal(ours.high, np.nanmax(finite, axis=0))
    clipped = np.clip(X, ours.low, ours.high)
    expected = np.nan_to_num((clipped - ours.mean) * ours.scale, nan=0.0)
    np.testing.assert_allclose(ours.transform(X), expected, rtol=1e-13, atol=0)
    assert (ours.transform(X)[:, 3] == 0).all()


def test_rows_can_be_chosen():
    X = some_values()
    ours = learned(X)
    rows = np.random.default_rng(1).permutation(len(X))[:100]
    np.testing.assert_array_equal(ours.transform(X, rows), ours.transform(X)[rows])
    assert ours.transform(X[:0]).shape == (0, 6)


def test_threads_and_the_order_of_rows_do_not_matter():
    X = np.random.default_rng(2).normal(size=(5000, 3)) ** 3
    y, qid = np.zeros(len(X)), np.arange(len(X)) // 10
    order = np.random.default_rng(3).permutation(len(X))
    sets = [
        rk.Dataset(X, y, qid=qid),
        quiet(X[order], y[order], qid=qid[order]),
    ]
    ours = []
    for data in sets:
        for n_threads in (1, 2):
            with threads(n_threads):
                ours.append(Standardizer.learn(data.X, canonical(data).rows))
    for other in ours[1:]:
        np.testing.assert_array_equal(other.mean, ours[0].mean)
        np.testing.assert_array_equal(other.scale, ours[0].scale)
    np.testing.assert_allclose(ours[0].mean, X.mean(axis=0), rtol=1e-12)


def test_extremes():
    X = np.array([[1e308, 1e-310, np.nan, 5e-324], [-1e308, 0.0, np.inf, 1.0], [1e308, 0.0, 1, 1]])
    ours = learned(X)
    standard = ours.transform(X)
    assert np.isfinite(standard).all() and np.isfinite(ours.scale).all()
    np.testing.assert_allclose(standard[:, 0], [0.5**0.5, -(2**0.5), 0.5**0.5])
    assert (standard[:, 1:3] == 0).all()
    assert np.isfinite(ours.transform(np.full((1, 4), 1.7e308))).all()
    assert np.isfinite(ours.transform(np.full((1, 4), -np.inf))).all()
    nothing = Standardizer.learn(X, np.arange(0))
    assert (nothing.transform(X) == 0).all()


def test_saving():
    ours = learned(some_values())
    again = Standardizer.from_arrays(ours.to_arrays(), 6)
    np.testing.assert_array_equal(again.transform(some_values()), ours.transform(some_values()))
    with pytest.raises(rk.ModelFileError, match="for 5 features"):
        Standardizer.from_arrays(ours.to_arrays(), 5)
    broken = ours.to_arrays() | {"scale": np.full(6, np.nan)}
    with pytest.raises(rk.ModelFileError, match="a scale that is no number"):
        Standardizer.from_arrays(broken, 6)
