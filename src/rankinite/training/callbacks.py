"""What happens after every round: stopping early, showing progress, keeping checkpoints."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from rankinite.errors import DataError, RankiniteError, RankiniteWarning
from rankinite.models.parameters import Whole
from rankinite.training.run import History, Run


def best_round(history: History, name: str, measure: str, lowest: bool = False) -> int:
    """Number of rounds at which the measure was highest, the fewest of equals; 0 without values.

    With `lowest` that at which it was lowest.
    """
    values = np.array(history.get(name, {}).get(measure, ()))
    if len(values) == 0 or np.isnan(values).all():
        return 0
    return int(np.nanargmin(values) if lowest else np.nanargmax(values)) + 1


class EarlyStopping:
    """End the run when the measure on a watched set has not risen for `rounds` rounds.

    Or fallen, with `lowest`. It only looks at the history, so a run that is resumed stops where it
    would have stopped.
    """

    def __init__(self, rounds: int, name: str, measure: str, lowest: bool = False) -> None:
        self.rounds = rounds
        self.name = name
        self.measure = measure
        self.lowest = lowest

    def ends(self, run: Run) -> bool:
        """Whether the best round lies far enough back."""
        best = best_round(run.history, self.name, self.measure, self.lowest)
        return run.n_done - best >= self.rounds

    def after_round(self, run: Run) -> bool:
        """Whether the run is to end."""
        return self.ends(run)

    def finish(self, run: Run) -> None:
        """Nothing to close."""


class Checkpoint:
    """Save the model every so many rounds, and when the run ends in whatever way.

    A checkpoint that cannot be written, because the disk is full, is told once as a warning; the
    training goes on, and tries again the next time.

    Parameters
    ----------
    path : path
        Replaced as a whole each time: a crash leaves the last whole checkpoint.
    every : int

    Attributes
    ----------
    n_saved : int
        Rounds in the newest checkpoint; 0 without one.
    """

    on_one_worker = True

    def __init__(self, path: str | Path, every: int = 50) -> None:
        Whole(1).check("every", every)
        self.path = Path(path)
        self.every = every
        self.n_saved = 0
        self._warned = False
        if self.path.is_dir() or not self.path.parent.is_dir():
            raise DataError(
                f"cannot write checkpoints to {path}: it is a folder, or in a folder that does not "
                "exist"
            )

    def after_round(self, run: Run) -> bool:
        """Save when it is time; never stops the run."""
        if run.n_done % self.every == 0:
            self._save(run)
        return False

    def finish(self, run: Run) -> None:
        """Save what the run has come to."""
        if run.n_done:
            self._save(run)

    def _save(self, run: Run) -> None:
        try:
            run.save(self.path)
            self.n_saved = run.n_done
        except RankiniteError as error:
            if not self._warned:
                self._warned = True
                _warn(f"there is no checkpoint of {run.unit} {run.n_done}: {error}")


class Log:
    """Append one JSON object a round to a file: the round's number, the seconds, the measures.

    A file that can no longer be written is told as a warning, and the training goes on without it.
    """

    on_one_worker = True

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._failed = False
        try:
            self._file: TextIO = self.path.open("a", encoding="utf-8")
        except OSError as error:
            raise DataError(f"cannot write the log to {path}: {error.strerror}") from error

    def write(self, entry: dict[str, Any]) -> None:
        """Write one line now, so that a reader sees it while training goes on."""
        if self._failed:
            return
        # JSON has no NaN, the mean of a set whose queries are all blank.
        plain = {key: None if value != value else value for key, value in entry.items()}
        line = json.dumps(plain, allow_nan=False) + "\n"
        try:
            if self._file.closed:  # by the run before this one
                self._file = self.path.open("a", encoding="utf-8")
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            self._failed = True
            self.close()
            _warn(f"the log {self.path} ends here: {error.strerror or error}")

    def close(self) -> None:
        """Close the file; what could not be written before is not tried again."""
        with suppress(OSError):
            self._file.close()

    def after_round(self, run: Run) -> bool:
        """Log the round; never stops the run."""
        self.write(
            {"event": "round", f"{run.unit}s": run.n_done, "seconds": round(run.seconds, 4)}
            | run.latest()
        )
        return False

    def finish(self, run: Run) -> None:
        """Log the end."""
        self.write({"event": "end", f"{run.unit}s": run.n_done, "seconds": round(run.seconds, 4)})
        self.close()


class Progress:
    """A bar on a terminal, a plain line now and then elsewhere.

    Where it can no longer be shown, because the stream is closed, the training goes on without it.

    Parameters
    ----------
    every : int
        Rounds between two lines where there is no terminal.
    stream : text file, optional
        Standard error by default.
    """

    on_one_worker = True

    def __init__(self, every: int = 50, stream: TextIO | None = None) -> None:
        Whole(1).check("every", every)
        self.every = every
        self.stream = sys.stderr if stream is None else stream
        # Seconds of the first round, which may have compiled kernels: they say nothing of the rest.
        self._first_seconds = 0.0
        self._bar: Any = None
        self._task: Any = None
        # Python has no standard error where it was closed before the start.
        self._ended = self.stream is None

    def after_round(self, run: Run) -> bool:
        """Show the round; never stops the run."""
        self._try(self._show, run)
        return False

    def finish(self, run: Run) -> None:
        """Close the bar, or write the last line."""
        self._try(self._end, run)

    def tell(self, text: str) -> None:
        """Write a line of what comes after the last round."""
        self._try(lambda line: print(line, file=self.stream, flush=True), text)

    def _try(self, show: Callable[[Any], None], what: Any) -> None:
        if self._ended:
            return
        try:
            show(what)
        except (OSError, ValueError) as error:  # of a stream that is broken, closed, or ASCII
            self._ended = True
            _warn(f"progress is no longer shown: {error}")

    def _show(self, run: Run) -> None:
        if self.stream.isatty():
            self._advance(run)
            return
        if run.n_done - run.n_taken_over == 1:
            self._first_seconds = run.seconds
        if run.n_done % self.every == 0 or run.n_done == 1:
            self._line(run)

    def _end(self, run: Run) -> None:
        if self._bar is not None:
            bar, self._bar = self._bar, None
            bar.stop()
        elif run.n_done and run.n_done % self.every != 0 and run.n_done != 1:
            self._line(run)

    def _advance(self, run: Run) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            class Stream(Console):
                def on_broken_pipe(self) -> None:  # else rich would end the process
                    raise BrokenPipeError("the pipe is broken")

            self._bar = Progress(
                TextColumn(f"{run.unit} {{task.completed}}/{{task.total}}"),
                BarColumn(),
                TextColumn("{task.description}"),
                TimeRemainingColumn(),
                console=Stream(file=self.stream),
                refresh_per_second=5,
            )
            self._task = self._bar.add_task("", total=run.n_rounds, completed=run.n_taken_over)
            self._bar.start()
        self._bar.update(self._task, completed=run.n_done, description=_measures(run))

    def _line(self, run: Run) -> None:
        n_timed = run.n_done - run.n_taken_over - 1
        left = ""
        if n_timed > 0:
            seconds = (run.seconds - self._first_seconds) / n_timed * (run.n_rounds - run.n_done)
            left = f", {seconds:.0f} s left at most"
        print(
            f"{run.unit} {run.n_done}/{run.n_rounds}  {_measures(run)}  {run.seconds:.1f} s{left}",
            file=self.stream,
            flush=True,
        )


def show_line(line: str) -> None:
    """Print a line of progress to standard error, if there is one that takes it."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            print(line, file=sys.stderr, flush=True)


def _warn(what: str) -> None:
    """Tell of an output that failed; none of them decides about the model."""
    warnings.warn(f"{what}; the training goes on", RankiniteWarning, stacklevel=3)


def _measures(run: Run) -> str:
    return "  ".join(f"{name} {value:.4f}" for name, value in run.latest().items())
