"""Reading tables, which are Parquet, CSV or TSV, into a dataset."""

from __future__ import annotations

import csv as csv_of_python
import io
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from rankinite.data.dataset import Dataset
from rankinite.data.frames import check_distinct, ids_of, listed, unpack
from rankinite.errors import DataError, RowError
from rankinite.formats.files import first_line, one_line, open_input
from rankinite.formats.kinds import PARQUET, TSV, kind_of
from rankinite.formats.narrowing import some_rows, warn_of_merged
from rankinite.formats.streaming import ArrayPiece, TextIdError

_VALUES_AT_ONCE = 1 << 22
_BYTES_AT_ONCE = 1 << 24
_BYTES_GUESSED_FROM = 1 << 20
_MOST_BYTES = 2**31 - 1


class Roles:
    """Which columns of a table are label, query id, weight and features.

    Parameters
    ----------
    label, qid, weight : str or None
        None: there is no such column.
    features : sequence of str or None
        None: all other columns.
    document : str or None
        Column of the documents' ids, which is read apart from the others by `read_ids`.
    """

    def __init__(
        self,
        label: str | None,
        qid: str | None,
        weight: str | None,
        features: Sequence[str] | None,
        document: str | None = None,
    ) -> None:
        self.label, self.qid, self.weight, self.document = label, qid, weight, document
        self._features = None if features is None else list(features)

    def features(self, columns: Sequence[str]) -> list[str]:
        """The feature columns among `columns`, in the order asked for or in that of the table."""
        if self._features is not None:
            return self._features
        others = {self.label, self.qid, self.weight, self.document}
        return [name for name in columns if name not in others]

    def check(self, columns: Sequence[str], path: Path) -> None:
        """Raise a DataError if a column that is asked for is not there, or is there twice."""
        check_distinct(columns, str(path))
        if self._features is not None:
            check_distinct(self._features, "features=")
        asked = {
            "label": self.label,
            "qid": self.qid,
            "weight": self.weight,
            "document": self.document,
        }
        for parameter, name in asked.items():
            if name is not None and name not in columns:
                hint = ", or label=None if there are no labels" if parameter == "label" else ""
                raise DataError(
                    f"{path} has no column {name!r}: its columns are {listed(columns)}; "
                    f"pass {parameter}= with the name of the right one{hint}"
                )
        if self.label is not None and self.label == self.qid:
            raise DataError(
                f"label= and qid= both name the column {self.qid!r}: pass the right one for each"
            )
        for name in self._features or []:
            if name not in columns:
                raise DataError(
                    f"{path} has no column {name!r}, which features= asks for: its columns are "
                    f"{listed(columns)}"
                )


def read_parquet(path: Path, roles: Roles, dtype: np.dtype | None) -> Dataset:
    """Read the columns that are needed from a Parquet file; None keeps their types."""
    with _parquet_file(path, roles) as (file, columns):
        table = file.read(columns=columns)
    return _to_dataset(table, roles, path, dtype)


def read_csv(
    path: Path, roles: Roles, dtype: np.dtype | None, ids_as_text: bool = False
) -> Dataset:
    """Read a CSV or TSV file with a header line; query ids are numbers if all of them are."""
    from pyarrow import csv

    with _csv_errors(path):
        form = _csv_form(path)
        options = _csv_options(path, roles)
        with open_input(path) as stream:
            table = csv.read_csv(stream, *form, convert_options=options)
    convert = _csv_texts if ids_as_text else _csv_ids
    return _to_dataset(_with_ids(table, roles, convert), roles, path, dtype)


def columns_in(path: Path) -> list[str]:
    """The names of the columns of a table, all of them different."""
    if kind_of(path) == PARQUET:
        import pyarrow.parquet as pq

        with parquet_errors(path), pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
    else:
        with _csv_errors(path):
            names = _csv_schema(path).names
    check_distinct(names, str(path))
    return names


def read_columns(path: Path, choose: Callable[[list[str]], list[str]]) -> Any:
    """Some columns of a table as a pyarrow table; those of CSV and TSV are texts.

    Parameters
    ----------
    path : Path
    choose : function
        Picks the columns among those there are.
    """
    import pyarrow as pa

    chosen = choose(columns_in(path))
    if kind_of(path) == PARQUET:
        import pyarrow.parquet as pq

        with parquet_errors(path), pq.ParquetFile(path) as file:
            return file.read(columns=chosen)
    from pyarrow import csv

    with _csv_errors(path):
        types = {name: pa.string() for name in chosen}
        options = csv.ConvertOptions(column_types=types, include_columns=chosen)
        with open_input(path) as stream:
            return csv.read_csv(stream, *_csv_form(path), convert_options=options)


