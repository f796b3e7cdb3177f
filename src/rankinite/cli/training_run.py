"""A training run of the command line: from the data to the saved model, whatever interrupts it."""

from __future__ import annotations

import time
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rankinite.cli.data_files import DataFiles
from rankinite.cli.inputs import judge_labels, labels_located
from rankinite.cli.outputs import save_or_keep
from rankinite.cli.ranker_options import flag_of
from rankinite.cli.reporting import EndingSignal, exit_code, report, tell
from rankinite.errors import DataError, NothingLearnedWarning

if TYPE_CHECKING:
    from rankinite.cli.training_log import TrainingLog
    from rankinite.data import Dataset
    from rankinite.distributed import Communicator
    from rankinite.measures import Evaluation
    from rankinite.training import Callback, Checkpoint, Learner
    from rankinite.training.distribution import Distribution


@dataclass
class TrainingRun:
    """A ranker with its data, from the start to the saved model."""

    ranker: Learner
    data: Dataset
    valid: Dataset | None
    communicator: Communicator
    distribution: Distribution
    log: TrainingLog | None = None
    checkpoint: Checkpoint | None = None
    seconds: float = 0.0
    interrupt: BaseException | None = None

    def judge(
        self, measures: list[str], train_files: DataFiles, valid_files: DataFiles | None
    ) -> None:
        """Let the measures look at the labels, so that a misfit shows before hours of training.

        Of a part of a file nobody knows at which line it begins: there the query is told.
        """
        if self.communicator.size > 1:
            return
        if self.valid is not None and valid_files is not None:
            judge_labels(measures, valid_files, self.valid)
        by_lambdas = "truncation" in self.ranker.parameter_names()
        if by_lambdas and self.data.y is not None and self.data.preferences is None:
            judge_labels([self.ranker.get_params(deep=False)["measure"]], train_files, self.data)

    def fit(
        self,
        train_files: DataFiles,
        train_measure: bool,
        resume: Path | None,
        quiet: bool,
        allow_nothing: bool,
    ) -> None:
        """Train until the end, or until Ctrl-C."""
        from rankinite.training import Progress

        sets = {"train": self.data} if train_measure else {}
        if self.valid is not None:
            sets["valid"] = self.valid
        job = self.communicator.job
        shown = None if quiet else Progress()
        own = (shown, self.checkpoint, self.log)
        callbacks: list[Callback] = [each for each in own if each is not None]
        started = time.perf_counter()
        try:
            with warnings.catch_warnings(), self._located(train_files):
                if not allow_nothing:
                    warnings.simplefilter("error", NothingLearnedWarning)
                self.ranker.fit(
                    self.data,
                    valid=sets or None,
                    callbacks=callbacks,
                    resume=resume,
                    communicator=job,
                    **asdict(self.distribution),
                )
        except NothingLearnedWarning as warning:
            raise DataError(
                f"{warning}; no model is saved: add --allow-nothing to save it all the same"
            ) from None
        except (KeyboardInterrupt, EndingSignal) as interrupt:
            self.interrupt = interrupt
        self.seconds = time.perf_counter() - started

    def _located(self, files: DataFiles) -> AbstractContextManager[None]:
        whole = self.communicator.size == 1
        return labels_located(files, self.data) if whole else nullcontext()

    def conclude(self, measures: list[str], model: Path, valid_files: DataFiles | None) -> None:
        """Save the model, evaluate it, and tell."""
        if self.interrupt is not None and not self.ranker.__sklearn_is_fitted__():
            unit = self.ranker.unit
            tell(f"interrupted before the first {unit}: there is nothing to save")
            raise typer.Exit(exit_code(self.interrupt))
        if self.communicator.job.rank == 0:
            self._save(model)
        evaluation = self._evaluation(measures)
        if self.log is not None:
            means = {} if evaluation is None else evaluation.means
            self.log.end(self.ranker, means, self.seconds, self.interrupt is not None)
        report(_in_words(self.ranker, self.valid))
        chosen = getattr(self.ranker, "chosen_", {})
        told = [f"{flag_of(name)} {value:g}" for name, value in chosen.items()]
        if self.ranker.get_params(deep=False).get("growth") == "auto":
            told.append(f"{getattr(self.ranker, 'n_symmetric_', 0)} trees symmetric")
        if told:
            report(f"auto: {', '.join(told)}")
        if evaluation is not None:
            report(f"on {valid_files}:\n{evaluation}")
        report(f"model: {model}")
        if self.interrupt is not None:
            tell(f"interrupted: {model} holds what was learned; add --resume {model} to go on")
            raise typer.Exit(exit_code(self.interrupt))

    def _save(self, model: Path) -> None:
        """Save the model, or keep it elsewhere and say where."""
        otherwise = ""
        if self.checkpoint is not None and self.checkpoint.n_saved:
            done = f"{self.checkpoint.n_saved} {self.ranker.unit}s"
            kept = f"the checkpoint {self.checkpoint.path} has {done}"
            otherwise = f"{kept}: make room, and --resume it"
        save_or_keep(self.ranker, model, otherwise)

    def _evaluation(self, measures: list[str]) -> Evaluation | None:
        from rankinite.measures import evaluate

        if self.valid is None:
            return None
        return evaluate(self.ranker, self.valid, measures, communicator=self.communicator)


def _in_words(ranker: Learner, valid: Dataset | None) -> str:
    words = ranker.in_words()
    if valid is None:
        return words
    watched, unit = ranker.measures_on(valid)[0], ranker.unit
    kept, best = ranker.n_rounds_, ranker.best_iteration_
    done = len(ranker.history_["valid"][str(watched)])
    if kept < done:
        return f"{words}, the best by {watched} of {done} {unit}s"
    if best < kept:
        extreme = "lowest" if watched.lower_is_better else "highest"
        return f"{words} ({watched} was {extreme} after {best} of them)"
    return words
