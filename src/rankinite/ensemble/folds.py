"""Folds by query that depend on the ids of the queries and a seed, not on the order of the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from rankinite.binning.sampling import query_keys
from rankinite.data import FeatureRows, Queries
from rankinite.data.checks import check_length
from rankinite.errors import DataError, ParameterError, RankiniteError
from rankinite.models.parameters import Whole
from rankinite.order._canonical_kernels import scrambled
from rankinite.order.seeds import derive_seed, seed_of


def fold_numbers(data: Queries, n_folds: int = 10, random_state: int | None = 0) -> np.ndarray:
    """The fold of each query, drawn by the queries' ids: folds of about as many queries each.

    Queries that weigh nothing are absent: they get −1, and change nothing in the folds of others.

    Parameters
    ----------
    data : Queries or Dataset
    n_folds : int
        At least 2 and at most the number of queries.
    random_state : int or None
        Other folds for each; None draws one.

    Returns
    -------
    ndarray of int64, shape (n_queries,)
        From 0 to ``n_folds - 1``, in the order of ``data.qids``.

    Examples
    --------
    >>> import numpy as np
    >>> import rankinite as rk
    >>> from rankinite.ensemble import fold_numbers
    >>> np.bincount(fold_numbers(rk.artificial(n_queries=25), n_folds=10)).tolist()
    [3, 3, 3, 3, 3, 2, 2, 2, 2, 2]
    """
    Whole(2).check("n_folds", n_folds)
    Whole(0, 2**63 - 1, optional=True).check("random_state", random_state)
    counts = np.flatnonzero(_that_count(data))
    if n_folds > len(counts):
        raise ParameterError(
            f"n_folds={n_folds} needs as many queries, and the data has {len(counts)} that count: "
            "take fewer folds"
        )
    hashes = np.empty(len(counts), np.uint64)
    seed = derive_seed(seed_of(random_state), "folds")
    scrambled(query_keys(data.qids[counts]), seed, hashes)
    folds = np.full(data.n_queries, -1, np.int64)
    folds[counts[np.argsort(hashes, kind="stable")]] = np.arange(len(counts)) % n_folds
    return folds


def folds_of(data: Queries, folds: Any, n_folds: int, random_state: int | None) -> np.ndarray:
    """The fold of each query: drawn, or those that a caller gives, after a check.

    Parameters
    ----------
    folds : array-like of int, shape (n_queries,), or mapping, or None
        In the order of ``data.qids``, or from query id to fold. None draws them.
    """
    if folds is None:
        numbers = fold_numbers(data, n_folds, random_state)
    else:
        numbers = _checked(folds, data, n_folds)
    _refuse_shared_documents(data, numbers)
    return numbers


def _checked(folds: Any, data: Queries, n_folds: int) -> np.ndarray:
    """Folds that a caller gives; see `folds_of`."""
    if isinstance(folds, Mapping):
        absent = [qid for qid in data.qids.tolist() if qid not in folds]
        if absent:
            raise DataError(
                f"folds has no fold for query {absent[0]!r} ({len(absent)} queries are missing): "
                "give every query one"
            )
        folds = [folds[qid] for qid in data.qids.tolist()]
    numbers = np.asarray(folds)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise DataError("folds must be whole numbers, one for each query, or a dict of them by id")
    check_length(numbers, data.n_queries, "folds", unit="queries")
    numbers = np.where(_that_count(data), numbers.astype(np.int64), -1)
    outside = np.setdiff1d(numbers, np.arange(-1, n_folds))
    if len(outside):
        raise DataError(
            f"folds has the number {outside[0]}, and with n_folds={n_folds} they go from 0 to "
            f"{n_folds - 1}"
        )
    empty = np.setdiff1d(np.arange(n_folds), numbers)
    if len(empty):
        raise DataError(
            f"fold {empty[0]} has no query that counts, and there are to be n_folds={n_folds}: "
            "give every fold a query, or take fewer"
        )
    return numbers


def _refuse_shared_documents(data: Queries, numbers: np.ndarray) -> None:
    """Refuse parts of one query in two folds: what is held out would be known all the same."""
    features = getattr(data, "features", None)
    if not isinstance(features, FeatureRows):
        return
    of_rows = np.repeat(numbers, data.query_sizes)
    counts = np.flatnonzero(of_rows >= 0)
    fold_of = np.empty(features.features.n_rows, np.int64)
    fold_of[features.rows[counts]] = of_rows[counts]
    apart = counts[fold_of[features.rows[counts]] != of_rows[counts]]
    if len(apart):
        query = int(np.searchsorted(data.offsets, apart[0], side="right")) - 1
        raise DataError(
            f"a document of query {data.qids[query]!r} is in two folds, because the data is "
            "augmented already: augment what each model learns from, as by "
            "Bagging(augment=...), or give folds in which the parts of a query stay together"
        )


def _that_count(data: Queries) -> np.ndarray:
    """Whether each query weighs more than nothing."""
    counts = np.ones(data.n_queries, bool) if data.query_weight is None else data.query_weight > 0
    if data.weight is not None:
        counts &= np.logical_or.reduceat(data.weight > 0, data.offsets[:-1])
    return counts


@contextmanager
def in_fold(number: int) -> Iterator[None]:
    """Let an error name the fold that it is about."""
    try:
        yield
    except RankiniteError as error:
        raise type(error)(f"in fold {number}: {error}") from error
