"""Reading a dataset from a file, whatever its format."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from rankinite.data import tables
from rankinite.data.binned_file import is_binned_file, load_binned
from rankinite.data.dataset import Dataset
from rankinite.data.files import check_readable
from rankinite.data.svmlight import read_svmlight
from rankinite.errors import ParameterError


def read(
    path: str | PathLike[str],
    *,
    label: str | None = "label",
    qid: str = "qid",
    weight: str | None = None,
    features: Sequence[str] | None = None,
    n_features: int | None = None,
    dtype: Any = "float32",
) -> Dataset:
    """Read a dataset.

    A dataset that was saved in binned form is recognised by its content; ``.parquet`` and
    ``.csv`` (also ``.csv.gz``, ``.csv.zst``) by their names; everything else is SVMlight / LETOR
    text, ``label qid:ID index:value ... # comment``, decompressed if it ends in ``.gz`` or
    ``.zst``.

    Parameters
    ----------
    path : path
    label, qid, weight : str
        Columns of a Parquet or CSV file; ``label=None`` if it has no labels.
    features : sequence of str, optional
        Feature columns of a Parquet or CSV file; by default all the others.
    n_features : int, optional
        Number of features of SVMlight text; by default the largest index in the file. Give it
        when a file may lack the last features that another file has.
    dtype : {"float32", "float64"}
        Type of the feature values in memory.

    Returns
    -------
    Dataset
    """
    place = Path(path)
    kind = _checked_dtype(dtype)
    if n_features is not None and (isinstance(n_features, bool) or n_features < 1):
        raise ParameterError(f"n_features must be a positive integer or None, got {n_features!r}")
    check_readable(place)
    if is_binned_file(place):
        return load_binned(place)
    suffixes = [suffix.lower() for suffix in place.suffixes]
    if suffixes[-1:] == [".parquet"]:
        return tables.read_parquet(place, tables.Roles(label, qid, weight, features), kind)
    if suffixes[-1:] == [".csv"] or suffixes[-2:] in ([".csv", ".gz"], [".csv", ".zst"]):
        return tables.read_csv(place, tables.Roles(label, qid, weight, features), kind)
    return read_svmlight(place, n_features, kind)


def _checked_dtype(dtype: Any) -> np.dtype:
    try:
        kind = np.dtype(dtype)
    except TypeError:
        kind = np.dtype(object)
    if kind not in (np.float32, np.float64):
        raise ParameterError(f"dtype must be 'float32' or 'float64', got {dtype!r}")
    return kind
