"""Small problems with few distinct values, and the bridge between the grower and its twin."""

from __future__ import annotations

import numpy as np

from naive import trees as naive
from rankinite.data.binning import bin_matrix
from rankinite.distributed import Serial
from rankinite.trees import Grower, GrowthParameters, pack_gradients

SERIAL = Serial()


def integer_features(n_rows, n_features, *, n_values=6, missing=0.15, seed=0):
    """Features 0 .. n_values − 1 as float64, a share of them missing."""
    rng = np.random.default_rng([seed, n_rows, n_features])
    X = rng.integers(0, n_values, (n_rows, n_features)).astype(np.float64)
    X[rng.random(X.shape) < missing] = np.nan
    return X


def binned_of(X, max_bins=255):
    return bin_matrix(X, max_bins, np.array([0, len(X)], np.int64))


def bins_of(binned):
    """The bins as (n_rows, n_features)."""
    return np.stack([binned.column(f) for f in range(binned.n_features)], axis=1)


def channels_of(lam, w=None):
    """The packed λ with counts, and the packed w if there is one."""
    channels = [pack_gradients(np.asarray(lam, np.float64), len(lam), True, SERIAL)]
    if w is not None:
        channels.append(pack_gradients(np.asarray(w, np.float64), len(lam), False, SERIAL))
    return channels


def integers_of(packed):
    return packed.cells >> packed.count_bits


def problem_of(binned, channels, min_samples_leaf=1):
    """The same problem for the twin, on the same integers."""
    w = integers_of(channels[1]) if len(channels) > 1 else None
    return naive.Problem(
        bins_of(binned), binned.mapper.n_bins, integers_of(channels[0]), w, min_samples_leaf
    )


def some_keys(n):
    return np.random.default_rng([9, n]).integers(0, 2**64, n, np.uint64)


def grow(binned, channels, seed=1, keys=None, **parameters):
    parameters = {"min_samples_leaf": 1, **parameters}
    if len(channels) > 1:
        parameters["split"] = "newton"
    keys = some_keys(binned.n_rows) if keys is None else keys
    grower = Grower(binned, GrowthParameters(**parameters), keys, binned.n_rows, SERIAL)
    return grower.grow(channels, np.uint64(seed))


def leaf_rows(grown):
    """The rows of each leaf."""
    return [
        sorted(grown.rows[start:stop].tolist())
        for start, stop in zip(grown.starts, grown.stops, strict=True)
    ]


def arrays_of(grown):
    """All that a grown tree holds, as bytes."""
    tree = grown.tree
    arrays = [getattr(tree, name) for name in tree.__dataclass_fields__]
    return [a.tobytes() for a in (*arrays, grown.rows, grown.starts, grown.stops)]
