"""SVMlight text as a source of pieces, for binning it without having all of it in memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from rankinite.formats.files import read_chunks
from rankinite.formats.streaming import Part, TextIdError
from rankinite.formats.svmlight import LineCounter, TextRows, count_lines, without_mark

_CHUNK_BYTES = 1 << 25
_VALUES_AT_ONCE = 1 << 22


class SvmlightSource:
    """A file of SVMlight text, decompressed if need be.

    Parameters
    ----------
    path : Path
    n_features : int or None
        None: the largest index in the file.
    dtype : dtype
        float32 or float64: the type that values are rounded to before they are binned.
    chunk_bytes : int
        About so much text is in memory at a time.
    span : (int, int), optional
        Only the lines from this byte on and before that one, of a file that is not compressed.

    Attributes
    ----------
    largest_index : int
        The largest index that was seen.
    may_merge : bool
        Whether values may fall together in float32, of which no warning has told yet.
    n_rows : int
        Rows up to the end of the present piece.
    """

    def __init__(
        self,
        path: Path,
        n_features: int | None,
        dtype: np.dtype,
        chunk_bytes: int = _CHUNK_BYTES,
        span: tuple[int, int] | None = None,
    ) -> None:
        self.name = str(path)
        self.may_widen = n_features is None
        self.ids_as_text = False
        self.largest_index = 0
        self.n_rows = 0
        self.dtype = dtype
        self.may_merge = dtype == np.float32
        self._n_features = n_features
        self._path, self._chunk_bytes, self._span = path, chunk_bytes, span

    @property
    def width(self) -> int:
        """Number of features, as far as it is known."""
        return self.largest_index if self._n_features is None else self._n_features

    def pieces(self) -> Iterator[TextPiece]:
        """Read the file from its start."""
        self.n_rows = 0
        for number, chunk in enumerate(self._chunks()):
            text = TextRows(chunk, self.name, self._lines_before(number))
            self.n_rows += text.n_rows
            yield TextPiece(self, text)

    def _chunks(self) -> Iterator[np.ndarray]:
        at_start = self._span is None or self._span[0] == 0
        for chunk in read_chunks(self._path, self._chunk_bytes, self._span):
            yield without_mark(chunk) if at_start else chunk
            at_start = False

    def _lines_before(self, number: int) -> LineCounter:
        """Counts the lines before a chunk when an error needs it, by reading the file again."""

        def count() -> int:
            before = 0
            if self._span is not None:
                others = read_chunks(self._path, self._chunk_bytes, (0, self._span[0]))
                before = sum(map(count_lines, others))
            return before + sum(map(count_lines, islice(self._chunks(), number)))

        return count


class TextPiece:
    """The rows of a chunk of text."""

    feature_names = None
    weight = None

    def __init__(self, source: SvmlightSource, text: TextRows) -> None:
        text.check_heads()
        self._source, self._text = source, text
        self.n_rows = text.n_rows
        self.dtype = source.dtype

    def ids(self) -> np.ndarray:
        """The query ids: integers, or text if there is one that is no integer."""
        if self._source.ids_as_text:
            return self._text.text_ids()
        if not self._text.has_integer_ids:
            raise TextIdError
        return self._text.integer_ids()

    def some_features(self, rows: np.ndarray) -> np.ndarray:
        """The features of the given rows."""
        return self._parse(rows, len(rows))

    def parts(self) -> Iterator[Part]:
        """All rows, as many at a time as make a few million values."""
        first = 0
        while first < self.n_rows:
            n_rows = max(1, _VALUES_AT_ONCE // max(1, self._source.width))
            rows = slice(first, min(first + n_rows, self.n_rows))
            yield Part(self._parse(rows, rows.stop - first), self._text.y[rows], None)
            first = rows.stop

    def _parse(self, rows: slice | np.ndarray, n_rows: int) -> np.ndarray:
        source = self._source
        if source.width == 0:
            self._widen(self._text.likely_width())
        while True:
            X = np.empty((n_rows, source.width), source.dtype)
            largest = self._text.parse_features(X, rows, may_widen=source.may_widen)
            if largest <= X.shape[1]:
                source.largest_index = max(largest, source.largest_index)
                if source.may_merge:
                    source.may_merge = False  # told once
                    self._text.warn_of_merged(source.width)
                return X
            self._widen(largest)

    def _widen(self, width: int) -> None:
        """Let the file be so wide, if that is not absurd; a bin of a value takes a byte."""
        self._text.check_width(width, self._source.n_rows, 1)
        self._source.largest_index = width
