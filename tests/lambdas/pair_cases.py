"""Preference pairs of every awkward kind: cycles, duplicates, contradictions, any probability."""

from __future__ import annotations

import numpy as np

from rankinite.data import Preferences


def some_pairs(seed=0, sizes=(1, 2, 9, 3, 14, 2), pairs_a_query=25):
    """Offsets of the rows, pairs of each query (as the twin has them), and scores with ties.

    The first query has one document, and the fourth one no pairs.
    """
    rng = np.random.default_rng(seed)
    queries = []
    for query, size in enumerate(sizes):
        own = []
        if size > 1 and query != 3:
            for _ in range(rng.integers(1, pairs_a_query)):
                i, j = rng.choice(size, 2, replace=False).tolist()
                probability = float(rng.choice([0.0, 0.5, 1.0, rng.random()]))
                own.append((i, j, probability, float(rng.choice([0.0, 1.0, 3 * rng.random()]))))
        queries.append(own)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    scores = rng.normal(scale=2, size=offsets[-1]).round(1)
    return offsets, queries, scores


def bound(offsets, queries, order=None):
    """The pairs as `Preferences`, in some order."""
    rows = [
        (i + start, j + start, probability, weight)
        for start, own in zip(offsets[:-1], queries, strict=True)
        for i, j, probability, weight in own
    ]
    first, other, probability, weight = (np.array(column) for column in zip(*rows, strict=True))
    order = np.arange(len(first)) if order is None else order
    return Preferences(offsets, first[order], other[order], probability[order], weight[order])
