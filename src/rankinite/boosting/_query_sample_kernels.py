"""Kernels that write which rows are those of drawn queries."""

from numba import prange

from rankinite._numba import parallel_kernel

# Queries that a thread takes at a time.
QUERIES_A_PART = 64


@parallel_kernel()
def write_rows(queries, offsets, ends, rows):
    """Write the rows of some queries one after the other.

    Parameters
    ----------
    queries : ndarray of uint32
    offsets : ndarray of int64, shape (n_all_queries + 1,)
    ends : ndarray of int64, shape (n_queries,)
        Where the rows of each are to end.
    rows : ndarray of uint32
        Output.
    """
    n = queries.shape[0]
    for part in prange((n + QUERIES_A_PART - 1) // QUERIES_A_PART):
        for k in range(part * QUERIES_A_PART, min((part + 1) * QUERIES_A_PART, n)):
            first, last = offsets[queries[k]], offsets[queries[k] + 1]
            place = ends[k] - last
            for row in range(first, last):
                rows[place + row] = row
