"""Kernels that turn documents into codes, (columns, documents) bytes."""

import numpy as np

from rankinite._numba import kernel
from rankinite.binning._binning_kernels import BLOCK
from rankinite.trees._vector_kernels import GROUP, count_below, prefetch, transpose_tile

# The code of a missing value.
MISSING_CODE = 255
# Thresholds that one column of codes can tell apart; +inf needs none.
MAX_THRESHOLDS = 254
# Binned rows are asked for this long before they are turned to columns: a block is read in short
# pieces, and where many blocks are, the processor does not see by itself that they go on.
ROWS_AHEAD = 256
# Rows of a block in a line of the cache.
ROWS_A_LINE = 64 // BLOCK


@kernel()
def code_features(X, columns, codes):
    """Write the number of a column's thresholds below each value to ``codes[column, row]``.

    A row of the columns' table (n_columns, 16 + 256) holds the last of every sixteen thresholds,
    then the thresholds themselves, all padded with +inf, in the type of X. Codes beyond the rows
    of X become 0.
    """
    # Unsigned, and no views of rows: each would cost more than a lookup.
    n_rows = np.uint64(X.shape[0])
    table = columns.table
    for column in range(np.uint64(codes.shape[0])):
        feature = np.uint64(columns.features[column])
        groups = column * np.uint64(table.shape[1])
        thresholds = groups + np.uint64(GROUP)
        is_one_group = columns.n_thresholds[column] <= GROUP
        for row in range(n_rows):
            x = X[row, feature]
            group = np.uint64(0)
            if not is_one_group:
                group = np.uint64(GROUP) * count_below(table, groups, x)
            below = group + count_below(table, thresholds + group, x)
            codes[column, row] = np.uint8(MISSING_CODE if np.isnan(x) else below)
        for row in range(n_rows, np.uint64(codes.shape[1])):
            codes[column, row] = np.uint8(0)


@kernel()
def code_bins(blocks, used_blocks, first, n_rows, codes):
    """Write the bins of `n_rows` rows from `first` on; a used block is sixteen rows of codes."""
    n_tiles = n_rows // 16
    width = codes.shape[1]
    for b in range(used_blocks.shape[0]):
        block = blocks[used_blocks[b]]
        for tile in range(n_tiles):
            row = first + 16 * tile
            for ahead in range(row + ROWS_AHEAD, row + ROWS_AHEAD + 16, ROWS_A_LINE):
                prefetch(block, BLOCK * ahead)
            transpose_tile(block, row, codes, b * BLOCK * width + 16 * tile, width)
        for c in range(BLOCK):
            own = codes[b * BLOCK + c]
            for row in range(16 * n_tiles, n_rows):
                own[row] = block[first + row, c]
            for row in range(n_rows, width):
                own[row] = np.uint8(0)
