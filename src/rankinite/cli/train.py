"""``rankinite train``: learn a ranker and save it."""

from __future__ import annotations

import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankinite.cli.compiling import CompilingAhead, be_silent_about_compiling
from rankinite.cli.inputs import (
    Expected,
    at_hand,
    label_if_there,
    labels_located,
    read_like,
    split_measures,
)
from rankinite.cli.options import DATA_PANEL, Document, Force, Label, Pairs, Qid
from rankinite.cli.outputs import check_new, check_writable
from rankinite.cli.ranker_options import RANKERS, make_ranker, takes_ranker_parameters
from rankinite.cli.reporting import EndingSignal, exit_code, report, tell
from rankinite.errors import DataError, ModelFileError, NothingLearnedWarning, ParameterError

if TYPE_CHECKING:
    from rankinite.cli.training_log import TrainingLog
    from rankinite.data import Dataset
    from rankinite.measures import Evaluation
    from rankinite.training import Callback, Checkpoint, Learner, Run

_RUN_PANEL = "The run"
# Bytes of a file whose reading takes long enough to be told.
LARGE_FILE = 20_000_000


@takes_ranker_parameters
def train(
    train_data: Annotated[
        Path, typer.Argument(metavar="TRAIN", show_default=False, help="Labelled queries.")
    ],
    *,
    parameters: dict[str, Any],
    valid: Annotated[
        Path | None, typer.Option(help="Data to measure after every round.", show_default=False)
    ] = None,
    model: Annotated[Path, typer.Option(help="Where to save the ranker.")] = Path("ranker.rk"),
    force: Force = False,
    ranker: Annotated[
        str, typer.Option(metavar="NAME", help=f"The kind of ranker: {', '.join(RANKERS)}.")
    ] = "lambdamart",
    measures: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            show_default="the one that was watched",
            help="What to evaluate on the validation data at the end.",
        ),
    ] = None,
    label: Label = "label",
    qid: Qid = "qid",
    weight: Annotated[
        str | None,
        typer.Option(
            help="Column of the documents' weights in CSV or Parquet.",
            show_default=False,
            rich_help_panel=DATA_PANEL,
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Columns of the features in CSV or Parquet.",
            show_default="all others",
            rich_help_panel=DATA_PANEL,
        ),
    ] = None,
    pairs: Pairs = None,
    valid_pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The same for the validation data.",
            show_default=False,
            rich_help_panel=DATA_PANEL,
        ),
    ] = None,
    document: Document = None,
    n_features: Annotated[
        int | None,
        typer.Option(
            help="Number of features of SVMlight text.",
            show_default="largest index in TRAIN",
            rich_help_panel=DATA_PANEL,
        ),
    ] = None,
    train_measure: Annotated[
        bool, typer.Option("--train-measure", help="Also watch TRAIN.", rich_help_panel=_RUN_PANEL)
    ] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Save the run here as it goes.", show_default=False, rich_help_panel=_RUN_PANEL
        ),
    ] = None,
    checkpoint_every: Annotated[
        int, typer.Option(help="Rounds between two checkpoints.", rich_help_panel=_RUN_PANEL)
    ] = 50,
    resume: Annotated[
        Path | None,
        typer.Option(
            help="Go on from a checkpoint of the same data and parameters.",
            show_default=False,
            rich_help_panel=_RUN_PANEL,
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            help="Append one JSON object a round to this file.",
            show_default=False,
            rich_help_panel=_RUN_PANEL,
        ),
    ] = None,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Print the result only.", rich_help_panel=_RUN_PANEL),
    ] = False,
    allow_nothing: Annotated[
        bool,
        typer.Option(
            "--allow-nothing",
            help="Save the model even if there was nothing to learn.",
            rich_help_panel=_RUN_PANEL,
        ),
    ] = False,
) -> None:
    """Learn a ranker from labelled queries, and save it to one file.

    With --pairs it is learned from preference pairs instead of labels.
    Ctrl-C (or SIGTERM, SIGHUP) ends the training and keeps what was learned.

    Example: rankinite train train.txt --valid valid.txt --early-stopping 50
    """
    # A run that goes on replaces what it has come to before.
    check_new(model, "the model", force or resume is not None)
    for path, what in ((checkpoint, "checkpoints"), (log, "the log")):
        check_writable(path, what)
    if quiet:
        be_silent_about_compiling()
    learner = make_ranker(ranker, parameters)
    if pairs is not None and not learner.learns_preferences:
        raise ParameterError(
            f"a {type(learner).__name__} learns from labels, not from pairs: leave out --pairs, or "
            "choose another --ranker"
        )
    names = _measures_at_the_end(measures, learner, valid, valid_pairs)
    names_of_features = None if features is None else features.split(",")
    roles = {
        "label": label,
        "qid": qid,
        "weight": weight,
        "features": names_of_features,
        "document": document,
    }
    compiling = None
    if learner.learns_from_bins:
        watched = str(learner.watched_measures(valid_pairs is not None)[0])
        by_lambdas = pairs is None and "truncation" in learner.parameter_names()
        compiling = CompilingAhead(by_lambdas, watched, quiet)
    data = _read((train_data, pairs), (valid, valid_pairs), learner, n_features, roles, quiet)
    for path, rows in data.items():
        if not quiet:
            shape = (
                f"{rows.n_rows:,} rows, {rows.n_queries:,} queries, {rows.n_features:,} features"
            )
            tell(f"{path}: {shape}")
    run = TrainingRun(
        learner,
        _with_pairs(data[train_data], pairs),
        None if valid is None else _with_pairs(data[valid], valid_pairs),
    )
    run.judge(names, train_data, valid)
    if log is not None:
        from rankinite.cli.training_log import TrainingLog

        run.log = TrainingLog(log)
        run.log.start(learner, parameters.get("base_model"), data)
    if checkpoint is not None:
        from rankinite.training import Checkpoint

        run.checkpoint = Checkpoint(checkpoint, checkpoint_every)
    if compiling is not None:
        compiling.finish()
    run.fit(train_measure, resume, quiet, allow_nothing)
    run.conclude(names, model, valid)


