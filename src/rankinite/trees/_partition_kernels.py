"""Kernels that divide the rows of a node between its children."""

import numpy as np
from numba import prange

from rankinite._numba import kernel, parallel_kernel
from rankinite.data._row_key_kernels import mix

MISSING = 255


@parallel_kernel()
def partition_rows(block, column, threshold, missing_left, rows, n_parts, left, right):
    """Reorder `rows` in place: first those that go left, then the others, both ascending.

        rows   [ part 0 | part 1 | part 2 ]      each part is divided on its own into
        left   [ l l .  | l . .  | l l .  ]      the scratch arrays, and the pieces are
        right  [ r . .  | r r .  | r . .  ]      then copied to where they belong:
        rows   [ l l l l l | r r r r ]

    Returns
    -------
    int
        The number of rows that go left.
    """
    n = rows.shape[0]
    # Looked up, not compared: which way a row goes is a coin toss to the branch predictor.
    goes_left = np.zeros(MISSING + 1, np.uint32)
    goes_left[: threshold + 1] = 1
    goes_left[MISSING] = missing_left
    left_counts = np.zeros(n_parts, np.int64)
    for part in prange(n_parts):
        first = part * n // n_parts
        last = (part + 1) * n // n_parts
        own, own_left, own_right = rows[first:last], left[first:last], right[first:last]
        n_left = np.uint32(0)
        for i in range(own.shape[0]):
            row = own[i]
            own_left[n_left] = row
            own_right[np.uint32(i) - n_left] = row
            n_left += goes_left[block[row, column]]
        left_counts[part] = n_left
    total_left = left_counts.sum()
    for part in prange(n_parts):
        first = part * n // n_parts
        last = (part + 1) * n // n_parts
        to_left = left_counts[:part].sum()
        to_right = total_left + first - to_left
        n_left = left_counts[part]
        rows[to_left : to_left + n_left] = left[first : first + n_left]
        n_right = last - first - n_left
        rows[to_right : to_right + n_right] = right[first : first + n_right]
    return total_left


@kernel()
def draw_rows(rows, keys, seed, limit, drawn):
    """Keep the rows whose random number is below `limit`; returns how many.

    The number comes from the row's own key, so it does not depend on the order of the rows.
    """
    n = 0
    for i in range(rows.shape[0]):
        row = rows[i]
        drawn[n] = row
        n += mix(keys[row] ^ seed) < limit
    return n