def read_ids(path: Path, column: str) -> np.ndarray:
    """The documents' ids in a column, one a row: integers if all are, shape (n_rows,)."""
    ids = read_columns(path, lambda _: [column]).column(0)
    try:
        return ids_of(ids if kind_of(path) == PARQUET else _csv_ids(ids), "document", "own")
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def lines_of(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The header of a CSV file and its rows as texts, each with the line where it ends.

    Empty lines are no rows.
    """
    with open_input(path) as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", "replace", newline="")
        rows = csv_of_python.reader(text, delimiter="\t" if kind_of(path) == TSV else ",")
        for cells in rows:
            if cells:
                yield rows.line_num, cells


def line_of(path: Path, row: int) -> int:
    """The line of a CSV file that holds a data row (from 0)."""
    return next(islice(lines_of(path), row + 1, None))[0]


class TableSource:
    """A table in a file, in batches of rows.

    Parameters
    ----------
    path : Path
    roles : Roles
    dtype : dtype or None
        float32 or float64: the type that values are rounded to before they are binned.
    span : (int, int), optional
        Only the rows from this one on and before that one, of a Parquet file.
    """

    may_widen = False

    def __init__(
        self,
        path: Path,
        roles: Roles,
        dtype: np.dtype | None,
        span: tuple[int, int] | None = None,
    ) -> None:
        self.name = str(path)
        self.ids_as_text = False
        self._path, self._roles, self._dtype, self._span = path, roles, dtype, span
        self._looked_at = False

    @abstractmethod
    def _tables(self) -> Iterator[Any]:
        """The rows as pyarrow tables."""

    def pieces(self) -> Iterator[ArrayPiece]:
        """Read the file from its start."""
        for table in self._tables():
            if not self._looked_at:
                self._looked_at = True  # a warning tells it once
                _warn_of_merged(table, self._roles, self._path, self._dtype)
            features, columns = _columns(table, self._roles, self._path, self._dtype)
            try:
                yield ArrayPiece(unpack(features, columns["y"], columns["qid"], columns["weight"]))
            except DataError as error:
                raise type(error)(f"{self._path}: {error}") from error


class ParquetSource(TableSource):
    """A Parquet file."""

    def _tables(self) -> Iterator[Any]:
        import pyarrow as pa

        with _parquet_file(self._path, self._roles) as (file, columns):
            n_rows = max(1, _VALUES_AT_ONCE // len(columns))
            first, last = self._span or (0, file.metadata.num_rows)
            groups, row = _row_groups(file.metadata, first, last)
            for batch in file.iter_batches(n_rows, groups, columns):
                start, row = row, row + len(batch)
                own = slice(max(first - start, 0), max(min(last, row) - start, 0))
                if own.start < own.stop:
                    yield pa.Table.from_batches([batch.slice(own.start, own.stop - own.start)])


def _row_groups(metadata: Any, first: int, last: int) -> tuple[list[int], int]:
    """The row groups that hold some of the rows, and where the first of them begins."""
    sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    starts = np.cumsum([0, *sizes]).tolist()
    groups = [k for k in range(len(sizes)) if starts[k] < last and starts[k + 1] > first]
    return groups, starts[groups[0]] if groups else 0


class CsvSource(TableSource):
    """A CSV or TSV file with a header line, decompressed if need be."""

    def _tables(self) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import csv

        with _csv_errors(self._path):
            form = _csv_form(self._path, _BYTES_AT_ONCE)
            options = _csv_options(self._path, self._roles)
            with open_input(self._path) as stream:
                for batch in csv.open_csv(stream, *form, convert_options=options):
                    yield _with_ids(pa.Table.from_batches([batch]), self._roles, self._ids)

    def _ids(self, column: Any) -> Any:
        import pyarrow as pa

        ids = _csv_ids(column)
        if self.ids_as_text:
            return _csv_texts(column)
        if not pa.types.is_integer(ids.type):
            raise TextIdError
        return ids


@contextmanager
def _parquet_file(path: Path, roles: Roles) -> Iterator[tuple[Any, list[str]]]:
    """An open file, and the columns that are needed from it."""
    import pyarrow.parquet as pq

    with parquet_errors(path), pq.ParquetFile(path) as file:
        columns = file.schema_arrow.names
        roles.check(columns, path)
        yield file, _needed(roles, columns)


@contextmanager
def parquet_errors(path: Path) -> Iterator[None]:
    """Let an error of pyarrow say which file is meant."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path} is not a Parquet file that can be read: {one_line(error)}"
        ) from error


@contextmanager
def _csv_errors(path: Path) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} is not text in UTF-8: convert it, as by iconv -f LATIN1 -t UTF-8"
        ) from error
    except pa.ArrowException as error:
        if "Empty CSV file" in str(error):
            raise DataError(f"{path} has no data rows") from error
        raise RowError(f"{path} is not a CSV file that can be read: {one_line(error)}") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {one_line(error)}") from error


