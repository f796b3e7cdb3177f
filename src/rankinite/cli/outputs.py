"""Where results go: checked before the work begins, written whole."""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from rankinite.errors import DataError


def check_writable(path: Path | None, what: str) -> None:
    """Raise a DataError now if `path` could not be written later.

    Parameters
    ----------
    path : Path or None
        None is fine: nothing will be written.
    what : str
        What will be written, for the message: "the model".
    """
    if path is None or _is_stream(path):
        return
    if path.is_dir():
        raise DataError(f"cannot write {what} to {path}: it is a folder, pass the path of a file")
    if not path.parent.is_dir():
        raise DataError(
            f"cannot write {what} to {path}: there is no folder {path.parent}, create it first"
        )
    try:
        # Permission bits do not tell of read-only or full file systems; a file does.
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise DataError(f"cannot write {what} to {path}: {error.strerror}") from error


def write_lines(lines: Iterable[str], path: Path | None) -> None:
    """Write lines to a file, which is replaced as a whole, or to standard output (None or -)."""
    text = "".join(f"{line}\n" for line in lines)
    if path is None or str(path) == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
    elif _is_stream(path):
        path.write_text(text, encoding="utf-8")
    else:
        from rankinite.formats.files import replacing

        with replacing(path) as temporary:
            temporary.write_text(text, encoding="utf-8")


def number_or_none(value: float) -> float | None:
    """A number as JSON can have it: NaN becomes null."""
    return value if math.isfinite(value) else None


def _is_stream(path: Path) -> bool:
    """Whether `path` stands for something that is not a file, such as /dev/stdout."""
    return str(path) == "-" or (path.exists() and not path.is_file() and not path.is_dir())
