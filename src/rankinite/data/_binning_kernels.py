"""Kernels of quantile binning: choosing a feature's edges, and looking values up in them."""

import numpy as np
from numba import prange

from rankinite._numba import kernel, parallel_kernel

# Width of a block of features: a block's histograms, 16 × 256 cells of 8 bytes, fit in L1.
BLOCK = 16
# The bin of missing values, in every feature; values use the bins below it.
MISSING_BIN = 255
# Edges are looked up in a table padded to a power of two, so the search has no branches.
TABLE = 256
# Rows that one step of `assign_bins` works on: their raw values stay in L2.
ROWS_AT_ONCE = 512


@kernel()
def choose_edges(values, max_bins, edges):
    """Upper edges of at most `max_bins` bins for sorted `values` without NaN.

    A feature with few distinct values gets one bin for each. Otherwise a value that holds at
    least an average bin's share of the rows gets a bin of its own, and the rest is cut into
    bins of about equal numbers of rows. An edge e lies between two neighbouring values
    low ≤ e < high and x ≤ e falls to its left; it has the precision of the data.

    Returns
    -------
    int
        The number of edges written to `edges`.
    """
    n = values.shape[0]
    if n == 0:
        return 0
    starts = np.empty(n + 1, np.int64)
    n_distinct = 0
    for i in range(n):
        if i == 0 or values[i] != values[i - 1]:
            starts[n_distinct] = i
            n_distinct += 1
    starts[n_distinct] = n

    if n_distinct <= max_bins:
        for d in range(1, n_distinct):
            edges[d - 1] = _between(values[starts[d] - 1], values[starts[d]])
        return n_distinct - 1

    heavy_share = n / max_bins
    light_rows = n
    heavy_left = 0
    # Runs of light values between heavy ones, each of which needs at least one bin.
    runs_left = 0
    for d in range(n_distinct):
        count = starts[d + 1] - starts[d]
        if count >= heavy_share:
            heavy_left += 1
            light_rows -= count
        elif d == 0 or starts[d] - starts[d - 1] >= heavy_share:
            runs_left += 1

    n_edges = 0
    filled = 0
    for d in range(n_distinct - 1):
        count = starts[d + 1] - starts[d]
        heavy = count >= heavy_share
        next_heavy = starts[d + 2] - starts[d + 1] >= heavy_share
        if heavy:
            heavy_left -= 1
        else:
            filled += count
        bins_left = max_bins - n_edges - heavy_left
        if not heavy and next_heavy:
            runs_left -= 1
        full = filled * bins_left >= light_rows and bins_left > runs_left
        if heavy or next_heavy or full:
            edges[n_edges] = _between(values[starts[d + 1] - 1], values[starts[d + 1]])
            n_edges += 1
            light_rows -= filled
            filled = 0
            if n_edges == max_bins - 1:
                break
    return n_edges


@kernel()
def _between(low, high):
    """The middle of two neighbouring values, rounded so that low ≤ middle < high holds."""
    middle = low + (high - low) / 2
    rounded = np.asarray(middle).astype(np.asarray(low).dtype)[()]
    if rounded >= low and rounded < high:
        return rounded
    return low


@parallel_kernel()
def assign_bins(X, table, blocks):
    """Write the bin of every value of X into `blocks` (n_blocks, n_rows, BLOCK).

    `table` (n_features, TABLE) holds each feature's edges, padded with +inf: the bin of x is
    the number of edges below x.
    """
    n_rows, n_features = X.shape
    n_steps = (n_rows + ROWS_AT_ONCE - 1) // ROWS_AT_ONCE
    for step in prange(n_steps):
        first = step * ROWS_AT_ONCE
        last = min(n_rows, first + ROWS_AT_ONCE)
        for feature in range(n_features):
            edges = table[feature]
            block = blocks[feature // BLOCK]
            column = feature % BLOCK
            for row in range(first, last):
                x = X[row, feature]
                if np.isnan(x):
                    block[row, column] = MISSING_BIN
                else:
                    below = 0
                    width = TABLE // 2
                    while width > 0:
                        if edges[below + width - 1] < x:
                            below += width
                        width //= 2
                    block[row, column] = below
