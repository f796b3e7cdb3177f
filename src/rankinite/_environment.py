"""Variables of the environment that would end numba in its own words."""

from __future__ import annotations

import os

from rankinite.errors import ParameterError


def check_environment() -> None:
    """Refuse a number of threads that is none, before numba is imported and meets it."""
    given = os.environ.get("NUMBA_NUM_THREADS", "")
    try:
        wrong = int(given) < 1
    except ValueError:
        wrong = False  # numba warns of it, and takes all cores
    if wrong:
        raise ParameterError(
            f"NUMBA_NUM_THREADS={given} in the environment is no number of threads: unset it, or "
            "set it to 1 or more"
        )