class _BackfitNotice:
    """Says after the last tree that there is more to do."""

    def __init__(self, n_sweeps: int) -> None:
        self._n_sweeps = n_sweeps

    def after_round(self, run: Run) -> bool:
        return False

    def finish(self, run: Run) -> None:
        tell(f"back-fitting the trees, at most {self._n_sweeps} sweeps")


@dataclass
class TrainingRun:
    """A ranker with its data, from the start to the saved model."""

    ranker: Learner
    data: Dataset
    valid: Dataset | None
    log: TrainingLog | None = None
    checkpoint: Checkpoint | None = None
    seconds: float = 0.0
    interrupt: BaseException | None = None

    def judge(self, measures: list[str], train_path: Path, valid_path: Path | None) -> None:
        """Let the measures look at the labels, so that a misfit shows before hours of training."""
        from rankinite.measures import Evaluator

        if self.valid is not None and valid_path is not None:
            with labels_located(valid_path, self.valid):
                for each in measures:
                    Evaluator(each, self.valid)
        by_lambdas = "truncation" in self.ranker.parameter_names()
        if by_lambdas and self.data.y is not None and self.data.preferences is None:
            with labels_located(train_path, self.data):
                Evaluator(self.ranker.get_params(deep=False)["measure"], self.data)

    def fit(
        self, train_measure: bool, resume: Path | None, quiet: bool, allow_nothing: bool
    ) -> None:
        """Train until the end, or until Ctrl-C."""
        from rankinite.training import Progress

        sets = {"train": self.data} if train_measure else {}
        if self.valid is not None:
            sets["valid"] = self.valid
        shown = None if quiet else Progress()
        own = (shown, self.checkpoint, self.log)
        callbacks: list[Callback] = [each for each in own if each is not None]
        n_sweeps = self.ranker.get_params(deep=False).get("backfit", 0)
        if n_sweeps and not quiet:
            callbacks.append(_BackfitNotice(n_sweeps))
        started = time.perf_counter()
        try:
            with warnings.catch_warnings():
                if not allow_nothing:
                    warnings.simplefilter("error", NothingLearnedWarning)
                self.ranker.fit(self.data, valid=sets or None, callbacks=callbacks, resume=resume)
        except NothingLearnedWarning as warning:
            raise DataError(
                f"{warning}; no model is saved: add --allow-nothing to save it all the same"
            ) from None
        except (KeyboardInterrupt, EndingSignal) as interrupt:
            self.interrupt = interrupt
        self.seconds = time.perf_counter() - started

    def conclude(self, measures: list[str], model: Path, valid_path: Path | None) -> None:
        """Save the model, evaluate it, and tell."""
        if self.interrupt is not None and not self.ranker.__sklearn_is_fitted__():
            unit = self.ranker.unit
            tell(f"interrupted before the first {unit}: there is nothing to save")
            raise typer.Exit(exit_code(self.interrupt))
        self._save(model)
        evaluation = self._evaluation(measures)
        if self.log is not None:
            means = {} if evaluation is None else evaluation.means
            self.log.end(self.ranker, means, self.seconds, self.interrupt is not None)
        report(_in_words(self.ranker, self.valid))
        if evaluation is not None:
            report(f"on {valid_path}:\n{evaluation}")
        report(f"model: {model}")
        if self.interrupt is not None:
            tell(f"interrupted: {model} holds what was learned; add --resume {model} to go on")
            raise typer.Exit(exit_code(self.interrupt))

    def _save(self, model: Path) -> None:
        """Save the model, or keep it elsewhere and say where."""
        try:
            self.ranker.save(model)
        except ModelFileError as error:
            raise ModelFileError(f"{error}; {self._kept_elsewhere(model)}") from error

    def _kept_elsewhere(self, model: Path) -> str:
        """Where what was learned is, now that it could not be saved; in words."""
        other = Path(tempfile.mkdtemp(prefix="rankinite-")) / model.name
        try:
            self.ranker.save(other)
            return f"what was learned is in {other} instead: move it from there"
        except ModelFileError:
            other.parent.rmdir()
        if self.checkpoint is not None and self.checkpoint.n_saved:
            done = f"{self.checkpoint.n_saved} {self.ranker.unit}s"
            return f"the checkpoint {self.checkpoint.path} has {done}: make room, and --resume it"
        return "it could not be kept in the folder for temporary files either"

    def _evaluation(self, measures: list[str]) -> Evaluation | None:
        from rankinite.measures import evaluate

        return None if self.valid is None else evaluate(self.ranker, self.valid, measures)


