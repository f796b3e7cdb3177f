"""Tasks side by side, each in a process of its own.

A process is a fork of this one, so the data is there without being sent, and in memory once, and
whatever a script or a notebook has defined is known to it. What it tells is JSON: what came out, or
what went wrong. One whose parent is gone ends itself: nobody would wait for it.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from rankinite.errors import ParameterError, RankiniteError, WorkerError

Task = TypeVar("Task")

# How long a process that was asked to end has for it, in seconds.
_PATIENCE = 10.0
# Signals that ask a process to end.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_SIGNALS = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]


class Crew(Generic[Task]):
    """Processes that do tasks, as many at a time as there are places.

    Parameters
    ----------
    n_places : int
    work : function of a task
        What it gives must be something that JSON can tell.
    at_birth : function, optional
        What a process does first.
    """

    def __init__(
        self,
        n_places: int,
        work: Callable[[Task], Any],
        at_birth: Callable[[], None] = lambda: None,
    ) -> None:
        self.n_places = n_places
        self._work, self._at_birth = work, at_birth
        # Only this process holds the end that is written to: when it is gone, the other end tells.
        self._alive, self._life = os.pipe()
        self._running: dict[Connection, tuple[Task, Any]] = {}

    @property
    def is_full(self) -> bool:
        """Whether all places are taken."""
        return len(self._running) >= self.n_places

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being done."""
        return not self._running

    def start(self, task: Task) -> None:
        """Begin a task."""
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe(duplex=False)
        # Else what is still in a buffer would be written twice.
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
        process = context.Process(target=self._be, args=(task, theirs), daemon=True)
        with signals_waiting():
            process.start()
        theirs.close()
        self._running[ours] = (task, process)

    def next_done(self) -> tuple[Task, Any, RankiniteError | None]:
        """Wait until a task is done; the task, what came out, and what went wrong."""
        connection = wait(list(self._running))[0]
        assert isinstance(connection, Connection)
        task, process = self._running.pop(connection)
        try:
            told = json.loads(connection.recv_bytes())
        except EOFError:  # it was killed, by the system if memory was short
            process.join()
            code = process.exitcode or 0
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            told = {"error": f"its process has ended by {how}: start again to go on"}
        connection.close()
        process.join()
        error = None if told["error"] is None else WorkerError(told["error"])
        return task, told.get("result"), error

    def end(self) -> None:
        """End what is being done, and let the processes go."""
        for connection, (_, process) in self._running.items():
            process.terminate()
            process.join(_PATIENCE)
            if process.is_alive():
                process.kill()
                process.join()
            connection.close()
        self._running.clear()
        os.close(self._alive)
        os.close(self._life)

    def _be(self, task: Task, connection: Connection) -> None:
        """What a process does: one task."""
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
        os.close(self._life)
        threading.Thread(target=self._end_with_parent, daemon=True).start()
        told: dict[str, Any] = {"error": None}
        try:
            self._at_birth()
            told["result"] = self._work(task)
        except RankiniteError as error:
            told["error"] = str(error)
        except Exception as error:
            traceback.print_exc()
            told["error"] = f"{type(error).__name__}: {error}"
        connection.send_bytes(json.dumps(told).encode())
        connection.close()

    def _end_with_parent(self) -> None:
        os.read(self._alive, 1)
        os._exit(1)


def check_jobs(jobs: int, n_threads: int | None) -> int | None:
    """The threads of each of so many processes; a ParameterError if there can be none."""
    if jobs == 1:
        return n_threads
    if "fork" not in multiprocessing.get_all_start_methods():
        raise ParameterError("jobs above 1 needs a system that can fork: use jobs=1 here")
    return max(1, (n_threads or os.cpu_count() or 1) // jobs)


@contextmanager
def signals_waiting() -> Iterator[None]:
    """Let signals wait until the block ends.

    Python runs functions of its own around a fork, and when objects are let go that others refer
    to weakly, and drops what a signal raises inside them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    noted: list[int] = []
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number in _SIGNALS:
        signal.signal(number, lambda number, frame: noted.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
    for number in noted:
        signal.raise_signal(number)
