"""Steps side by side, each in a process of its own.

A process is a fork of this one, so the data is there without being sent, and in memory once. What
it makes is in files; all that it tells is whether it failed, and how, as JSON. One whose parent is
gone ends itself: nobody would wait for it.
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
from typing import Any

from rankinite.ensemble.plan import Step
from rankinite.errors import RankiniteError, WorkerError

# How long a process that was asked to end has for it, in seconds.
_PATIENCE = 10.0
# Signals that ask a process to end.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_SIGNALS = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]


class Crew:
    """Processes that do steps, as many at a time as there are places.

    Parameters
    ----------
    n_places : int
    work : function of a step
    at_birth : function
        What a process does first.
    """

    def __init__(
        self, n_places: int, work: Callable[[Step], None], at_birth: Callable[[], None]
    ) -> None:
        self.n_places = n_places
        self._work, self._at_birth = work, at_birth
        # Only this process holds the end that is written to: when it is gone, the other end tells.
        self._alive, self._life = os.pipe()
        self._running: dict[Connection, tuple[Step, Any]] = {}

    @property
    def is_full(self) -> bool:
        """Whether all places are taken."""
        return len(self._running) >= self.n_places

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being done."""
        return not self._running

    def start(self, step: Step) -> None:
        """Begin a step."""
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe(duplex=False)
        # Else what is still in a buffer would be written twice.
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
        process = context.Process(target=self._be, args=(step, theirs), daemon=True)
        with _signals_waiting():
            process.start()
        theirs.close()
        self._running[ours] = (step, process)

    def next_done(self) -> tuple[Step, RankiniteError | None]:
        """Wait until a step is done; the step, and what went wrong."""
        connection = wait(list(self._running))[0]
        assert isinstance(connection, Connection)
        step, process = self._running.pop(connection)
        try:
            told = json.loads(connection.recv_bytes())
        except EOFError:  # it was killed, by the system if memory was short
            process.join()
            code = process.exitcode or 0
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            told = {"error": f"its process has ended by {how}: start again to go on"}
        connection.close()
        process.join()
        return step, None if told["error"] is None else WorkerError(told["error"])

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

    def _be(self, step: Step, connection: Connection) -> None:
        """What a process does: one step."""
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
        os.close(self._life)
        threading.Thread(target=self._end_with_parent, daemon=True).start()
        told: dict[str, str | None] = {"error": None}
        try:
            self._at_birth()
            self._work(step)
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


@contextmanager
def _signals_waiting() -> Iterator[None]:
    """Let signals wait until the block ends.

    Python runs functions of its own around a fork, and drops what a signal raises inside them.
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


def can_fork() -> bool:
    """Whether there can be processes at work side by side."""
    return "fork" in multiprocessing.get_all_start_methods()