def _with_pairs(rows: Dataset, pairs: Path | None) -> Dataset:
    return rows if pairs is None else rows.with_preferences(pairs)


def _measures_at_the_end(
    measures: str | None, ranker: Learner, valid: Path | None, valid_pairs: Path | None
) -> list[str]:
    from rankinite.measures.evaluation import measure_list

    if valid is None:
        needing = {
            "--measures": measures,
            "--early-stopping": ranker.early_stopping,
            "--valid-pairs": valid_pairs,
        }
        for flag, value in needing.items():
            if value is not None:
                raise ParameterError(f"{flag} needs data to look at: add --valid, or leave it out")
    watched = ranker.watched_measures(valid_pairs is not None)
    chosen = watched if measures is None else split_measures(measures)
    return [str(each) for each in measure_list(chosen)]


def _read(
    train: tuple[Path, Path | None],
    valid: tuple[Path | None, Path | None],
    ranker: Learner,
    n_features: int | None,
    roles: dict[str, Any],
    quiet: bool,
) -> dict[Path, Dataset]:
    """The datasets by their paths: only bins, unless a base model needs the values.

    `train` and `valid` are data with its pairs; data that has pairs needs no labels.
    """
    from rankinite._numba import threads
    from rankinite.formats import read

    binned = ranker.learns_from_bins and ranker.base_model is None
    max_bins = ranker.get_params(deep=False)["max_bins"] if binned else None
    (train_data, pairs), (valid_data, valid_pairs) = train, valid
    own = roles if pairs is None else roles | {"label": label_if_there(train_data, roles["label"])}
    for path in (train_data, valid_data):
        if path is not None and not quiet and path.is_file() and path.stat().st_size > LARGE_FILE:
            tell(f"reading {path}, {path.stat().st_size / 1e6:,.0f} MB")
    with threads(ranker.n_threads):
        rows = read(at_hand(train_data), n_features=n_features, max_bins=max_bins, **own)
        data = {train_data: rows}
        if valid_data is not None and valid_data != train_data:
            owner = f"the training data {train_data}"
            data[valid_data] = read_like(
                valid_data,
                Expected(rows.n_features, rows.feature_names, owner),
                label=roles["label"],
                qid=roles["qid"],
                document=None if valid_pairs is None else roles["document"],
                labels_needed=valid_pairs is None,
                bins_of=None if max_bins is None else rows,
            )
    return data


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
