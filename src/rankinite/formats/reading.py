"""Reading a dataset from a file, whatever its format."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from rankinite.binning import BinMapper
from rankinite.data.dataset import Dataset
from rankinite.errors import DataError, ParameterError, RankiniteWarning
from rankinite.formats import tables
from rankinite.formats.array_file import is_array_file
from rankinite.formats.binned_file import load_binned
from rankinite.formats.files import check_readable
from rankinite.formats.streaming import bin_in_pieces
from rankinite.formats.svmlight import no_features, read_svmlight
from rankinite.formats.svmlight_stream import SvmlightSource


def read(
    path: str | PathLike[str],
    *,
    label: str | None = "label",
    qid: str | None = "qid",
    weight: str | None = None,
    features: Sequence[str] | None = None,
    document: str | None = None,
    n_features: int | None = None,
    dtype: Any = "float32",
    max_bins: int | None = None,
    like: Dataset | None = None,
) -> Dataset:
    """Read a dataset.

    With `max_bins` or `like` the values are binned as they are read: the dataset holds bins, not
    values, as one that was saved in binned form, and takes a byte a value. All values are never in
    memory together.

    A dataset that was saved in binned form is recognised by its content; ``.parquet`` and
    ``.csv`` (also ``.csv.gz``, ``.csv.zst``) by their names; everything else is SVMlight / LETOR
    text, ``label qid:ID index:value ... # comment``, decompressed if it ends in ``.gz`` or
    ``.zst``.

    Parameters
    ----------
    path : path
    label, qid, weight : str
        Columns of a Parquet or CSV file; ``label=None`` if it has no labels, ``qid=None`` if its
        rows are to be scored only: then all are one query.
    features : sequence of str, optional
        Feature columns of a Parquet or CSV file; by default all the others.
    document : str, optional
        Column of a Parquet or CSV file with an id for each document, by which preference pairs
        name it (`Dataset.with_preferences`).
    n_features : int, optional
        Number of features of SVMlight text; by default the largest index in the file. Give it
        when a file may lack the last features that another file has.
    dtype : {"float32", "float64"}
        Type of the feature values in memory, or to which they are rounded before they are binned.
    max_bins : int, optional
        Most bins of a feature; train with the same number.
    like : Dataset, optional
        Use the bins of this dataset, as validation data needs them.

    Returns
    -------
    Dataset
    """
    place = Path(path)
    kind = _checked_dtype(dtype)
    if n_features is not None and (isinstance(n_features, bool) or n_features < 1):
        raise ParameterError(f"n_features must be a positive integer or None, got {n_features!r}")
    check_readable(place)
    if document is not None and tables.kind_of(place) is None:
        raise ParameterError(
            f"document={document!r} names a column, and {place} has none: "
            "leave it out, and name documents by their rows"
        )
    if is_array_file(place):
        return load_binned(place)
    mapper = None if like is None else like.mapper(255 if max_bins is None else max_bins)
    binning = None if max_bins is None and like is None else (max_bins or 255, mapper)
    if tables.kind_of(place) is None:
        if binning is None:
            return read_svmlight(place, n_features, kind)
        return _bin_text(place, n_features, kind, *binning)
    roles = tables.Roles(label, qid, weight, features, document)
    dataset = _read_table(place, roles, kind, binning)
    if document is not None:
        dataset.documents = dataset.in_stored_order(tables.read_ids(place, document))
    return dataset


def _read_table(
    path: Path,
    roles: tables.Roles,
    dtype: np.dtype,
    binning: tuple[int, BinMapper | None] | None,
) -> Dataset:
    is_parquet = tables.kind_of(path) == "parquet"
    if binning is None:
        return (tables.read_parquet if is_parquet else tables.read_csv)(path, roles, dtype)
    source = (tables.ParquetSource if is_parquet else tables.CsvSource)(path, roles, dtype)
    return bin_in_pieces(source, *binning)


def _bin_text(
    path: Path, n_features: int | None, dtype: np.dtype, max_bins: int, mapper: BinMapper | None
) -> Dataset:
    if mapper is not None:
        n_features = mapper.n_features
    source = SvmlightSource(path, n_features, dtype)
    dataset = bin_in_pieces(source, max_bins, mapper)
    if dataset.n_features == 0:
        raise DataError(no_features(str(path)))
    if mapper is not None and source.largest_index < mapper.n_features:
        warnings.warn(
            f"{path} has values for the features 1 to {source.largest_index} only, and there are "
            f"{mapper.n_features} in the data whose bins it takes: the others count as 0",
            RankiniteWarning,
            stacklevel=3,  # the caller of read
        )
    return dataset


def _checked_dtype(dtype: Any) -> np.dtype:
    try:
        kind = np.dtype(dtype)
    except TypeError:
        kind = np.dtype(object)
    if kind not in (np.float32, np.float64):
        raise ParameterError(f"dtype must be 'float32' or 'float64', got {dtype!r}")
    return kind
