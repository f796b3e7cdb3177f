"""Kernels of the standardiser: sums over blocks of rows, and the transformation."""

import math

import numpy as np

from rankinite._numba import kernel

# Standardised values are cut here, so that sums over features and weights stay numbers.
FARTHEST = 1e100


@kernel()
def value_ranges(X, low, high):
    """Lower `low` and raise `high`, of shape (n_features,), to the finite values of each column.

    Parameters
    ----------
    X : ndarray of float64, shape (n_rows, n_features)
    """
    for row in range(X.shape[0]):
        for j in range(X.shape[1]):
            x = X[row, j]
            finite = abs(x) < math.inf
            low[j] = x if finite and x < low[j] else low[j]
            high[j] = x if finite and x > high[j] else high[j]


@kernel()
def add_powers(X, factor, centre, sums, squares, counts):
    """Add up d = value · factor − centre of each column's finite values, d² and their number.

    Parameters
    ----------
    X : ndarray of float64, shape (n_rows, n_features)
    factor, centre, sums, squares, counts : ndarray of float64, shape (n_features,)
    """
    for row in range(X.shape[0]):
        for j in range(X.shape[1]):
            x = X[row, j]
            finite = abs(x) < math.inf
            d = x * factor[j] - centre[j] if finite else 0.0
            sums[j] += d
            squares[j] += d * d
            counts[j] += 1.0 if finite else 0.0


@kernel()
def standardize(X, mean, scale, low, high, out):
    """Write (value − mean) · scale, 0 where the value is missing; see `Standardizer`.

    Parameters
    ----------
    X : ndarray of float64, shape (n_rows, n_features)
    mean, scale, low, high : ndarray of float64, shape (n_features,)
    out : ndarray of float64, shape (n_rows, n_features)
        Output.
    """
    for row in range(X.shape[0]):
        for j in range(X.shape[1]):
            x = X[row, j]
            x = high[j] if x == math.inf else x
            x = low[j] if x == -math.inf else x
            z = (x - mean[j]) * scale[j]
            z = min(max(z, -FARTHEST), FARTHEST)
            out[row, j] = z if z == z else np.float64(0.0)
