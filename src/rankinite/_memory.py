"""Memory that is free is given back to the system."""

from __future__ import annotations

import ctypes
import sys


def give_back() -> None:
    """Give back what was let go, where the C library would keep it for later (glibc does).

    To be called where much was let go, and much else is about to be asked for in other sizes.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            trim(0)
