"""Preference pairs: which of two documents of a query is the better one, and how surely.

Pairs need not agree with each other: a document may beat another that beats a third that beats
the first, and the same pair may come twice, also turned round (Burges 2010, section 2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankinite._ranges import ranges
from rankinite.data.weights import on_common_scale
from rankinite.errors import DataError

if TYPE_CHECKING:
    from rankinite.data.queries import Queries
    from rankinite.distributed import Communicator


class Preferences:
    """Pairs of documents of a dataset, those of a query together.

    Made by `Dataset.with_preferences` or by `from_labels`. Whatever sums over pairs does so
    exactly, so the order of the pairs inside a query means nothing.

    Parameters
    ----------
    query_offsets : ndarray of int64, shape (n_queries + 1,)
        The `offsets` of the dataset.
    first, other : ndarray of int64, shape (n_pairs,)
        Stored rows of the dataset, those of a pair in one query, in any order.
    probability : ndarray of float64, shape (n_pairs,), optional
        That the first document is better than the other; 1 by default.
    weight : ndarray of float64, shape (n_pairs,), optional
        1 by default.

    Attributes
    ----------
    first, other, probability, weight : ndarray, shape (n_pairs,)
        The pairs, sorted by query.
    offsets : ndarray of int64, shape (n_queries + 1,)
        The pairs of query q are ``offsets[q]:offsets[q + 1]``.
    query_offsets : ndarray of int64, shape (n_queries + 1,)
        The rows of query q are ``query_offsets[q]:query_offsets[q + 1]``.
    """

    def __init__(
        self,
        query_offsets: np.ndarray,
        first: np.ndarray,
        other: np.ndarray,
        probability: np.ndarray | None = None,
        weight: np.ndarray | None = None,
    ) -> None:
        n_pairs = len(first)
        query = np.searchsorted(query_offsets, first, side="right") - 1
        order = np.argsort(query, kind="stable")
        self.query_offsets = query_offsets
        self.first = np.ascontiguousarray(first[order], np.int64)
        self.other = np.ascontiguousarray(other[order], np.int64)
        self.probability = np.ones(n_pairs) if probability is None else probability[order]
        self.weight = np.ones(n_pairs) if weight is None else weight[order]
        counts = np.bincount(query, minlength=len(query_offsets) - 1)
        self.offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    @classmethod
    def from_labels(cls, dataset: Queries) -> Preferences:
        """All pairs of different labels of a query, the higher label preferred for certain.

        Parameters
        ----------
        dataset : Queries or Dataset
            With labels.
        """
        first, other = [], []
        for start, stop in zip(dataset.offsets[:-1], dataset.offsets[1:], strict=True):
            labels = dataset.labels[start:stop]
            better, worse = np.nonzero(labels[:, None] > labels)
            first.append(start + better)
            other.append(start + worse)
        if not any(map(len, first)):
            raise DataError(
                "the labels give no pairs: in every query all documents have the same label"
            )
        return cls(dataset.offsets, np.concatenate(first), np.concatenate(other))

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return len(self.first)

    def __repr__(self) -> str:
        n_queries = int((np.diff(self.offsets) > 0).sum())
        return f"Preferences({self.n_pairs:,} pairs in {n_queries:,} queries)"

    def select_queries(self, chosen: np.ndarray, query_offsets: np.ndarray) -> Preferences | None:
        """The pairs of some queries; None if they have none.

        Parameters
        ----------
        chosen : ndarray of int64
            Numbers of the queries, in the order in which they stand in the new dataset.
        query_offsets : ndarray of int64, shape (len(chosen) + 1,)
            Where their rows are in the new dataset.
        """
        counts = np.diff(self.offsets)[chosen]
        if not counts.any():
            return None
        pairs = ranges(self.offsets[chosen], counts)
        moved = np.repeat(query_offsets[:-1] - self.query_offsets[chosen], counts)
        return Preferences(
            query_offsets,
            self.first[pairs] + moved,
            self.other[pairs] + moved,
            self.probability[pairs],
            self.weight[pairs],
        )

    def select_rows(self, chosen: np.ndarray, query_offsets: np.ndarray) -> Preferences:
        """The pairs both of whose documents are chosen.

        Parameters
        ----------
        chosen : ndarray of bool, shape (n_rows,)
        query_offsets : ndarray of int64
            Where the queries that have such rows are in the new dataset.
        """
        place = np.cumsum(chosen) - 1
        pairs = chosen[self.first] & chosen[self.other]
        return Preferences(
            query_offsets,
            place[self.first[pairs]],
            place[self.other[pairs]],
            self.probability[pairs],
            self.weight[pairs],
        )

    def that_count(self, communicator: Communicator | None = None) -> Preferences:
        """The pairs that weigh more than nothing, with weights by their ratio.

        With a `communicator` to those of all workers.
        """
        counts = self.weight > 0
        weight = on_common_scale(self.weight[counts], "the weight of pairs", communicator)
        return Preferences(
            self.query_offsets,
            self.first[counts],
            self.other[counts],
            self.probability[counts],
            weight,
        )
