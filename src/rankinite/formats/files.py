"""Opening and writing files: streams, compression, writes that are whole, errors with names."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rankinite.errors import DataError, ParameterError, RankiniteError

_COMPRESSION = {".gz": "gzip", ".zst": "zstd"}
# What compressed content begins with; zstd may begin with a frame to be skipped.
_GZIP, _ZSTD, _ZSTD_SKIPPED = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x2a\x4d\x18"
# Names of open files: they are written to, not replaced, whatever they lead to.
_OPEN_FILES = ("/dev/std", "/dev/fd/", "/proc/")


def checked_path(path: Any, parameter: str = "path") -> Path:
    """A path from whatever a caller passes as one."""
    try:
        return path if isinstance(path, Path) else Path(path)
    except TypeError:
        raise ParameterError(
            f"{parameter} must be a path, a text or a pathlib.Path, not a {type(path).__name__}"
        ) from None


def is_stream(path: Path) -> bool:
    """Whether there is something that is no file, which can be read only once: a pipe, a device.

    ``-`` is standard input.
    """
    if str(path) == "-":
        return True
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def check_readable(path: Path) -> None:
    """Raise a DataError that says why `path` cannot be read, if it cannot.

    A stream is not opened: whoever writes to it would take the closing for the end.
    """
    if is_stream(path):
        return
    try:
        is_folder = path.is_dir()
        if not is_folder:
            path.stat()
            with path.open("rb"):
                pass
    except FileNotFoundError:
        raise DataError(f"{path} does not exist") from None
    except OSError as error:
        raise DataError(f"{_short(path)} cannot be read: {error.strerror}") from error
    except ValueError as error:  # a NUL, or half a character
        raise DataError(f"{_short(path)} is no name that a file can have: {error}") from error
    if is_folder:
        raise DataError(f"{path} is a folder: pass the path of a file")


class StreamCopy(type(Path())):  # type: ignore[misc]
    """A copy of a stream in a file, which messages call by the name of the stream."""

    stream: str

    def __str__(self) -> str:
        return self.stream

    def __fspath__(self) -> str:
        return super().__str__()


@contextlib.contextmanager
def as_file(path: Path) -> Iterator[Path]:
    """The file itself; of a stream, which can be read only once, a copy that is deleted at the end.

    Its name ends as that of the stream does.
    """
    if not is_stream(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="rankinite-") as folder:
        copy = StreamCopy(folder, "stream" if str(path) == "-" else path.name)
        copy.stream = "standard input" if str(path) == "-" else str(path)
        try:
            with _open_stream(path) as source, copy.open("wb") as file:
                shutil.copyfileobj(source, file, 1 << 20)
        except OSError as error:
            raise DataError(
                f"{copy} cannot be copied to the folder {tempfile.gettempdir()}: {error.strerror}"
            ) from error
        yield copy


def _open_stream(path: Path) -> Any:
    if str(path) != "-":
        return path.open("rb")
    if sys.stdin is None:
        raise DataError("standard input is closed: pass the path of a file")
    return contextlib.nullcontext(sys.stdin.buffer)


def compression_of(path: Path) -> str | None:
    """The compression that the suffix of `path` stands for, when it is written."""
    return _COMPRESSION.get(path.suffix.lower())


def compression_in(path: Path) -> str | None:
    """The compression of a file's content, whatever its name."""
    with path.open("rb") as file:
        start = file.read(4)
    if start.startswith(_GZIP):
        return "gzip"
    is_zstd = start == _ZSTD or (start[1:] == _ZSTD_SKIPPED and 0x50 <= start[0] <= 0x5F)
    return "zstd" if is_zstd else None


def first_line(path: Path) -> bytes:
    """The first line of a file, decompressed, without its end."""
    line = bytearray()
    with _open_bytes(path) as stream:
        while more := _read(stream, 1 << 16, path):
            before, end, _ = more.partition(b"\n")
            line += before
            if end:
                break
    return bytes(line)


def start_of(path: Path, n_bytes: int) -> bytes:
    """The first bytes of a file, decompressed."""
    with _open_bytes(path) as stream:
        return _read(stream, n_bytes, path)


def read_bytes(path: Path) -> np.ndarray:
    """The bytes of a file, decompressed; a plain file is mapped, not read.

    Returns
    -------
    ndarray of uint8, shape (n_bytes,), read-only
    """
    if compression_in(path) is not None:
        with open_input(path) as stream:
            return np.frombuffer(_read(stream, None, path), dtype=np.uint8)
    if path.stat().st_size == 0:
        return np.frombuffer(b"", dtype=np.uint8)
    return np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))


