"""The dataset: queries whose documents have features, checked once, in one fixed layout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from rankinite.data import frames
from rankinite.data.checks import (
    check_length,
    checked_columns,
    checked_names,
    checked_whole,
    query_weights,
)
from rankinite.data.features import Features, FeatureValues
from rankinite.data.grouping import gathered, group
from rankinite.data.queries import Queries
from rankinite.data.weights import rows_that_count
from rankinite.errors import DataError, ParameterError

_MOST_BINS = 255  # a byte holds a bin, and one more value for "missing"

if TYPE_CHECKING:
    from rankinite.binning import BinMapper, Bins
    from rankinite.distributed import Communicator


class Dataset(Queries):
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
        Weight of each row, finite and not negative; 0 is as good as absent to learners.
    query_weight : array-like of shape (n_queries,) or mapping, optional
        Weight of each query, in order of first appearance, or a mapping from query id to weight.
    feature_names : sequence of str, optional
        Names of the columns of `X`; the frame's own names by default.

    Attributes
    ----------
    features : FeatureValues, FeatureBins or FeatureRows
        The features, by their values or, in binned form, by their bins alone; or as rows of those
        of another dataset.
    X : ndarray of float32 or float64, shape (n_rows, n_features)
        The values of the features; a DataError if there are only bins.
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

    features: Features

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
        if isinstance(X, Queries):
            raise DataError(f"X is a {type(X).__name__}: pass a matrix or frame of features")
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
        offsets, qids, order = group(parts.qid)
        matrix = gathered(parts.X, order)
        labels, weights = checked_columns(parts.y, parts.weight, n_rows, order)
        super().__init__(
            offsets=offsets,
            qids=qids,
            y=labels,
            weight=weights,
            query_weight=query_weights(query_weight, qids),
            order=order,
        )
        names = checked_names(feature_names, n_features) or parts.feature_names
        self.features = FeatureValues(matrix, names)

    @classmethod
    def of(cls, queries: Queries, features: Features) -> Dataset:
        """Queries with features for their rows, which are known to fit: no check, no copy.

        Parameters
        ----------
        queries : Queries
            Of a dataset, its own features are left behind.
        features : FeatureValues, FeatureBins or FeatureRows
            Of the stored rows, in their order.
        """
        self = cls.__new__(cls)
        Queries.__init__(
            self,
            offsets=queries.offsets,
            qids=queries.qids,
            y=queries.y,
            weight=queries.weight,
            query_weight=queries.query_weight,
            order=queries.order,
            documents=queries.documents,
            preferences=queries.preferences,
        )
        self.features = features
        return self

    @classmethod
    def from_chunks(
        cls,
        make_chunks: Callable[[], Iterable[tuple]],
        *,
        max_bins: int | None = None,
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
        max_bins : int, optional
            Most bins of a feature, 255 by default; train with the same number.
        like : Dataset, optional
            Use the bins of this dataset instead, as validation data needs them; `max_bins`, if it
            is given, must be the number of these.
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

        if not callable(make_chunks):
            raise ParameterError(
                "make_chunks must be a function that yields chunks, because it is called twice, "
                f"not a {type(make_chunks).__name__}"
            )
        n_bins, mapper = bins_asked_for(max_bins, like)
        return bin_in_pieces(ChunkSource(make_chunks), n_bins, mapper, query_weight)

    @property
    def X(self) -> np.ndarray:  # noqa: N802 (the feature matrix, as in scikit-learn)
        """The values of the features; a DataError if there are only bins."""
        return self.features.values()

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features, if they have some."""
        return self.features.names

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.features.n_features

    def _sizes(self) -> list[str]:
        return [*super()._sizes(), f"{self.n_features:,} features"]

    def _contents(self) -> list[str]:
        return [*super()._contents(), *self.features.notes()]

    def _take_rows(self, rows: np.ndarray) -> None:
        super()._take_rows(rows)
        self.features = self.features.select_rows(rows)

    def binned(self, max_bins: int = 255, communicator: Communicator | None = None) -> Bins:
        """The features as bins of at most `max_bins` values, computed once per `max_bins`.

        With a `communicator` the bins are those of the data of all workers.
        """
        return self.features.bins(max_bins, lambda: self._sample(communicator), communicator)

    def mapper(self, max_bins: int) -> BinMapper:
        """The edges of at most `max_bins` bins; those that there are if there are no values."""
        return self.features.mapper(max_bins, self._sample)

    def _sample(self, communicator: Communicator | None = None) -> np.ndarray:
        """The rows from which the edges of bins are learned: those of whole queries."""
        from rankinite.binning.sampling import sampled_rows

        counts = rows_that_count(self.weight, self.query_weight, self.query_sizes)
        return sampled_rows(self.qids, self.offsets, counts, communicator)

    def save(
        self, path: str | PathLike[str], max_bins: int | None = None, like: Dataset | None = None
    ) -> None:
        """Write the binned form to one file that `read` maps into memory instead of reading.

        Preferences are kept; the ids of documents, by which more of them could be named, are not.

        Parameters
        ----------
        path : path
            Any name; the form is recognised by its content.
        max_bins : int, optional
            Most bins of a feature; by default 255, or as many as there are if there are only bins.
        like : Dataset, optional
            Use the bins of this dataset, so that a model trained on it can score this one;
            `max_bins`, if it is given, must be the number of these.
        """
        from rankinite.formats.binned_file import save_binned

        n_bins, mapper = bins_asked_for(max_bins, like)
        if max_bins is None and mapper is None:
            n_bins = self.mapper(n_bins).max_bins
        save_binned(self, path, n_bins, like)


def bins_asked_for(max_bins: Any, like: Any) -> tuple[int, BinMapper | None]:
    """The number of bins and, of another dataset, their edges, from what a caller passes.

    Parameters
    ----------
    max_bins : int or None
    like : Dataset or None
    """
    if max_bins is not None:
        max_bins = checked_whole(max_bins, "max_bins", 2, _MOST_BINS)
    if like is None:
        return max_bins or _MOST_BINS, None
    if not isinstance(like, Dataset):
        raise ParameterError(f"like must be a Dataset, not a {type(like).__name__}")
    mapper = like.mapper(_MOST_BINS) if max_bins is None else like.binned(max_bins).mapper
    return mapper.max_bins, mapper
