"""From pairs as a caller has them, in a file, a frame or arrays, to rows of a dataset."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankinite.data import frames
from rankinite.data.grouping import number_ids
from rankinite.data.preferences import Preferences
from rankinite.errors import DataError
from rankinite.formats import tables
from rankinite.formats.files import as_file, check_readable, checked_path
from rankinite.formats.kinds import NAMES, PARQUET, TABLES, kind_of

if TYPE_CHECKING:
    from rankinite.data.queries import Queries

# The columns of a table of pairs, by their default names; only the first two must be there.
_NEEDED = ("preferred", "other")
_NAMES = (*_NEEDED, "probability", "weight", "query")


class _Given(NamedTuple):
    """The pairs as they were given.

    `columns` has an array for each of `_NAMES` that there is, all of the same length. Ids are
    texts if `as_text`, as CSV has them. `where` says where a pair stands, for messages.
    """

    columns: dict[str, np.ndarray]
    as_text: bool
    where: Callable[[int], str]

    def refuse(self, bad: np.ndarray, tell: Callable[[int], str]) -> None:
        """Raise a DataError that tells of the first bad pair, if there is one."""
        if bad.any():
            pair = int(np.flatnonzero(bad)[0])
            raise DataError(f"{self.where(pair)}: {tell(pair)}")


def bind(dataset: Queries, pairs: Any, columns: Mapping[str, Any]) -> Preferences:
    """Find the documents of the pairs among the rows; see `Queries.with_preferences`.

    Parameters
    ----------
    dataset : Queries or Dataset
        Its `documents` name the documents, or else their rows do, counted from 0.
    pairs : path, frame, Preferences or None
    columns : mapping
        Values or names of columns for each of preferred, other, probability, weight, query.
    """
    if isinstance(pairs, Preferences):
        if not np.array_equal(pairs.query_offsets, dataset.offsets):
            raise DataError(
                "these preferences belong to a dataset with other queries: "
                "pass those that were made for this one"
            )
        return pairs
    if not isinstance(pairs, str | PathLike):
        return _bind(dataset, _from_memory(pairs, columns))
    path = checked_path(pairs, "pairs")
    check_readable(path)
    with as_file(path) as file:
        return _bind(dataset, _from_file(file, columns))


def _bind(dataset: Queries, given: _Given) -> Preferences:
    _check_lengths(given)
    _check_numbers(given)
    queries = _asked_queries(dataset, given)
    ids = dataset.documents
    documents = _Rows(dataset) if ids is None else _Ids(dataset, ids)
    first, other = (documents.find(given, column, queries) for column in _NEEDED)
    _check_pairs(dataset, given, queries, first, other)
    probability, weight = given.columns.get("probability"), given.columns.get("weight")
    return Preferences(dataset.offsets, first, other, probability, weight)


def _check_lengths(given: _Given) -> None:
    n_pairs = len(given.columns["preferred"])
    for name, values in given.columns.items():
        if len(values) != n_pairs:
            raise DataError(
                f"{name} has {len(values)} values, but there are {n_pairs} pairs: "
                "pass one value for each"
            )
    if n_pairs == 0:
        raise DataError("there are no pairs: preferences need at least one")


def _from_file(path: Path, columns: Mapping[str, Any]) -> _Given:
    found: dict[str, str] = {}

    def choose(names: list[str]) -> list[str]:
        found.update(_named(columns, names, str(path)))
        return list(found.values())

    kind = kind_of(path)
    if kind not in TABLES:
        raise DataError(
            f"{path} is no table of pairs, but {NAMES[kind]}: pass a CSV, TSV or Parquet file"
        )
    table = tables.read_columns(path, choose)
    as_text = kind != PARQUET

    def where(pair: int) -> str:
        return f"{path}, line {tables.line_of(path, pair)}" if as_text else f"{path}, row {pair}"

    values = {n: _array(n, table.column(column), as_text, where) for n, column in found.items()}
    beside = {n: _array(n, array, False, where) for n, array in _arrays(columns).items()}
    return _Given(values | beside, as_text, where)


def _from_memory(pairs: Any, columns: Mapping[str, Any]) -> _Given:
    raw = _arrays(columns)
    if pairs is not None:
        frame = frames.columns_of(pairs)
        if frame is None:
            raise DataError(
                "pairs must be a path, a pandas, polars or pyarrow table, or Preferences, not a "
                f"{type(pairs).__name__}: pass arrays as preferred= and other="
            )
        names, in_frame = frame
        found = _named(columns, names, "the table of pairs")
        raw |= {name: in_frame[names.index(column)] for name, column in found.items()}
    for name in _NEEDED:
        if name not in raw:
            raise DataError(
                f"{name} is missing: pass a table of pairs, or arrays as preferred= and other="
            )

    def where(pair: int) -> str:
        return f"pair {pair}"

    return _Given({n: _array(n, v, False, where) for n, v in raw.items()}, False, where)


def _arrays(columns: Mapping[str, Any]) -> dict[str, Any]:
    """What was given as values, not by the name of a column."""
    return {n: v for n, v in columns.items() if v is not None and not isinstance(v, str)}


def _named(columns: Mapping[str, Any], names: list[str], what: str) -> dict[str, str]:
    """The columns of a table that are there or asked for, by what they are."""
    found = {}
    for name in _NAMES:
        column = name if columns[name] is None else columns[name]
        if not isinstance(column, str):
            continue
        if column in names:
            found[name] = column
        elif columns[name] is not None or name in _NEEDED:
            raise DataError(
                f"{what} has no column {column!r}: its columns are {frames.listed(names)}; "
                f"pass {name}= with the name of the right one"
            )
    return found


def _array(name: str, values: Any, as_text: bool, where: Callable[[int], str]) -> np.ndarray:
    if name not in ("probability", "weight"):
        return frames.column_of(values, name)
    if as_text:
        texts = values.to_pylist()
        try:
            return np.array([np.nan if t in (None, "") else float(t) for t in texts], np.float64)
        except ValueError:
            pair = next(i for i, text in enumerate(texts) if not _is_number(text))
            raise DataError(f"{where(pair)}: the {name} {texts[pair]!r} is not a number") from None
    return frames.numbers_of(values, name)


def _is_number(text: str | None) -> bool:
    try:
        float(text or "nan")
    except ValueError:
        return False
    return True


def _check_numbers(given: _Given) -> None:
    probability = given.columns.get("probability")
    if probability is not None:
        given.refuse(
            ~((probability >= 0) & (probability <= 1)),
            lambda pair: f"the probability is {probability[pair]}, and must lie between 0 and 1",
        )
    weight = given.columns.get("weight")
    if weight is not None:
        given.refuse(
            ~((weight >= 0) & np.isfinite(weight)),
            lambda pair: f"the weight is {weight[pair]}, and must be finite and at least 0",
        )


def _asked_queries(dataset: Queries, given: _Given) -> np.ndarray | None:
    """The number of the query that each pair names; None if they name none."""
    asked = given.columns.get("query")
    if asked is None:
        return None
    numbers: dict[Any, int] = {}
    number_ids(dataset.qids, numbers)
    found = _looked_up(asked, numbers, given.as_text)
    given.refuse(found < 0, lambda pair: f"the data has no query {_shown(asked[pair])}")
    return found


class _Rows:
    """Documents that are called by the caller's row numbers, from 0."""

    def __init__(self, dataset: Queries) -> None:
        self._n_rows = dataset.n_rows
        self._stored = np.arange(dataset.n_rows)
        if dataset.order is not None:
            self._stored[dataset.order] = np.arange(dataset.n_rows)

    def find(self, given: _Given, column: str, queries: np.ndarray | None) -> np.ndarray:
        """The stored rows of the documents of a column."""
        asked = given.columns[column]
        if asked.dtype.kind in "iu":
            rows = np.where(asked < self._n_rows, asked, -1).astype(np.int64)
        else:
            whole = [_whole(value) for value in asked.tolist()]
            inside = range(self._n_rows)
            rows = np.array([number if number in inside else -1 for number in whole], np.int64)
        given.refuse(
            rows < 0,
            lambda pair: (
                f"there is no document {_shown(asked[pair])}: documents without ids are called by "
                f"their rows, 0 to {self._n_rows - 1}; pass documents= if these are ids"
            ),
        )
        return self._stored[rows]


