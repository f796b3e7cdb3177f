"""Values of a measure for each query, in expectation over the orders of tied documents."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankinite._numba import in_threads, query_blocks
from rankinite.measures import _value_kernels as kernels
from rankinite.measures import codes
from rankinite.measures.judged import Judged

KERNELS: dict[int, Callable] = {
    codes.LINEAR: kernels.linear_values,
    codes.LAYERED: kernels.layered_values,
    codes.CASCADE: kernels.cascade_values,
    codes.PRECISIONS: kernels.precisions_values,
    codes.FIRST: kernels.first_values,
    codes.PAIRS: kernels.pairs_values,
}


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
    blocks = query_blocks(offsets)
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
        KERNELS[seen.code],
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
