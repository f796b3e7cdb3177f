"""Which rows belong to which query, and the order that puts a query's rows together."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from rankinite.errors import DataError, RankiniteWarning


def group(qid: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Offsets and ids of the queries, and the row order that gathers them (None: as given).

    Works on runs of equal ids, so data that comes query by query costs one pass.
    """
    n_rows = len(qid)
    changes = np.flatnonzero(qid[1:] != qid[:-1]) + 1
    starts = np.concatenate([[0], changes]).astype(np.int64)
    sizes = np.diff(starts, append=n_rows)
    heads = qid[starts]
    query_of_run = _first_appearance(heads)
    n_queries = int(query_of_run.max()) + 1
    if n_queries == len(starts):
        return np.append(starts, n_rows), heads, None
    pieces = np.bincount(query_of_run)
    in_pieces = int((pieces > 1).sum())
    warnings.warn(
        f"the rows of {in_pieces} of {n_queries} queries did not lie together and were gathered; "
        "if their ids were meant to be different queries, make them different",
        RankiniteWarning,
        stacklevel=3,  # the caller of Dataset
    )
    run_order = np.argsort(query_of_run, kind="stable")
    order = ranges(starts[run_order], sizes[run_order])
    first_runs = run_order[np.concatenate([[0], np.cumsum(pieces)[:-1]])]
    query_sizes = np.bincount(query_of_run, weights=sizes).astype(np.int64)
    return np.concatenate([[0], np.cumsum(query_sizes)]), heads[first_runs], order


def _first_appearance(ids: np.ndarray) -> np.ndarray:
    """Number distinct ids 0, 1, ... in order of first appearance: int64 array like `ids`."""
    if ids.dtype.kind == "O":
        numbers: dict[Any, int] = {}
        try:
            return np.array([numbers.setdefault(i, len(numbers)) for i in ids], dtype=np.int64)
        except TypeError as error:
            raise DataError(f"qid holds a value that cannot be an id: {error}") from error
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def ranges(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The integers of the ranges ``start:start + size``, one range after the other."""
    ends = np.cumsum(sizes)
    return np.repeat(starts - (ends - sizes), sizes) + np.arange(ends[-1], dtype=np.int64)
