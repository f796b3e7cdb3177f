"""Data that comes in pieces, straight into bins: its values are never in memory together.

Two passes: the first finds the queries and keeps the rows from which the edges of the bins are
learned, the second bins piece after piece. The result is that of binning all rows at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

import numpy as np

from rankinite._memory import give_back
from rankinite.binning import (
    BinMapper,
    BinnedMatrix,
    Binner,
    Sample,
    check_max_bins,
    empty_blocks,
    mapper_from_sample,
    sampling,
)
from rankinite.data.checks import check_length, checked_columns, query_weights
from rankinite.data.dataset import Dataset
from rankinite.data.features import FeatureBins
from rankinite.data.frames import Parts, numbers_of, unpack
from rankinite.data.grouping import arrange, number_ids, runs
from rankinite.data.queries import Queries
from rankinite.distributed import Communicator, Serial, everywhere, on_any, total
from rankinite.errors import DataError


class Part(NamedTuple):
    """Rows as arrays: X (n, n_features), y and weight (n,) or None."""

    X: np.ndarray
    y: np.ndarray | None
    weight: np.ndarray | None


class Piece(Protocol):
    """Consecutive rows of the data; `weight` has the shape (n_rows,)."""

    n_rows: int
    dtype: np.dtype
    feature_names: list[str] | None
    weight: np.ndarray | None

    def ids(self) -> np.ndarray:
        """The query id of every row; raises TextIdError, see there."""

    def some_features(self, rows: np.ndarray) -> np.ndarray:
        """The features of the given rows, in memory of their own."""

    def parts(self) -> Iterator[Part]:
        """All rows, a few at a time."""


class Source(Protocol):
    """Data that can be gone through several times.

    Attributes
    ----------
    name : str
        What to call it in messages.
    may_widen : bool
        Whether later pieces may have more features; the earlier ones then have 0 there.
    largest_index : int
        How many features were seen, in a source that may widen.
    ids_as_text : bool
        Whether query ids must be given as text.
    """

    name: str
    may_widen: bool
    largest_index: int
    ids_as_text: bool

    def pieces(self) -> Iterator[Any]:
        """Go through the data by a `Piece` at a time, valid until the next one is asked for."""


class TextIdError(Exception):
    """A query id is no integer: the ids of all pieces must be taken as text."""


class ArrayPiece:
    """Rows that are in memory.

    Parameters
    ----------
    arrays : Parts
        With a value for each row in every column.
    """

    def __init__(self, arrays: Parts) -> None:
        self._arrays = arrays
        self.n_rows = len(arrays.X)
        self.dtype = arrays.X.dtype
        self.feature_names = arrays.feature_names
        self.weight = arrays.weight
        for what in ("y", "qid", "weight"):
            values = getattr(arrays, what)
            if values is not None:
                check_length(values, self.n_rows, what)

    def ids(self) -> np.ndarray:
        """The query id of every row."""
        return self._arrays.qid

    def some_features(self, rows: np.ndarray) -> np.ndarray:
        """The features of the given rows."""
        return self._arrays.X[rows]

    def parts(self) -> Iterator[Part]:
        """All rows at once."""
        yield Part(self._arrays.X, self._arrays.y, self._arrays.weight)


class ChunkSource:
    """What a caller's function yields: (X, y, qid) or (X, y, qid, weight)."""

    may_widen = False
    largest_index = 0

    def __init__(self, make_chunks: Callable[[], Iterable[Any]]) -> None:
        self.name = "what make_chunks yields"
        self.ids_as_text = False
        self._make_chunks = make_chunks

    def pieces(self) -> Iterator[ArrayPiece]:
        """Call the function, and go through what it yields."""
        for chunk in self._make_chunks():
            if not isinstance(chunk, tuple) or len(chunk) not in (3, 4):
                raise DataError(
                    "make_chunks must yield tuples (X, y, qid) or (X, y, qid, weight), but it "
                    f"yielded a {type(chunk).__name__}"
                )
            X, y, qid, weight = (*chunk, None)[:4]
            yield ArrayPiece(unpack(X, y, qid, weight))


