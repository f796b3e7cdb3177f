"""The files of data that a verb is given: one or several that are one dataset, also streams."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankinite.errors import DataError

# Copies of the streams that the command at work was given, by their names.
_copies: dict[Path, Path] = {}
_cleanup = ExitStack()


@contextmanager
def streams_kept() -> Iterator[None]:
    """Let `at_hand` keep copies of streams until the block ends."""
    with _cleanup:
        try:
            yield
        finally:
            _copies.clear()


def at_hand(path: Path) -> Path:
    """The file itself; of a stream a copy, because verbs look at their data several times."""
    from rankinite.formats.files import as_file, check_readable

    check_readable(path)
    if path not in _copies:
        _copies[path] = _cleanup.enter_context(as_file(path))
    return _copies[path]


@dataclass(frozen=True)
class DataFiles:
    """Files that are one dataset together.

    Attributes
    ----------
    paths : tuple of Path
    same_id : {"error", "join", "apart"}
        What to do with a query id that two of them have; see `rankinite.read`.
    """

    paths: tuple[Path, ...]
    same_id: str = "error"

    @classmethod
    def of(cls, paths: list[Path], same_id: str = "error") -> DataFiles:
        """Those that an option or an argument lists."""
        from rankinite.data.concatenation import check_same_id

        check_same_id(same_id)
        return cls(tuple(paths), same_id)

    @classmethod
    def maybe(cls, paths: list[Path] | None, same_id: str = "error") -> DataFiles | None:
        """Those that an option lists, if it was given."""
        return cls.of(paths, same_id) if paths else None

    def __str__(self) -> str:
        shown = [str(path) for path in self.paths[:3]]
        more = len(self.paths) - len(shown)
        return ", ".join(shown) + (f" and {more} more" if more else "")

    @property
    def at_hand(self) -> list[Path]:
        """The files themselves; of streams copies."""
        return [at_hand(path) for path in self.paths]

    @property
    def n_bytes(self) -> int:
        """Of those that are files."""
        return sum(path.stat().st_size for path in self.paths if path.is_file())

    @property
    def columns(self) -> list[str]:
        """The columns of the first, if it is a table."""
        return table_columns(self.at_hand[0])

    @property
    def is_text(self) -> bool:
        """Whether it is SVMlight text."""
        from rankinite.formats.kinds import TEXT, kind_of

        return kind_of(self.at_hand[0]) == TEXT

    def place_of(self, row: int) -> str:
        """Where a row (from 0) of the dataset stands, as people count."""
        from rankinite.formats import read

        for path, file in zip(self.paths, self.at_hand, strict=True):
            if len(self.paths) > 1:
                columns = table_columns(file)
                # Any column will do: only the number of rows matters.
                one: dict[str, Any] = (
                    {"label": None, "qid": None, "features": columns[:1]} if columns else {}
                )
                n_rows = read(file, **one).n_rows
                if row >= n_rows:
                    row -= n_rows
                    continue
            return f"{path}, {_place_in(file, row)}"
        raise IndexError(row)


def table_columns(path: Path) -> list[str]:
    """The columns of a table; none for other files and those that are unreadable."""
    from rankinite.formats.kinds import TABLES, kind_of
    from rankinite.formats.tables import columns_in

    try:
        return columns_in(path) if kind_of(path) in TABLES else []
    except DataError:
        return []  # the reader itself says what is wrong


def _place_in(path: Path, row: int) -> str:
    """Where a row (from 0) stands in a file: the line, if it has lines."""
    from rankinite.formats.files import open_input
    from rankinite.formats.kinds import CSV, TEXT, TSV, kind_of
    from rankinite.formats.tables import line_of

    kind = kind_of(path)
    if kind in (CSV, TSV):
        return f"line {line_of(path, row)}"
    if kind == TEXT:
        with open_input(path) as stream:
            lines = stream.read().split(b"\n")
        filled = [n for n, line in enumerate(lines, start=1) if line.partition(b"#")[0].strip()]
        return f"line {filled[row]}"
    return f"row {row} (from 0)"
