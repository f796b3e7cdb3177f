"""Whatever holds a table or a column (numpy, scipy.sparse, pandas, polars, pyarrow) as numpy.

This is the only file that knows about the libraries. None of them is imported to recognise its
objects: the module of an object's class says whose it is.
"""

from __future__ import annotations

import copy
import decimal
import numbers
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rankinite.data.feature_labels import feature_labels
from rankinite.data.width import in_gigabytes, memory, usual_width
from rankinite.errors import DataError, RowError

# Rows copied at a time when columns become a C-contiguous matrix: a block of rows stays in cache.
_BLOCK_ROWS = 4096
_NUMERIC_KINDS = "biuf"
# A sparse matrix of fewer values is taken whatever its width, which its maker has set.
_MANY_VALUES = 1 << 27


class Parts(NamedTuple):
    """The arguments of a dataset as numpy arrays, in the caller's row order."""

    X: np.ndarray
    y: np.ndarray | None
    qid: np.ndarray
    weight: np.ndarray | None
    feature_names: list[str] | None


def unpack(X: Any, y: Any, qid: Any, weight: Any) -> Parts:
    """Convert what the caller passed; `y`, `qid`, `weight` may name columns of the frame `X`."""
    given = {"y": y, "qid": qid, "weight": weight}
    frame = columns_of(X)
    names = None
    if frame is None:
        for argument, values in given.items():
            if isinstance(values, str):
                raise DataError(
                    f"{argument} is the column name {values!r}, but X is a {type(X).__name__}, "
                    f"which has no named columns: pass the values of {argument}"
                )
        matrix = _matrix_from_array(X)
    else:
        names, columns = frame
        taken: set[int] = set()
        for argument, values in given.items():
            if isinstance(values, str):
                if values not in names:
                    raise DataError(
                        f"{argument} names the column {values!r}, which X does not have; "
                        f"it has {listed(names)}"
                    )
                position = names.index(values)
                given[argument] = columns[position]
                taken.add(position)
        kept = [j for j in range(len(names)) if j not in taken]
        names = [names[j] for j in kept]
        matrix = _matrix_from_columns(names, [columns[j] for j in kept], len(X))
    return Parts(
        X=matrix,
        y=None if given["y"] is None else numbers_of(given["y"], "y"),
        qid=ids_of(given["qid"]),
        weight=None if given["weight"] is None else numbers_of(given["weight"], "weight"),
        feature_names=names,
    )


def features_of(X: Any, known: Sequence[str] | None = None) -> tuple[np.ndarray, list[str] | None]:
    """Convert a matrix or frame that holds features; names where the frame has them.

    Parameters
    ----------
    X : matrix or frame
    known : sequence of str, optional
        The features that are wanted of a frame, wherever their columns stand; all by default.
    """
    names = names_of(X)
    if names is None:
        return _matrix_from_array(X), None
    places = None if known is None or names == known else _places(names, known)
    plain = _plain_floats(X)
    if plain is not None:
        return (plain if places is None else plain.take(places, axis=1)), list(known or names)
    if places is not None:
        names = [names[j] for j in places]
        X = X.iloc[:, places] if _library(X) == "pandas" else X.select(names)
    found = columns_of(X)
    assert found is not None
    return _matrix_from_columns(names, found[1], len(X)), names


def _places(names: list[str], known: Sequence[str]) -> list[int]:
    """Where the columns stand that are called so."""
    place = {name: j for j, name in enumerate(names)}
    missing = [name for name in known if name not in place]
    if missing:
        raise DataError(
            f"the data has no column {listed(missing)}, which the model was trained on: its "
            f"columns are {listed(names)}"
        )
    return [place[name] for name in known]


def _plain_floats(X: Any) -> np.ndarray | None:
    """A small pandas frame that is floats, or whole numbers beside them, at once; else None.

    Column by column takes a hundred times as long; of large frames it is done so to save memory.
    """
    if _library(X) != "pandas" or len(X) > _BLOCK_ROWS:
        return None
    values = X.to_numpy()
    return np.ascontiguousarray(values) if values.dtype in (np.float32, np.float64) else None


