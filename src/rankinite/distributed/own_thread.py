"""A thread that makes calls for others, so that nobody must wait for a call that never returns.

On Linux a thread has a name in the kernel, with which the names of those that it starts begin. By
one that is its own one can see whether what a library has started for a call is alive.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

_NUMBERS = itertools.count()


class OwnThread:
    """Makes calls one after another; it does not keep the process from ending."""

    def __init__(self) -> None:
        self._name = f"rk{next(_NUMBERS)}:"  # short: the kernel keeps 15 bytes
        self._asked: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._last: Future[Any] | None = None
        threading.Thread(target=self._make_calls, name=self._name, daemon=True).start()

    @property
    def is_busy(self) -> bool:
        """Whether a call that was asked for has not returned."""
        return self._last is not None and not self._last.done()

    def ask(self, call: Callable[[], Any]) -> Future[Any]:
        """What the call will return or raise, after all that was asked before."""
        self._last = Future()
        self._asked.put((self._last, call))
        return self._last

    def end(self) -> None:
        """Make the calls that were asked for, and no more."""
        self._asked.put(None)

    def n_threads(self) -> int:
        """It and the threads that its calls have started, but for those that have ended.

        0 where that is not known.
        """
        found = 0
        for path in Path("/proc/self/task").glob("*/comm"):
            with suppress(OSError):  # it has ended meanwhile
                found += path.read_bytes().startswith(self._name.encode())
        return found

    def _make_calls(self) -> None:
        with suppress(OSError):  # not Linux
            Path("/proc/thread-self/comm").write_text(self._name, encoding="utf-8")
        while (asked := self._asked.get()) is not None:
            answer, call = asked
            try:
                answer.set_result(call())
            except BaseException as error:
                answer.set_exception(error)
