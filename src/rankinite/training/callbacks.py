"""What happens after every round: stopping early, showing progress, keeping checkpoints."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from rankinite.errors import DataError
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

    Parameters
    ----------
    path : path
        Replaced as a whole each time: a crash leaves the last whole checkpoint.
    every : int
    """

    def __init__(self, path: str | Path, every: int = 50) -> None:
        Whole(1).check("every", every)
        self.path = Path(path)
        self.every = every

    def after_round(self, run: Run) -> bool:
        """Save when it is time; never stops the run."""
        if run.n_done % self.every == 0:
            run.save(self.path)
        return False

    def finish(self, run: Run) -> None:
        """Save what the run has come to."""
        if run.n_done:
            run.save(self.path)


class Log:
    """Append one JSON object a round to a file: the round's number, the seconds, the measures."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self._file: TextIO = self.path.open("a", encoding="utf-8")
        except OSError as error:
            raise DataError(f"cannot write the log to {path}: {error.strerror}") from error

    def write(self, entry: dict[str, Any]) -> None:
        """Write one line now, so that a reader sees it while training goes on."""
        if self._file.closed:  # by the run before this one
            self._file = self.path.open("a", encoding="utf-8")
        # JSON has no NaN, the mean of a set whose queries are all blank.
        plain = {key: None if value != value else value for key, value in entry.items()}
        self._file.write(json.dumps(plain, allow_nan=False) + "\n")
        self._file.flush()

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
        self._file.close()


class Progress:
    """A bar on a terminal, a plain line now and then elsewhere.

    Parameters
    ----------
    every : int
        Rounds between two lines where there is no terminal.
    stream : text file, optional
        Standard error by default.
    """

    def __init__(self, every: int = 50, stream: TextIO | None = None) -> None:
        Whole(1).check("every", every)
        self.every = every
        self.stream = sys.stderr if stream is None else stream
        # Seconds of the first round, which may have compiled kernels: they say nothing of the rest.
        self._first_seconds = 0.0
        self._bar: Any = None
        self._task: Any = None

    def after_round(self, run: Run) -> bool:
        """Show the round; never stops the run."""
        if self.stream.isatty():
            self._advance(run)
        else:
            if run.n_done - run.n_taken_over == 1:
                self._first_seconds = run.seconds
            if run.n_done % self.every == 0 or run.n_done == 1:
                self._line(run)
        return False

    def finish(self, run: Run) -> None:
        """Close the bar, or write the last line."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        elif run.n_done and run.n_done % self.every != 0 and run.n_done != 1:
            self._line(run)

    def _advance(self, run: Run) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn(f"{run.unit} {{task.completed}}/{{task.total}}"),
                BarColumn(),
                TextColumn("{task.description}"),
                TimeRemainingColumn(),
                console=Console(file=self.stream),
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


def _measures(run: Run) -> str:
    return "  ".join(f"{name} {value:.4f}" for name, value in run.latest().items())