def listed(names: Sequence[str], most: int = 20) -> str:
    """Names for a message: all of them, or the first few and how many there are."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} in all)"


def numbers_of(values: Any, what: str) -> np.ndarray:
    """Convert a column of numbers to float64; null becomes NaN.

    Returns
    -------
    ndarray of float64, shape (n,)
    """
    column = _numeric(column_of(values, what), what)
    return np.ascontiguousarray(column, dtype=np.float64)


def column_of(values: Any, what: str) -> np.ndarray:
    """Convert a column to an array in which distinct values stay distinct; null may be None."""
    array = _plain_array(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"{what} must be one-dimensional, but it has shape {array.shape}")
    return array


def ids_of(values: Any, what: str = "qid", owner: str = "query") -> np.ndarray:
    """Convert ids of any type to an array in which distinct ids stay distinct.

    Parameters
    ----------
    values : array-like, shape (n,)
    what, owner : str
        What is converted, and whose id it is, for messages.

    Returns
    -------
    ndarray, shape (n,)
        Of an integer, float, string, bytes or object type.

    Raises
    ------
    DataError
        If an id is missing (None, NaN, null), or the ids are not one column.
    """
    array = column_of(values, what)
    if array.dtype.kind == "f":
        missing = np.isnan(array)
    elif array.dtype.kind in "mM":
        missing = np.isnat(array)
    elif array.dtype.kind == "O":
        missing = np.fromiter(map(_is_missing, array), dtype=bool, count=len(array))
    else:
        return array
    if missing.any():
        rows = np.flatnonzero(missing)
        raise RowError(
            f"{what} is missing in row {rows[0]} (rows without a {what}: {len(rows)}): "
            f"give every row the id of its {owner}"
        )
    return array


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _library(obj: Any) -> str:
    return type(obj).__module__.partition(".")[0]


def names_of(X: Any) -> list[str] | None:
    """Names of the columns of a pandas, polars or pyarrow table; None if X is none of them."""
    library, kind = _library(X), type(X).__name__
    if library == "pandas" and hasattr(X, "iloc") and hasattr(X, "columns"):
        names = list(map(str, X.columns.tolist()))  # an Index is slow to go through
    elif library == "polars" and kind == "DataFrame":
        names = list(X.columns)
    elif library == "pyarrow" and kind in ("Table", "RecordBatch"):
        names = list(X.schema.names)
    else:
        return None
    check_distinct(names, f"the {kind}")
    return names


def columns_of(X: Any) -> tuple[list[str], list[Any]] | None:
    """Names and columns of a pandas, polars or pyarrow table; None if X is none of them."""
    names = names_of(X)
    if names is None:
        return None
    if _library(X) == "pandas":
        return names, [X.iloc[:, j] for j in range(X.shape[1])]
    if _library(X) == "polars":
        return names, X.get_columns()
    return names, [X.column(j) for j in range(X.num_columns)]


def check_distinct(names: Sequence[str], what: str) -> None:
    """Raise a DataError if two columns of a table have one name."""
    if len(set(names)) < len(names):
        twice = next(name for j, name in enumerate(names) if name in names[:j])
        raise DataError(
            f"{what} has more than one column {twice!r}: give every column a name of its own"
        )


def _plain_array(values: Any) -> np.ndarray:
    """One column, or a nested sequence, as a numpy array; null becomes NaN or None."""
    library = _library(values)
    if library == "polars" and hasattr(values, "to_arrow"):
        values = values.to_arrow()
        library = "pyarrow"
    if library == "pandas" and hasattr(values, "dtype"):
        if isinstance(values.dtype, np.dtype):
            return values.to_numpy()
        return values.to_numpy(dtype=object, na_value=None)
    if library == "pyarrow":
        return _array_from_arrow(values)
    if isinstance(values, np.ma.MaskedArray):
        plain = values.data.astype(object)
        plain[np.ma.getmaskarray(values)] = None
        return plain
    try:
        if isinstance(values, list | tuple):
            return _array_from_sequence(values)
        return np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise DataError(f"a {type(values).__name__} is not an array: {error}") from error


def _array_from_arrow(values: Any) -> np.ndarray:
    import pyarrow as pa

    if isinstance(values, pa.Table):
        values = values.column(0) if values.num_columns == 1 else values
    if hasattr(values, "combine_chunks") and not isinstance(values, pa.Table):
        values = values.combine_chunks()
    if isinstance(values, pa.ChunkedArray):  # no chunk at all
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([])
    if isinstance(values, pa.Array):
        if values.null_count and not pa.types.is_floating(values.type):
            # As objects, so that integers beside a null stay the integers they are.
            return _array_from_sequence(values.to_pylist())
        return values.to_numpy(zero_copy_only=False)
    return np.asarray(values)


def _array_from_sequence(values: Sequence[Any]) -> np.ndarray:
    """A list as numpy would convert it, but never by turning numbers into strings."""
    kinds = set(map(type, values))
    if kinds and all(issubclass(kind, numbers.Number | np.number) for kind in kinds):
        array = np.asarray(values)
        # Integers beyond uint64 become objects; mixed int64/uint64 would become rounded floats.
        if array.dtype.kind in "biuO" or any(issubclass(k, float | np.floating) for k in kinds):
            return array
    elif not any(issubclass(kind, str | bytes | type(None)) for kind in kinds):
        return np.asarray(values)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _matrix_from_array(X: Any) -> np.ndarray:
    """A numpy array, a sparse matrix or a nested list as float32 or float64, C-contiguous."""
    if _library(X) == "scipy" and hasattr(X, "toarray"):
        _check_sparse(X)
        _check_room(X)
        X = X.toarray()
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(_float_type(X.dtype)), np.nan)
    try:
        array = np.asarray(X)
    except ValueError as error:  # rows of different lengths
        raise DataError(f"X is not a matrix: {error}") from error
    if array.ndim != 2:
        raise DataError(
            f"X must have two dimensions (rows, features), but this {type(X).__name__} has shape "
            f"{array.shape}"
        )
    if array.dtype.kind == "O":
        columns = [array[:, j] for j in range(array.shape[1])]
        names = feature_labels(None, array.shape[1])
        return _matrix_from_columns(names, columns, array.shape[0])
    if array.dtype.kind not in _NUMERIC_KINDS:
        raise DataError(f"X must hold numbers, but its type is {array.dtype}")
    return np.ascontiguousarray(array, dtype=_float_type(array.dtype))


def _check_sparse(X: Any) -> None:
    """Refuse a damaged sparse matrix: scipy trusts indices, and a wrong one ends the process."""
    try:
        if X.format in ("csr", "csc", "bsr"):
            copy.copy(X).check_format(full_check=True)  # it changes what it checks: so a copy
            return
        table = X.tocoo()
        sizes = zip((table.row, table.col), table.shape, strict=True)
        inside = all(((at >= 0) & (at < size)).all() for at, size in sizes)
        if not inside or not len(table.row) == len(table.col) == len(table.data):
            raise ValueError("an index lies outside its shape")
    except (ValueError, IndexError, AttributeError, TypeError) as error:
        raise DataError(f"X is a sparse matrix that is damaged: {error}") from error


def _check_room(X: Any) -> None:
    """Refuse a sparse matrix so wide that one wrong column alone can be the reason."""
    n_rows, width = X.shape
    itemsize = max(X.dtype.itemsize, 4)
    taken = in_gigabytes(n_rows * width, itemsize)
    if n_rows * width >= _MANY_VALUES and X.nnz < n_rows * width // 16:
        used = np.unique(X.tocoo().col)
        usual = usual_width(used, width)
        if usual is not None:
            raise DataError(
                f"X has {width} columns, and nine tenths of those that hold a value are among the "
                f"first {usual}: all of them would take {taken}, so pass X[:, :n] with the n "
                "columns that are features"
            )
    if n_rows * width * itemsize > memory():
        raise DataError(
            f"X of shape {X.shape} would take {taken}, more than there is memory: pass fewer "
            "columns or rows"
        )


def _matrix_from_columns(names: list[str], columns: list[Any], n_rows: int) -> np.ndarray:
    """Columns side by side, in float32 if that holds each of them exactly, else in float64."""
    arrays = [_feature_column(column, name) for name, column in zip(names, columns, strict=True)]
    narrow = all(array.dtype == np.float32 for array in arrays)
    matrix = np.empty((n_rows, len(arrays)), dtype=np.float32 if narrow else np.float64)
    for start in range(0, n_rows, _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        for j, array in enumerate(arrays):
            matrix[rows, j] = array[rows]
    return matrix


def _feature_column(column: Any, name: str) -> np.ndarray:
    what = f"feature column {name!r}"
    library = _library(column)
    if library == "polars":
        return _feature_from_arrow(column.to_arrow(), what, column.dtype)
    if library == "pyarrow":
        return _feature_from_arrow(column, what, column.type)
    if library == "pandas" and not isinstance(column.dtype, np.dtype):
        return _feature_from_extension(column, what)
    return _numeric(column if isinstance(column, np.ndarray) else column.to_numpy(), what)


def _feature_from_arrow(column: Any, what: str, known_as: Any) -> np.ndarray:
    """An arrow column; `known_as` is its type in the caller's library."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_floating(kind) or pa.types.is_integer(kind):
        target = _float_type(np.dtype(kind.to_pandas_dtype()))
    elif pa.types.is_decimal(kind) or pa.types.is_null(kind):
        target = np.dtype(np.float64)
    else:
        raise _not_numeric(what, known_as)
    # The cast comes first: nulls of a float column become NaN, those of an integer one objects.
    floats = pc.cast(column, pa.from_numpy_dtype(target), safe=False)
    if isinstance(floats, pa.ChunkedArray):
        return floats.to_numpy()
    return floats.to_numpy(zero_copy_only=False)


