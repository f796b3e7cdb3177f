"""An order of queries and documents that is made of their content, not of their place in a file.

Learners that look at one query after the other, and all sums of floats over many rows, depend on
the order of the rows. They take the rows in this order, so the same data in any order gives the
same model. Queries and documents that stand in for each other here are equal in all that training
sees, so which of them comes first makes no difference.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import numpy as np

from rankinite._numba import even_blocks, in_threads, query_blocks
from rankinite._ranges import ranges
from rankinite.data.dataset import Dataset
from rankinite.data.preferences import Preferences
from rankinite.data.queries import Queries
from rankinite.order._canonical_kernels import scrambled, value_hashes
from rankinite.order._row_key_kernels import add_pairs, content_keys
from rankinite.order.row_keys import bits


@dataclass(frozen=True, eq=False)
class Canonical:
    """The queries of a dataset that count, in the order of their content.

    Queries without weight (their own is 0, or those of all their documents) are left out: they
    are as good as absent. The documents of a query come from the best label down.

    Attributes
    ----------
    rows : ndarray of int64, shape (n_rows,)
        The stored row of the dataset at each place.
    queries : ndarray of int64, shape (n_queries,)
        The dataset's query at each place.
    offsets : ndarray of int64, shape (n_queries + 1,)
        The places of query q are ``offsets[q]:offsets[q + 1]``.
    labels : ndarray of float64, shape (n_rows,)
        All 0 if the dataset has none.
    weight : ndarray of float64, shape (n_rows,)
        Of each document; the mean of those above 0 is 1.
    query_weight : ndarray of float64, shape (n_queries,)
        Of each query; their mean is 1.
    keys : ndarray of uint64, shape (n_rows,)
        A random number of each document, made of its content and its query's.
    query_keys : ndarray of uint64, shape (n_queries,)
        A random number of each query, made of its content; ascending.
    preferences : Preferences or None
        The pairs that are learned, by the places of their documents; the mean of their weights
        is 1. Then labels are all 0, and the weights of documents 1.
    fingerprint : str
        Tells one set of training data from another, in any order of the rows.
    """

    rows: np.ndarray
    queries: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray
    weight: np.ndarray
    query_weight: np.ndarray
    keys: np.ndarray
    query_keys: np.ndarray
    preferences: Preferences | None
    fingerprint: str

    @property
    def n_rows(self) -> int:
        """Number of documents that are left."""
        return len(self.rows)

    @property
    def n_queries(self) -> int:
        """Number of queries that are left."""
        return len(self.queries)

    @property
    def judged(self) -> Queries:
        """Labels and queries in this order, for measures."""
        return Queries(
            offsets=self.offsets, qids=self.queries, y=self.labels, query_weight=self.query_weight
        )

    def shuffled(self, queries: np.ndarray, seed: np.uint64) -> np.ndarray:
        """Some of the queries, by their places, in a random order that their content decides.

        So a query that is not there changes nothing in the order of the others.
        """
        hashes = np.empty(len(queries), np.uint64)
        scrambled(self.query_keys[queries], seed, hashes)
        return queries[np.argsort(hashes, kind="stable")]


def canonical(dataset: Dataset, *columns: np.ndarray, by_pairs: bool = False) -> Canonical:
    """Order the queries and documents of a dataset by their content.

    Parameters
    ----------
    dataset : Dataset
        With feature values.
    columns : ndarray of float64, shape (n_rows,)
        What else belongs to a document, such as the scores of a base model, in stored order.
    by_pairs : bool
        The dataset is learned from its preferences, not from labels.
    """
    X = dataset.X
    document_weight = None if by_pairs else dataset.weight
    queries = _queries_that_count(dataset, document_weight)
    sizes = dataset.query_sizes[queries]
    rows = ranges(dataset.offsets[queries], sizes)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    labels = np.zeros(len(rows)) if by_pairs or dataset.y is None else dataset.y[rows]
    weight = _with_mean_one(None if document_weight is None else document_weight[rows], len(rows))
    query_weight = _with_mean_one(
        None if dataset.query_weight is None else dataset.query_weight[queries], len(queries)
    )
    extras = [labels, weight, np.repeat(query_weight, sizes), *(c[rows] for c in columns)]
    keys = _document_keys(X, rows, offsets, extras)
    pairs = _pairs_of(dataset, queries, offsets) if by_pairs else None
    if pairs is not None:
        # Documents of equal keys stand in for each other in their pairs too.
        add_pairs(pairs.first, pairs.other, bits(pairs.probability, pairs.weight), keys)
    query_keys = _query_keys(keys, offsets)
    order = np.argsort(query_keys, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    by_content = np.lexsort((keys, -labels, np.repeat(place, sizes)))
    offsets = np.concatenate([[0], np.cumsum(sizes[order])])
    return Canonical(
        rows=rows[by_content],
        queries=queries[order],
        offsets=offsets,
        labels=labels[by_content],
        weight=weight[by_content],
        query_weight=query_weight[order],
        keys=keys[by_content],
        query_keys=query_keys[order],
        preferences=None if pairs is None else _moved(pairs, by_content, offsets),
        fingerprint=_fingerprint(dataset.n_features, offsets, keys[by_content]),
    )


def _queries_that_count(dataset: Queries, weight: np.ndarray | None) -> np.ndarray:
    counts = dataset.query_sizes > 0
    if dataset.query_weight is not None:
        counts &= dataset.query_weight > 0
    if weight is not None:
        before = np.concatenate([[0], np.cumsum(weight > 0)])[dataset.offsets]
        counts &= np.diff(before) > 0
    return np.flatnonzero(counts)


def _with_mean_one(weight: np.ndarray | None, n: int) -> np.ndarray:
    """Weights divided by the mean of those above 0, which is the same in any order."""
    if weight is None or n == 0:
        return np.ones(n)
    # A power of two first: it cannot overflow, and leaves all but the mean's own bits alone.
    largest = math.frexp(float(weight.max()))[1]
    weight = np.ldexp(weight, -largest)
    positive = weight[weight > 0]
    return weight / (math.fsum(positive) / len(positive))


def _document_keys(
    X: np.ndarray, rows: np.ndarray, offsets: np.ndarray, extras: list[np.ndarray]
) -> np.ndarray:
    hashes = np.empty(len(rows), np.uint64)

    def hash_block(first: int, last: int) -> None:
        block = np.ascontiguousarray(X[rows[first:last]], dtype=np.float64)
        value_hashes(block, hashes[first:last])

    # A block is copied as float64: the more of them, the less memory.
    in_threads(hash_block, even_blocks(len(rows), most=1 + len(rows) // 4096))
    keys = np.empty(len(rows), np.uint64)
    nothing = np.empty((0, len(rows), 2), np.uint64)
    words = np.concatenate([hashes[np.newaxis], bits(*extras)])
    in_threads(content_keys, query_blocks(offsets), nothing, words, offsets, keys)
    return keys


def _pairs_of(dataset: Queries, queries: np.ndarray, offsets: np.ndarray) -> Preferences | None:
    """The pairs of some queries, whose rows are to lie one query after the other."""
    if dataset.preferences is None or len(queries) == 0:
        return None
    pairs = dataset.preferences.select_queries(queries, offsets)
    if pairs is not None and pairs.weight.any():
        pairs.weight = _with_mean_one(pairs.weight, pairs.n_pairs)
    return pairs


def _moved(pairs: Preferences, order: np.ndarray, offsets: np.ndarray) -> Preferences:
    """The pairs of documents that are put into another order."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return Preferences(
        offsets, place[pairs.first], place[pairs.other], pairs.probability, pairs.weight
    )


def _query_keys(keys: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """A sum of the documents' keys, which wraps around, so their order does not matter."""
    if len(offsets) == 1:
        return np.empty(0, np.uint64)
    return np.add.reduceat(keys, offsets[:-1])


def _fingerprint(n_features: int, offsets: np.ndarray, keys: np.ndarray) -> str:
    digest = hashlib.sha256(f"{n_features} features".encode())
    digest.update(offsets.tobytes())
    digest.update(keys.tobytes())
    return digest.hexdigest()[:16]
