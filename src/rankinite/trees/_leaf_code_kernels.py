"""Kernels that find the leaves of binned rows in a tree of few different splits."""

import numpy as np
from numba import prange

from rankinite._numba import kernel, parallel_kernel
from rankinite.binning._binning_kernels import BLOCK

# Rows whose codes are made one split after the other: the bins of a block are read in pieces of
# 16 KB then.
ROWS_AT_ONCE = 1024


@parallel_kernel()
def leaves_by_code(blocks, features, sides, leaf_of_code, leaf_of):
    """Write the leaf of each row.

    Parameters
    ----------
    blocks : ndarray of uint8, shape (n_blocks, n_rows, 16)
    features : ndarray of int64, shape (n_splits,)
    sides : ndarray of uint16, shape (n_splits, 256)
        What every bin of a split adds to the code of a row.
    leaf_of_code : ndarray of int32
    leaf_of : ndarray of int32, shape (n_rows,)
        Output.
    """
    n = leaf_of.shape[0]
    for part in prange((n + ROWS_AT_ONCE - 1) // ROWS_AT_ONCE):
        first = part * ROWS_AT_ONCE
        own = slice(first, min(first + ROWS_AT_ONCE, n))
        _write_leaves(blocks[:, own], features, sides, leaf_of_code, leaf_of[own])


@kernel()
def _write_leaves(blocks, features, sides, leaf_of_code, leaf_of):
    codes = np.zeros(ROWS_AT_ONCE, np.uint16)
    n = np.uint64(leaf_of.shape[0])
    for k in range(features.shape[0]):
        bins, column = blocks[features[k] // BLOCK], features[k] % BLOCK
        for i in range(n):
            codes[i] |= sides[k, bins[i, column]]
    for i in range(n):
        leaf_of[i] = leaf_of_code[codes[i]]
