"""Reading SVMlight / LETOR text: ``label qid:ID index:value ... # comment``."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rankinite._numba import even_blocks, in_threads
from rankinite.data.dataset import Dataset
from rankinite.data.width import in_gigabytes, memory, usual_width
from rankinite.errors import DataError
from rankinite.formats import _svmlight_kernels as kernels
from rankinite.formats._token_kernels import NEWLINE
from rankinite.formats.files import read_bytes
from rankinite.formats.narrowing import some_rows, warn_of_merged

_PIECE_BYTES = 1 << 18
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_TOKEN_SHOWN = 40
# A matrix of fewer values is made whatever its width, and so is one that the text may well fill:
# a pair of index and value takes four bytes at least.
_FEW_VALUES = 1 << 24
_BYTES_OF_PAIR = 4
_FILLED = 16

LineCounter = Callable[[], int]

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


def read_svmlight(
    path: Path, n_features: int | None, dtype: np.dtype, ids_as_text: bool = False
) -> Dataset:
    """Read a file of SVMlight text, decompressed if need be.

    Parameters
    ----------
    path : Path
    n_features : int or None
        Width of X; None: the largest index in the file.
    dtype : dtype
        float32 or float64.
    ids_as_text : bool
        Take query ids as they are written, even if all are integers.
    """
    X, y, qid = parse_svmlight(
        read_bytes(path), str(path), n_features, dtype, ids_as_text=ids_as_text
    )
    return Dataset(X, y, qid=qid)


def parse_svmlight(
    buffer: np.ndarray,
    name: str,
    n_features: int | None = None,
    dtype: np.dtype | type = np.float64,
    piece_bytes: int = _PIECE_BYTES,
    ids_as_text: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Parse SVMlight text.

    Parameters
    ----------
    buffer : ndarray of uint8, shape (n_bytes,), read-only
    name : str
        What to call the text in messages.
    n_features, dtype, ids_as_text
        See `read_svmlight`.
    piece_bytes : int
        Rows are looked for in parallel in pieces of this size.

    Returns
    -------
    X : ndarray of `dtype`, shape (n_rows, n_features)
    y : ndarray of float64, shape (n_rows,)
    qid : ndarray of int64, or of object (str) if some id is not an integer, shape (n_rows,)
    """
    text = TextRows(without_mark(buffer), name, piece_bytes=piece_bytes)
    if text.n_rows == 0:
        raise DataError(f"{name} has no data rows")
    width = text.likely_width() if n_features is None else n_features
    while True:
        check_width = text.check_room if n_features else text.check_width
        check_width(width, text.n_rows, np.dtype(dtype).itemsize)
        X = np.empty((text.n_rows, width), dtype=dtype)
        largest = text.parse_features(X, may_widen=n_features is None)
        if largest <= width:
            break
        width = largest
    if width == 0:
        raise DataError(no_features(name))
    if dtype == np.float32:
        text.warn_of_merged(width)
    as_numbers = text.has_integer_ids and not ids_as_text
    return X, text.y, text.integer_ids() if as_numbers else text.text_ids()


