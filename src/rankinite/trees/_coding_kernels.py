"""Kernels that turn documents into codes, (columns, documents) bytes."""

import numpy as np

from rankinite._numba import kernel
from rankinite.binning._binning_kernels import BLOCK
from rankinite.trees._vector_kernels import GROUP, count_below, transpose_tile

# The code of a missing value.
MISSING_CODE = 255
# Thresholds that one column of codes can tell apart; +inf needs none.
MAX_THRESHOLDS = 254


@kernel()
def code_features(X, columns, codes):
    """Write the number of a column's thresholds below each value to ``codes[column, row]``.

    A row of the columns' table (n_columns, 16 + 256) holds the last of every sixteen thresholds,
    then the thresholds themselves, all padded with +inf, in the type of X. Codes beyond the rows
    of X become 0.
    """
    n_rows = X.shape[0]
    for column in range(codes.shape[0]):
        feature = columns.features[column]
        thresholds = columns.table[column]
        own = codes[column]
        if columns.n_thresholds[column] <= GROUP:
            for row in range(n_rows):
                x = X[row, feature]
                below = count_below(thresholds, GROUP, x)
                own[row] = np.uint8(MISSING_CODE if np.isnan(x) else below)
        else:
            for row in range(n_rows):
                x = X[row, feature]
                group = GROUP * count_below(thresholds, 0, x)
                below = group + count_below(thresholds, GROUP + group, x)
                own[row] = np.uint8(MISSING_CODE if np.isnan(x) else below)
        for row in range(n_rows, own.shape[0]):
            own[row] = np.uint8(0)


@kernel()
def code_bins(blocks, used_blocks, first, n_rows, codes):
    """Write the bins of `n_rows` rows from `first` on; a used block is sixteen rows of codes."""
    n_tiles = n_rows // 16
    width = codes.shape[1]
    for b in range(used_blocks.shape[0]):
        block = blocks[used_blocks[b]]
        for tile in range(n_tiles):
            start = b * BLOCK * width + 16 * tile
            transpose_tile(block, first + 16 * tile, codes, start, width)
        for c in range(BLOCK):
            own = codes[b * BLOCK + c]
            for row in range(16 * n_tiles, n_rows):
                own[row] = block[first + row, c]
            for row in range(n_rows, width):
                own[row] = np.uint8(0)
