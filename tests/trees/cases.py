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


def halves_of(cells):
    """(q, mass) of cells, or of sums of them, as Python's integers, which have no width."""
    cells = [int(cell) for cell in cells]
    return [cell >> 32 for cell in cells], [cell % 2**32 for cell in cells]


def problem_of(binned, packed, min_samples_leaf=1, root=None):
    """The same problem for the twin, on the same integers."""
    lam, mass = halves_of(packed.cells)
    problem = naive.Problem(bins_of(binned), binned.mapper.n_bins, lam, mass)
    # Rows count by their mass, each as much as they have on average.
    root = range(len(lam)) if root is None else root
    mean = problem.mass_of(root) / len(root)
    return replace(problem, least=min_samples_leaf * mean)


def some_keys(n):
    return np.random.default_rng([9, n]).integers(0, 2**64, n, np.uint64)


def grow(binned, packed, seed=1, keys=None, drawn=None, **parameters):
    parameters = {"min_samples_leaf": 1, **parameters}
    keys = some_keys(binned.n_rows) if keys is None else keys
    grower = Grower(binned, GrowthParameters(**parameters), keys, binned.n_rows, SERIAL)
    return grower.grow(packed, np.uint64(seed), drawn)


def leaf_rows(grown):
    """The rows of each leaf."""
    return [np.flatnonzero(grown.leaf_of == k).tolist() for k in range(grown.tree.n_leaves)]


def arrays_of(grown):
    """All that a grown tree holds, as bytes, the leaves of its rows at the end."""
    return [*arrays_of_tree(grown.tree).values(), grown.leaf_of.tobytes()]


def arrays_of_tree(tree):
    """All that a tree holds, as bytes, by name."""
    return {name: getattr(tree, name).tobytes() for name in tree.__dataclass_fields__}
