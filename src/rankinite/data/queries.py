"""Queries: which documents belong together, and what is known of them but for their features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rankinite._ranges import ranges
from rankinite.data import frames
from rankinite.data.checks import check_length, checked_columns, query_weights
from rankinite.data.grouping import gathered, group
from rankinite.data.weights import on_common_scale, rows_that_count
from rankinite.distributed import Communicator, Serial, everywhere, total
from rankinite.errors import DataError, ParameterError

if TYPE_CHECKING:
    from rankinite.data.preferences import Preferences


class Queries:
    """Documents grouped into queries, with labels, weights and preferences, without features.

    All that measures, λs and combinations of scores need. A `Dataset` is one with features.
    The constructor is for code that has already checked its arrays: it neither checks nor copies
    them. `from_rows` makes queries of whatever rows a caller has.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n_queries + 1,)
        The rows of query q are ``offsets[q]:offsets[q + 1]``.
    qids : ndarray, shape (n_queries,)
        What the queries are called.
    y, weight : ndarray of float64, shape (n_rows,), optional
        Labels and weights of the documents.
    query_weight : ndarray of float64, shape (n_queries,), optional
    order : ndarray of int64, shape (n_rows,), optional
        ``order[i]`` is the caller's row of stored row i; None if they are the same.
    documents : ndarray, shape (n_rows,), optional
        Ids by which preference pairs name the documents.
    preferences : Preferences, optional
        Pairs of documents to learn from, see `with_preferences`.

    Attributes
    ----------
    offsets, qids, y, weight, query_weight, order, documents, preferences
        As given.

    Examples
    --------
    >>> import rankinite as rk
    >>> queries = Queries.from_rows([2, 0, 1], qid=["red", "red", "blue"])
    >>> queries
    Queries(3 rows, 2 queries, labels 0: 1, 1: 1, 2: 1)
    >>> rk.evaluate([0.3, 0.7, 0.1], queries, "mrr")["mrr"]
    0.75
    """

    def __init__(
        self,
        *,
        offsets: np.ndarray,
        qids: np.ndarray,
        y: np.ndarray | None = None,
        weight: np.ndarray | None = None,
        query_weight: np.ndarray | None = None,
        order: np.ndarray | None = None,
        documents: np.ndarray | None = None,
        preferences: Preferences | None = None,
    ) -> None:
        self.offsets, self.qids, self.order = offsets, qids, order
        self.y, self.weight, self.query_weight = y, weight, query_weight
        self.documents, self.preferences = documents, preferences

    @staticmethod
    def from_rows(
        y: Any = None, *, qid: Any, weight: Any = None, query_weight: Any = None
    ) -> Queries:
        """Queries of rows in any order, checked and laid out as in a `Dataset`.

        Parameters
        ----------
        y : array-like of shape (n_rows,), optional
            Relevance labels.
        qid : array-like of shape (n_rows,)
            The query of each row: integers, strings, any hashable values, in any order.
        weight : array-like of shape (n_rows,), optional
            Weight of each row, finite and not negative; 0 is as good as absent to learners.
        query_weight : array-like of shape (n_queries,) or mapping, optional
            Weight of each query, in order of first appearance, or a mapping from query id to
            weight.
        """
        ids = frames.ids_of(qid)
        if len(ids) == 0:
            raise DataError("qid has no rows: queries need at least one")
        offsets, qids, order = group(ids)
        labels = None if y is None else frames.numbers_of(y, "y")
        weights = None if weight is None else frames.numbers_of(weight, "weight")
        labels, weights = checked_columns(labels, weights, len(ids), order)
        return Queries(
            offsets=offsets,
            qids=qids,
            y=labels,
            weight=weights,
            query_weight=query_weights(query_weight, qids),
            order=order,
        )

    @property
    def labels(self) -> np.ndarray:
        """The labels `y`; an error if there are none."""
        if self.y is None:
            raise DataError("the data has no labels: pass y")
        return self.y

    @property
    def n_rows(self) -> int:
        """Number of documents."""
        return int(self.offsets[-1])

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.offsets) - 1

    @property
    def query_sizes(self) -> np.ndarray:
        """Number of documents of each query: ndarray of int64, shape (n_queries,)."""
        return np.diff(self.offsets)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join([*self._sizes(), *self._contents()])})"

    def _sizes(self) -> list[str]:
        """How much there is of everything, for people."""
        return [f"{self.n_rows:,} rows", f"{self.n_queries:,} queries"]

    def _contents(self) -> list[str]:
        """What there is, for people."""
        labels = _describe_labels(self.y)
        if self.preferences is None:
            return [labels]
        return [labels, f"{self.preferences.n_pairs:,} pairs"]

    def in_caller_order(self, values: Any) -> np.ndarray:
        """Values of the stored rows, put back into the order in which the caller gave the rows.

        Parameters
        ----------
        values : array-like, shape (n_rows, ...)
        """
        array = self._one_per_row(values)
        if self.order is None:
            return array
        result = np.empty_like(array)
        result[self.order] = array
        return result

    def in_stored_order(self, values: Any) -> np.ndarray:
        """Values in the caller's row order, rearranged to the stored rows.

        Parameters
        ----------
        values : array-like, shape (n_rows, ...)
        """
        return gathered(self._one_per_row(values), self.order)

    def _one_per_row(self, values: Any) -> np.ndarray:
        array = np.asarray(values)
        if array.ndim == 0 or len(array) != self.n_rows:
            raise DataError(
                f"values has shape {array.shape}, but the dataset has {self.n_rows} rows: "
                "pass one value per row"
            )
        return array

    def select_queries(self, indices: Any) -> Self:
        """The given queries, in the given order.

        Parameters
        ----------
        indices : array-like of int, or of bool of shape (n_queries,)
            Positions in `qids`; one may come several times, as in a bootstrap sample.

        Returns
        -------
        Queries or Dataset
            The same as this is: a copy of the rows. Its caller's order is its stored order
            (`order` is None).
        """
        chosen = self._query_positions(indices)
        sizes = self.query_sizes[chosen]
        part = copy(self)
        part.offsets = np.concatenate([[0], np.cumsum(sizes)])
        part.qids = self.qids[chosen]
        part.query_weight = gathered(self.query_weight, chosen)
        if self.preferences is not None:
            part.preferences = self.preferences.select_queries(chosen, part.offsets)
        part._take_rows(ranges(self.offsets[chosen], sizes))
        return part

    def that_count(self, communicator: Communicator | None = None) -> Self:
        """The same as learners see it: without what weighs nothing, and weights by their ratio.

        Documents of weight 0 and those of queries of weight 0 are left out, with their pairs, and
        so are pairs of weight 0. Weights that are all the same become None, as if there were none.

        Parameters
        ----------
        communicator : Communicator, optional
            Of the workers that have other queries, whose weights are looked at too.

        Returns
        -------
        Queries or Dataset
            The same as this is; itself if it has no weights.
        """
        if self.weight is None and self.query_weight is None and self.preferences is None:
            return self
        communicator = Serial() if communicator is None else communicator
        counts = rows_that_count(self.weight, self.query_weight, self.query_sizes)
        n_left = self.n_rows if counts is None else int(counts.sum())
        if total(n_left, communicator) == 0:
            raise everywhere(
                DataError(
                    "every document has a weight of 0, its own or its query's, and counts as "
                    "absent: give those to learn from a weight above 0"
                )
            )
        part = copy(self)
        if counts is not None:
            part._keep_rows(counts)
        part.weight = on_common_scale(part.weight, "weight", communicator)
        part.query_weight = on_common_scale(part.query_weight, "query_weight", communicator)
        if part.preferences is not None:
            part.preferences = part.preferences.that_count(communicator)
        return part

    def _keep_rows(self, chosen: np.ndarray) -> None:
        """Keep some of the rows, bool of shape (n_rows,), and the queries that have any left."""
        sizes = np.add.reduceat(chosen, self.offsets[:-1], dtype=np.int64)
        left = sizes > 0
        offsets = np.concatenate([[0], np.cumsum(sizes[left])])
        if self.preferences is not None:
            self.preferences = self.preferences.select_rows(chosen, offsets)
        self.offsets, self.qids = offsets, self.qids[left]
        self.query_weight = gathered(self.query_weight, left)
        self._take_rows(np.flatnonzero(chosen))

    def _take_rows(self, rows: np.ndarray) -> None:
        """Keep only what belongs to some of the rows, in the order in which they are given."""
        self.y, self.weight = gathered(self.y, rows), gathered(self.weight, rows)
        self.documents, self.order = gathered(self.documents, rows), None

    def _query_positions(self, indices: Any) -> np.ndarray:
        chosen = np.asarray(indices)
        if chosen.dtype == bool:
            check_length(chosen, self.n_queries, "indices", unit="queries")
            chosen = np.flatnonzero(chosen)
        if chosen.size == 0:
            raise DataError("indices selects no query: a dataset needs at least one")
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
            raise DataError("indices must be a one-dimensional array of integers or booleans")
        outside = (chosen < 0) | (chosen >= self.n_queries)
        if outside.any():
            raise DataError(
                f"indices holds {chosen[outside][0]}, but the dataset has the queries 0 to "
                f"{self.n_queries - 1}"
            )
        return chosen.astype(np.int64)

    def split(
        self, fractions: Sequence[float] = (0.6, 0.2, 0.2), random_state: int | None = 0
    ) -> tuple[Self, ...]:
        """Cut the queries at random into parts; a query is never cut.

        Parameters
        ----------
        fractions : sequence of float
            Fraction of the queries in each part; what is missing to 1 is left out.
        random_state : int or None
            Seed of the shuffle; None draws one.

        Returns
        -------
        tuple of Queries or of Dataset
            In each, the queries keep their order.
        """
        shares = np.asarray(fractions, dtype=np.float64)
        if shares.ndim != 1 or not (shares > 0).all() or shares.sum() > 1 + 1e-9:
            raise ParameterError(
                f"fractions must be positive numbers with a sum of at most 1, got {fractions!r}"
            )
        ends = np.rint(np.cumsum(shares) * self.n_queries).astype(np.int64)
        starts = np.concatenate([[0], ends[:-1]])
        if (starts == ends).any():
            raise DataError(
                f"{self.n_queries} queries are too few to split into the fractions {fractions!r}: "
                "a part would be empty"
            )
        shuffled = np.random.default_rng(random_state).permutation(self.n_queries)
        return tuple(
            self.select_queries(np.sort(shuffled[start:end]))
            for start, end in zip(starts, ends, strict=True)
        )

    def folds(self, n_folds: int = 5, random_state: int | None = 0) -> Iterator[tuple[Self, Self]]:
        """Pairs (train, test) for cross-validation: each query is in exactly one test part.

        Parameters
        ----------
        n_folds : int
            At least 2 and at most the number of queries.
        random_state : int or None
            Seed of the shuffle; None draws one.
        """
        whole = isinstance(n_folds, (int, np.integer)) and not isinstance(n_folds, bool)
        if not (whole and 2 <= n_folds <= self.n_queries):
            raise ParameterError(
                f"n_folds must lie between 2 and the number of queries ({self.n_queries}), "
                f"got {n_folds!r}"
            )
        shuffled = np.random.default_rng(random_state).permutation(self.n_queries)
        return self._fold_pairs(np.array_split(shuffled, n_folds))

    def _fold_pairs(self, parts: list[np.ndarray]) -> Iterator[tuple[Self, Self]]:
        for part in parts:
            test = np.zeros(self.n_queries, dtype=bool)
            test[part] = True
            yield self.select_queries(~test), self.select_queries(test)

    def with_preferences(
        self,
        pairs: Any = None,
        *,
        preferred: Any = None,
        other: Any = None,
        probability: Any = None,
        weight: Any = None,
        query: Any = None,
        documents: Any = None,
    ) -> Self:
        """The same data with preference pairs, from which a ranker can learn instead of labels.

        The pairs may contradict each other, and a pair may come more than once. A pair counts by
        its weight times that of its query; weights of documents do not apply to pairs, but a
        document of weight 0 is absent from training, and so are its pairs.

        Parameters
        ----------
        pairs : path, frame or Preferences, optional
            A CSV or Parquet file, or a pandas, polars or pyarrow table, with a row for each pair.
        preferred, other : array-like of shape (n_pairs,) or column name
            The two documents, by their ids, or by their row numbers in the caller's order, from
            0, if they have no ids. Of a table, the columns of these names by default.
        probability : array-like of shape (n_pairs,) or column name, optional
            From 0 to 1: that the preferred document is better than the other. 1 by default.
        weight : array-like of shape (n_pairs,) or column name, optional
            Finite and not negative; 1 by default.
        query : array-like of shape (n_pairs,) or column name, optional
            The query of each pair. It is needed where ids are unique only within a query, and
            checked if it is given.
        documents : array-like of shape (n_rows,), optional
            An id for each document in the caller's order, unique within a query; those that
            ``read(..., document=)`` found by default.

        Returns
        -------
        Queries or Dataset
            The same as this is, with which it shares all but the pairs.

        Examples
        --------
        >>> queries = Queries.from_rows(qid=[7, 7, 7])
        >>> queries.with_preferences(preferred=[0, 1, 2], other=[1, 2, 0]).preferences
        Preferences(3 pairs in 1 queries)
        """
        from rankinite.formats.preference_binding import bind

        same = copy(self)
        if documents is not None:
            ids = frames.ids_of(documents, "documents", "own")
            check_length(ids, self.n_rows, "documents")
            same.documents = self.in_stored_order(ids)
        columns = {
            "preferred": preferred,
            "other": other,
            "probability": probability,
            "weight": weight,
            "query": query,
        }
        same.preferences = bind(same, pairs, columns)
        return same


def _describe_labels(y: np.ndarray | None) -> str:
    if y is None:
        return "no labels"
    labels, counts = np.unique(y, return_counts=True)
    if len(labels) > 6:
        return f"labels {labels[0]:g} to {labels[-1]:g}"
    pairs = zip(labels, counts, strict=True)
    return "labels " + ", ".join(f"{label:g}: {count:,}" for label, count in pairs)
