"""Kernels that hash the values of rows."""

import numpy as np

from rankinite._hash_kernels import mix
from rankinite._numba import kernel


@kernel()
def value_hashes(X, hashes):
    """One 64-bit hash of the values of each row; −0 is 0, and all NaN are alike.

    The hash is a sum over the features, so that the processor works at many of them at once; a
    feature's number goes into its term, so equal values trade no places.

    Parameters
    ----------
    X : ndarray of float64, shape (n_rows, n_features)
    hashes : ndarray of uint64, shape (n_rows,)
        Output.
    """
    golden = np.uint64(0x9E3779B97F4A7C15)
    for row in range(X.shape[0]):
        total = np.uint64(0)
        salt = np.uint64(0)
        for j in range(X.shape[1]):
            value = X[row, j] + 0.0
            value = value if value == value else np.nan
            salt += golden
            total += mix(np.float64(value).view(np.uint64) ^ salt)
        hashes[row] = total


@kernel()
def scrambled(keys, seed, out):
    """Other random words from random words and a seed, one for each."""
    for k in range(keys.shape[0]):
        out[k] = mix(keys[k] ^ seed)
