"""Kernels of quantile binning: choosing a feature's edges, and looking values up in them."""

import numpy as np

from rankinite._numba import kernel

# Width of a block of features: a block's histograms, 16 × 256 cells of 8 bytes, fit in L1.
BLOCK = 16
# The bin of missing values, in every feature; values use the bins below it.
MISSING_BIN = 255
# Room for a feature's edges as a search tree: node k has the children 2k and 2k + 1, 1 is the root.
TREE = 256
# The upper levels of a tree are not walked: all their edges are compared, which vectorises.
COMPARED_LEVELS = 4
# Rows that one step of `assign_bins` works on: sixteen features of them stay in L1.
ROWS_AT_ONCE = 256


@kernel()
def choose_edges(values, max_bins, edges):
    """Upper edges (float64) of at most `max_bins` bins for sorted `values` without NaN.

    A feature with few distinct values gets one bin for each. Otherwise a value that holds at
    least an average bin's share of the rows gets a bin of its own, and the rest is cut into
    bins of about equal numbers of rows. An edge e lies between two neighbouring values
    low ≤ e < high and x ≤ e falls to its left. It is found in float64 whatever the type of the
    values, so that equal values have equal edges.

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
    """The middle of two neighbouring values, such that low ≤ middle < high holds."""
    low, high = np.float64(low), np.float64(high)
    middle = low + (high - low) / 2
    if middle >= low and middle < high:
        return middle
    return low


@kernel()
def gather_columns(X, rows, first_column, columns):
    """Copy some columns of the given rows, each to lie by itself: columns[c, i] is row rows[i]."""
    for i in range(rows.shape[0]):
        values = X[np.uint64(rows[i])]
        values = values[first_column:]
        for column in range(columns.shape[0]):
            columns[column, i] = values[column]


@kernel()
def plant_tree(edges, depth, tree):
    """Lay out ascending `edges` as a search tree of `depth` levels, filled up with +inf."""
    for level in range(depth):
        step = 1 << (depth - level)
        for place in range(1 << level):
            edge = place * step + step // 2 - 1
            tree[(1 << level) + place] = edges[edge] if edge < edges.shape[0] else np.inf


@kernel()
def _assign_column(values, tree, depth, block, column):
    """Bins of up to ROWS_AT_ONCE values of one feature: the number of edges below each.

    The walk down the tree has no branch, and takes all rows from level to level together, so
    that their loads overlap. A leaf's number, less 2^depth, is the number of edges below x.
    """
    n_rows = values.shape[0]
    x = np.empty(ROWS_AT_ONCE, values.dtype)
    node = np.empty(ROWS_AT_ONCE, np.int32)
    for row in range(n_rows):
        x[row] = values[row]
    top = 1 << COMPARED_LEVELS
    for row in range(n_rows):
        at = np.int32(top)
        for k in range(1, top):
            at = np.int32(at + np.int32(tree[np.uint32(k)] < x[row]))
        node[row] = at
    for _ in range(depth - COMPARED_LEVELS):
        for row in range(n_rows):
            at = node[row]
            node[row] = np.int32(at + at + np.int32(tree[np.uint32(at)] < x[row]))
    first_leaf = np.int32(1 << depth)
    for row in range(n_rows):
        found = np.uint8(node[row] - first_leaf)
        block[row, column] = found if x[row] == x[row] else np.uint8(MISSING_BIN)


@kernel()
def has_other_bins(first_row, last_row, blocks, n_bins, found):
    """Note in `found` which blocks hold a bin that their features do not have, in some rows.

    Parameters
    ----------
    first_row, last_row : int
    blocks : uint8 (n_blocks, n_rows, BLOCK)
    n_bins : uint8 (n_blocks, BLOCK)
        The bins of each feature, without that of missing values; 1 where there is no feature.
    found : bool (n_blocks,)
        Output.
    """
    for block in range(blocks.shape[0]):
        limits = n_bins[block]
        wrong = np.uint8(0)
        for row in range(first_row, last_row):
            for column in range(BLOCK):
                value = blocks[block, row, column]
                wrong |= np.uint8((value >= limits[column]) & (value != MISSING_BIN))
        if wrong:
            found[block] = True


@kernel()
def assign_bins(first_step, last_step, X, trees, depths, blocks, first_row):
    """Write the bins of rows of X into `blocks`, from row `first_row` on.

    Parameters
    ----------
    first_step, last_step : int
        The steps to take, of ROWS_AT_ONCE rows each.
    X : float32 or float64 (n_rows, n_features)
    trees : like X (n_features, TREE)
        The edges of each feature, laid out by `plant_tree`.
    depths : int64 (n_features,)
        Levels of each tree, at least COMPARED_LEVELS.
    blocks : uint8 (n_blocks, at least first_row + n_rows, BLOCK)
    """
    n_rows, n_features = X.shape
    for step in range(first_step, last_step):
        first = step * ROWS_AT_ONCE
        last = min(n_rows, first + ROWS_AT_ONCE)
        for feature in range(n_features):
            _assign_column(
                X[first:last, feature],
                trees[feature],
                depths[feature],
                blocks[feature // BLOCK, first_row + first : first_row + last],
                feature % BLOCK,
            )
