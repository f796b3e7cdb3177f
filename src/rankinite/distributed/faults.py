"""Errors among workers: one that all have met is raised on all, any other ends the job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from rankinite.distributed.communicator import Communicator

E = TypeVar("E", bound=Exception)


def everywhere(error: E) -> E:
    """Mark an error that every worker raises, because all of them have seen the same."""
    error.met_by_all = True  # type: ignore[attr-defined]
    return error


def is_everywhere(error: BaseException) -> bool:
    """Whether every worker raises the error."""
    return getattr(error, "met_by_all", False)


@contextmanager
def alone() -> Iterator[None]:
    """Let no error inside the block pass for one that every worker raises: this one works alone."""
    try:
        yield
    except Exception as error:
        error.met_by_all = False  # type: ignore[attr-defined]
        raise


@contextmanager
def failing_together(communicator: Communicator) -> Iterator[None]:
    """End the job if this worker alone fails inside the block: the others would wait for ever."""
    try:
        yield
    except BaseException as error:
        if communicator.size > 1 and not is_everywhere(error):
            communicator.abort(error)
        raise
