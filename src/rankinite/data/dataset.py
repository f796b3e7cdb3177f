"""The dataset: rows of features grouped into queries, checked once, in one fixed layout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from rankinite._ranges import ranges
from rankinite.data import frames
from rankinite.data.checks import (
    check_length,
    checked_labels,
    checked_names,
    checked_weight,
    query_weights,
)
from rankinite.data.grouping import group
from rankinite.errors import DataError, ParameterError

if TYPE_CHECKING:
    from rankinite.binning import BinMapper, BinnedMatrix
    from rankinite.data.preferences import Preferences


class Dataset:
    """Documents with features, grouped into queries.

    Rows are stored with each query's rows together: queries in the order in which they first
    appear, and inside a query the rows in the caller's order. A caller's matrix whose queries
    already lie together is not copied.

    Parameters
    ----------
    X : array, sparse matrix or frame, shape (n_rows, n_features)
        numpy, scipy.sparse (implicit zeros are 0), pandas, polars or pyarrow. NaN, None and null
        are missing values; infinities are values.
    y : array-like of shape (n_rows,) or column name, optional
        Relevance labels; None for data that is only scored.
    qid : array-like of shape (n_rows,) or column name
        The query of each row: integers, strings, any hashable values, in any order.
    weight : array-like of shape (n_rows,) or column name, optional
        Weight of each row, finite and not negative.
    query_weight : array-like of shape (n_queries,) or mapping, optional
        Weight of each query, in order of first appearance, or a mapping from query id to weight.
    feature_names : sequence of str, optional
        Names of the columns of `X`; the frame's own names by default.

    Attributes
    ----------
    X : ndarray of float32 or float64, shape (n_rows, n_features), or None
        None when the dataset holds bins only.
    y, weight : ndarray of float64, shape (n_rows,), or None
    offsets : ndarray of int64, shape (n_queries + 1,)
        The rows of query q are ``offsets[q]:offsets[q + 1]``.
    qids : ndarray, shape (n_queries,)
    query_weight : ndarray of float64, shape (n_queries,), or None
    feature_names : list of str or None
    order : ndarray of int64, shape (n_rows,), or None
        ``order[i]`` is the caller's row of stored row i; None if they are the same.
    documents : ndarray, shape (n_rows,), or None
        Ids by which preference pairs name the documents.
    preferences : Preferences or None
        Pairs of documents to learn from, see `with_preferences`.

    Examples
    --------
    >>> import numpy as np
    >>> data = Dataset(np.eye(3), [2, 0, 1], qid=["red", "red", "blue"])
    >>> data.n_queries, data.query_sizes.tolist()
    (2, [2, 1])
    """

    X: np.ndarray | None
    y: np.ndarray | None
    offsets: np.ndarray
    qids: np.ndarray
    weight: np.ndarray | None
    query_weight: np.ndarray | None
    feature_names: list[str] | None
    order: np.ndarray | None
    documents: np.ndarray | None
    preferences: Preferences | None

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        weight: Any = None,
        query_weight: Any = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        if qid is None:
            raise DataError(
                "qid is missing: pass qid=, the query id of every row (or, when X is a frame, "
                "the name of the column that holds it)"
            )
        parts = frames.unpack(X, y, qid, weight)
        n_rows, n_features = parts.X.shape
        if n_rows == 0:
            raise DataError("X has no rows: a dataset needs at least one")
        if n_features == 0:
            raise DataError("X has no feature columns: a dataset needs at least one")
        check_length(parts.qid, n_rows, "qid")
        self.offsets, self.qids, self.order = group(parts.qid)
        self.X = _gathered(parts.X, self.order)
        self.y = _gathered(checked_labels(parts.y, n_rows), self.order)
        self.weight = _gathered(checked_weight(parts.weight, n_rows), self.order)
        self.query_weight = query_weights(query_weight, self.qids)
        self.feature_names = checked_names(feature_names, n_features) or parts.feature_names
        self.documents = self.preferences = None
        self._bins: dict[int, BinnedMatrix] = {}

    @classmethod
    def from_chunks(
        cls,
        make_chunks: Callable[[], Iterable[tuple]],
        *,
        max_bins: int = 255,
        like: Dataset | None = None,
        query_weight: Any = None,
    ) -> Dataset:
        """Bin data that comes in chunks, so that its values are never in memory together.

        The result holds bins, not values, as a dataset read from its binned form: it serves for
        training, and for scoring with models trained on it. It has the same bins as a dataset of
        all rows at once. Memory is needed for the bins, a byte for each value, for one chunk, and
        for up to 250,000 rows from which the edges of the bins are learned.

        Parameters
        ----------
        make_chunks : function
            Called twice, without arguments. Each time it gives the same chunks: tuples
            ``(X, y, qid)`` or ``(X, y, qid, weight)`` of consecutive rows, with anything that
            `Dataset` takes. A query may go on in a later chunk.
        max_bins : int
            Most bins of a feature; train with the same number.
        like : Dataset, optional
            Use the bins of this dataset instead, as validation data needs them.
        query_weight : array-like of shape (n_queries,) or mapping, optional
            See `Dataset`.

        Examples
        --------
        >>> import numpy as np
        >>> def make_chunks():
        ...     for query in range(3):
        ...         yield np.eye(4) * query, [0, 1, 0, 2], np.full(4, query)
        >>> Dataset.from_chunks(make_chunks).n_queries
        3
        """
        from rankinite.formats.streaming import ChunkSource, bin_in_pieces

        mapper = None if like is None else like.mapper(max_bins)
        return bin_in_pieces(ChunkSource(make_chunks), max_bins, mapper, query_weight)

    @classmethod
    def _assemble(
        cls,
        *,
        X: np.ndarray | None,
        y: np.ndarray | None,
        offsets: np.ndarray,
        qids: np.ndarray,
        weight: np.ndarray | None,
        query_weight: np.ndarray | None,
        feature_names: list[str] | None,
        order: np.ndarray | None = None,
        documents: np.ndarray | None = None,
        preferences: Preferences | None = None,
        bins: BinnedMatrix | None = None,
    ) -> Dataset:
        """Put parts together that are known to be right: no check, no copy."""
        self = cls.__new__(cls)
        self.X, self.y, self.weight = X, y, weight
        self.offsets, self.qids, self.order = offsets, qids, order
        self.query_weight, self.feature_names = query_weight, feature_names
        self.documents, self.preferences = documents, preferences
        self._bins = {} if bins is None else {bins.mapper.max_bins: bins}
        return self

    @property
    def labels(self) -> np.ndarray:
        """The labels `y`; an error if the dataset has none."""
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
    def n_features(self) -> int:
        """Number of features."""
        if self.X is not None:
            return self.X.shape[1]
        return next(iter(self._bins.values())).n_features

    @property
    def query_sizes(self) -> np.ndarray:
        """Number of documents of each query: ndarray of int64, shape (n_queries,)."""
        return np.diff(self.offsets)

    def __repr__(self) -> str:
        parts = [
            f"{self.n_rows:,} rows",
            f"{self.n_queries:,} queries",
            f"{self.n_features:,} features",
            _describe_labels(self.y),
        ]
        if self.preferences is not None:
            parts.append(f"{self.preferences.n_pairs:,} pairs")
        if self.X is None:
            parts.append(f"binned with max_bins={next(iter(self._bins))}")
        return f"Dataset({', '.join(parts)})"

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
        return _gathered(self._one_per_row(values), self.order)

    def _one_per_row(self, values: Any) -> np.ndarray:
        array = np.asarray(values)
        if array.ndim == 0 or len(array) != self.n_rows:
            raise DataError(
                f"values has shape {array.shape}, but the dataset has {self.n_rows} rows: "
                "pass one value per row"
            )
        return array

    def select_queries(self, indices: Any) -> Dataset:
        """A dataset of the given queries, in the given order.

        Parameters
        ----------
        indices : array-like of int, or of bool of shape (n_queries,)
            Positions in `qids`; one may come several times, as in a bootstrap sample.

        Returns
        -------
        Dataset
            A copy of the rows. Its caller's order is its stored order (`order` is None).
        """
        chosen = self._query_positions(indices)
        sizes = self.query_sizes[chosen]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        rows = ranges(self.offsets[chosen], sizes)
        bins = None
        if self.X is None:
            bins = next(iter(self._bins.values())).select_rows(rows)
        return Dataset._assemble(
            X=_gathered(self.X, rows),
            y=_gathered(self.y, rows),
            offsets=offsets,
            qids=self.qids[chosen],
            weight=_gathered(self.weight, rows),
            query_weight=_gathered(self.query_weight, chosen),
            feature_names=self.feature_names,
            documents=_gathered(self.documents, rows),
            preferences=(
                None
                if self.preferences is None
                else self.preferences.select_queries(chosen, offsets)
            ),
            bins=bins,
        )

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
        self, fractions: Sequence[float] = (0.6, 0.2, 0.2), random_state: int = 0
    ) -> tuple[Dataset, ...]:
        """Cut the queries at random into parts; a query is never cut.

        Parameters
        ----------
        fractions : sequence of float
            Fraction of the queries in each part; what is missing to 1 is left out.
        random_state : int
            Seed of the shuffle.

        Returns
        -------
        tuple of Dataset
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

    def folds(self, n_folds: int = 5, random_state: int = 0) -> Iterator[tuple[Dataset, Dataset]]:
        """Pairs (train, test) for cross-validation: each query is in exactly one test part.

        Parameters
        ----------
        n_folds : int
            At least 2 and at most the number of queries.
        random_state : int
            Seed of the shuffle.
        """
        whole = isinstance(n_folds, (int, np.integer)) and not isinstance(n_folds, bool)
        if not (whole and 2 <= n_folds <= self.n_queries):
            raise ParameterError(
                f"n_folds must lie between 2 and the number of queries ({self.n_queries}), "
                f"got {n_folds!r}"
            )
        shuffled = np.random.default_rng(random_state).permutation(self.n_queries)
        return self._fold_pairs(np.array_split(shuffled, n_folds))

    def _fold_pairs(self, parts: list[np.ndarray]) -> Iterator[tuple[Dataset, Dataset]]:
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
    ) -> Dataset:
        """The same data with preference pairs, from which a ranker can learn instead of labels.

        The pairs may contradict each other, and a pair may come more than once. A pair counts by
        its weight times that of its query; weights of documents do not apply to pairs.

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
        Dataset
            It shares all but the pairs with this one.

        Examples
        --------
        >>> import numpy as np
        >>> data = Dataset(np.eye(3), qid=[7, 7, 7])
        >>> data.with_preferences(preferred=[0, 1, 2], other=[1, 2, 0]).preferences
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

    def binned(self, max_bins: int = 255) -> BinnedMatrix:
        """The features as bins of at most `max_bins` values, computed once per `max_bins`."""
        if max_bins in self._bins:
            return self._bins[max_bins]
        if self.X is None:
            raise DataError(
                f"this dataset was binned with max_bins={next(iter(self._bins))} and holds no "
                f"feature values, so it cannot be binned with max_bins={max_bins}: use the same "
                "number, or the dataset with its features"
            )
        from rankinite.binning import bin_matrix

        self._bins[max_bins] = bin_matrix(self.X, max_bins, self.offsets)
        return self._bins[max_bins]

    def binned_as_saved(self) -> BinnedMatrix:
        """The bins of a dataset that was loaded in its binned form, whatever their number."""
        return next(iter(self._bins.values()))

    def mapper(self, max_bins: int) -> BinMapper:
        """The edges of at most `max_bins` bins; those that there are if there are no values."""
        bins = self.binned_as_saved() if self.X is None else self.binned(max_bins)
        return bins.mapper

    def save(
        self, path: str | PathLike[str], max_bins: int = 255, like: Dataset | None = None
    ) -> None:
        """Write the binned form to one file that `read` maps into memory instead of reading.

        Preferences are kept; the ids of documents, by which more of them could be named, are not.

        Parameters
        ----------
        path : path
            Any name; the form is recognised by its content.
        max_bins : int
            Most bins of a feature.
        like : Dataset, optional
            Use the bins of this dataset, so that a model trained on it can score this one.
        """
        from rankinite.formats.binned_file import save_binned

        save_binned(self, path, max_bins, like)


def _gathered(values: Any, order: np.ndarray | None) -> Any:
    return values if values is None or order is None else values[order]


def _describe_labels(y: np.ndarray | None) -> str:
    if y is None:
        return "no labels"
    labels, counts = np.unique(y, return_counts=True)
    if len(labels) > 6:
        return f"labels {labels[0]:g} to {labels[-1]:g}"
    pairs = zip(labels, counts, strict=True)
    return "labels " + ", ".join(f"{label:g}: {count:,}" for label, count in pairs)