def _csv_form(path: Path, block_size: int = _BYTES_GUESSED_FROM) -> tuple[Any, Any]:
    """How pyarrow is to read: in blocks that hold the header and a row, and cut by what."""
    from pyarrow import csv

    block_size = min(max(block_size, 8 * len(first_line(path))), _MOST_BYTES)
    delimiter = "\t" if kind_of(path) == TSV else ","
    return csv.ReadOptions(block_size=block_size), csv.ParseOptions(delimiter=delimiter)


def _csv_schema(path: Path) -> Any:
    """The columns, with the types that pyarrow guesses from the first rows."""
    from pyarrow import csv

    with open_input(path) as stream:
        return csv.open_csv(stream, *_csv_form(path)).schema


def _csv_options(path: Path, roles: Roles) -> Any:
    from pyarrow import csv

    guessed = _csv_schema(path)
    roles.check(guessed.names, path)
    return csv.ConvertOptions(
        column_types=_csv_types(guessed, roles),
        include_columns=_needed(roles, guessed.names),
    )


def _needed(roles: Roles, columns: Sequence[str]) -> list[str]:
    names = [*roles.features(columns), roles.label, roles.qid, roles.weight]
    return list(dict.fromkeys(name for name in names if name is not None))


def _csv_types(guessed: Any, roles: Roles) -> dict[str, Any]:
    """Types for all numeric columns: pyarrow guesses from the first rows only.

    A column that begins with whole numbers may go on with fractions, and ids that begin with
    numbers may go on with words.
    """
    import pyarrow as pa

    types: dict[str, Any] = {} if roles.qid is None else {roles.qid: pa.string()}
    for name in (roles.label, roles.weight):
        if name is not None:
            types[name] = pa.float64()
    for name in roles.features(guessed.names):
        kind = guessed.field(name).type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind):
            types[name] = pa.float64()
    return types


def _with_ids(table: Any, roles: Roles, convert: Callable[[Any], Any]) -> Any:
    """The table with its query ids converted."""
    if roles.qid is None:
        return table
    position = table.column_names.index(roles.qid)
    return table.set_column(position, roles.qid, convert(table.column(position)))


def _csv_ids(column: Any) -> Any:
    """Ids as integers if all are; an empty cell is no id."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = _csv_texts(column)
    try:
        return pc.cast(column, pa.int64())
    except pa.ArrowInvalid:
        return column


def _csv_texts(column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)


def _to_dataset(table: Any, roles: Roles, path: Path, dtype: np.dtype | None) -> Dataset:
    if table.num_rows == 0:
        raise DataError(f"{path} has no data rows")
    _warn_of_merged(table, roles, path, dtype)
    features, columns = _columns(table, roles, path, dtype)
    if roles.qid is None:
        columns["qid"] = np.zeros(table.num_rows, np.int64)
    try:
        return Dataset(features, **columns)
    except DataError as error:
        raise type(error)(f"{path}: {error}") from error


def _columns(
    table: Any, roles: Roles, path: Path, dtype: np.dtype | None
) -> tuple[Any, dict[str, Any | None]]:
    """The features of a table, and its columns y, qid and weight (None: there is no such)."""
    features = roles.features(table.column_names)
    if not features:
        raise DataError(
            f"{path} has no feature columns: its columns are {listed(table.column_names)}"
        )
    names = {"y": roles.label, "qid": roles.qid, "weight": roles.weight}
    columns = {key: None if name is None else table.column(name) for key, name in names.items()}
    chosen = table.select(features)
    return chosen if dtype is None else _rounded(chosen, dtype), columns


def _warn_of_merged(table: Any, roles: Roles, path: Path, dtype: np.dtype | None) -> None:
    """Warn of columns that float32 is asked for and cannot hold."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if dtype != np.float32 or table.num_rows == 0:
        return
    some = pa.array(some_rows(table.num_rows))
    wide = (pa.float64(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64())
    columns = (
        (f"column {name!r}", pc.cast(table.column(name).take(some), pa.float64(), safe=False))
        for name in roles.features(table.column_names)
        if table.schema.field(name).type in wide
    )
    warn_of_merged(((name, values.to_numpy()) for name, values in columns), str(path), 4)


def _rounded(table: Any, dtype: np.dtype) -> Any:
    """Numbers as `dtype`, column by column, so that no wider matrix is ever made."""
    import pyarrow as pa
    import pyarrow.compute as pc

    target = pa.from_numpy_dtype(dtype)
    for position, field in enumerate(table.schema):
        kind = field.type
        if kind != target and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            column = pc.cast(table.column(position), target, safe=False)
            table = table.set_column(position, field.name, column)
    return table
