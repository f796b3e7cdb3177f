"""Keeping the cache of compiled kernels true to their sources.

numba caches a kernel by the time stamp of its own file. It does not notice when a kernel in
another file, whose code was compiled into it, has changed, and files from a wheel may carry the
same time stamp in every release. So the cache belongs to the sources of all kernels together:
when they change, it is thrown away.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

_PACKAGE = Path(__file__).parent
_STAMP = _PACKAGE / "__pycache__" / "kernels.sha256"


def drop_stale_kernels() -> None:
    """Delete the compiled kernels beside the sources if they are not of these sources.

    Where the package cannot be written to, numba keeps its cache elsewhere, by path, and nothing
    is done here.
    """
    digest = hashlib.sha256()
    for source in sorted([*_PACKAGE.glob("_*.py"), *_PACKAGE.glob("*/_*_kernels.py")]):
        digest.update(source.read_bytes())
    stamp = digest.hexdigest()
    with contextlib.suppress(OSError):
        if _STAMP.exists() and _STAMP.read_text() == stamp:
            return
        # The index first: without it the data is not looked for.
        for pattern in ("*/__pycache__/*.nbi", "*/__pycache__/*.nbc"):
            for compiled in _PACKAGE.glob(pattern):
                compiled.unlink(missing_ok=True)
        _STAMP.parent.mkdir(exist_ok=True)
        _STAMP.write_text(stamp)