def _feature_from_extension(column: Any, what: str) -> np.ndarray:
    """A pandas column of a nullable, sparse or arrow-backed type."""
    kind = column.dtype
    if kind.kind not in _NUMERIC_KINDS:
        raise _not_numeric(what, kind)
    inner = getattr(kind, "numpy_dtype", getattr(kind, "subtype", np.dtype(np.float64)))
    return column.to_numpy(dtype=_float_type(inner), na_value=np.nan)


def _numeric(array: np.ndarray, what: str) -> np.ndarray:
    """A numpy column as float32 or float64; objects must be numbers or None, never strings."""
    if array.dtype.kind == "O":
        for kind in set(map(type, array)):
            number = issubclass(kind, numbers.Real | np.number | np.bool_ | decimal.Decimal)
            if not (number or kind is type(None) or kind.__name__ == "NAType"):
                raise _not_numeric(what, kind.__name__)
        missing = np.fromiter(map(_is_missing, array), dtype=bool, count=len(array))
        try:
            return np.where(missing, np.nan, array).astype(np.float64)
        except (OverflowError, ValueError) as error:
            raise DataError(f"{what} has a number that is none of 64 bits: {error}") from error
    if array.dtype.kind not in _NUMERIC_KINDS:
        raise _not_numeric(what, array.dtype)
    return array.astype(_float_type(array.dtype), copy=False)


def _not_numeric(what: str, kind: Any) -> RowError:
    return RowError(f"{what} has the type {kind}: convert it to numbers or leave it out")


def _float_type(kind: np.dtype) -> np.dtype:
    """float32 where it holds every value of `kind` exactly, else float64."""
    return np.dtype(np.float32 if np.can_cast(kind, np.float32) else np.float64)