def bin_in_pieces(
    source: Source,
    max_bins: int,
    mapper: BinMapper | None = None,
    query_weight: Any = None,
    communicator: Communicator | None = None,
) -> Dataset:
    """Read a source into a dataset that holds bins, not values.

    Parameters
    ----------
    source : Source
    max_bins : int
        Most bins of a feature.
    mapper : BinMapper, optional
        Edges that were learned before, to be used instead of the data's own.
    query_weight
        See `Dataset`.
    communicator : Communicator, optional
        Of the workers that read the other rows, whose bins are the same; this one may have none.
    """
    check_max_bins(max_bins)
    communicator = Serial() if communicator is None else communicator
    survey = _survey(source, mapper is None, query_weight, communicator)
    if total(survey.n_rows, communicator) == 0:
        raise everywhere(DataError(f"{source.name} has no data rows"))
    if mapper is None:
        sample = survey.take_sample(communicator)
        if source.may_widen:  # the features that other workers have are 0 here
            source.largest_index = max(source.largest_index, sample.n_features)
        mapper = mapper_from_sample(sample, max_bins, communicator)
        del sample
        give_back()  # its memory is that of the bins now
    offsets, order = arrange(*survey.runs())
    filling = _Filling(source, mapper, survey.n_rows)
    for piece in source.pieces():
        for part in piece.parts():
            filling.add(part)
    filling.agree(communicator)
    binned, y, weight = filling.result(order)
    give_back()  # what the parser had
    qids = survey.qids()
    queries = Queries(
        offsets=offsets,
        qids=qids,
        y=y,
        weight=weight,
        query_weight=query_weights(query_weight, qids),
        order=order,
    )
    return Dataset.of(queries, FeatureBins(binned, survey.feature_names))


def _survey(
    source: Source, with_sample: bool, query_weight: Any, communicator: Communicator
) -> _Survey:
    survey = None
    with suppress(TextIdError):
        survey = _Survey(source, with_sample, query_weight)
    if on_any(survey is None, communicator):
        source.ids_as_text = True
        survey = _Survey(source, with_sample, query_weight)
    assert survey is not None
    return survey


