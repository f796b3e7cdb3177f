"""Values of a measure for each query, in expectation over the orders of tied documents."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankinite._numba import in_threads
from rankinite.measures import _value_kernels as kernels
from rankinite.measures import codes
from rankinite.measures.judged import Judged

_KERNELS: dict[int, Callable] = {
    codes.LINEAR: kernels.linear_values,
    codes.LAYERED: kernels.layered_values,
    codes.CASCADE: kernels.cascade_values,
    codes.PRECISIONS: kernels.precisions_values,
    codes.FIRST: kernels.first_values,
    codes.PAIRS: kernels.pairs_values,
}
# Threads share the queries in blocks: few enough to be worth starting a thread for, and enough to
# even out queries of different sizes.
_ROWS_A_BLOCK, _MOST_BLOCKS = 10_000, 16


def expected_values(seen: Judged, scores: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Value of every query.

    Parameters
    ----------
    seen : Judged
    scores : ndarray of float64, shape (n_rows,)
        Without NaN.
    offsets : ndarray of int64, shape (n_queries + 1,)

    Returns
    -------
    ndarray of float64, shape (n_queries,)
        NaN for blank queries.
    """
    values = np.full(len(offsets) - 1, np.nan)
    ranked, ends = np.empty(len(scores)), np.empty(len(scores), np.int64)
    n_blocks = min(1 + len(scores) // _ROWS_A_BLOCK, _MOST_BLOCKS)
    blocks = np.searchsorted(offsets, np.linspace(0, len(scores), n_blocks + 1))
    # Queries without documents at the end belong to the last block.
    blocks[-1] = len(values)
    in_threads(
        kernels.rank_queries,
        blocks,
        scores,
        seen.grades,
        seen.discounts,
        offsets,
        seen.blank,
        ranked,
        ends,
    )
    in_threads(
        _KERNELS[seen.code],
        blocks,
        ranked,
        ends,
        seen.discounts,
        seen.norms,
        offsets,
        seen.blank,
        values,
    )
    return values
