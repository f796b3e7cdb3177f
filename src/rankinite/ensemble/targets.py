"""What a student learns of a teacher: labels made of the teacher's scores.

Only the order of a query's documents matters, and its first places most. Squared errors spend
themselves on long tails of scores, which shares of documents that lie below do not have; but where
queries are long, all that counts lies in the upper tail, and shares flatten it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankinite.data import Dataset, Queries
from rankinite.models.standardizing import Standardizer


def standardised(scores: np.ndarray, data: Queries) -> np.ndarray:
    """Scores with mean 0 and variance 1 over all documents."""
    # Means of floats, so in an order that is not the file's.
    rows = np.argsort(scores, kind="stable")
    return Standardizer.learn(scores[:, np.newaxis], rows).transform(scores[:, np.newaxis])[:, 0]


def quantiles(scores: np.ndarray, data: Queries) -> np.ndarray:
    """The share of all documents below each, and half of those that are tied with it."""
    _, group, counts = np.unique(scores, return_inverse=True, return_counts=True)
    return ((np.cumsum(counts) - counts / 2) / len(scores))[group]


def ranks(scores: np.ndarray, data: Queries) -> np.ndarray:
    """The share of its query's documents below each, and half of those that are tied with it."""
    query = np.repeat(np.arange(data.n_queries), data.query_sizes)
    order = np.lexsort((scores, query))
    ordered, query = scores[order], query[order]
    new = np.ones(len(order), bool)
    new[1:] = (query[1:] != query[:-1]) | (ordered[1:] != ordered[:-1])
    first = np.flatnonzero(new)
    sizes = np.diff(np.append(first, len(order)))
    below = first - data.offsets[query[first]] + sizes / 2
    found = np.empty(len(order))
    found[order] = np.repeat(below / data.query_sizes[query[first]], sizes)
    return found


TARGETS: dict[str, Callable[[np.ndarray, Dataset], np.ndarray]] = {
    "scores": standardised,
    "quantiles": quantiles,
    "ranks": ranks,
}
"""Ways to make labels of scores in a dataset's stored order, by name; the first is the default."""