class _Survey:
    """The first pass: queries, and the rows of the sample."""

    def __init__(self, source: Source, with_sample: bool, query_weight: Any) -> None:
        self.n_rows = 0
        self.feature_names: list[str] | None = None
        self._source = source
        self._numbers: dict[Any, int] = {}
        self._new_ids: list[np.ndarray] = []
        self._run_queries: list[np.ndarray] = []
        self._run_sizes: list[np.ndarray] = []
        self._query_weight = query_weight
        # Of every query so far: its key, whether it weighs nothing, and its rows that count.
        self._keys = np.zeros(0, np.uint64)
        self._absent = np.zeros(0, bool)
        self._counted = np.zeros(0, np.int64)
        self._limit = sampling.ANY_KEY
        # Matrices with the key of each row's query.
        self._kept: list[tuple[np.ndarray, np.ndarray]] = []
        self._dtypes: set[np.dtype] = set()
        for piece in source.pieces():
            if piece.n_rows == 0:
                continue
            queries, sizes = self._add_queries(piece.ids())
            self._add_names(piece)
            self._dtypes.add(piece.dtype)
            self.n_rows += piece.n_rows
            if with_sample:
                self._add_to_sample(piece, queries, sizes)

    def runs(self) -> tuple[np.ndarray, np.ndarray]:
        """The query and the number of rows of every run of rows of one query."""
        nothing = np.empty(0, np.int64)
        queries, sizes = (self._run_queries, self._run_sizes)
        return np.concatenate([nothing, *queries]), np.concatenate([nothing, *sizes])

    def qids(self) -> np.ndarray:
        """The ids of the queries."""
        return np.concatenate(self._new_ids) if self._new_ids else np.empty(0, np.int64)

    def take_sample(self, communicator: Communicator) -> Sample:
        """The rows to learn edges from, which are not kept any longer."""
        known = self._keys <= self._limit
        limit = sampling.largest_key_of_all(self._keys[known], self._counted[known], communicator)
        pieces = [(X, np.flatnonzero(keys <= limit)) for X, keys in self._kept]
        self._kept = []
        width = max((X.shape[1] for X, _ in pieces), default=0)
        width = int(communicator.max(np.array([width]))[0])
        # Of a worker without rows the type of the others decides.
        return Sample(pieces, width, np.result_type(np.float32, *self._dtypes))

    def _add_queries(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        starts, sizes = runs(ids)
        n_known = len(self._numbers)
        queries = number_ids(ids[starts], self._numbers)
        numbers, first_runs = np.unique(queries, return_index=True)
        new_ids = ids[starts[first_runs[numbers >= n_known]]]
        if self._new_ids and new_ids.dtype.kind != self._new_ids[0].dtype.kind:
            raise DataError(
                f"{self._source.name} has query ids of type {self._new_ids[0].dtype} and of type "
                f"{new_ids.dtype}: convert them to one type"
            )
        self._new_ids.append(new_ids)
        self._run_queries.append(queries)
        self._run_sizes.append(sizes)
        self._keys = np.append(self._keys, sampling.query_keys(new_ids))
        self._absent = np.append(self._absent, self._without_weight(new_ids, n_known))
        return queries, sizes

    def _without_weight(self, new_ids: np.ndarray, n_known: int) -> np.ndarray:
        """Which of the new queries have a weight of 0; what else is wrong is told at the end."""
        given = self._query_weight
        if given is None:
            return np.zeros(len(new_ids), bool)
        if isinstance(given, Mapping):
            return np.array([given.get(qid, 1) == 0 for qid in new_ids.tolist()], bool)
        weights = numbers_of(given, "query_weight")[n_known : n_known + len(new_ids)]
        return np.pad(weights, (0, len(new_ids) - len(weights)), constant_values=1.0) == 0

    def _add_names(self, piece: Piece) -> None:
        if self.n_rows and piece.feature_names != self.feature_names:
            raise DataError(
                f"{self._source.name} does not have the same feature names everywhere: "
                "give all chunks the same columns"
            )
        self.feature_names = piece.feature_names

    def _add_to_sample(self, piece: Piece, queries: np.ndarray, sizes: np.ndarray) -> None:
        queries_of_rows = np.repeat(queries, sizes)
        counts = ~self._absent[queries_of_rows]
        if piece.weight is not None:
            counts &= piece.weight > 0
        self._counted = np.pad(self._counted, (0, len(self._keys) - len(self._counted)))
        self._counted += np.bincount(queries_of_rows[counts], minlength=len(self._keys))
        known = self._keys <= self._limit
        self._limit = sampling.largest_key(self._keys[known], self._counted[known])
        keys_of_rows = self._keys[queries_of_rows]
        rows = np.flatnonzero(counts & (keys_of_rows <= self._limit))
        X = piece.some_features(rows)
        if self._kept and X.shape[1] != self._kept[0][0].shape[1] and not self._source.may_widen:
            raise DataError(
                f"{self._source.name} has {self._kept[0][0].shape[1]} features at first and "
                f"{X.shape[1]} later: give all chunks the same features"
            )
        self._kept.append((X, keys_of_rows[rows]))
        # Rows that have left the sample are dropped now and then: each time copies the others.
        if sum(len(kept) for _, kept in self._kept) > 1.1 * sampling.SAMPLE_ROWS:
            del X
            for k, (_, kept) in enumerate(self._kept):  # in turn: no second copy of all rows
                chosen = kept <= self._limit
                self._kept[k] = self._kept[k][0][chosen], kept[chosen]


class _Filling:
    """The second pass: bins, labels and weights, row after row."""

    def __init__(self, source: Source, mapper: BinMapper, n_rows: int) -> None:
        self._source = source
        self._binner = Binner(mapper)
        self._blocks = empty_blocks(mapper.n_features, n_rows)
        self._columns: dict[str, np.ndarray] = {}
        self._n_rows, self._filled = n_rows, 0

    def add(self, part: Part) -> None:
        """Take in the next rows."""
        n_new, n_features = part.X.shape
        first, self._filled = self._filled, self._filled + n_new
        if self._filled > self._n_rows:
            raise self._changed()
        mapper = self._binner.mapper
        if n_features > mapper.n_features and self._source.may_widen:
            self._widen(n_features)
        elif n_features != mapper.n_features:
            raise DataError(
                f"{self._source.name} has {n_features} features, but the bins were made for "
                f"{mapper.n_features}"
            )
        self._binner.bin_rows(part.X, self._blocks, first)
        for name, values in (("y", part.y), ("weight", part.weight)):
            if (values is not None) != (name in self._columns) and first > 0:
                raise DataError(
                    f"{self._source.name} has {name} for a part of the rows only: give it for "
                    "all or for none"
                )
            if values is not None:
                if name not in self._columns:
                    self._columns[name] = np.empty(self._n_rows)
                self._columns[name][first : self._filled] = values

    def result(
        self, order: np.ndarray | None
    ) -> tuple[BinnedMatrix, np.ndarray | None, np.ndarray | None]:
        """Bins, labels and weights of all rows, in the given order."""
        if self._filled != self._n_rows:
            raise self._changed()
        try:
            y, weight = checked_columns(
                self._columns.get("y"), self._columns.get("weight"), self._n_rows, order
            )
        except DataError as error:
            raise type(error)(f"{self._source.name}: {error}") from error
        if order is not None:
            for block in self._blocks:  # one at a time: no second copy of all bins
                block[:] = block[order]
        mapper = self._binner.mapper
        return BinnedMatrix(self._blocks, mapper.n_features, mapper), y, weight

    def agree(self, communicator: Communicator) -> None:
        """Have the features that other workers have found in their rows."""
        width = self._binner.mapper.n_features
        widest = int(communicator.max(np.array([width]))[0])
        if widest > width:
            self._widen(widest)

    def _widen(self, n_features: int) -> None:
        """Take in features that all rows so far and the sample lack: they are 0 there."""
        self._binner = Binner(self._binner.mapper.widened(n_features))
        shape = empty_blocks(n_features, 0).shape
        self._blocks.resize((shape[0], self._n_rows, shape[2]), refcheck=False)

    def _changed(self) -> DataError:
        return DataError(
            f"{self._source.name} had {self._n_rows} rows when it was read first and another "
            "number when it was read again: it must not change in between"
        )
