"""What callers pass, as the partitions of Dask collections; and one partition as a dataset."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import dask
import dask.array as da
import dask.dataframe as dd
from dask.delayed import Delayed

from rankinite.dask.failures import Failure
from rankinite.data import Dataset
from rankinite.errors import DataError, ParameterError, RankiniteError, RankiniteWarning


class Table(NamedTuple):
    """Rows in partitions.

    Attributes
    ----------
    name : str
        What messages call it.
    blocks : list of tuples
        X, y, qid and weight of each partition.
    """

    name: str
    blocks: list[tuple[Any, Any, Any, Any]]

    def parts(self) -> list[Delayed]:
        """Of each partition a Dataset, None without rows, or a Failure; each time new tasks.

        Dask would remember of the old ones which workers they were meant for.
        """
        make = dask.delayed(as_part, pure=False)
        return [make(*block, number) for number, block in enumerate(self.blocks)]


def table(X: Any, y: Any, qid: Any, weight: Any, name: str) -> Table:
    """The partitions of the rows that a caller passed.

    Parameters
    ----------
    X : Dask array or data frame
    y, qid, weight : Dask array or series like X, name of a column of the frame X, or None
    name : str
        What messages call the data.
    """
    if qid is None:
        raise DataError(
            f"{name} has no qid: pass qid=, a Dask collection with the query of every row, or the "
            "name of the column that holds it"
        )
    if not isinstance(X, da.Array | dd.DataFrame):
        raise ParameterError(
            f"{name} is a {type(X).__name__}, and here it must be a Dask array or data frame: make "
            "one of it (dask.array.from_array, dask.dataframe.from_pandas), or train with "
            "rankinite's own learners"
        )
    if isinstance(X, da.Array) and X.ndim != 2:
        raise DataError(f"X must have two dimensions (rows, features), and it has {X.ndim}")
    given = {"y": y, "qid": qid, "weight": weight}
    lazy = {key: column for key, column in given.items() if dask.is_dask_collection(column)}
    for key, column in given.items():
        if column is not None and key not in lazy and not isinstance(column, str):
            raise ParameterError(
                f"{key} of {name} is a {type(column).__name__}, and must be a Dask collection, or "
                "the name of a column"
            )
    if isinstance(X, da.Array):
        X = X.rechunk({1: -1})
        lazy = {key: _like(X, column) for key, column in lazy.items()}
    blocks = _blocks(X)
    constant = {key: [column] * len(blocks) for key, column in given.items() if key not in lazy}
    of_rows = {**constant, **{key: _blocks(column) for key, column in lazy.items()}}
    for key, parts in of_rows.items():
        if len(parts) != len(blocks):
            raise DataError(
                f"{key} of {name} has {len(parts)} partitions and X has {len(blocks)}: give both "
                "the same, by repartition or rechunk"
            )
    columns = (of_rows[key] for key in ("y", "qid", "weight"))
    return Table(name, list(zip(blocks, *columns, strict=True)))


def tables_of_sets(valid: Any, y: Any, qid: Any, weight: Any) -> dict[str, Table]:
    """The sets that are watched, by name.

    Parameters
    ----------
    valid : Dask data frame, tuple (X, y, qid) or (X, y, qid, weight), mapping of these, or None
        Of a frame, the columns are those of the training data.
    y, qid, weight
        What `fit` was given.
    """
    if valid is None:
        return {}
    sets = valid if isinstance(valid, Mapping) else {"valid": valid}
    return {name: _table_of_set(rows, str(name), y, qid, weight) for name, rows in sets.items()}


def _table_of_set(rows: Any, name: str, y: Any, qid: Any, weight: Any) -> Table:
    what = f"the validation set {name!r}"
    if isinstance(rows, tuple) and len(rows) in (3, 4):
        own = rows[3] if len(rows) == 4 else None
        return table(rows[0], rows[1], rows[2], own, what)
    by_name = all(isinstance(column, str | None) for column in (y, qid, weight))
    if isinstance(rows, dd.DataFrame) and by_name:
        return table(rows, y, qid, weight, what)
    raise ParameterError(
        f"{what} is a {type(rows).__name__}: pass a tuple of Dask collections (X, y, qid), or "
        "(X, y, qid, weight), or a Dask data frame where the training data is one whose label and "
        "query are columns"
    )


def _like(X: da.Array, column: Any) -> Any:
    """A column of an array, in the partitions that the array has."""
    known = isinstance(column, da.Array) and not any(
        math.isnan(size) for each in (X, column) for size in each.chunks[0]
    )
    if not known or column.chunks[0] == X.chunks[0]:
        return column
    if len(column) != len(X):
        raise DataError(f"y, qid or weight has {len(column)} rows, and X has {len(X)}")
    return column.rechunk({0: X.chunks[0]})


def _blocks(collection: Any) -> list[Delayed]:
    if isinstance(collection, da.Array):
        return collection.to_delayed().ravel().tolist()
    return list(collection.to_delayed())


def as_part(X: Any, y: Any, qid: Any, weight: Any, number: int) -> Dataset | Failure | None:
    """A partition as a dataset, in a task of its own."""
    if X.shape[0] == 0:
        return None
    try:
        # That the rows of a query lie apart is nothing to tell: they come from many partitions.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankiniteWarning)
            return Dataset(X, y, qid=qid, weight=weight)
    except RankiniteError as error:
        failure = Failure.of(error)
        return replace(failure, text=f"partition {number}: {failure.text}")
