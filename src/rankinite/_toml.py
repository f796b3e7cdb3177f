"""Declarations in TOML: what they say, and where their tables and keys stand.

The parser of the standard library forgets the lines, so they are looked for in the text.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rankinite.errors import DeclarationError, RankiniteError

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

    @contextmanager
    def around(self, *path: str) -> Iterator[None]:
        """Let errors of the block say where what they are about stands."""
        try:
            yield
        except DeclarationError:
            raise
        except RankiniteError as error:
            raise DeclarationError(f"{self.at(*path)}: {error}") from error


def parse_toml(text: str, name: str) -> tuple[dict[str, Any], Lines]:
    """The tables of a declaration that errors call by this name, and their lines."""
    try:
        return tomllib.loads(text), Lines(name, text)
    except tomllib.TOMLDecodeError as error:
        found = re.fullmatch(r"(.*) \(at line (\d+), column \d+\)", str(error))
        place, what = (f"{name}, line {found[2]}", found[1]) if found else (name, str(error))
        raise DeclarationError(f"{place}: this is no TOML ({what[:1].lower()}{what[1:]})") from None


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
