"""One call from a declaration to a ranker: ``rankinite.assemble``."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankinite._crew import check_jobs
from rankinite._numba import threads
from rankinite.combination import Combination
from rankinite.data import Dataset
from rankinite.distributed import (
    Communicator,
    Serial,
    everywhere,
    failing_together,
    told_by_all,
)
from rankinite.distributed.cores import threads_of_worker
from rankinite.ensemble.declaration import Declaration
from rankinite.ensemble.folds import fold_numbers
from rankinite.ensemble.material import Material
from rankinite.ensemble.narrowed import columns_of
from rankinite.ensemble.plan import (
    Prints,
    Step,
    key_of,
    steps_of_combination,
    steps_of_members,
    title,
)
from rankinite.ensemble.reading import read_declaration
from rankinite.ensemble.report import BEST_SUBSET, Report, make_report
from rankinite.ensemble.run_folder import RunFolder
from rankinite.ensemble.running import Progress, pending, run_steps
from rankinite.ensemble.teamwork import run_on_workers
from rankinite.ensemble.work import Workshop
from rankinite.errors import DataError, ParameterError, RankiniteWarning
from rankinite.formats.files import checked_path, replacing
from rankinite.measures import compare
from rankinite.measures.evaluation import Evaluator
from rankinite.models.parameters import OneOf, Whole
from rankinite.training.callbacks import show_line
from rankinite.training.resuming import load_on_all


@dataclass(frozen=True, eq=False)
class Ensemble:
    """A trained ensemble; printing shows the tables.

    Attributes
    ----------
    model : Combination
        One ranker, which is saved and scores like any other.
    report : Report
    """

    model: Combination
    report: Report

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file."""
        self.model.save(path)

    def __str__(self) -> str:
        return str(self.report)


def assemble(
    declaration: str | os.PathLike[str] | Mapping[str, Any] | Declaration,
    train: Dataset,
    valid: Dataset | None = None,
    test: Dataset | None = None,
    *,
    run: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    keep_going: bool = False,
    n_threads: int | None = None,
    verbose: int = 0,
    communicator: Communicator | None = None,
) -> Ensemble:
    """Train an ensemble as it is declared, and combine its members to one ranker.

    Parameters
    ----------
    declaration : path or dict
        A TOML file, or a dict of the same form; `rankinite ensemble --example` prints one.
    train : Dataset
        With values and labels.
    valid : Dataset, optional
        Members are combined, compared and chosen by their scores on it; by default by their scores
        of the training data, each by a model that has not learned from the query.
    test : Dataset, optional
        To measure on at the end; it decides nothing.
    run : path, optional
        A folder for models, scores and logs of all members. A call with the same folder goes on
        where the last one ended, and does anew only what depends on a change of the declaration or
        of the data. By default nothing is kept.
    jobs : int
        Members, and models of a member, that are trained side by side, in processes.
    keep_going : bool
        Do without members that fail, instead of failing too.
    n_threads : int, optional
        Of all jobs together; all cores by default. No result depends on it, nor on `jobs`.
    verbose : int
        1 shows every step.
    communicator : Communicator, optional
        The workers that do it together (`rankinite.mpi`). Each passes the same declaration and all
        data, and gets the ensemble that one process would have got, byte for byte. LambdaMART,
        MART and McRank are trained by all of them together, other rankers and combinations by one
        worker each; with `keep_going` all are. Worker 0 has the folder of the run. `jobs` is 1.

    Returns
    -------
    Ensemble

    Examples
    --------
    >>> import rankinite as rk
    >>> train, test = rk.artificial(n_queries=(60, 30), n_docs=10, n_features=5)
    >>> trees = {"ranker": "LambdaMART", "parameters": {"n_estimators": 5}}
    >>> net = {"ranker": "LambdaRank", "parameters": {"n_epochs": 3}}
    >>> declared = {"data": {"folds": 3}, "member": {"trees": trees, "net": net}}
    >>> found = rk.assemble(declared, train)
    >>> found.model.predict(test).shape
    (300,)
    """
    workers = Serial() if communicator is None else communicator
    with failing_together(workers):
        declared = (
            declaration if isinstance(declaration, Declaration) else read_declaration(declaration)
        )
        Whole(1).check("jobs", jobs)
        Whole(1, optional=True).check("n_threads", n_threads)
        OneOf((True, False)).check("keep_going", keep_going)
        of_each = check_jobs(jobs, n_threads)
        check_one_job(jobs, workers)
        if workers.size > 1:
            of_each = n_threads = threads_of_worker(n_threads, workers)
        for name, rows in (("train", train), ("valid", valid), ("test", test)):
            if rows is not None or name == "train":
                _check_data(name, rows, train)
        with threads(n_threads), _folder_of(run, workers) as folder:
            train_, valid_ = Material.of(train), None if valid is None else Material.of(valid)
            _check_folds_and_features(declared, train_, valid_)
            workshop = Workshop(declared, train_, valid_, folder, of_each)
            speaks = verbose and workers.rank == 0
            progress = Progress(show_line if speaks else _silent, jobs)
            crew = _Crew(workshop, progress, workers)
            _plan(workshop, keep_going, test, workers)
            failures = _make_members(crew, keep_going)
            steps = _try_combinations(crew)
            workshop.n_threads = n_threads
            report = make_report(workshop, steps, failures)
            model = _model(workshop, report.chosen, report.subset, workers)
            if test is not None:
                on_test = _on_test(workshop, model, test, report.best_member, workers)
                report = replace(report, test=on_test)
            if workers.rank == 0:
                with replacing(folder.path / "report.txt") as temporary:
                    temporary.write_text(f"{report}\n", encoding="utf-8")
    return Ensemble(model, report)


