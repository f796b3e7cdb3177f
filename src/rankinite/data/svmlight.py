"""Reading SVMlight / LETOR text: ``label qid:ID index:value ... # comment``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import numpy as np

from rankinite.data import _svmlight_kernels as kernels
from rankinite.data.dataset import Dataset
from rankinite.data.files import read_bytes
from rankinite.errors import DataError

_CHUNK_BYTES = 1 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_TOKEN_SHOWN = 40

_MESSAGES = {
    kernels.BAD_LABEL: "the label {token!r} is not a number",
    kernels.LABEL_NOT_FINITE: "the label {token!r} is not finite",
    kernels.NO_QID: "expected qid:ID after the label, found {token!r}",
    kernels.EMPTY_QID: "the query id after 'qid:' is empty",
    kernels.BAD_PAIR: "{token!r} is not a feature of the form index:value",
    kernels.INDEX_ZERO: "{token!r} has the feature index 0, but features are numbered from 1",
    kernels.INDEX_TOO_LARGE: "the feature index of {token!r} is above {limit}",
    kernels.DUPLICATE: "{token!r} gives a feature a second value in the line",
    kernels.BAD_VALUE: "the value of {token!r} is not a number",
}


def read_svmlight(path: Path, n_features: int | None, dtype: np.dtype) -> Dataset:
    """Read a file of SVMlight text, decompressed by its suffix.

    Parameters
    ----------
    path : Path
    n_features : int or None
        Width of X; None: the largest index in the file.
    dtype : dtype
        float32 or float64.
    """
    X, y, qid = parse_svmlight(read_bytes(path), str(path), n_features, dtype)
    return Dataset(X, y, qid=qid)


def parse_svmlight(
    buffer: np.ndarray,
    name: str,
    n_features: int | None = None,
    dtype: np.dtype | type = np.float32,
    chunk_bytes: int = _CHUNK_BYTES,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Parse SVMlight text.

    Parameters
    ----------
    buffer : ndarray of uint8, shape (n_bytes,), read-only
    name : str
        What to call the text in messages.
    n_features, dtype
        See `read_svmlight`.
    chunk_bytes : int
        Text is parsed in parallel in pieces of this size.

    Returns
    -------
    X : ndarray of `dtype`, shape (n_rows, n_features)
    y : ndarray of float64, shape (n_rows,)
    qid : ndarray of int64, or of object (str) if some id is not an integer, shape (n_rows,)
    """
    if buffer[:3].tobytes() == _BYTE_ORDER_MARK:
        buffer = buffer[3:]
    cuts = kernels.cut_at_newlines(buffer, chunk_bytes)
    found = kernels.scan_chunks(buffer, cuts)
    n_rows = int(found[:, 1].sum())
    if n_rows == 0:
        raise DataError(f"{name} has no data rows")
    width = int(found[:, 2].max()) if n_features is None else n_features
    if n_rows * width * np.dtype(dtype).itemsize > _memory():
        # Zeros cost nothing until they are used: one absurd index would end the process later.
        raise DataError(
            f"{name}: {n_rows} rows with feature indices up to {width} do not fit into memory; "
            "pass n_features= to have the lines with a larger index reported"
        )
    X = np.zeros((n_rows, width), dtype=dtype)
    y = np.empty(n_rows, dtype=np.float64)
    qid = np.empty(n_rows, dtype=np.int64)
    is_integer = np.empty(n_rows, dtype=np.bool_)
    spans = np.empty((n_rows, 2), dtype=np.int64)
    first_rows = np.cumsum(found[:, 1]) - found[:, 1]
    faults = kernels.parse_chunks(buffer, cuts, first_rows, X, y, qid, is_integer, spans)
    bad_chunks = np.flatnonzero(faults[:, 0] != kernels.FINE)
    if len(bad_chunks):
        chunk = bad_chunks[0]
        line = int(found[:chunk, 0].sum() + faults[chunk, 1]) + 1
        limit = kernels.LARGEST_INDEX if n_features is None else f"n_features={n_features}"
        _raise_fault(name, line, int(faults[chunk, 0]), _token(buffer, faults[chunk, 2]), limit)
    if width == 0:
        raise DataError(f"{name} has no features: no line has an index:value")
    return X, y, qid if is_integer.all() else _string_ids(buffer, spans)


def _memory() -> int:
    """Bytes of memory of this machine, or a bound that always holds where it does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1 << 46


def _string_ids(buffer: np.ndarray, spans: np.ndarray) -> np.ndarray:
    text = buffer.data
    ids = np.empty(len(spans), dtype=object)
    # Bytes that are not UTF-8 are kept apart rather than replaced: different ids stay different.
    ids[:] = [str(text[a:b], "utf-8", "backslashreplace") for a, b in spans.tolist()]
    return ids


def _token(buffer: np.ndarray, start: int) -> str:
    """What begins at `start`, up to a blank, for a message."""
    tail = buffer[start : start + 4 * _TOKEN_SHOWN].tobytes()
    line = tail.partition(b"\n")[0].partition(b"#")[0].split()
    token = line[0].decode("utf-8", "backslashreplace") if line else ""
    return token if len(token) <= _TOKEN_SHOWN else token[:_TOKEN_SHOWN] + "..."


def _raise_fault(name: str, line: int, fault: int, token: str, limit: int | str) -> NoReturn:
    message = _MESSAGES[fault].format(token=token, limit=limit)
    if fault == kernels.NO_QID and not token:
        message = "there is no qid:ID after the label"
    raise DataError(f"{name}, line {line}: {message}")
