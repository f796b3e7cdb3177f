"""Opening and writing files: compression by suffix, atomic writes, errors that name the file."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rankinite.errors import DataError, RankiniteError

_COMPRESSION = {".gz": "gzip", ".zst": "zstd"}


def compression_of(path: Path) -> str | None:
    """The compression that the suffix of `path` stands for."""
    return _COMPRESSION.get(path.suffix.lower())


def check_readable(path: Path) -> None:
    """Raise a DataError that says why `path` cannot be read, if it cannot."""
    if path.is_dir():
        raise DataError(f"{path} is a folder: pass the path of a file")
    if not path.exists():
        raise DataError(f"{path} does not exist")
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error


def read_bytes(path: Path) -> np.ndarray:
    """The bytes of a file, decompressed; a plain file is mapped, not read.

    Returns
    -------
    ndarray of uint8, shape (n_bytes,), read-only
    """
    if compression_of(path) is not None:
        with open_input(path) as stream:
            try:
                return np.frombuffer(stream.read(), dtype=np.uint8)
            except OSError as error:
                raise DataError(f"{path} cannot be decompressed: {error}") from error
    if path.stat().st_size == 0:
        return np.frombuffer(b"", dtype=np.uint8)
    return np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))


def read_chunks(path: Path, chunk_bytes: int) -> Iterator[np.ndarray]:
    """Whole lines of a file, decompressed, of about `chunk_bytes` bytes at a time.

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
        while True:
            if kept == len(buffer):
                buffer = buffer + bytearray(len(buffer))
            n_read = _fill(stream, memoryview(buffer)[kept:], path)
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
    return path.open("rb", buffering=0) if compression_of(path) is None else open_input(path)


def _fill(stream: Any, room: memoryview, path: Path) -> int:
    """Read as many bytes as there is room for, or as there are; their number."""
    n_bytes = 0
    while n_bytes < len(room):
        try:
            n_read = stream.readinto(room[n_bytes:])
        except OSError as error:
            what = "read" if compression_of(path) is None else "decompressed"
            raise DataError(f"{path} cannot be {what}: {error}") from error
        if n_read == 0:
            break
        n_bytes += n_read
    return n_bytes


def open_input(path: Path) -> Any:
    """A pyarrow stream of the decompressed content."""
    import pyarrow as pa

    return pa.input_stream(str(path), compression=compression_of(path))


def open_output(path: Path, compression: str | None) -> Any:
    """A pyarrow stream that compresses what is written to it."""
    import pyarrow as pa

    return pa.output_stream(str(path), compression=compression)


@contextlib.contextmanager
def replacing(path: Path, error_type: type[RankiniteError] = DataError) -> Iterator[Path]:
    """A temporary file beside `path` that takes its place when the block ends without an error.

    A reader never sees half a file, and a failure leaves what was there before.
    """
    if path.is_dir():
        raise error_type(f"{path} cannot be written: it is a folder")
    # Not from tempfile, whose files only their owner may read.
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        temporary.touch(exist_ok=False)
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise error_type(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
