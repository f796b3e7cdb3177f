"""Where the tables and keys of a TOML text stand: the parser of the standard library forgets it."""

from __future__ import annotations

import re
from collections.abc import Iterator

_PART = r"(?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')"
_DOTTED = rf"{_PART}(?:\s*\.\s*{_PART})*"
_TABLE = re.compile(rf"\s*\[\[?\s*({_DOTTED})\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(rf"\s*({_DOTTED})\s*=")
_FENCES = ('"""', "'''")

Path = tuple[str, ...]


class Lines:
    """The places of tables and keys in a declaration.

    Parameters
    ----------
    name : str
        What the declaration is called: the path of its file.
    text : str, optional
        None for a declaration that is no text.
    """

    def __init__(self, name: str, text: str | None = None) -> None:
        self.name = name
        self._has_lines = text is not None
        self._lines: dict[Path, int] = {}
        for path, number in _places(text or ""):
            self._lines.setdefault(path, number)

    def at(self, *path: str) -> str:
        """Where the key at a path stands, or the innermost table around it that has a line."""
        if not self._has_lines:
            return f"{self.name}, {'.'.join(path)}" if path else self.name
        for length in range(len(path), 0, -1):
            if path[:length] in self._lines:
                return f"{self.name}, line {self._lines[path[:length]]}"
        return self.name


def _places(text: str) -> Iterator[tuple[Path, int]]:
    """Every table and key with its line, counted from 1.

    A table that is named only as the parent of another stands where that one does.
    """
    table: Path = ()
    fence = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if fence:
            fence = "" if fence in line else fence
            continue
        if header := _TABLE.match(line):
            table = _parts(header[1])
            yield from ((table[:length], number) for length in range(len(table), 0, -1))
        elif key := _KEY.match(line):
            path = (*table, *_parts(key[1]))
            yield from ((path[:length], number) for length in range(len(path), len(table), -1))
        fence = next((each for each in _FENCES if line.count(each) % 2), "")


def _parts(dotted: str) -> Path:
    return tuple(part.strip("\"'") for part in re.findall(_PART, dotted))
