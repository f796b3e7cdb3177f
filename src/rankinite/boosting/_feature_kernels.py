"""Kernels of boosted features: sums over the rows of every feature, and a feature added to scores.

Rows lie in blocks, and inside a block feature by feature: a block's λs stay in the first-level
cache while its features stream by, and a feature is read in long pieces. A sum goes over one block;
the caller adds the blocks up in their order, so no number depends on the threads.
"""

import numpy as np

from rankinite._numba import SUM_IN_ANY_ORDER, kernel


@kernel(fastmath=SUM_IN_ANY_ORDER)
def _product(z, values):
    total = 0.0
    for i in range(values.shape[0]):
        total += z[i] * values[i]
    return total


@kernel(fastmath=SUM_IN_ANY_ORDER)
def _weighted_square(z, weight):
    total = 0.0
    for i in range(weight.shape[0]):
        x = np.float64(z[i])
        total += weight[i] * x * x
    return total


@kernel()
def products(first_block, last_block, blocks, values, out):
    """Write Σ z · value of every feature over the rows of each block.

    Parameters
    ----------
    first_block, last_block : int
    blocks : ndarray of float32, shape (n_blocks, n_features, rows of a block)
    values : ndarray of float64, shape (n_rows,)
    out : ndarray of float64, shape (n_blocks, n_features)
    """
    size = blocks.shape[2]
    for b in range(first_block, last_block):
        some = values[b * size : (b + 1) * size]
        for j in range(blocks.shape[1]):
            out[b, j] = _product(blocks[b, j], some)


@kernel()
def weighted_squares(first_block, last_block, blocks, weight, first_feature, out):
    """Write Σ weight · z² over the rows of each block, of as many features as `out` has columns.

    Parameters
    ----------
    first_block, last_block : int
    blocks : ndarray of float32, shape (n_blocks, n_features, rows of a block)
    weight : ndarray of float64, shape (n_rows,)
    first_feature : int
    out : ndarray of float64, shape (n_blocks, n of the features)
    """
    size = blocks.shape[2]
    for b in range(first_block, last_block):
        some = weight[b * size : (b + 1) * size]
        for j in range(out.shape[1]):
            out[b, j] = _weighted_square(blocks[b, first_feature + j], some)


@kernel()
def add_feature(first_block, last_block, blocks, feature, step, scores):
    """Add step · z of one feature to the scores, of shape (n_rows,), of some blocks."""
    size = blocks.shape[2]
    for b in range(first_block, last_block):
        z = blocks[b, feature]
        some = scores[b * size : (b + 1) * size]
        for i in range(some.shape[0]):
            some[i] += step * z[i]


@kernel()
def weighted_rows(first_row, last_row, Z, weights, out):
    """Write Σ z · weight over the features of some rows.

    Parameters
    ----------
    first_row, last_row : int
    Z : ndarray of float64, shape (n_rows, n_features)
    weights : ndarray of float64, shape (n_features,)
    out : ndarray of float64, shape (n_rows,)
    """
    for row in range(first_row, last_row):
        out[row] = _product(Z[row], weights)
