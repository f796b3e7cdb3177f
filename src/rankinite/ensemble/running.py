"""From steps to results: in order, side by side, past those that are done and those that fail."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from rankinite._crew import Crew
from rankinite.distributed import everywhere, is_everywhere
from rankinite.ensemble.plan import Step
from rankinite.ensemble.run_folder import RunFolder
from rankinite.errors import (
    DataError,
    ModelFileError,
    ParameterError,
    RankiniteError,
    WorkerError,
)

Say = Callable[[str], None]
# Errors that are told again with the name of the step; others of their kind take more than a text.
_KINDS = (WorkerError, ModelFileError, ParameterError, DataError, RankiniteError)


@dataclass
class Progress:
    """How far a run is, and how long the rest will take.

    Parameters
    ----------
    say : function of a line
    n_places : int
        Steps that run side by side.
    """

    say: Say
    n_places: int = 1
    n_steps: int = 0
    n_done: int = 0
    _left: float = 0.0
    _cost: float = 0.0
    _seconds: float = 0.0
    _started: dict[str, float] = field(default_factory=dict)

    def expect(self, steps: Iterable[Step]) -> None:
        """Say what is still to be done."""
        steps = list(steps)
        self.n_steps = self.n_done + len(steps)
        self._left = sum(step.cost for step in steps)

    def begin(self, step: Step) -> None:
        """Note that a step begins."""
        self._started[step.name] = time.perf_counter()

    def end(self, step: Step, told: str = "") -> None:
        """Note that a step has ended, and say so."""
        seconds = time.perf_counter() - self._started.pop(step.name, time.perf_counter())
        self.n_done += 1
        self._left -= step.cost
        self._cost += step.cost
        self._seconds += seconds
        left = ""
        if self.n_done < self.n_steps and self._cost > 0:
            left = f", about {_in_words(self._left * self._seconds / self._cost / self.n_places)}"
            left += " left"
        what = told or f"{seconds:.1f} s"
        self.say(f"{step.name}: {what}; {self.n_done} of {self.n_steps} steps{left}")


def run_steps(
    steps: list[Step],
    folder: RunFolder,
    work: Callable[[Step], None],
    progress: Progress,
    *,
    keep_going: bool = False,
) -> dict[str, str]:
    """Do all steps that are not done yet.

    Parameters
    ----------
    steps : list of Step
        Each after those that it needs, if these are in the list.
    folder : RunFolder
        Says which are done.
    work : function of a step
    progress : Progress
        What is expected to be done is told to it before.
    keep_going : bool
        Whether to go on after a step that fails, with all that does not need it.

    Returns
    -------
    dict of str to str
        What went wrong, by the owner of the step; of those that need it too.
    """
    todo = pending(steps, folder)
    if progress.n_places == 1:
        return _one_by_one(todo, work, progress, keep_going)
    crew = Crew(progress.n_places, work, folder.let_go)
    try:
        return _side_by_side(todo, crew, progress, keep_going)
    finally:
        crew.end()


def pending(steps: Iterable[Step], folder: RunFolder) -> list[Step]:
    """The steps that are not done, or were done with another key."""
    return [step for step in steps if not folder.is_done(step)]


def named(step: Step, error: RankiniteError, what: str = " failed: ") -> RankiniteError:
    """The error as one of a few kinds that take a text alone, with the name of the step."""
    kind = next(each for each in _KINDS if isinstance(error, each))
    return kind(f"{step.name}{what}{error}" if what else str(error))


class Failures:
    """What went wrong in a run.

    Parameters
    ----------
    progress : Progress
    keep_going : bool
        Whether to note it only; else it is raised.

    Attributes
    ----------
    by_owner : dict of str to str
        Of the owners of steps that failed, and of those that need them.
    """

    def __init__(self, progress: Progress, keep_going: bool) -> None:
        self._progress, self._keep_going = progress, keep_going
        self.by_owner: dict[str, str] = {}

    def is_lost(self, step: Step) -> bool:
        """Whether a step cannot be done any more, because its member or one it needs failed."""
        lost = [name for name in (step.owner, *step.needs) if name in self.by_owner]
        if not lost:
            return False
        if step.owner not in self.by_owner:
            self.by_owner[step.owner] = f"it needs {lost[0]}"
        self._progress.end(step, "left out")
        return True

    def note(self, step: Step, error: RankiniteError) -> None:
        """Note that a step has failed, or raise what went wrong."""
        if not self._keep_going:
            told = named(step, error)
            raise (everywhere(told) if is_everywhere(error) else told) from error
        self.by_owner.setdefault(step.owner, str(error))
        self._progress.end(step, f"failed: {error}")


def _one_by_one(
    todo: list[Step], work: Callable[[Step], None], progress: Progress, keep_going: bool
) -> dict[str, str]:
    failures = Failures(progress, keep_going)
    for step in todo:
        if failures.is_lost(step):
            continue
        progress.begin(step)
        try:
            work(step)
        except RankiniteError as error:
            failures.note(step, error)
        except Exception as error:
            if not keep_going:
                raise
            failures.note(step, WorkerError(f"{type(error).__name__}: {error}"))
        else:
            progress.end(step)
    return failures.by_owner


def _side_by_side(
    todo: list[Step], crew: Crew[Step], progress: Progress, keep_going: bool
) -> dict[str, str]:
    failures = Failures(progress, keep_going)
    waiting = list(todo)
    open_ = {step.name for step in todo}
    while waiting or not crew.is_idle:
        for step in list(waiting):
            if failures.is_lost(step):
                waiting.remove(step)
                open_.discard(step.name)
            elif not crew.is_full and not open_.intersection(step.needs):
                waiting.remove(step)
                progress.begin(step)
                crew.start(step)
        if crew.is_idle:
            continue
        step, _, error = crew.next_done()
        open_.discard(step.name)
        if error is not None:
            failures.note(step, error)
        else:
            progress.end(step)
    return failures.by_owner


def _in_words(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
