"""Who runs the trials: this process, or several others side by side."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Protocol

from rankinite import _crew
from rankinite.errors import WorkerError
from rankinite.sweeping.objective import Objective
from rankinite.sweeping.trial import Look, Task, Trial


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
    """Other processes, each with a trial."""

    def __init__(self, crew: _crew.Crew[Task]) -> None:
        self._crew = crew

    @property
    def has_room(self) -> bool:
        """Whether a process can be started."""
        return not self._crew.is_full

    def give(self, task: Task) -> None:
        """Start a process for a task."""
        self._crew.start(task)

    def take(self) -> Trial:
        """Wait for what comes out."""
        task, told, error = self._crew.next_done()
        if error is not None:
            raise WorkerError(
                f"trial {task.number} failed: {error}, with fewer jobs if memory is short"
            )
        return trial_of(told)


@contextmanager
def crew_of(objective: Objective, jobs: int) -> Iterator[Crew]:
    """Those who run the trials, as long as the block lasts."""
    if jobs == 1:
        yield Alone(objective)
        return
    _ = objective.folds  # cut once, before the processes part
    crew: _crew.Crew[Task] = _crew.Crew(jobs, lambda task: asdict(objective.run(task)))
    try:
        yield SideBySide(crew)
    finally:
        crew.end()


def trial_of(told: dict[str, Any]) -> Trial:
    """A trial from what JSON has of it."""
    return Trial(**{**told, "curve": [Look(*look) for look in told["curve"]]})