class _Crew(NamedTuple):
    """Who does the steps of a run: this process, or several workers."""

    workshop: Workshop
    progress: Progress
    workers: Communicator

    def run(self, steps: list[Step], keep_going: bool = False) -> dict[str, str]:
        """Do the steps that are not done; what went wrong, by owner."""
        workshop, progress = self.workshop, self.progress
        if self.workers.size == 1:
            folder = workshop.folder
            return run_steps(steps, folder, workshop.do, progress, keep_going=keep_going)
        return run_on_workers(steps, workshop, progress, self.workers, keep_going=keep_going)


def check_one_job(jobs: int, workers: Communicator) -> None:
    """Refuse several workers that have several jobs each."""
    if jobs > 1 and workers.size > 1:
        raise ParameterError(
            f"jobs={jobs} is for one process, and here several workers train side by side: leave "
            "it out, or start without them"
        )


def _plan(
    workshop: Workshop, keep_going: bool, test: Dataset | None, workers: Communicator
) -> None:
    """Plan the members, and refuse workers that would do something else than the others."""
    declared, valid = workshop.declaration, workshop.valid
    prints = Prints(workshop.train.fingerprint, None if valid is None else valid.fingerprint)
    steps = steps_of_members(declared, prints, workshop.train.data.n_rows)
    workshop.steps = {step.name: step for step in steps}
    if workers.size == 1:
        return
    tested = None if test is None else Material.of(test).fingerprint
    own = [[step.key for step in steps], asdict(declared.combine), declared.report, tested]
    told = told_by_all(key_of([own, keep_going]), workers)
    for rank, theirs in enumerate(told):
        if theirs != told[0]:
            raise everywhere(
                DataError(
                    f"worker {rank} has another declaration, other data or other options than "
                    "worker 0: pass the same on all workers"
                )
            )


def _silent(line: str) -> None:
    pass


@contextmanager
def _folder_of(run: str | os.PathLike[str] | None, workers: Communicator) -> Iterator[RunFolder]:
    """The folder of a run, or one that is gone at the end, as other workers than 0 have it."""
    if run is not None and workers.rank == 0:
        folder = RunFolder(checked_path(run, "run"))
        with folder.held():
            yield folder
        return
    with tempfile.TemporaryDirectory(prefix="rankinite-") as temporary:
        folder = RunFolder(Path(temporary))
        with folder.held():
            yield folder


def _check_data(what: str, rows: Any, train: Any) -> None:
    if not isinstance(rows, Dataset):
        raise DataError(f"{what} must be a Dataset, got a {type(rows).__name__}")
    if rows.y is None:
        raise DataError(f"the {what} data has no labels: an ensemble needs them")
    rows.features.values(
        f"the {what} data has only bins, and an ensemble needs feature values: pass the data itself"
    )
    if rows.n_features != train.n_features:
        raise DataError(
            f"the {what} data has {rows.n_features} features, but the training data has "
            f"{train.n_features}: pass data with the same features"
        )