def read_chunks(
    path: Path, chunk_bytes: int, span: tuple[int, int] | None = None
) -> Iterator[np.ndarray]:
    """Whole lines of a file, decompressed, of about `chunk_bytes` bytes at a time.

    With a `span` only the lines from its first byte on and before its last, of a plain file.

    The file is read rather than mapped, so that no more of it is in memory than one chunk. A line
    that is longer than a chunk makes it grow.

    Yields
    ------
    ndarray of uint8, shape (n_bytes,), read-only
        Valid until the next one is asked for: they share one buffer.
    """
    buffer = bytearray(chunk_bytes)
    kept = 0  # bytes of a line that has not ended yet
    with _open_bytes(path) as stream:
        left = sys.maxsize
        if span is not None:
            stream.seek(span[0])
            left = span[1] - span[0]
        while True:
            if kept == len(buffer):
                buffer = buffer + bytearray(len(buffer))
            n_read = _fill(stream, memoryview(buffer)[kept : kept + left], path)
            left -= n_read
            filled = kept + n_read
            end = filled if n_read == 0 else buffer.rfind(b"\n", kept, filled) + 1
            if end > 0:
                chunk = np.frombuffer(buffer, np.uint8, end)
                chunk.flags.writeable = False
                yield chunk
                buffer[: filled - end] = buffer[end:filled]
            if n_read == 0:
                return
            kept = filled - end


def _open_bytes(path: Path) -> Any:
    return path.open("rb", buffering=0) if compression_in(path) is None else open_input(path)


def _fill(stream: Any, room: memoryview, path: Path) -> int:
    """Read as many bytes as there is room for, or as there are; their number."""
    n_bytes = 0
    while n_bytes < len(room):
        with _reading(path):
            n_read = stream.readinto(room[n_bytes:])
        if n_read == 0:
            break
        n_bytes += n_read
    return n_bytes


def _read(stream: Any, n_bytes: int | None, path: Path) -> bytes:
    with _reading(path):
        return stream.read(n_bytes)


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what = "read" if compression_in(path) is None else "decompressed"
        raise DataError(f"{path} cannot be {what}: {one_line(error)}") from error


def one_line(error: BaseException) -> str:
    """The first line of what another library says."""
    return next(iter(str(error).splitlines()), "").rstrip(". ") or type(error).__name__


def open_input(path: Path) -> Any:
    """A pyarrow stream of the decompressed content."""
    import pyarrow as pa

    return pa.input_stream(os.fspath(path), compression=compression_in(path))


def open_output(path: Path, compression: str | None) -> Any:
    """A pyarrow stream that compresses what is written to it."""
    import pyarrow as pa

    return pa.output_stream(str(path), compression=compression)


@contextlib.contextmanager
def replacing(path: Path, error_type: type[RankiniteError] = DataError) -> Iterator[Path]:
    """A temporary file beside `path` that takes its place when the block ends without an error.

    A reader never sees half a file, a failure leaves what was there before, and what is there at
    the end outlives a crash of the machine. A symbolic link stays, and the file that it leads to is
    replaced; a replaced file's permissions stay. A device or a pipe is itself what is yielded.
    """
    try:
        place = _place_to_write(path)
        if place is None:
            yield path
        else:
            with _taking_the_place_of(place) as temporary:
                yield temporary
    except OSError as error:
        raise error_type(f"{_short(path)} cannot be written: {error.strerror or error}") from error


def _place_to_write(path: Path) -> Path | None:
    """Where the file is, or will be; None if `path` is something to write to and not to replace."""
    try:
        if path.is_dir():
            raise IsADirectoryError(None, "it is a folder")
        if str(path).startswith(_OPEN_FILES) or (is_stream(path) and str(path) != "-"):
            return None
        return Path(os.path.realpath(path))
    except ValueError as error:  # a NUL, or half a character
        raise OSError(None, f"it is no name that a file can have: {error}") from error


@contextlib.contextmanager
def _taking_the_place_of(place: Path) -> Iterator[Path]:
    # Not from tempfile, whose files only their owner may read.
    temporary = place.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        temporary.touch(exist_ok=False)
        yield temporary
        if place.exists():
            temporary.chmod(stat.S_IMODE(place.stat().st_mode))
        _to_disk(temporary)
        temporary.replace(place)
        with contextlib.suppress(OSError):  # not every system can do it for a folder
            _to_disk(place.parent)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _short(path: Path) -> str:
    """A path for a message, also one that cannot be."""
    text = str(path)
    shown = text if text.isprintable() else repr(text)
    return shown if len(shown) <= 300 else f"{shown[:100]}... ({len(text)} characters)"