class TextRows:
    """The rows of SVMlight text: heads parsed at once, features on demand.

    Parameters
    ----------
    buffer : ndarray of uint8, shape (n_bytes,), read-only
        Whole lines.
    name : str
        What to call the text in messages.
    lines_before : function
        Gives the number of lines of the text that come before the buffer.

    Attributes
    ----------
    y : ndarray of float64, shape (n_rows,)
    has_integer_ids : bool
        Whether all query ids are integers.
    """

    def __init__(
        self,
        buffer: np.ndarray,
        name: str,
        lines_before: LineCounter = lambda: 0,
        piece_bytes: int = _PIECE_BYTES,
    ) -> None:
        self._buffer, self._name, self._lines_before = buffer, name, lines_before
        starts = _row_starts(buffer, piece_bytes)
        n_rows = len(starts)
        self.y = np.empty(n_rows, dtype=np.float64)
        self._qid = np.empty(n_rows, dtype=np.int64)
        is_integer = np.ones(n_rows, dtype=np.bool_)
        self._spans = np.empty((n_rows, 2), dtype=np.int64)
        self._bodies = np.empty(n_rows, dtype=np.uint64)
        faults = np.empty((_n_steps(n_rows), 2), dtype=np.int64)
        in_threads(
            kernels.parse_heads,
            even_blocks(len(faults)),
            buffer,
            starts,
            self.y,
            self._qid,
            is_integer,
            self._spans,
            self._bodies,
            faults,
        )
        self._head_faults = faults
        self.has_integer_ids = bool(is_integer.all())

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.y)

    def check_heads(self) -> None:
        """Raise a DataError if a label or a query id cannot be read."""
        if (self._head_faults[:, 0] != kernels.FINE).any():
            # The first fault is told, and it may be in the features of an earlier row.
            self.parse_features(np.empty((self.n_rows, 0)), may_widen=True)

    def likely_width(self) -> int:
        """The largest index in some of the rows."""
        some = np.linspace(0, self.n_rows - 1, min(self.n_rows, 1000)).astype(np.int64)
        return self._parse(self._bodies[some], np.empty((len(some), 0)), True)[1]

    def check_width(self, width: int, n_rows: int, itemsize: int) -> None:
        """Refuse a width that some wrong index asks for, or that memory cannot hold.

        Parameters
        ----------
        width : int
            The largest index.
        n_rows : int
            Rows of the matrix that is to be filled, with those of other pieces of the text.
        itemsize : int
            Bytes of a value of it.
        """
        room = _FILLED * len(self._buffer) // _BYTES_OF_PAIR
        if n_rows * width >= _FEW_VALUES and self.n_rows * width > room:
            used = np.zeros(width, bool)
            blocks = even_blocks(_n_steps(self.n_rows))
            in_threads(kernels.mark_columns, blocks, self._buffer, self._bodies, used)
            columns = np.flatnonzero(used)
            usual = usual_width(columns, width)
            if usual is not None:
                raise DataError(
                    f"{self._name}, line {self._line_of_largest()}: the feature index {width} is "
                    f"far above the others (of {len(columns)} features nine tenths are numbered up "
                    f"to {usual}), and {n_rows} rows so wide would take "
                    f"{in_gigabytes(n_rows * width, itemsize)}: mend the line, or pass "
                    f"n_features={width} if it is right"
                )
        self.check_room(width, n_rows, itemsize)

    def check_room(self, width: int, n_rows: int, itemsize: int) -> None:
        """Refuse a matrix that memory cannot hold: it would end the process later."""
        if n_rows * width * itemsize > memory():
            raise DataError(
                f"{self._name}: {n_rows} rows with feature indices up to {width} do not fit into "
                f"memory, they take {in_gigabytes(n_rows * width, itemsize)}; "
                "pass n_features= to have the lines with a larger index reported"
            )

    def _line_of_largest(self) -> int:
        """The line with the largest index; an error if a line cannot be read."""
        nothing = np.empty((self.n_rows, 0))
        self.parse_features(nothing, may_widen=True)
        step = int(np.argmax(self._parse(self._bodies, nothing, True)[0][:, 2]))
        bodies = self._bodies[step * kernels.ROWS_AT_ONCE :][: kernels.ROWS_AT_ONCE]
        largest = [self._parse(bodies[k : k + 1], nothing[:1], True)[1] for k in range(len(bodies))]
        return self._line_at(bodies[np.argmax(largest)])

    def _line_at(self, at: int) -> int:
        return self._lines_before() + count_lines(self._buffer[:at]) + 1

    def warn_of_merged(self, width: int) -> None:
        """Warn of features that float32 cannot hold."""
        some = some_rows(self.n_rows, width)
        X = np.zeros((len(some), width))
        self._parse(self._bodies[some], X, True)
        columns = ((f"feature {j + 1}", X[:, j]) for j in range(width))
        warn_of_merged(columns, self._name, stacklevel=4)

    def parse_features(
        self, X: np.ndarray, rows: slice | np.ndarray | None = None, *, may_widen: bool
    ) -> int:
        """Parse the features of the given rows, or of all, into X.

        Parameters
        ----------
        X : ndarray of float32 or float64, shape (n, width)
        may_widen : bool
            Whether indices beyond the width of X are left out; else they are an error.

        Returns
        -------
        int
            The largest index.
        """
        bodies = self._bodies if rows is None else self._bodies[rows]
        faults, largest = self._parse(bodies, X, may_widen)
        self._raise_first(np.concatenate([self._head_faults, faults[:, :2]]), X, may_widen)
        return largest

    def _parse(self, bodies: np.ndarray, X: np.ndarray, may_widen: bool) -> tuple[np.ndarray, int]:
        faults = np.empty((_n_steps(len(bodies)), 3), dtype=np.int64)
        blocks = even_blocks(len(faults))
        in_threads(kernels.parse_bodies, blocks, self._buffer, bodies, X, may_widen, faults)
        return faults, int(faults[:, 2].max(initial=0))

    def integer_ids(self) -> np.ndarray:
        """The query ids as numbers: int64, shape (n_rows,)."""
        return self._qid

    def text_ids(self) -> np.ndarray:
        """The query ids as they are written: object (str), shape (n_rows,)."""
        text = self._buffer.data
        ids = np.empty(self.n_rows, dtype=object)
        # Bytes that are not UTF-8 are kept apart rather than replaced: different ids stay so.
        spans = self._spans.tolist()
        ids[:] = [str(text[a:b], "utf-8", "backslashreplace") for a, b in spans]
        return ids

    def _raise_first(self, faults: np.ndarray, X: np.ndarray, may_widen: bool) -> None:
        faults = faults[faults[:, 0] != kernels.FINE]
        if not len(faults):
            return
        fault, at = faults[np.argmin(faults[:, 1])].tolist()
        line = self._line_at(at)
        token = _token(self._buffer, at)
        message = _MESSAGES[fault].format(
            token=token,
            limit=kernels.LARGEST_INDEX if may_widen else f"n_features={X.shape[1]}",
        )
        if fault == kernels.NO_QID and not token:
            message = "there is no qid:ID after the label"
        if fault in (kernels.BAD_LABEL, kernels.LABEL_NOT_FINITE):
            message += _query_after(self._buffer, at)
        raise DataError(f"{self._name}, line {line}: {message}")


