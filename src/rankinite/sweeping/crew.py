"""Who runs the trials: this process, or several others side by side.

What the others are to do is sent to them line by line, and what came out comes back the same way.
They have the data from a file that is theirs alone, and end when this process does, in whatever
way.
"""

from __future__ import annotations

import json
import pickle
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from rankinite.errors import ParameterError, WorkerError
from rankinite.sweeping.objective import Objective
from rankinite.sweeping.trial import Look, Task, Trial

_WORK = "from rankinite.sweeping.worker import work; work()"
# Seconds for a process that has been told to end.
_PATIENCE = 10


class Crew(Protocol):
    """Runs tasks, some of them at a time."""

    @property
    def has_room(self) -> bool:
        """Whether one more task can be begun."""

    def give(self, task: Task) -> None:
        """Begin a task."""

    def take(self) -> Trial:
        """What came out of a task that has ended, whichever is the first."""


class Alone:
    """This process runs one trial after the other."""

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._task: Task | None = None

    @property
    def has_room(self) -> bool:
        """Whether there is no task."""
        return self._task is None

    def give(self, task: Task) -> None:
        """Take a task, to run it when it is asked for."""
        self._task = task

    def take(self) -> Trial:
        """Run the task."""
        task, self._task = self._task, None
        assert task is not None
        return self._objective.run(task)


class SideBySide:
    """Other processes, each with a trial.

    Parameters
    ----------
    job : Path
        The file of what they all need.
    n_workers : int
    """

    def __init__(self, job: Path, n_workers: int) -> None:
        self._answers: queue.Queue[tuple[int, str]] = queue.Queue()
        self._workers = [self._start(job) for _ in range(n_workers)]
        self._free = list(range(n_workers))
        for number in range(n_workers):
            threading.Thread(target=self._listen, args=(number,), daemon=True).start()

    @staticmethod
    def _start(job: Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            # -P: a numba.py in the working folder is not numba.
            [sys.executable, "-P", "-c", _WORK, str(job)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # Ctrl-C is for this process, which ends the others.
            start_new_session=True,
        )

    def _listen(self, number: int) -> None:
        stdout = self._workers[number].stdout
        assert stdout is not None
        for line in stdout:
            self._answers.put((number, line))
        self._answers.put((number, ""))

    @property
    def has_room(self) -> bool:
        """Whether a process has nothing to do."""
        return bool(self._free)

    def give(self, task: Task) -> None:
        """Send a task to a process that has none."""
        stdin = self._workers[self._free.pop(0)].stdin
        assert stdin is not None
        # One that has died says so by the end of its answers.
        with suppress(BrokenPipeError):
            stdin.write(json.dumps(task._asdict()) + "\n")
            stdin.flush()

    def take(self) -> Trial:
        """Wait for an answer."""
        while True:
            number, line = self._answers.get()
            if not line:
                raise WorkerError(
                    f"a process of the sweep has ended with code {self._workers[number].wait()}: "
                    "start the sweep again to go on, with fewer jobs if memory is short"
                )
            told = json.loads(line)
            if "refused" in told:
                raise ParameterError(told["refused"])
            self._free.append(number)
            return trial_of(told)

    def end(self) -> None:
        """Let the processes end, whatever they do."""
        for worker in self._workers:
            assert worker.stdin is not None
            with suppress(OSError):
                worker.stdin.close()
        for worker in self._workers:
            try:
                worker.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()


@contextmanager
def crew_of(objective: Objective, jobs: int) -> Iterator[Crew]:
    """Those who run the trials, as long as the block lasts."""
    if jobs == 1:
        yield Alone(objective)
        return
    with tempfile.TemporaryDirectory(prefix="rankinite-") as folder:
        path = Path(folder, "job")
        _write(objective, path)
        crew = SideBySide(path, jobs)
        try:
            yield crew
        finally:
            crew.end()


def _write(objective: Objective, path: Path) -> None:
    try:
        with path.open("wb") as file:
            pickle.dump(objective, file, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ParameterError(
            f"jobs needs a ranker that can be sent to other processes, and this one cannot "
            f"({error}): use jobs=1"
        ) from None


def trial_of(told: dict[str, Any]) -> Trial:
    """A trial from what JSON has of it."""
    return Trial(**{**told, "curve": [Look(*look) for look in told["curve"]]})


def as_told(trial: Trial) -> str:
    """A trial as JSON has it, in one line."""
    return json.dumps(asdict(trial))
