"""A worker's share of files: it reads only that, and has whole queries.

Of plain text it reads a range of bytes, and of Parquet a range of rows. Files are dealt out by
their sizes, and a border moves on to where the next query begins: both its neighbours look for
that place in the file, and find the same. So the rows of a query must lie together. What cannot be
entered in the middle, CSV and what is compressed, every worker goes through, and keeps the rows of
its queries, which a hash of the id tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankinite.binning.sampling import query_keys
from rankinite.data.dataset import Dataset
from rankinite.data.grouping import runs
from rankinite.distributed import Communicator, everywhere, on_any, share_of, total
from rankinite.errors import DataError
from rankinite.formats.streaming import Part, TextIdError

# First and last byte, or row, of a part of a file; the last is no longer in it.
Span = tuple[int, int]

_QUERY = re.compile(rb"\sqid:(\S+)")


def spans_of(sizes: list[int], communicator: Communicator) -> list[Span]:
    """This worker's bytes of each of some files, of which all workers have equally many."""
    first, last = share_of(sum(sizes), communicator.rank, communicator.size)
    starts = np.cumsum([0, *sizes]).tolist()
    return [
        (min(max(first, start), end) - start, min(max(last, start), end) - start)
        for start, end in pairwise(starts)
    ]


def queries_in_text(path: Path, span: Span) -> Span:
    """The bytes of whole queries of SVMlight text, with the borders moved on."""
    return _next_query_in_text(path, span[0]), _next_query_in_text(path, span[1])


def _next_query_in_text(path: Path, position: int) -> int:
    """Where the next query after that of the first line from a position on begins.

    The very start of the file is where the first one does, and the end where none does.
    """
    size = path.stat().st_size
    if position <= 0 or position >= size:
        return min(max(position, 0), size)
    with path.open("rb") as file:
        file.seek(position - 1)
        file.readline()
        first = None
        while True:
            start = file.tell()
            line = file.readline()
            if not line:
                return size
            found = _QUERY.search(line.partition(b"#")[0])
            if found is None:
                continue
            if first is None:
                first = found[1]
            elif found[1] != first:
                return start


