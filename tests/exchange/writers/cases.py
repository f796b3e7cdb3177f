"""Models and rows that writers must get right: awkward thresholds, and values around them."""

from __future__ import annotations

import numpy as np

import rankinite as rk
from rankinite.exchange import PlainForest
from tests.trees.random_forests import random_forest

# Where engines differ: zeros, numbers too small for a float32 or without its full precision, the
# region of Solr's slack, neighbours in single precision, the largest numbers, infinity.
TENTH = np.float32(0.1)
NASTY = np.array(
    [
        *(-np.inf, -1e300, -3.4028235e38, -1.0, -1e-6, -(2.0**-149), -(2.0**-1074), -0.0),
        *(0.0, 2.0**-149, 1e-40, 0.5 * 2.0**-20, 1e-6, 2e-6, 0.1, TENTH),
        *(np.nextafter(TENTH, np.float32(1)), 0.25, 1.0, 1.0 + 2.0**-24, 1.0 + 2.0**-23),
        *(1e10, 3.4028235e38, 3.5e38, 1e300, np.inf),
    ]
)
# What LightGBM can tell apart: it takes all up to 1e-35 for zero.
COARSE = NASTY[(np.abs(NASTY) > 1e-35) | (NASTY == 0.0)]
# What Solr's slack can give exactly, as most numbers.
SLACKABLE = NASTY[((NASTY >= 1e-6) | (NASTY == 0.0) | (NASTY < -1e30))]
SIZES = (1, 2, 3, 7, 31, 64, 2)


def awkward(seed=0, thresholds=NASTY, sizes=SIZES, n_features=4, shape="any", **settings):
    """A forest by hand, whose leaves have counts."""
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, sizes, n_features, thresholds, shape)
    forest.count[:] = rng.integers(1, 100, len(forest.count))
    forest.gain[:] = rng.random(len(forest.gain))
    return PlainForest(forest, n_features, **settings)


def rows_around(plain, n_rows=500, seed=0, missing=True, infinite=True, dtype=np.float32):
    """Rows of the thresholds, of their neighbours, of other values, and of missing ones."""
    rng = np.random.default_rng(seed)
    with np.errstate(over="ignore"):
        at = np.append(plain.forest.threshold, [0.0, 1.0]).astype(dtype)
        up, down = (np.nextafter(at, dtype(end)) for end in (np.inf, -np.inf))
    X = rng.choice(np.concatenate([at, up, down]), (n_rows, plain.n_features))
    X = np.where(rng.random(X.shape) < 0.2, rng.normal(size=X.shape), X).astype(dtype)
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    if not infinite:
        X[np.isinf(X)] = 3.0
    return X


def trained(n_estimators=8, missing=True, **settings):
    """A LambdaMART model and its rows; values are often missing, and say something then."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(600, 5)).astype(np.float32)
    X[:, 2] = np.round(X[:, 2])
    y = np.clip(np.rint(X[:, 0] + (X[:, 1] > 0) * X[:, 2] + 1), 0, 4)
    if missing:
        gone = rng.random(X.shape) < 0.2
        y[gone[:, 3]] = np.minimum(y[gone[:, 3]] + 1, 4)
        X[gone] = np.nan
    data = rk.Dataset(X, y, qid=np.repeat(np.arange(30), 20))
    return rk.LambdaMART(n_estimators=n_estimators, max_leaf_nodes=15, **settings).fit(data), X
