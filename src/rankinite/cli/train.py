"""``rankinite train``: learn a ranker and save it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankinite.cli.compiling import CompilingAhead, be_silent_about_compiling
from rankinite.cli.data_files import DataFiles
from rankinite.cli.inputs import Expected, label_if_there, read_like, split_measures
from rankinite.cli.options import (
    DATA_PANEL,
    DataPaths,
    Document,
    Force,
    Label,
    NFeatures,
    Pairs,
    Qid,
    SameId,
    Weight,
)
from rankinite.cli.outputs import check_new, check_writable
from rankinite.cli.ranker_options import RANKERS, make_ranker, takes_ranker_parameters
from rankinite.cli.reporting import tell, tell_reading
from rankinite.cli.training_run import TrainingRun
from rankinite.cli.workers import refuse_several, workers
from rankinite.errors import ParameterError

if TYPE_CHECKING:
    from rankinite.data import Dataset
    from rankinite.data.shares import Shape
    from rankinite.distributed import Communicator
    from rankinite.training import Learner

_RUN_PANEL = "The run"


@takes_ranker_parameters
def train(
    data: DataPaths,
    *,
    parameters: dict[str, Any],
    valid: Annotated[
        list[Path] | None,
        typer.Option(
            help="Data to measure after every round; give several files one by one.",
            show_default=False,
        ),
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
    weight: Weight = None,
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
    same_id: SameId = "error",
    n_features: NFeatures = None,
    train_measure: Annotated[
        bool, typer.Option("--train-measure", help="Also watch DATA.", rich_help_panel=_RUN_PANEL)
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
    distribute: Annotated[
        str,
        typer.Option(
            metavar="WHAT",
            help="What the processes of mpiexec share out: rows, features or trees.",
            rich_help_panel=_RUN_PANEL,
        ),
    ] = "rows",
    select: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="Whose tree joins the model, with --distribute trees: that of a process that is "
            "drawn (sample), or the best of all for the documents of the others (full).",
            rich_help_panel=_RUN_PANEL,
        ),
    ] = "sample",
    overlap: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="With --distribute trees: a process also grows its trees on the shares of so "
            "many others.",
            rich_help_panel=_RUN_PANEL,
        ),
    ] = 0,
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
    Started by mpiexec, the processes share out the queries; the model is the same, unless they
    share out the trees.

    Example: rankinite train train.txt --valid valid.txt --early-stopping 50
    """
    from rankinite.training.distribution import Distribution

    with workers(distribute) as communicator:
        leads = communicator.job.rank == 0
        refuse_several(communicator, pairs=pairs, valid_pairs=valid_pairs, document=document)
        quiet = quiet or not leads
        # A run that goes on replaces what it has come to before.
        check_new(model, "the model", force or resume is not None or not leads)
        for path, what in ((checkpoint, "checkpoints"), (log, "the log")):
            check_writable(path if leads else None, what)
        if quiet:
            be_silent_about_compiling()
        learner = make_ranker(ranker, parameters)
        distribution = Distribution(distribute, select, overlap)
        distribution.check(communicator.job.size)
        if communicator.job.size > 1:
            learner.check_distributes()
        if pairs is not None and not learner.learns_preferences:
            raise ParameterError(
                f"a {type(learner).__name__} learns from labels, not from pairs: leave out "
                "--pairs, or choose another --ranker"
            )
        train_files, valid_files = DataFiles.of(data, same_id), DataFiles.maybe(valid, same_id)
        watches = valid_files is not None or train_measure
        if parameters.get("valid_measure") is not None and not watches:
            raise ParameterError(
                "--valid-measure needs data to look at: add --valid or --train-measure, or leave "
                "it out"
            )
        names = _measures_at_the_end(measures, learner, valid_files, valid_pairs)
        roles = {
            "label": label,
            "qid": qid,
            "weight": weight,
            "features": None if features is None else features.split(","),
            "document": document,
        }
        compiling = None
        # Processes side by side compile what they need at the same time anyway.
        if learner.learns_from_bins and communicator.job.size == 1:
            watched = str(learner.watched_measures(valid_pairs is not None)[0])
            by_lambdas = pairs is None and "truncation" in learner.parameter_names()
            growth = learner.get_params().get("growth", "best_first")
            compiling = CompilingAhead(by_lambdas, watched, quiet, growth)
        sets = _read(
            (train_files, pairs),
            (valid_files, valid_pairs),
            learner,
            n_features,
            roles,
            quiet,
            communicator,
        )
        shapes = _shapes(sets, communicator)
        if not quiet:
            for files, shape in shapes.items():
                tell(f"{files}: {shape}")
        run = TrainingRun(
            learner,
            _with_pairs(sets[train_files], pairs),
            None if valid_files is None else _with_pairs(sets[valid_files], valid_pairs),
            communicator,
            distribution,
        )
        run.judge(names, train_files, valid_files)
        if log is not None and leads:
            from rankinite.cli.training_log import TrainingLog

            run.log = TrainingLog(log)
            run.log.start(learner, parameters.get("base_model"), shapes)
        if checkpoint is not None and leads:
            from rankinite.training import Checkpoint

            run.checkpoint = Checkpoint(checkpoint, checkpoint_every)
        if compiling is not None:
            compiling.finish()
        run.fit(train_files, train_measure, resume, quiet, allow_nothing)
        run.conclude(names, model, valid_files)


def _shapes(sets: dict[DataFiles, Dataset], communicator: Communicator) -> dict[DataFiles, Shape]:
    from rankinite.data.shares import Shape

    return {files: Shape.of(rows, communicator) for files, rows in sets.items()}


def _with_pairs(rows: Dataset, pairs: Path | None) -> Dataset:
    return rows if pairs is None else rows.with_preferences(pairs)


def _measures_at_the_end(
    measures: str | None, ranker: Learner, valid: DataFiles | None, valid_pairs: Path | None
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
    train: tuple[DataFiles, Path | None],
    valid: tuple[DataFiles | None, Path | None],
    ranker: Learner,
    n_features: int | None,
    roles: dict[str, Any],
    quiet: bool,
    communicator: Communicator,
) -> dict[DataFiles, Dataset]:
    """The datasets by their files: only bins, unless a base model needs the values.

    `train` and `valid` are data with its pairs; data that has pairs needs no labels.
    """
    from rankinite._numba import threads
    from rankinite.formats import read

    binned = ranker.learns_from_bins and ranker.base_model is None
    max_bins = ranker.get_params(deep=False)["max_bins"] if binned else None
    (train_files, pairs), (valid_files, valid_pairs) = train, valid
    own = roles if pairs is None else roles | {"label": label_if_there(train_files, roles["label"])}
    for files in (train_files, valid_files):
        if files is not None and not quiet:
            tell_reading(files)
    with threads(ranker.n_threads):
        same_id = train_files.same_id
        rows = read(
            train_files.at_hand,
            n_features=n_features,
            max_bins=max_bins,
            same_id=same_id,
            communicator=communicator,
            **own,
        )
        data = {train_files: rows}
        if valid_files is not None and valid_files != train_files:
            data[valid_files] = read_like(
                valid_files,
                Expected(rows.n_features, rows.feature_names, f"the training data {train_files}"),
                label=roles["label"],
                qid=roles["qid"],
                document=None if valid_pairs is None else roles["document"],
                labels_needed=valid_pairs is None,
                bins_of=None if max_bins is None else rows,
                communicator=communicator,
            )
    return data