def queries_in_parquet(path: Path, qid: str, span: Span) -> Span:
    """The rows of whole queries of a Parquet file that stand for a span of its bytes."""
    import pyarrow.parquet as pq

    size = path.stat().st_size
    with pq.ParquetFile(path) as file:
        n_rows = file.metadata.num_rows
        first, last = (_next_query_in_rows(file, qid, n_rows * at // size) for at in span)
    return first, last


def _next_query_in_rows(file: Any, qid: str, row: int) -> int:
    """As `_next_query_in_text`, in rows."""
    n_rows = file.metadata.num_rows
    if row <= 0 or row >= n_rows:
        return min(max(row, 0), n_rows)
    start, first = 0, None
    for group in range(file.metadata.num_row_groups):
        end = start + file.metadata.row_group(group).num_rows
        if end > row:
            column = file.read_row_group(group, columns=[qid]).column(0)
            ids = column.slice(max(row - start, 0)).to_pylist()
            first = ids[0] if first is None else first
            other = next((k for k, each in enumerate(ids) if each != first), None)
            if other is not None:
                return max(row, start) + other
        start = end
    return n_rows


class OwnQueries:
    """A source of which every worker goes through all, and keeps the rows of its queries.

    Parameters
    ----------
    source : Source
    communicator : Communicator
    """

    def __init__(self, source: Any, communicator: Communicator) -> None:
        self._source, self._communicator = source, communicator
        self.name, self.may_widen = source.name, source.may_widen

    @property
    def ids_as_text(self) -> bool:
        """Whether query ids must be given as text."""
        return self._source.ids_as_text

    @ids_as_text.setter
    def ids_as_text(self, as_text: bool) -> None:
        self._source.ids_as_text = as_text

    @property
    def largest_index(self) -> int:
        """Of the features of SVMlight text that were seen."""
        return getattr(self._source, "largest_index", 0)

    @largest_index.setter
    def largest_index(self, index: int) -> None:
        self._source.largest_index = index

    def pieces(self) -> Iterator[_OwnRows]:
        """Go through the source."""
        for piece in self._source.pieces():
            yield _OwnRows(piece, self._communicator)


class _OwnRows:
    """The rows of a piece that are this worker's."""

    def __init__(self, piece: Any, communicator: Communicator) -> None:
        ids = piece.ids()
        starts, sizes = runs(ids)
        self._piece, self._ids = piece, ids
        self._mine = np.repeat(is_own(ids[starts], communicator), sizes)
        self._rows = np.flatnonzero(self._mine)
        self.n_rows, self.dtype = len(self._rows), piece.dtype
        self.feature_names = piece.feature_names
        self.weight = None if piece.weight is None else piece.weight[self._rows]

    def ids(self) -> np.ndarray:
        """The query id of every row."""
        return self._ids[self._rows]

    def some_features(self, rows: np.ndarray) -> np.ndarray:
        """The features of the given rows."""
        return self._piece.some_features(self._rows[rows])

    def parts(self) -> Iterator[Part]:
        """All rows, a few at a time."""
        first = 0
        for part in self._piece.parts():
            mine = self._mine[first : first + len(part.X)]
            first += len(part.X)
            columns = (None if values is None else values[mine] for values in (part.y, part.weight))
            yield Part(part.X[mine], *columns)


def is_own(qids: np.ndarray, communicator: Communicator) -> np.ndarray:
    """Which queries are this worker's, by a hash of their ids: bool, shape (n_queries,)."""
    return query_keys(qids) % np.uint64(communicator.size) == communicator.rank


def own_queries(dataset: Dataset, communicator: Communicator) -> Dataset | None:
    """This worker's queries of a dataset that all have; None if there are none."""
    mine = is_own(dataset.qids, communicator)
    return dataset.select_queries(mine) if mine.any() else None


def values_in_pieces(source: Any, communicator: Communicator) -> Dataset | None:
    """This worker's rows with their values; None if it has none.

    Query ids are of one kind, and SVMlight text of one width, on all workers.
    """
    rows = None
    with suppress(TextIdError):
        rows = _rows_of(source)
    if on_any(rows is None, communicator):
        source.ids_as_text = True
        rows = _rows_of(source)
    assert rows is not None
    n_rows = sum(len(part.X) for part in rows.parts)
    if total(n_rows, communicator) == 0:
        raise everywhere(DataError(f"{source.name} has no data rows"))
    width = max((part.X.shape[1] for part in rows.parts), default=0)
    if source.may_widen:
        width = int(communicator.max(np.array([width]))[0])
    if n_rows == 0:
        return None
    X = np.zeros((n_rows, width), np.result_type(*(part.X.dtype for part in rows.parts)))
    first = 0
    for part in rows.parts:
        X[first : first + len(part.X), : part.X.shape[1]] = part.X
        first += len(part.X)
    return Dataset(
        X,
        _column([part.y for part in rows.parts]),
        qid=np.concatenate(rows.ids),
        weight=_column([part.weight for part in rows.parts]),
        feature_names=rows.names,
    )


class _Rows(NamedTuple):
    """What was read piece by piece."""

    ids: list[np.ndarray]
    parts: list[Part]
    names: list[str] | None


def _rows_of(source: Any) -> _Rows:
    ids, parts, names = [], [], None
    for piece in source.pieces():
        if piece.n_rows:
            ids.append(piece.ids())
            parts.extend(piece.parts())
            names = piece.feature_names
    return _Rows(ids, parts, names)


def _column(parts: list[np.ndarray | None]) -> np.ndarray | None:
    known = [values for values in parts if values is not None]
    return np.concatenate(known) if known else None