class _Ids:
    """Documents that are called by ids of their own, unique within a query."""

    def __init__(self, dataset: Queries, ids: np.ndarray) -> None:
        self._numbers: dict[Any, int] = {}
        number = number_ids(ids, self._numbers)
        self._query = np.repeat(np.arange(dataset.n_queries), dataset.query_sizes)
        self._qids = dataset.qids
        key = self._query * len(self._numbers) + number
        self._order = np.argsort(key, kind="stable")
        self._sorted = key[self._order]
        twice = np.flatnonzero(self._sorted[1:] == self._sorted[:-1])
        if len(twice):
            row = self._order[twice[0]]
            raise DataError(
                f"two documents of query {_shown(dataset.qids[self._query[row]])} have the id "
                f"{_shown(ids[row])}: make the ids unique within a query"
            )
        # For pairs that do not name their query: the only row of an id, or how many there are.
        self._row = np.zeros(len(self._numbers), np.int64)
        self._row[number] = np.arange(dataset.n_rows)
        self._count = np.bincount(number)

    def find(self, given: _Given, column: str, queries: np.ndarray | None) -> np.ndarray:
        """The stored rows of the documents of a column."""
        asked = given.columns[column]
        number = _looked_up(asked, self._numbers, given.as_text)
        given.refuse(number < 0, lambda pair: f"the data has no document {_shown(asked[pair])}")
        if queries is None:
            given.refuse(
                self._count[number] > 1,
                lambda pair: (
                    f"document {_shown(asked[pair])} is in several queries: add the column query"
                ),
            )
            return self._row[number]
        key = queries * len(self._numbers) + number
        place = np.minimum(np.searchsorted(self._sorted, key), len(self._sorted) - 1)
        given.refuse(
            self._sorted[place] != key,
            lambda pair: (
                f"document {_shown(asked[pair])} is not in query "
                f"{_shown(self._qids[queries[pair]])}"
            ),
        )
        return self._order[place]


