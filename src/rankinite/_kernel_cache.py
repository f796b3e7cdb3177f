"""Compiled kernels on disk: true to their sources, and whole.

numba keeps a kernel by the content of its own file. It does not notice when a kernel in another
file, whose code was compiled into it, has changed, nor another llvmlite; and it takes whatever
stands in its files for compiled code. So here a compiled kernel carries a stamp of the sources of
all kernels and of the versions of all that compiles them, and a checksum. One with another stamp,
or that is damaged, counts as absent: it is compiled anew and written over.
"""

from __future__ import annotations

import contextlib
import hashlib
import pickle
import platform
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core.caching import IndexDataCacheFile

from rankinite.errors import RankiniteWarning

_PACKAGE = Path(__file__).parent
_DIGEST_BYTES = 32

# Called with the name of a kernel when it was not on disk, before it is compiled.
before_compiling: list[Callable[[str], None]] = []


def kernel_sources() -> list[Path]:
    """The files whose content may be compiled into a kernel."""
    found = [*_PACKAGE.glob("_*.py"), *_PACKAGE.glob("*/_*_kernels.py")]
    # Kernels take constants from here.
    return sorted([*found, _PACKAGE / "measures" / "codes.py"])


def _stamp() -> str:
    versions = (numba.__version__, llvmlite.__version__, np.__version__, platform.python_version())
    digest = hashlib.sha256(repr(versions).encode())
    for source in kernel_sources():
        digest.update(source.read_bytes())
    return digest.hexdigest()


_STAMP = _stamp()


def keep_on_disk(kernel: Any) -> Any:
    """Let a kernel look for its compiled form on disk, and leave it there."""
    if not hasattr(kernel, "enable_caching"):
        return kernel  # a plain function, with NUMBA_DISABLE_JIT
    try:
        kernel.enable_caching()
    except RuntimeError:
        warnings.warn(
            "compiled kernels cannot be kept, so every run compiles them anew: set NUMBA_CACHE_DIR "
            "to a folder that can be written to",
            RankiniteWarning,
            stacklevel=3,
        )
        return kernel
    cache = kernel._cache
    cache._cache_file = _CacheFile(cache.cache_path, cache._impl.filename_base, _STAMP)
    return kernel


def is_kept(kernel: Any) -> bool:
    """Whether a kernel is on disk in its compiled form, for some types."""
    file = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
    return isinstance(file, _CacheFile) and bool(file._load_index())


class _CacheFile(IndexDataCacheFile):
    """The files of one kernel: an index of what was compiled for which types, and the code."""

    def load(self, key: Any) -> Any:
        data = super().load(key)
        if data is None:
            for listener in list(before_compiling):
                listener(self._index_name.partition("-")[0])
        return data

    def save(self, key: Any, data: Any) -> None:
        # On a full disk, say, the next run compiles it again.
        with contextlib.suppress(OSError):
            super().save(key, data)

    def _load_index(self) -> dict:
        found = _read(Path(self._index_path))
        return found[1] if found is not None and found[0] == self._source_stamp else {}

    def _save_index(self, overloads: dict) -> None:
        self._write(self._index_path, (self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        found = _read(Path(self._data_path(name)))
        # Whatever the index says: another process may be writing for other sources.
        return found[1] if found is not None and found[0] == self._source_stamp else None

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), (self._source_stamp, data))

    def _write(self, path: str, content: Any) -> None:
        data = self._dump(content)
        with self._open_for_write(path) as file:
            file.write(hashlib.sha256(data).digest() + data)


def _read(path: Path) -> Any:
    """What was written to a file; None if there is none, or not all of it as it was."""
    try:
        content = memoryview(path.read_bytes())
    except OSError:
        return None
    digest, data = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    if hashlib.sha256(data).digest() != digest:
        return None
    try:
        return pickle.loads(data)
    except (AttributeError, ImportError):
        return None  # it names classes of another release, in a folder that both share
