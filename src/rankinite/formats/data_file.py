"""One of the files that a dataset is read from, with its format, and what was asked of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rankinite.data.checks import checked_whole
from rankinite.data.concatenation import check_names
from rankinite.data.dataset import Dataset, bins_asked_for
from rankinite.distributed import Communicator
from rankinite.errors import DataError, ParameterError
from rankinite.formats import shares, tables
from rankinite.formats.binned_file import load_binned
from rankinite.formats.files import compression_in
from rankinite.formats.kinds import BINNED, NAMES, PARQUET, TABLES, TEXT
from rankinite.formats.svmlight import read_svmlight
from rankinite.formats.svmlight_stream import SvmlightSource

_OF_TEXT = np.dtype(np.float64)  # the type of numbers that are text
_MOST_FEATURES = 2**31 - 1
# Options that name columns, with their defaults: they are for tables.
_OF_COLUMNS = {"label": "label", "qid": "qid", "weight": None, "features": None, "document": None}


@dataclass(frozen=True)
class ReadOptions:
    """What `read` was asked for; see there."""

    label: str | None
    qid: str | None
    weight: str | None
    features: list[str] | None
    document: str | None
    n_features: int | None
    dtype: Any
    max_bins: int | None
    like: Dataset | None

    def checked(self) -> ReadOptions:
        """The same with a plain number of features; what is wrong in itself is refused."""
        checked_dtype(self.dtype)
        if not isinstance(self.qid, str | None):
            raise ParameterError(f"qid must be the name of a column, got {self.qid!r}")
        if self.qid is None and not (self.max_bins is None and self.like is None):
            raise ParameterError(
                "qid=None is for rows that are scored, not binned: name the column"
            )
        if self.n_features is None:
            return self
        number = checked_whole(self.n_features, "n_features", 1, _MOST_FEATURES)
        return replace(self, n_features=number)

    @property
    def roles(self) -> tables.Roles:
        """Which columns of a table are what."""
        return tables.Roles(self.label, self.qid, self.weight, self.features, self.document)


@dataclass(frozen=True)
class DataFile:
    """A file with its format."""

    path: Path
    kind: str

    def refuse_options(self, options: ReadOptions) -> None:
        """Raise a ParameterError for an option that such a file has no use for."""
        if self.kind in TABLES:
            if options.n_features is not None:
                raise ParameterError(
                    f"n_features={options.n_features} is for SVMlight text, and {self.path} is "
                    f"{NAMES[self.kind]}, which has as many features as columns: leave it out, or "
                    "choose columns by features="
                )
            return
        for name, default in _OF_COLUMNS.items():
            value = getattr(options, name)
            if value != default and not (name == "label" and value is None):
                raise ParameterError(
                    f"{name}={value!r} names a column, and {self.path} is {NAMES[self.kind]}, "
                    "which has none: leave it out"
                )
        if self.kind == BINNED and options.dtype is not None:
            raise ParameterError(
                f"dtype={options.dtype!r} is for values, and {self.path} holds only bins: "
                "leave it out"
            )

    def read_binned(self, options: ReadOptions) -> Dataset:
        """A dataset in binned form, if its bins are those that are asked for."""
        dataset = load_binned(self.path)
        n_features, max_bins = options.n_features, options.max_bins
        if n_features is not None and n_features != dataset.n_features:
            raise DataError(
                f"{self.path} has {dataset.n_features} features, and n_features={n_features} asks "
                "for another number"
            )
        own = dataset.mapper(255)
        if max_bins is not None and max_bins != own.max_bins:
            raise DataError(
                f"{self.path} was binned with max_bins={own.max_bins} and holds no values, so it "
                f"cannot be binned with max_bins={max_bins}: leave it out, or read the values"
            )
        if options.like is not None:
            _, mapper = bins_asked_for(max_bins, options.like)
            check_names(
                options.like.feature_names,
                dataset.feature_names,
                "the data of like=",
                str(self.path),
            )
            if mapper is None or not mapper.equals(own):
                raise DataError(
                    f"{self.path} holds other bins than the data of like=, and no values: save it "
                    "again with like=, or read the values"
                )
        return dataset

    def read_values(self, options: ReadOptions, ids_as_text: bool = False) -> Dataset:
        """A dataset with its values; query ids of text and CSV are numbers if all may be."""
        kind = checked_dtype(options.dtype)
        if self.kind == TEXT:
            return read_svmlight(self.path, options.n_features, kind or _OF_TEXT, ids_as_text)
        if self.kind == PARQUET:
            return tables.read_parquet(self.path, options.roles, kind)
        return tables.read_csv(self.path, options.roles, kind, ids_as_text)

    def source(self, options: ReadOptions, span: shares.Span | None = None) -> Any:
        """The file as a source of pieces, or a span of its bytes or rows."""
        kind = checked_dtype(options.dtype)
        if self.kind == TEXT:
            n_features = options.n_features
            return SvmlightSource(self.path, n_features, kind or _OF_TEXT, span=span)
        source = tables.ParquetSource if self.kind == PARQUET else tables.CsvSource
        return source(self.path, options.roles, kind, span)

    def share(self, options: ReadOptions, span: shares.Span, communicator: Communicator) -> Any:
        """A worker's share of the file as a source; `span` is its part of the bytes."""
        if self.kind == TEXT and compression_in(self.path) is None:
            return self.source(options, shares.queries_in_text(self.path, span))
        if self.kind == PARQUET:
            with tables.parquet_errors(self.path):
                rows = shares.queries_in_parquet(self.path, str(options.qid), span)
            return self.source(options, rows)
        return shares.OwnQueries(self.source(options), communicator)


def list_of(features: Any) -> list[str] | None:
    """The names of columns that a caller asks for, after a check."""
    if features is None:
        return None
    if isinstance(features, str) or not all(isinstance(name, str) for name in features):
        raise ParameterError(f"features must be a list of names of columns, got {features!r}")
    return list(features)


def checked_dtype(dtype: Any) -> np.dtype | None:
    """The type that values are rounded to; None leaves them as they are."""
    if dtype is None:
        return None
    try:
        kind = np.dtype(dtype)
    except (TypeError, ValueError, OverflowError):
        kind = np.dtype(object)
    if kind not in (np.float32, np.float64):
        raise ParameterError(f"dtype must be 'float32', 'float64' or None, got {dtype!r}")
    return kind