def _check_pairs(
    dataset: Queries,
    given: _Given,
    queries: np.ndarray | None,
    first: np.ndarray,
    other: np.ndarray,
) -> None:
    """Both documents are in one query, the one that is named if one is, and are two."""
    query_of = np.repeat(np.arange(dataset.n_queries), dataset.query_sizes)

    def name(column: str, pair: int) -> str:
        return f"document {_shown(given.columns[column][pair])}"

    def qid(query: np.ndarray) -> str:
        return _shown(dataset.qids[query])

    given.refuse(
        query_of[first] != query_of[other],
        lambda pair: (
            f"{name('preferred', pair)} is in query {qid(query_of[first[pair]])} and "
            f"{name('other', pair)} in query {qid(query_of[other[pair]])}: the documents of a "
            "pair must be in one query"
        ),
    )
    if queries is not None:
        given.refuse(
            query_of[first] != queries,
            lambda pair: (
                f"{name('preferred', pair)} is in query {qid(query_of[first[pair]])}, not in "
                f"query {qid(queries[pair])}"
            ),
        )
    given.refuse(
        first == other,
        lambda pair: f"{name('preferred', pair)} is compared with itself: name two documents",
    )


def _looked_up(asked: np.ndarray, numbers: dict[Any, int], as_text: bool) -> np.ndarray:
    """The number of each id, −1 for an unknown one: int64 array."""
    values = asked.tolist()
    if as_text and all(type(known) is int for known in numbers):
        values = [_whole(value) for value in values]
    try:
        return np.array([numbers.get(value, -1) for value in values], np.int64)
    except TypeError as error:
        raise DataError(f"the pairs hold a value that cannot be an id: {error}") from error


def _whole(value: Any) -> int | None:
    """A whole number from whatever it is; None for anything else."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if isinstance(value, str) or number == value else None


def _shown(value: Any) -> str:
    return repr(value.item() if isinstance(value, np.generic) else value)
