"""Small problems with few distinct values, and the bridge between the grower and its twin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rankinite.binning import bin_matrix
from rankinite.distributed import Serial
from rankinite.trees import Grower, GrowthParameters, gradients, pack_least_squares, pack_newton
from tests.naive import trees as naive

SERIAL = Serial()


def integer_features(n_rows, n_features, *, n_values=6, missing=0.15, seed=0):
    """Features 0 .. n_values − 1 as float64, a share of them missing."""
    rng = np.random.default_rng([seed, n_rows, n_features])
    X = rng.integers(0, n_values, (n_rows, n_features)).astype(np.float64)
    X[rng.random(X.shape) < missing] = np.nan
    return X


def binned_of(X, max_bins=255):
    return bin_matrix(X, max_bins)


def bins_of(binned):
    """The bins as (n_rows, n_features)."""
    return np.stack([binned.column(f) for f in range(binned.n_features)], axis=1)


def packed_of(lam, w=None):
    """The cells of λ, and of w if there is one."""
    n = len(lam)
    lam = gradients(np.asarray(lam, np.float64), SERIAL)
    if w is None:
        return pack_least_squares(lam, n)
    return pack_newton(lam, gradients(np.asarray(w, np.float64), SERIAL), n)


def fields_of(packed, cells=None):
    """(q, v, count) of cells, or of sums of them, as Python's integers, which have no width."""
    cells = [int(cell) for cell in (packed.cells if cells is None else cells)]
    above = [cell >> packed.cell_count_bits for cell in cells]
    return (
        [x >> packed.w_bits for x in above],
        [x & (2**packed.w_bits - 1) for x in above],
        [cell & (2**packed.cell_count_bits - 1) for cell in cells],
    )


def problem_of(binned, packed, min_samples_leaf=1, root=None):
    """The same problem for the twin, on the same integers."""
    lam, w, _ = fields_of(packed)
    w = w if packed.n_channels > 1 else None
    problem = naive.Problem(bins_of(binned), binned.mapper.n_bins, lam, w)
    # Rows count by their mass, each as much as they have on average.
    root = range(len(lam)) if root is None else root
    mean = problem.mass(root) / len(root)
    return replace(problem, least=min_samples_leaf * mean)


def some_keys(n):
    return np.random.default_rng([9, n]).integers(0, 2**64, n, np.uint64)


def grow(binned, packed, seed=1, keys=None, **parameters):
    parameters = {"min_samples_leaf": 1, **parameters}
    if packed.n_channels > 1:
        parameters["split"] = "newton"
    keys = some_keys(binned.n_rows) if keys is None else keys
    grower = Grower(binned, GrowthParameters(**parameters), keys, binned.n_rows, SERIAL)
    return grower.grow(packed, np.uint64(seed))


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