def _n_steps(n_rows: int) -> int:
    return -(-n_rows // kernels.ROWS_AT_ONCE)


def _row_starts(buffer: np.ndarray, piece_bytes: int) -> np.ndarray:
    """Where each row begins: uint64, shape (n_rows,)."""
    first_rows = np.zeros(-(-len(buffer) // piece_bytes) + 1, dtype=np.int64)
    counts = np.empty(len(first_rows) - 1, dtype=np.int64)
    blocks = even_blocks(len(counts))
    nowhere = np.empty(0, dtype=np.uint64)
    in_threads(kernels.find_rows, blocks, buffer, piece_bytes, first_rows, nowhere, counts)
    np.cumsum(counts, out=first_rows[1:])
    starts = np.empty(first_rows[-1], dtype=np.uint64)
    in_threads(kernels.find_rows, blocks, buffer, piece_bytes, first_rows, starts, counts)
    return starts


def without_mark(buffer: np.ndarray) -> np.ndarray:
    """The text after a byte order mark, if there is one."""
    return buffer[3:] if buffer[:3].tobytes() == _BYTE_ORDER_MARK else buffer


def count_lines(buffer: np.ndarray) -> int:
    """Number of newlines."""
    return int(np.count_nonzero(buffer == NEWLINE))


def no_features(name: str) -> str:
    """What to say about text without features."""
    return f"{name} has no features: no line has an index:value"


def _query_after(buffer: np.ndarray, start: int) -> str:
    """The query id in the rest of the line, for a message; nothing if there is none."""
    tail = buffer[start : start + 4 * _TOKEN_SHOWN].tobytes().partition(b"\n")[0]
    found = re.search(rb"\sqid:(\S+)\s", tail)
    return f" (query {found[1].decode('utf-8', 'backslashreplace')})" if found else ""


def _token(buffer: np.ndarray, start: int) -> str:
    """What begins at `start`, up to a blank, for a message."""
    tail = buffer[start : start + 4 * _TOKEN_SHOWN].tobytes()
    line = tail.partition(b"\n")[0].partition(b"#")[0].split()
    token = line[0].decode("utf-8", "backslashreplace") if line else ""
    return token if len(token) <= _TOKEN_SHOWN else token[:_TOKEN_SHOWN] + "..."
