"""Which rows belong to which query, and the order that puts a query's rows together."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from rankinite._ranges import ranges
from rankinite.errors import DataError, RankiniteWarning


def group(qid: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Offsets and ids of the queries, and the row order that gathers them (None: as given).

    Works on runs of equal ids, so data that comes query by query costs one pass.
    """
    starts, sizes = runs(qid)
    heads = qid[starts]
    query_of_run = _first_appearance(heads)
    _, first_runs = np.unique(query_of_run, return_index=True)
    offsets, order = arrange(query_of_run, sizes)
    return offsets, heads[first_runs], order


def runs(qid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where runs of equal ids begin, and how long they are: int64 arrays."""
    changes = np.flatnonzero(qid[1:] != qid[:-1]) + 1
    starts = np.concatenate([[0], changes]).astype(np.int64)
    return starts, np.diff(starts, append=len(qid))


def arrange(query_of_run: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Offsets of the queries, and the row order that gathers their runs (None: as given).

    Parameters
    ----------
    query_of_run : ndarray of int64, shape (n_runs,)
        Queries are numbered in order of first appearance.
    sizes : ndarray of int64, shape (n_runs,)
        Number of rows of each run.
    """
    query_sizes = np.bincount(query_of_run, weights=sizes).astype(np.int64)
    n_queries = len(query_sizes)
    offsets = np.concatenate([[0], np.cumsum(query_sizes)])
    if (np.diff(query_of_run) >= 0).all():
        return offsets, None
    # Two runs side by side may be of one query.
    is_new = np.append(True, query_of_run[1:] != query_of_run[:-1])
    in_pieces = int((np.bincount(query_of_run[is_new]) > 1).sum())
    warnings.warn(
        f"the rows of {in_pieces} of {n_queries} queries did not lie together and were gathered; "
        "if their ids were meant to be different queries, make them different",
        RankiniteWarning,
        stacklevel=4,  # the caller of Dataset
    )
    run_order = np.argsort(query_of_run, kind="stable")
    starts = np.cumsum(sizes) - sizes
    return offsets, ranges(starts[run_order], sizes[run_order])


def gathered(values: Any, order: np.ndarray | None) -> Any:
    """Values in another order, or some of them; as they are without one, and None stays None."""
    return values if values is None or order is None else values[order]


def number_ids(ids: np.ndarray, numbers: dict[Any, int]) -> np.ndarray:
    """Number ids in order of first appearance, going on from those in `numbers`: int64 array."""
    try:
        found = [numbers.setdefault(i, len(numbers)) for i in ids.tolist()]
    except TypeError as error:
        raise DataError(f"qid holds a value that cannot be an id: {error}") from error
    return np.array(found, dtype=np.int64)


def _first_appearance(ids: np.ndarray) -> np.ndarray:
    """Number distinct ids 0, 1, ... in order of first appearance: int64 array like `ids`."""
    if ids.dtype.kind == "O":
        return number_ids(ids, {})
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
