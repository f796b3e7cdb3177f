"""The features of documents: their values, or only the bins that the values fall into.

The classes answer the same questions. What needs values says so to those that have none, in the
sentence that is to be read. `FeatureRows` are rows of the features of another dataset, by number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from rankinite.errors import DataError

# Binning brings the compiler along: it is imported when something is binned.
if TYPE_CHECKING:
    from rankinite.binning import BinMapper, BinnedMatrix, BinnedRows
    from rankinite.distributed import Communicator

NEEDED = (
    "this dataset holds only bins, and feature values are needed here: pass the dataset with its "
    "features"
)


class FeatureValues:
    """Features by their values.

    Parameters
    ----------
    matrix : ndarray of float32 or float64, shape (n_rows, n_features)
        It is not copied.
    names : list of str, optional
        Of the columns.
    """

    has_values = True

    def __init__(self, matrix: np.ndarray, names: list[str] | None = None) -> None:
        self.matrix = matrix
        self.names = names
        self._bins: dict[int, BinnedMatrix] = {}

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.matrix.shape[0]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.matrix.shape[1]

    def values(self, refusal: str = NEEDED) -> np.ndarray:
        """The matrix of values; `refusal` is what bins alone would say."""
        return self.matrix

    def source(self, refusal: str = NEEDED) -> tuple[np.ndarray, np.ndarray | None]:
        """A matrix of values and the rows of it that these are: here all, which is None."""
        return self.matrix, None

    def select_rows(self, rows: np.ndarray) -> FeatureValues:
        """A copy of the given rows, in the given order."""
        return FeatureValues(self.matrix[rows], self.names)

    def select_columns(self, columns: list[int], names: list[str] | None) -> FeatureValues:
        """A copy of the given features, in the given order, by other names."""
        return FeatureValues(self.matrix.take(columns, axis=1), names)

    def bins(
        self,
        max_bins: int,
        sample: Callable[[], np.ndarray],
        communicator: Communicator | None = None,
    ) -> BinnedMatrix:
        """The values in bins of their own, computed once per `max_bins`.

        Parameters
        ----------
        max_bins : int
            Most bins of a feature.
        sample : function
            Gives the rows from which the edges are learned, if they have to be.
        communicator : Communicator, optional
            Of the workers that have other rows: the bins are those of all, and not kept.
        """
        from rankinite.binning import bin_matrix

        if communicator is not None and communicator.size > 1:
            return bin_matrix(self.matrix, max_bins, sample(), communicator)
        if max_bins not in self._bins:
            self._bins[max_bins] = bin_matrix(self.matrix, max_bins, sample())
        return self._bins[max_bins]

    def bins_by(self, mapper: BinMapper, refusal: str) -> BinnedMatrix:
        """The values in given bins; `refusal` is what other bins would say."""
        from rankinite.binning import apply_mapper

        return apply_mapper(self.matrix, mapper)

    def rows_in_bins(
        self, rows: np.ndarray, max_bins: int, communicator: Communicator | None = None
    ) -> BinnedMatrix:
        """All values, in bins whose edges are learned from some rows, which may come repeatedly.

        Those that there are already are used again if they are the same.
        """
        from rankinite.binning import apply_mapper, learn_mapper

        mapper = learn_mapper(self.matrix, max_bins, rows, communicator)
        known = self._bins.get(max_bins)
        if known is not None and known.mapper.equals(mapper):
            return known
        return apply_mapper(self.matrix, mapper)

    def mapper(self, max_bins: int, sample: Callable[[], np.ndarray]) -> BinMapper:
        """The edges of `bins`."""
        return self.bins(max_bins, sample).mapper

    def notes(self) -> list[str]:
        """What there is to say about the features, for people."""
        return []


class FeatureBins:
    """Features by their bins alone, as a dataset in binned form has them.

    Parameters
    ----------
    matrix : BinnedMatrix
        It is not copied.
    names : list of str, optional
        Of the features.
    check : function, optional
        Raises an error if the bins are wrong. They may still be in a file, so it is called when
        they are first used.
    """

    has_values = False

    def __init__(
        self,
        matrix: BinnedMatrix,
        names: list[str] | None = None,
        check: Callable[[BinnedMatrix], None] | None = None,
    ) -> None:
        self._matrix = matrix
        self._check = check
        self.names = names

    @property
    def matrix(self) -> BinnedMatrix:
        """The bins."""
        if self._check is not None:
            self._check(self._matrix)
            self._check = None
        return self._matrix

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._matrix.n_rows

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self._matrix.n_features

    def values(self, refusal: str = NEEDED) -> NoReturn:
        """There are none: a DataError, in the sentence `refusal`."""
        raise DataError(refusal)

    def source(self, refusal: str = NEEDED) -> NoReturn:
        """There are no values: a DataError, in the sentence `refusal`."""
        raise DataError(refusal)

    def select_rows(self, rows: np.ndarray) -> FeatureBins:
        """A copy of the given rows, in the given order."""
        return FeatureBins(self.matrix.select_rows(rows), self.names)

    def select_columns(self, columns: list[int], names: list[str] | None) -> NoReturn:
        """Blocks of bins are not taken apart: a DataError."""
        raise DataError(NEEDED)

    def bins(
        self,
        max_bins: int,
        sample: Callable[[], np.ndarray],
        communicator: Communicator | None = None,
    ) -> BinnedMatrix:
        """The bins, if there are to be as many as there were; no `sample` is needed."""
        known = self._matrix.mapper.max_bins
        if max_bins != known:
            raise DataError(
                f"this dataset was binned with max_bins={known} and holds no feature values, so "
                f"it cannot be binned with max_bins={max_bins}: use the same number, or the "
                "dataset with its features"
            )
        return self.matrix

    def bins_by(self, mapper: BinMapper, refusal: str) -> BinnedMatrix:
        """The bins, if they are the given ones; else a DataError, in the sentence `refusal`."""
        if not self._matrix.mapper.equals(mapper):
            raise DataError(refusal)
        return self.matrix

    def mapper(self, max_bins: int, sample: Callable[[], np.ndarray]) -> BinMapper:
        """The edges of the bins that there are, whatever their number."""
        return self._matrix.mapper

    def notes(self) -> list[str]:
        """What there is to say about the features, for people."""
        return [f"binned with max_bins={self._matrix.mapper.max_bins}"]


class FeatureRows:
    """Rows of other features by their numbers: one may come several times, and none is copied.

    The values are copied out for those that need them next to each other (`values`); trees and nets
    do without (`bins`, `source`).

    Parameters
    ----------
    features : FeatureValues, FeatureBins or FeatureRows
    rows : ndarray of int64, shape (n_rows,)
        Which rows of `features` these are.
    """

    def __init__(self, features: Features, rows: np.ndarray) -> None:
        self.features: FeatureValues | FeatureBins
        self.rows: np.ndarray
        if isinstance(features, FeatureRows):
            self.features, self.rows = features.features, features.rows[rows]
        else:
            self.features, self.rows = features, rows
        self._bins: dict[int, BinnedRows] = {}

    @property
    def has_values(self) -> bool:
        """Whether there are values, and not bins alone."""
        return self.features.has_values

    @property
    def names(self) -> list[str] | None:
        """Of the features."""
        return self.features.names

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.features.n_features

    @property
    def matrix(self) -> np.ndarray | BinnedRows:
        """The values, copied out, or the bins."""
        from rankinite.binning import BinnedRows

        if isinstance(self.features, FeatureBins):
            return BinnedRows(self.features.matrix, self.rows)
        return self.features.matrix[self.rows]

    def values(self, refusal: str = NEEDED) -> np.ndarray:
        """A copy of the values; a DataError, in the sentence `refusal`, if there are only bins."""
        return self.features.values(refusal)[self.rows]

    def source(self, refusal: str = NEEDED) -> tuple[np.ndarray, np.ndarray]:
        """The matrix of values and the rows of it that these are."""
        return self.features.values(refusal), self.rows

    def select_rows(self, rows: np.ndarray) -> FeatureRows:
        """The given rows, in the given order, again by their numbers."""
        return FeatureRows(self.features, self.rows[rows])

    def select_columns(self, columns: list[int], names: list[str] | None) -> FeatureRows:
        """The given features, in the given order, by other names."""
        return FeatureRows(self.features.select_columns(columns, names), self.rows)

    def bins(
        self,
        max_bins: int,
        sample: Callable[[], np.ndarray],
        communicator: Communicator | None = None,
    ) -> BinnedRows:
        """Rows of the bins of the other features.

        The edges are those that a copy of the rows would have: a row counts as often as it comes.
        """
        from rankinite.binning import BinnedRows

        if isinstance(self.features, FeatureBins):
            return BinnedRows(self.features.bins(max_bins, sample), self.rows)
        if communicator is not None and communicator.size > 1:
            shared = self.features.rows_in_bins(self.rows[sample()], max_bins, communicator)
            return BinnedRows(shared, self.rows)
        if max_bins not in self._bins:
            own = self.features.rows_in_bins(self.rows[sample()], max_bins)
            self._bins[max_bins] = BinnedRows(own, self.rows)
        return self._bins[max_bins]

    def bins_by(self, mapper: BinMapper, refusal: str) -> BinnedRows:
        """The rows in given bins; `refusal` is what other bins would say."""
        from rankinite.binning import BinnedRows

        return BinnedRows(self.features.bins_by(mapper, refusal), self.rows)

    def mapper(self, max_bins: int, sample: Callable[[], np.ndarray]) -> BinMapper:
        """The edges of `bins`; those that there are if there are no values."""
        if isinstance(self.features, FeatureBins):
            return self.features.mapper(max_bins, sample)
        return self.bins(max_bins, sample).mapper

    def notes(self) -> list[str]:
        """What there is to say about the features, for people."""
        return [*self.features.notes(), f"rows of {self.features.n_rows:,}"]


Features = FeatureValues | FeatureBins | FeatureRows
