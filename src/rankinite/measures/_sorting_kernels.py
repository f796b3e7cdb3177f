"""Kernels that sort the documents of a query."""

import numpy as np

from rankinite._numba import BORROWS, kernel

# Runs of this length are sorted by insertion before they are merged.
RUN = 16


@kernel(**BORROWS)
def descending(score):
    """An integer that is the smaller the higher the score; equal for 0 and −0."""
    bits = np.float64(score + 0.0).view(np.int64)
    return ~bits if bits >= 0 else bits ^ np.int64(-(2**63))


@kernel(**BORROWS)
def sort_by_key(keys, order, spare_keys, spare_order):
    """Sort int64 keys and carry the int32 entries of `order` along; quick if nearly sorted.

    Short runs are sorted by insertion and then merged. Of two runs only the parts that overlap
    are touched. The spare arrays are as long as the others, and scribbled on.
    """
    n = keys.shape[0]
    for first in range(0, n, RUN):
        for i in range(first + 1, min(first + RUN, n)):
            key = keys[i]
            if key >= keys[i - 1]:
                continue
            document = order[i]
            j = i - 1
            while j >= first and keys[j] > key:
                keys[j + 1] = keys[j]
                order[j + 1] = order[j]
                j -= 1
            keys[j + 1] = key
            order[j + 1] = document
    width = RUN
    while width < n:
        for first in range(0, n - width, 2 * width):
            middle = first + width
            last = min(middle + width, n)
            start = middle
            while start > first and keys[start - 1] > keys[middle]:
                start -= 1
            size = middle - start
            for k in range(size):
                spare_keys[k] = keys[start + k]
                spare_order[k] = order[start + k]
            i, j, k = 0, middle, start
            while i < size:
                if j < last and keys[j] < spare_keys[i]:
                    keys[k] = keys[j]
                    order[k] = order[j]
                    j += 1
                else:
                    keys[k] = spare_keys[i]
                    order[k] = spare_order[i]
                    i += 1
                k += 1
        width *= 2
