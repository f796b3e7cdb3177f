"""An order of queries and documents that is made of their content, not of their place in a file.

Learners that look at one query after the other, and all sums of floats over many rows, depend on
the order of the rows. They take the rows in this order, so the same data in any order gives the
same model. Queries and documents that stand in for each other here are equal in all that training
sees, so which of them comes first makes no difference.
"""

from __future__ import annotations

import hashlib
import math
from copy import copy
from dataclasses import dataclass

import numpy as np

from rankinite._numba import even_blocks, in_threads, query_blocks
from rankinite.data.dataset import Dataset
from rankinite.data.features import Features
from rankinite.data.preferences import Preferences
from rankinite.data.queries import Queries
from rankinite.order._canonical_kernels import scrambled, value_hashes
from rankinite.order._row_key_kernels import add_pairs, content_keys
from rankinite.order.row_keys import bits, row_keys


@dataclass(frozen=True, eq=False)
class Canonical:
    """The queries of a dataset in the order of their content.

    The documents of a query come from the best label down.

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
        Of each query; the mean of those above 0 is 1.
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
        """Number of documents."""
        return len(self.rows)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
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
        With feature values; for learning, what `Queries.that_count` leaves of it.
    columns : ndarray of float64, shape (n_rows,)
        What else belongs to a document, such as the scores of a base model, in stored order.
    by_pairs : bool
        The dataset is learned from its preferences, not from labels.
    """
    n_rows, offsets, sizes = dataset.n_rows, dataset.offsets, dataset.query_sizes
    labels = np.zeros(n_rows) if by_pairs or dataset.y is None else dataset.y
    weight = _with_mean_one(None if by_pairs else dataset.weight, n_rows)
    query_weight = _with_mean_one(dataset.query_weight, dataset.n_queries)
    extras = [labels, weight, np.repeat(query_weight, sizes), *columns]
    keys = _document_keys(dataset.features, offsets, extras)
    pairs = _pairs_of(dataset) if by_pairs else None
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
        rows=by_content,
        queries=order,
        offsets=offsets,
        labels=labels[by_content],
        weight=weight[by_content],
        query_weight=query_weight[order],
        keys=keys[by_content],
        query_keys=query_keys[order],
        preferences=None if pairs is None else _moved(pairs, by_content, offsets),
        fingerprint=_fingerprint(dataset.n_features, offsets, keys[by_content]),
    )


def _with_mean_one(weight: np.ndarray | None, n: int) -> np.ndarray:
    """Weights divided by the mean of those above 0, which is the same in any order."""
    if weight is None:
        return np.ones(n)
    # A power of two first: it cannot overflow, and leaves all but the mean's own bits alone.
    largest = math.frexp(float(weight.max(initial=0.0)))[1]
    weight = np.ldexp(weight, -largest)
    positive = weight[weight > 0]
    return weight / (math.fsum(positive) / len(positive)) if len(positive) else weight


def document_keys(dataset: Dataset) -> np.ndarray:
    """A random number of each document, made of all that belongs to it and to its query.

    Of features that are bins alone it is made of these. Documents of a query with equal keys are
    equal in features, labels, weights and pairs.

    Parameters
    ----------
    dataset : Dataset
        What `Queries.that_count` leaves of it.

    Returns
    -------
    ndarray of uint64, shape (n_rows,)
        In stored order.
    """
    labels = np.zeros(dataset.n_rows) if dataset.y is None else dataset.y
    if dataset.features.has_values:
        weight = _with_mean_one(dataset.weight, dataset.n_rows)
        keys = _document_keys(dataset.features, dataset.offsets, [labels, weight])
    else:
        binned = dataset.features.bins(dataset.mapper(255).max_bins, lambda: np.empty(0, np.int64))
        keys = row_keys(binned, labels, dataset.weight, dataset.offsets)
    pairs = _pairs_of(dataset)
    if pairs is not None:
        add_pairs(pairs.first, pairs.other, bits(pairs.probability, pairs.weight), keys)
    return keys


def _document_keys(features: Features, offsets: np.ndarray, extras: list[np.ndarray]) -> np.ndarray:
    hashes = _row_hashes(features)
    keys = np.empty(len(hashes), np.uint64)
    nothing = np.empty((0, len(hashes), 2), np.uint64)
    words = np.concatenate([hashes[np.newaxis], bits(*extras)])
    in_threads(content_keys, query_blocks(offsets), nothing, words, offsets, keys)
    return keys


def _row_hashes(features: Features) -> np.ndarray:
    """A hash of the values of each row; a row that comes several times is hashed once."""
    X, rows = features.source()
    hashes = np.empty(len(X), np.uint64)

    def hash_block(first: int, last: int) -> None:
        block = np.ascontiguousarray(X[first:last], dtype=np.float64)
        value_hashes(block, hashes[first:last])

    # A block of float32 is copied as float64: the more of them, the less memory.
    in_threads(hash_block, even_blocks(len(X), most=1 + len(X) // 4096))
    return hashes if rows is None else hashes[rows]


def _pairs_of(dataset: Queries) -> Preferences | None:
    if dataset.preferences is None or dataset.preferences.n_pairs == 0:
        return None
    pairs = copy(dataset.preferences)
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
    return np.add.reduceat(keys, offsets[:-1])


def _fingerprint(n_features: int, offsets: np.ndarray, keys: np.ndarray) -> str:
    digest = hashlib.sha256(f"{n_features} features".encode())
    digest.update(offsets.tobytes())
    digest.update(keys.tobytes())
    return digest.hexdigest()[:16]
