"""Where results go: checked before the work begins, written whole."""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rankinite.errors import DataError, ModelFileError


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


def check_new(path: Path, what: str, force: bool) -> None:
    """Raise a DataError if `path` is there already, unless it may be replaced."""
    check_writable(path, what)
    if not force and path.is_file():
        raise DataError(
            f"{path} is there already: add --force to replace it, or choose another name for {what}"
        )


def write_lines(lines: Iterable[str], path: Path | None) -> None:
    """Write lines to a file, which is replaced as a whole, or to standard output (None or -)."""
    text = "".join(f"{line}\n" for line in lines)
    if path is None or str(path) == "-":
        _write_out(text)
    elif _is_stream(path):
        path.write_text(text, encoding="utf-8")
    else:
        from rankinite.formats.files import replacing

        with replacing(path) as temporary:
            temporary.write_text(text, encoding="utf-8")


def print_result(text: str) -> None:
    """Print what a verb has found to standard output: all of it, or an error."""
    _write_out(f"{text}\n")


def _write_out(text: str) -> None:
    """Write to standard output as UTF-8, past Python's buffers.

    Without a buffer (PYTHONUNBUFFERED) Python drops what a full disk did not take, and says
    nothing; with one it may notice only after the exit code is decided.
    """
    if sys.stdout is None:
        raise DataError("standard output is closed: pass --output, or do not close it")
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:  # whoever replaced it takes text
        sys.stdout.write(text)
        return
    stream = getattr(buffer, "raw", buffer)
    left = memoryview(text.encode("utf-8"))
    try:
        while left:
            written = stream.write(left)
            if not written:  # a pipe that does not block, and is full
                time.sleep(0.01)
            left = left[written or 0 :]
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DataError(f"standard output cannot be written: {error.strerror}") from error


def save_or_keep(model: Any, path: Path, otherwise: str = "") -> None:
    """Save what was learned; if that fails, keep it in the folder for temporary files and say so.

    Parameters
    ----------
    model : what has ``save(path)``
    path : Path
    otherwise : str
        What to say if it cannot be kept there either.
    """
    try:
        model.save(path)
    except ModelFileError as error:
        raise ModelFileError(f"{error}; {_kept_elsewhere(model, path, otherwise)}") from error


def _kept_elsewhere(model: Any, path: Path, otherwise: str) -> str:
    """Where what was learned is, now that it could not be saved; in words."""
    nowhere = "it could not be kept in the folder for temporary files either"
    try:
        other = Path(tempfile.mkdtemp(prefix="rankinite-")) / path.name
    except OSError:
        return otherwise or nowhere
    try:
        model.save(other)
        return f"what was learned is in {other} instead: move it from there"
    except ModelFileError:
        other.parent.rmdir()
    return otherwise or nowhere


def number_or_none(value: float) -> float | None:
    """A number as JSON can have it: NaN becomes null."""
    return value if math.isfinite(value) else None


def _is_stream(path: Path) -> bool:
    """Whether `path` stands for something that is not a file, such as /dev/stdout."""
    return str(path) == "-" or (path.exists() and not path.is_file() and not path.is_dir())
