"""What must be right before anything is imported that looks at it."""

from __future__ import annotations

import os

from rankinite.errors import ParameterError

_THREADS = "NUMBA_NUM_THREADS"


def check_environment() -> None:
    """Refuse a number of threads in the environment that numba would refuse with a traceback."""
    wanted = os.environ.get(_THREADS)
    if wanted is None:
        return
    try:
        n_threads = int(wanted)
    except ValueError:
        n_threads = 0
    if n_threads < 1:
        raise ParameterError(
            f"the environment variable {_THREADS} must be a whole number at least 1, and it is "
            f"{wanted!r}: set it to the number of threads, or unset it"
        )
