"""Reading Parquet and CSV into a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankinite.data.dataset import Dataset
from rankinite.data.files import open_input
from rankinite.data.frames import listed
from rankinite.errors import DataError


class Roles:
    """Which columns of a table are label, query id, weight and features.

    Parameters
    ----------
    qid : str
    label, weight : str or None
        None: there is no such column.
    features : sequence of str or None
        None: all other columns.
    """

    def __init__(
        self, label: str | None, qid: str, weight: str | None, features: Sequence[str] | None
    ) -> None:
        self.label, self.qid, self.weight = label, qid, weight
        self._features = None if features is None else list(features)

    def features(self, columns: Sequence[str]) -> list[str]:
        """The feature columns among `columns`, in the order asked for or in that of the table."""
        if self._features is not None:
            return self._features
        others = {self.label, self.qid, self.weight}
        return [name for name in columns if name not in others]

    def check(self, columns: Sequence[str], path: Path) -> None:
        """Raise a DataError if a column that is asked for is not there."""
        asked = {"label": self.label, "qid": self.qid, "weight": self.weight}
        for parameter, name in asked.items():
            if name is not None and name not in columns:
                hint = ", or label=None if there are no labels" if parameter == "label" else ""
                raise DataError(
                    f"{path} has no column {name!r}: its columns are {listed(columns)}; "
                    f"pass {parameter}= with the name of the right one{hint}"
                )
        for name in self._features or []:
            if name not in columns:
                raise DataError(
                    f"{path} has no column {name!r}, which features= asks for: its columns are "
                    f"{listed(columns)}"
                )


def read_parquet(path: Path, roles: Roles, dtype: np.dtype) -> Dataset:
    """Read the columns that are needed from a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            columns = file.schema_arrow.names
            roles.check(columns, path)
            table = file.read(columns=_needed(roles, columns))
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path} is not a Parquet file that can be read: {error}") from error
    return _to_dataset(table, roles, path, dtype)


def read_csv(path: Path, roles: Roles, dtype: np.dtype) -> Dataset:
    """Read a CSV file with a header line, decompressed by its suffix."""
    import pyarrow as pa
    from pyarrow import csv

    try:
        with open_input(path) as stream:
            guessed = csv.open_csv(stream).schema
        roles.check(guessed.names, path)
        options = csv.ConvertOptions(
            column_types=_csv_types(guessed, roles, dtype),
            include_columns=_needed(roles, guessed.names),
        )
        with open_input(path) as stream:
            table = csv.read_csv(stream, convert_options=options)
    except pa.ArrowInvalid as error:
        if "Empty CSV file" in str(error):
            raise DataError(f"{path} has no data rows") from error
        raise DataError(f"{path} is not a CSV file that can be read: {error}") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    position = table.column_names.index(roles.qid)
    table = table.set_column(position, roles.qid, _csv_ids(table.column(position)))
    return _to_dataset(table, roles, path, dtype)


def _needed(roles: Roles, columns: Sequence[str]) -> list[str]:
    names = [*roles.features(columns), roles.label, roles.qid, roles.weight]
    return list(dict.fromkeys(name for name in names if name is not None))


def _csv_types(guessed: Any, roles: Roles, dtype: np.dtype) -> dict[str, Any]:
    """Types for all numeric columns: pyarrow guesses from the first rows only.

    A column that begins with whole numbers may go on with fractions, and ids that begin with
    numbers may go on with words.
    """
    import pyarrow as pa

    types: dict[str, Any] = {roles.qid: pa.string()}
    for name in (roles.label, roles.weight):
        if name is not None:
            types[name] = pa.float64()
    for name in roles.features(guessed.names):
        kind = guessed.field(name).type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind):
            types[name] = pa.from_numpy_dtype(dtype)
    return types


def _csv_ids(column: Any) -> Any:
    """Ids as integers if all are; an empty cell is no id."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
    try:
        return pc.cast(column, pa.int64())
    except pa.ArrowInvalid:
        return column


def _to_dataset(table: Any, roles: Roles, path: Path, dtype: np.dtype) -> Dataset:
    if table.num_rows == 0:
        raise DataError(f"{path} has no data rows")
    features = roles.features(table.column_names)
    if not features:
        raise DataError(f"{path} has no feature columns: its columns are {table.column_names}")

    def column(name: str | None) -> Any:
        return None if name is None else table.column(name)

    try:
        return Dataset(
            _narrowed(table.select(features), dtype),
            column(roles.label),
            qid=column(roles.qid),
            weight=column(roles.weight),
        )
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def _narrowed(table: Any, dtype: np.dtype) -> Any:
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
