"""What a layer of a declared net makes of the sums of its units, document by document.

Each document is gone through in the same way wherever it stands, so that its score has the same
bits in every batch.
"""

import math

import numpy as np

from rankinite._numba import kernel
from rankinite.nets._net_kernels import tanh_all

LINEAR, RELU, TANH, GELU, SILU = range(5)


@kernel()
def finish_layer(sums, n, width, n_units, norm, epsilon, activation):
    """Normalise the units of `n` documents, if it is asked for, and activate them, in place.

    Parameters
    ----------
    sums : ndarray of float64, shape (≥ n · width,)
        `width` numbers a document, of which the first `n_units` are units; the others are 0.
    norm : ndarray of float64, shape (2, n_units) or (2, 0)
        Factors and shifts of the units after they were given mean 0 and variance 1; nothing is
        normalised without any.
    epsilon : float
        Added to the variance.
    activation : int
        LINEAR, RELU, TANH, GELU or SILU; all of them leave 0 as it is.
    """
    if norm.shape[1] > 0:
        for d in range(n):
            normalise(sums[d * width : d * width + n_units], norm, epsilon)
    if activation == RELU:
        for k in range(n * width):
            sums[k] = max(sums[k], 0.0)
    elif activation == TANH:
        tanh_all(sums, n * width)
    elif activation == GELU:
        for k in range(n * width):
            sums[k] = 0.5 * sums[k] * (1.0 + math.erf(sums[k] * 0.7071067811865476))
    elif activation == SILU:
        # x / (1 + e^{−x}) is x (1 + tanh(x / 2)) / 2.
        halves = 0.5 * sums[: n * width]
        half = halves.copy()
        tanh_all(halves, n * width)
        for k in range(n * width):
            sums[k] = half[k] + half[k] * halves[k]


@kernel()
def normalise(units, norm, epsilon):
    """Give the units of a document mean 0 and variance 1, then their factors and shifts."""
    total = 0.0
    for h in range(units.shape[0]):
        total += units[h]
    mean = total / units.shape[0]
    squares = 0.0
    for h in range(units.shape[0]):
        squares += (units[h] - mean) * (units[h] - mean)
    scale = 1.0 / np.sqrt(squares / units.shape[0] + epsilon)
    for h in range(units.shape[0]):
        units[h] = (units[h] - mean) * scale * norm[0, h] + norm[1, h]
