"""Matrices far wider than what fills them: one wrong index must not take all memory."""

from __future__ import annotations

import os

import numpy as np

# So much further than nine tenths of the columns in use must the last one lie to look wrong.
_FAR = 16


def usual_width(used: np.ndarray, width: int) -> int | None:
    """The width that nine tenths of the columns in use take; None if `width` is not far above.

    Columns of honest sparse data are in use all over the width, however few values each has.

    Parameters
    ----------
    used : ndarray of int64
        The columns that hold a value, from 0, ascending.
    width : int
    """
    usual = int(used[int(0.9 * (len(used) - 1))]) + 1 if len(used) else 1
    return usual if width > _FAR * usual else None


def memory() -> int:
    """Bytes of memory of this machine, or a bound that always holds where it does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1 << 46


def in_gigabytes(n_values: int, itemsize: int) -> str:
    """How much memory values take, for people."""
    return f"{n_values * itemsize / 1e9:.1f} GB"
