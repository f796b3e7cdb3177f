"""The sample of queries from which the edges of bins are learned.

Every query has a random key that depends on its number alone, in order of first appearance. The
sample is the queries with the smallest keys: as many as have `SAMPLE_ROWS` rows together. So it
is the same whether the data is seen at once or piece by piece, and what is not in the sample of
the first pieces is not in that of all.
"""

from __future__ import annotations

import numpy as np

from rankinite._hash_kernels import keys_from_seed

# Quantiles of this many rows are as good as those of all; whole queries are drawn.
SAMPLE_ROWS = 200_000
ANY_KEY = np.uint64(2**64 - 1)
_SEED = np.uint64(0)


def sampled_queries(sizes: np.ndarray) -> np.ndarray:
    """The queries in the sample, ascending: int64 array.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n_queries,)
        Number of rows of each query.
    """
    keys = query_keys(len(sizes))
    return np.flatnonzero(keys <= largest_key(keys, sizes))


def query_keys(n_queries: int) -> np.ndarray:
    """The keys of the first `n_queries` queries, all different: uint64 array."""
    return keys_from_seed(n_queries, _SEED)


def largest_key(keys: np.ndarray, sizes: np.ndarray) -> np.uint64:
    """The largest key that a query in the sample of those seen so far may have; it never rises."""
    order = np.argsort(keys)
    n_rows = np.cumsum(sizes[order])
    enough = int(np.searchsorted(n_rows, SAMPLE_ROWS))
    return ANY_KEY if enough == len(keys) else np.uint64(keys[order[enough]])
