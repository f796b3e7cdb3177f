"""A training run as its callbacks see it, round by round."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from rankinite.errors import ParameterError

# history["valid"]["ndcg@10"][t] is the mean of the measure after t + 1 rounds.
History = dict[str, dict[str, list[float]]]


def _nothing_to_save(path: str | os.PathLike[str]) -> None:
    raise RuntimeError(f"this run trains no model that could be saved to {os.fspath(path)}")


@dataclass
class Run:
    """The state of a training run; callbacks see it after every round.

    Attributes
    ----------
    n_rounds : int
        Most rounds that the run may have.
    unit : str
        What a round is called: "tree", "round", "epoch".
    n_done : int
        Rounds so far, those of an interrupted run included.
    seconds : float
        Of the rounds that were not taken over from an interrupted run.
    save : function of a path
        Writes the model as it is now to a file, from which `fit` can resume.
    diverged : str
        Why the run could not go on; empty if it could.
    learned_nothing : bool
        Whether the run has ended, and the model ranks as if there had been none.
    speaks : bool
        Whether this worker is the one that shows progress and writes files.
    """

    n_rounds: int
    unit: str = "tree"
    n_done: int = 0
    history: History = field(default_factory=dict)
    seconds: float = 0.0
    n_taken_over: int = 0
    save: Callable[[str | os.PathLike[str]], None] = field(default=_nothing_to_save, repr=False)
    diverged: str = ""
    learned_nothing: bool = False
    speaks: bool = True

    def latest(self) -> dict[str, float]:
        """The newest value of every watched measure, by "set measure"."""
        return {
            f"{name} {measure}": values[-1]
            for name, measures in self.history.items()
            for measure, values in measures.items()
            if values
        }

    def note(self, values: dict[str, dict[str, float]]) -> None:
        """Add a round, with the measures of every set, to the history."""
        for name, measures in values.items():
            for measure, value in measures.items():
                self.history.setdefault(name, {}).setdefault(measure, []).append(value)
        self.n_done += 1


def as_callbacks(callbacks: Any) -> list[Callback]:
    """The callbacks that a caller gave, after a check."""
    if hasattr(callbacks, "after_round") or not isinstance(callbacks, Iterable):
        raise ParameterError(
            f"callbacks must be a list of callbacks, not a {type(callbacks).__name__}: put it in "
            "brackets"
        )
    found = list(callbacks)
    for callback in found:
        if isinstance(callback, type):
            raise ParameterError(
                f"callbacks has the class {callback.__name__}: pass an object of it, "
                f"{callback.__name__}(...)"
            )
        if not all(callable(getattr(callback, name, None)) for name in ("after_round", "finish")):
            raise ParameterError(
                f"callbacks has a {type(callback).__name__}, and a callback is an object with the "
                "methods after_round(run) and finish(run): write a class that has them"
            )
    return found


class Callback(Protocol):
    """Called after every round.

    One that ends runs by their history alone may also have ``ends(run) -> bool``: it is asked
    about the rounds that are taken over from an interrupted run, which are not called again.

    One that has ``on_one_worker = True``, because it writes or speaks, is called on worker 0 alone;
    others on every worker, and one of them is enough to end the run.
    """

    def after_round(self, run: Run) -> bool:
        """Look at the run; True ends it."""

    def finish(self, run: Run) -> None:
        """The run has ended, in whatever way."""