def _check_folds_and_features(
    declared: Declaration, train: Material, valid: Material | None
) -> None:
    """Refuse what does not fit the data, before anything is trained."""
    data = train.data
    for each in declared.report:
        with declared.about("data", "measure" if each == declared.measure else "report"):
            for rows in (data, *([] if valid is None else [valid.data])):
                Evaluator(each, rows)
    with declared.about("data", "folds"):
        folds = fold_numbers(data, declared.n_folds, declared.seed)
    told = ~Evaluator(declared.measure, data).blank
    for fold in range(declared.n_folds):
        if not told[folds == fold].any():
            declared.fail(
                f"fold {fold + 1} of {declared.n_folds} has no query with documents of which some "
                "are better than others: take fewer folds, or more data",
                "data",
                "folds",
            )
    for name, member in declared.members.items():
        if member.features is not None:
            with declared.about("member", name, "features"):
                columns_of(member.features, data.n_features, data.feature_names)


def _make_members(crew: _Crew, keep_going: bool) -> dict[str, str]:
    """Train all members; what went wrong, by member."""
    workshop = crew.workshop
    declared, steps = workshop.declaration, list(workshop.steps.values())
    combinations = _combinations(workshop, declared.members)
    crew.progress.expect(pending([*steps, *combinations], workshop.folder))
    failures = crew.run(steps, keep_going)
    workshop.combined = [name for name in declared.members if name not in failures]
    for name, why in failures.items() if crew.workers.rank == 0 else ():
        warnings.warn(
            f"the member {name} is not in the ensemble: {why}", RankiniteWarning, stacklevel=4
        )
    if not workshop.combined:
        first, why = next(iter(failures.items()))
        raise everywhere(DataError(f"all members have failed, {first} because {why}"))
    return failures


def _combinations(workshop: Workshop, members: Iterable[str]) -> list[Step]:
    """The steps that combine members."""
    keys = {name: workshop.steps[name].key for name in members}
    return steps_of_combination(workshop.declaration, keys, workshop.held_out.data.n_rows)


def _try_combinations(crew: _Crew) -> list[Step]:
    """Try all ways to combine the members that there are."""
    workshop = crew.workshop
    steps = _combinations(workshop, workshop.combined)
    crew.progress.expect(pending(steps, workshop.folder))
    crew.run(steps)
    return steps


def _model(
    workshop: Workshop, chosen: str, subset: list[str], workers: Communicator
) -> Combination:
    """The members as one ranker, combined as it was chosen to be; worker 0 makes it for all."""
    path = workshop.folder.path / "ensemble.tmp.rk"
    if workers.rank == 0:
        model = _combined(workshop, chosen, subset)
        if workers.size == 1:
            return model
        model.save(path)
    model = load_on_all(path, workers)
    path.unlink(missing_ok=True)
    model.n_threads = workshop.n_threads
    return model


def _combined(workshop: Workshop, chosen: str, subset: list[str]) -> Combination:
    names, way = workshop.combined, ("average", "data")
    if chosen == BEST_SUBSET:
        names = subset
    else:
        way = next(each for each in workshop.declaration.combine.ways if title(each) == chosen)
    models = {name: workshop.folder.read_model(workshop.steps[name]) for name in names}
    held_out = workshop.held_out
    data = held_out.data
    columns = [held_out.stored(workshop.member_scores(name)) for name in names]
    scores = data.in_caller_order(np.column_stack(columns))
    return workshop.combination(way, models).fit(data, scores=scores)


def _on_test(
    workshop: Workshop, model: Combination, test: Dataset, best: str, workers: Communicator
) -> Any:
    """The members and the ensemble on test data, beside the best member; worker 0 scores it."""
    names, table = [*workshop.combined, "the ensemble"], None
    if workers.rank == 0:
        rankers = [workshop.folder.read_model(workshop.steps[n]) for n in workshop.combined]
        for ranker in rankers:
            ranker.n_threads = workshop.n_threads
        table = np.stack([ranker.predict(test) for ranker in (*rankers, model)])
    scores = dict(zip(names, workers.broadcast(table), strict=True))
    return compare(scores, test, list(workshop.declaration.report), baseline=best)
