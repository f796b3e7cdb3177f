"""Reading a dataset from files, whatever their format."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from rankinite.binning import BinMapper
from rankinite.data.concatenation import check_names, check_same_id, joined
from rankinite.data.dataset import Dataset, bins_asked_for
from rankinite.data.features import FeatureValues
from rankinite.data.shares import agreed_share
from rankinite.distributed import Communicator, Serial, everywhere, failing_together
from rankinite.errors import DataError, ParameterError, RankiniteWarning, RowError
from rankinite.formats import shares, tables
from rankinite.formats.data_file import DataFile, ReadOptions, list_of
from rankinite.formats.faults import first_fault
from rankinite.formats.files import (
    as_file,
    check_readable,
    checked_path,
    is_stream,
)
from rankinite.formats.kinds import BINNED, NAMES, PARQUET, TABLES, TEXT, kind_of
from rankinite.formats.several import chained
from rankinite.formats.streaming import bin_in_pieces
from rankinite.formats.svmlight import no_features


def read(
    path: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    label: str | None = "label",
    qid: str | None = "qid",
    weight: str | None = None,
    features: Sequence[str] | None = None,
    document: str | None = None,
    n_features: int | None = None,
    dtype: Any = None,
    max_bins: int | None = None,
    like: Dataset | None = None,
    same_id: str = "error",
    communicator: Communicator | None = None,
) -> Dataset:
    """Read a dataset.

    With `max_bins` or `like` the values are binned as they are read: the dataset holds bins, not
    values, as one that was saved in binned form, and takes a byte a value. All values are never in
    memory together.

    A dataset that was saved in binned form and Parquet are recognised by their content; ``.csv``
    and ``.tsv`` (also ``.csv.gz``, ``.tsv.zst``) by their names. Everything else is SVMlight /
    LETOR text, ``label qid:ID index:value ... # comment``, or, if its first line has a comma or a
    tab and no ``qid:``, CSV or TSV. What is compressed by gzip or zstd is recognised by its content
    too.

    Parameters
    ----------
    path : path, or list of paths
        ``"-"`` is standard input; pipes are read once. Several files are read as if they were one:
        see `same_id`.
    label, qid, weight : str
        Columns of a table (Parquet, CSV or TSV). ``label=None``: there are no labels, or they are
        not to be looked at. ``qid=None``: all rows are one query, to be scored only.
    features : sequence of str, optional
        Feature columns of a table; by default all the others.
    document : str, optional
        Column of a table with an id for each document, by which preference pairs name it
        (`Dataset.with_preferences`).
    n_features : int, optional
        Number of features of SVMlight text; by default the largest index in the file. Give it
        when a file may lack the last features that another file has.
    dtype : {"float32", "float64"}, optional
        Type to which the feature values are rounded. By default they stay what they are in the
        file: numbers of text and CSV are float64, columns of Parquet float32 if that holds all of
        them exactly. "float32" takes half the memory, and a warning tells where it merges values.
    max_bins : int, optional
        Most bins of a feature; train with the same number.
    like : Dataset, optional
        Use the bins of this dataset, as validation data needs them.
    same_id : {"error", "join", "apart"}
        What to do with a query id that two files have: refuse it, make one query of the rows, or
        keep all files apart by putting the file's number before every id, ``"0:7"``, ``"1:7"``.
    communicator : Communicator, optional
        The workers that read the files together (`rankinite.mpi`): each gets whole queries, as
        many rows as the others or so, perhaps none, and reads no more than it gets of plain text
        and of Parquet. Bins are those of all rows.

    Returns
    -------
    Dataset
    """
    check_same_id(same_id)
    communicator = Serial() if communicator is None else communicator
    options = ReadOptions(
        label, qid, weight, list_of(features), document, n_features, dtype, max_bins, like
    ).checked()
    with failing_together(communicator), contextlib.ExitStack() as stack:
        files = []
        for place in _places(path):
            check_readable(place)
            if communicator.size > 1 and is_stream(place):
                raise ParameterError(f"{place} is no file that every worker can read: pass one")
            file = stack.enter_context(as_file(place))
            files.append(DataFile(file, kind_of(file)))
        return _read(files, options, same_id, communicator)


def _read(
    files: list[DataFile], options: ReadOptions, same_id: str, communicator: Communicator
) -> Dataset:
    for file in files:
        file.refuse_options(options)
        _check_one_kind(files[0], file)
    if communicator.size > 1:
        return _read_share(files, options, same_id, communicator)
    n_bins, mapper = bins_asked_for(options.max_bins, options.like)
    if files[0].kind == BINNED:
        dataset = joined([f.read_binned(options) for f in files], _names(files), same_id)
    else:
        options = _with_features(files, options)
        with _faults_located(files, options):
            if options.max_bins is None and mapper is None:
                dataset = _joined_values(files, options, same_id)
            else:
                dataset = _binned(files, options, same_id, n_bins, mapper)
        if options.document is not None:
            ids = [tables.read_ids(file.path, options.document) for file in files]
            dataset.documents = dataset.in_stored_order(np.concatenate(ids))
    if options.label is None:
        dataset.y = None
    return dataset


def _read_share(
    files: list[DataFile], options: ReadOptions, same_id: str, communicator: Communicator
) -> Dataset:
    """What this worker reads of the files; the options have been looked at."""
    if options.document is not None:
        raise ParameterError(
            f"document={options.document!r} names documents for preference pairs, which only a "
            "worker that reads all of them can bind: leave it out, or read on one worker"
        )
    if options.qid is None:
        raise ParameterError(
            "qid=None makes one query of all rows, and workers share out queries: name the column"
        )
    n_bins, mapper = bins_asked_for(options.max_bins, options.like)
    own: Dataset | None
    if files[0].kind == BINNED:
        whole = joined([f.read_binned(options) for f in files], _names(files), same_id)
        own = shares.own_queries(whole, communicator)
    else:
        options = _with_features(files, options)
        spans = shares.spans_of([file.path.stat().st_size for file in files], communicator)
        with _faults_located(files, options):
            source = chained(
                [f.share(options, s, communicator) for f, s in zip(files, spans, strict=True)],
                same_id,
            )
            if options.max_bins is None and mapper is None:
                own = shares.values_in_pieces(source, communicator)
            else:
                own = bin_in_pieces(source, n_bins, mapper, None, communicator)
        if own is not None and own.n_features == 0:
            raise everywhere(DataError(no_features(source.name)))
    dataset = agreed_share(own, communicator, ", ".join(_names(files)))
    if options.label is None:
        dataset.y = None
    return dataset


@contextlib.contextmanager
def _faults_located(files: list[DataFile], options: ReadOptions) -> Iterator[None]:
    """Let an error about a row of a table say where it stands, and in which query."""
    try:
        yield
    except RowError as error:
        for file in files:
            fault = first_fault(file.path, options.roles) if file.kind in TABLES else None
            if fault is not None:
                raise DataError(fault) from error
        raise


def _check_one_kind(first: DataFile, file: DataFile) -> None:
    """Tables of any kind go together; text and binned files only with their own kind."""
    if first.kind != file.kind and not {first.kind, file.kind} <= set(TABLES):
        raise DataError(
            f"{first.path} is {NAMES[first.kind]} and {file.path} is {NAMES[file.kind]}: read "
            "files of one kind together, and others apart"
        )


def _with_features(files: list[DataFile], options: ReadOptions) -> ReadOptions:
    """The features by name, in the order of `like` or of the first table; by number for text."""
    like = options.like
    if files[0].kind == TEXT:
        if like is None:
            return options
        if options.n_features not in (None, like.n_features):
            raise ParameterError(
                f"n_features={options.n_features}, but the data of like= has {like.n_features} "
                "features: leave it out"
            )
        return replace(options, n_features=like.n_features)
    known = None if like is None else like.feature_names
    if len(files) == 1 and known is None:
        return options
    owner = "the data of like="
    for file in files:
        names = options.features or options.roles.features(tables.columns_in(file.path))
        if known is None:
            known, owner = names, str(file.path)
        # The order of the columns of a table means nothing, unless they were listed.
        told = sorted(names) if options.features is None else names
        as_told = sorted(known) if options.features is None else known
        check_names(as_told, told, owner, str(file.path))
    return replace(options, features=known)


def _joined_values(files: list[DataFile], options: ReadOptions, same_id: str) -> Dataset:
    parts = [file.read_values(options) for file in files]
    kinds = {part.qids.dtype.kind for part in parts}
    if len(kinds) > 1 and all(file.kind != PARQUET for file in files):
        # As inside of a file: ids are text everywhere if one of them is, and 01 is not 1 then.
        parts = [file.read_values(options, ids_as_text=True) for file in files]
    if len(parts) > 1:
        _widen(parts)
    return joined(parts, _names(files), same_id)


def _widen(parts: list[Dataset]) -> None:
    """Give all parts of SVMlight text the features of the widest: 0 where they are absent."""
    width = max(part.n_features for part in parts)
    for part in parts:
        if part.n_features < width:
            X = np.zeros((part.n_rows, width), part.X.dtype)
            X[:, : part.n_features] = part.X
            part.features = FeatureValues(X)


def _binned(
    files: list[DataFile],
    options: ReadOptions,
    same_id: str,
    max_bins: int,
    mapper: BinMapper | None,
) -> Dataset:
    source = chained([file.source(options) for file in files], same_id)
    with warnings.catch_warnings():
        if same_id == "join" and len(files) > 1:  # asked for, so not worth a warning
            warnings.filterwarnings("ignore", "the rows of", RankiniteWarning)
        dataset = bin_in_pieces(source, max_bins, mapper)
    if files[0].kind == TEXT:
        if dataset.n_features == 0:
            raise DataError(no_features(source.name))
        _warn_of_narrow_text(source, mapper)
    return dataset


def _warn_of_narrow_text(source: Any, mapper: BinMapper | None) -> None:
    if mapper is not None and source.largest_index < mapper.n_features:
        warnings.warn(
            f"{source.name} has values for the features 1 to {source.largest_index} only, and "
            f"there are {mapper.n_features} in the data whose bins it takes: the others count as 0",
            RankiniteWarning,
            stacklevel=5,  # the caller of read
        )


def _names(files: list[DataFile]) -> list[str]:
    return [str(file.path) for file in files]


def _places(path: Any) -> list[Path]:
    if isinstance(path, str | bytes | PathLike) or not isinstance(path, Sequence):
        return [checked_path(path)]
    if not len(path):
        raise ParameterError("path is an empty list: pass at least one file")
    places = [checked_path(each) for each in path]
    if [str(place) for place in places].count("-") > 1:
        raise ParameterError("path has '-' twice, and standard input can be read only once")
    return places
