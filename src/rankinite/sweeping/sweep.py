"""Sweeps: which parameters rank best, tried in a declared space."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankinite._crew import check_jobs, signals_waiting
from rankinite.data import Dataset
from rankinite.errors import DataError, ParameterError
from rankinite.measures import Evaluator, Measure
from rankinite.measures import measure as measure_of
from rankinite.models.parameters import OneOf, Whole
from rankinite.sweeping.content import Content
from rankinite.sweeping.crew import Crew, crew_of
from rankinite.sweeping.objective import Objective
from rankinite.sweeping.pruning import SHARES
from rankinite.sweeping.result import Sweep
from rankinite.sweeping.sampling import LAG, SAMPLERS, Sampler
from rankinite.sweeping.space import Space
from rankinite.sweeping.study import Codec, Study, import_optuna
from rankinite.sweeping.trial import Task, Trial
from rankinite.training import Learner
from rankinite.training.callbacks import show_line
from rankinite.training.cross_validation import watches
from rankinite.training.resuming import comparable

# Trials, unless a grid says how many there are.
TRIALS = 30
# What does not change a model, or is told by the fingerprint of the data.
_NOT_DECLARED = ("n_threads", "verbose", "base_model")


def sweep(
    ranker: Learner,
    space: Any,
    data: Dataset,
    measure: str | Measure | None = None,
    *,
    trials: int | None = None,
    sampler: str = "tpe",
    n_folds: int = 5,
    prune: str = "quarter",
    random_state: int = 0,
    study: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    verbose: int = 0,
) -> Sweep:
    """Try parameters of a ranker, each cross-validated by query.

    Parameters
    ----------
    ranker : ranker
        Untrained, with the parameters that are fixed. With `early_stopping` a trial watches a part
        of its training queries, see `cross_validate`, and can be pruned inside a fold.
    space : dict, or str
        The values of each parameter: a list of choices; ``{"low": 50, "high": 400, "step": 30}``;
        ``{"low": 0.01, "high": 0.5, "log": True}``, for a grid with the number of its ``points``.
        Or the name of a preset, of which the space is taken.
    data : Dataset
    measure : str or Measure, optional
        What trials are judged by: that of the ranker by default.
    trials : int, optional
        How many there are to be; all points of a grid, or 30.
    sampler : {"tpe", "random", "grid"}
        How values are chosen: by a model of what came out before (optuna's tree-structured Parzen
        estimator), at random, or all points of the grid in a shuffled order.
    n_folds : int
    prune : {"quarter", "median", "none"}
        Which trials are given up: those that would be in the last quarter, or half, of earlier
        complete ones at the same point.
    random_state : int
        Seed of the folds and of what is drawn. The ranker has its own.
    study : path, optional
        An SQLite file of optuna's that keeps the trials. A sweep that was interrupted goes on with
        what it has, up to `trials`.
    jobs : int
        Processes side by side, which share the threads. The trials do not depend on it.
    verbose : int
        1 shows each trial as it ends.

    Returns
    -------
    Sweep

    Examples
    --------
    >>> import rankinite as rk
    >>> data = rk.artificial(n_queries=30, n_docs=10, n_features=5)
    >>> found = rk.sweep(
    ...     rk.LambdaMART(n_estimators=5, min_samples_leaf=5),
    ...     {"learning_rate": [0.05, 0.2], "max_leaf_nodes": {"low": 2, "high": 6, "step": 2}},
    ...     data,
    ...     sampler="grid",
    ...     n_folds=3,
    ... )
    >>> len(found.trials), sorted(found.best_params)
    (6, ['learning_rate', 'max_leaf_nodes'])
    """
    plan = Plan.of(ranker, space, measure, trials, sampler, n_folds, prune, random_state)
    with Sweeping(plan, data, study, jobs) as sweeping:
        for _ in sweeping.run():
            if verbose:
                show_line(sweeping.progress())
        found = sweeping.found()
    found.best  # noqa: B018 (an error if there is none)
    return found


@dataclass(frozen=True, eq=False)
class Plan:
    """A sweep as it was declared, after a check of all that can be checked without data.

    Attributes
    ----------
    ranker : Learner
    space : Space
    measure : Measure
    n_trials, n_folds, seed : int
    sampler : Sampler
    prune : str
    codec : Codec
    longest : int
        Most rounds of any trial.
    """

    ranker: Learner
    space: Space
    measure: Measure
    n_trials: int
    n_folds: int
    seed: int
    sampler: Sampler
    prune: str
    codec: Codec
    longest: int

    @classmethod
    def of(
        cls,
        ranker: Any,
        space: Any,
        measure: str | Measure | None,
        trials: int | None,
        sampler: str,
        n_folds: int,
        prune: str,
        seed: int,
    ) -> Plan:
        """The plan of what a caller declares; see `sweep`."""
        if not isinstance(ranker, Learner):
            what = f"the class {ranker.__name__}" if isinstance(ranker, type) else repr(ranker)
            raise ParameterError(f"a sweep needs a ranker that learns in rounds, not {what}")
        ranker.check_params()
        if isinstance(space, str):
            from rankinite.sweeping.presets import preset

            space = preset(space).space
        space = Space.of(space)
        space.check(ranker)
        OneOf(SAMPLERS).check("sampler", sampler)
        OneOf(tuple(SHARES)).check("prune", prune)
        Whole(0, 2**63 - 1).check("random_state", seed)
        Whole(1, optional=True).check("trials", trials)
        Whole(2).check("n_folds", n_folds)
        judge = measure_of(ranker.measure if measure is None else measure)
        longest = _longest(ranker, space)
        codec = Codec(space, longest)
        if sampler == "tpe":
            import_optuna()  # now, and not after the trials at random
        drawn = Sampler(space, sampler, int(seed), codec, judge.lower_is_better)
        n_points = drawn.n_points
        n_trials = trials or n_points or TRIALS
        if n_points is not None:
            n_trials = min(n_trials, n_points)
        plan = cls(ranker, space, judge, n_trials, n_folds, int(seed), drawn, prune, codec, longest)
        plan._check_trials()
        return plan

    def _check_trials(self) -> None:
        """Refuse parameters that do not fit each other, as far as the trials are known."""
        n_known = 1 if self.sampler.looks_back else self.n_trials
        for number in range(n_known):
            params = self.sampler.params(number)
            ranker = self.ranker.__sklearn_clone__().set_params(**params)
            try:
                ranker.check_params()
            except ParameterError as error:
                told = ", ".join(f"{name}={value!r}" for name, value in params.items())
                raise ParameterError(
                    f"the space has a trial with {told}, which do not fit each other: {error}"
                ) from None
            if self.n_folds < 3 and watches(ranker):
                raise ParameterError(
                    f"n_folds={self.n_folds} leaves no queries to watch for early_stopping: use 3 "
                    "or more"
                )

    def declaration(self, fingerprint: str) -> dict[str, Any]:
        """What makes it this sweep and no other, in JSON; the number of trials may grow."""
        params = comparable(self.ranker.get_params(deep=False))
        swept = (*self.space.names, *_NOT_DECLARED)
        return {
            "ranker": type(self.ranker).__name__,
            "fixed": {n: _plain(v) for n, v in params.items() if n not in swept},
            "space": self.space.declared(),
            "measure": str(self.measure),
            "n_folds": self.n_folds,
            "sampler": self.sampler.kind,
            "seed": self.seed,
            "prune": self.prune,
            "data": fingerprint,
        }


class Sweeping:
    """A sweep under way; as a context it lets go of the study at the end.

    Parameters
    ----------
    plan : Plan
    data : Dataset
    study : path, optional
    jobs : int
    """

    def __init__(
        self, plan: Plan, data: Dataset, study: str | os.PathLike[str] | None = None, jobs: int = 1
    ) -> None:
        Whole(1).check("jobs", jobs)
        _check_data(data, plan)
        self._plan, self._jobs = plan, min(jobs, plan.n_trials)
        by_pairs = data.preferences is not None and plan.ranker.learns_preferences
        content = Content.of(data, plan.ranker.base_model, by_pairs)
        self._objective = Objective(
            plan.ranker,
            content.data,
            plan.measure,
            plan.n_folds,
            plan.seed,
            plan.longest,
            SHARES[plan.prune],
            check_jobs(self._jobs, plan.ranker.n_threads),
        )
        self._study = Study(
            plan.codec,
            plan.declaration(content.fingerprint),
            plan.measure.lower_is_better,
            None if study is None else Path(study),
        )
        self.n_taken_over = len(self._ended())
        self._started, self._newest = time.perf_counter(), -1

    def __enter__(self) -> Sweeping:
        return self

    def __exit__(self, *exception: object) -> None:
        self._study.close()

    def run(self) -> Iterator[Trial]:
        """Run all trials that have not ended before, and give each as it ends."""
        left = [n for n in range(self._plan.n_trials) if n not in self._study.trials]
        if not left:
            return
        with crew_of(self._objective, min(self._jobs, len(left))) as crew:
            n_running = 0
            while left or n_running:
                with signals_waiting():
                    n_running += self._begin(crew, left)
                trial = crew.take()
                n_running -= 1
                # Writing to a study lets go of much that is referred to weakly.
                with signals_waiting():
                    self._study.add(trial)
                self._newest = trial.number
                yield trial

    def _begin(self, crew: Crew, left: list[int]) -> int:
        """Give out trials while there is room and what they look back at is known; how many."""
        n_begun = 0
        while left and crew.has_room and self._can_begin(left[0]):
            crew.give(self._task(left.pop(0)))
            n_begun += 1
        return n_begun

    def _can_begin(self, number: int) -> bool:
        if not self._looks_back:
            return True
        return all(each in self._study.trials for each in range(number - LAG))

    @property
    def _looks_back(self) -> bool:
        return self._plan.sampler.looks_back or SHARES[self._plan.prune] is not None

    def _task(self, number: int) -> Task:
        past = self._study.past(number - LAG) if self._looks_back else []
        pruned = SHARES[self._plan.prune] is not None
        rivals = [each.curve for each in past if each.is_complete] if pruned else []
        return Task(number, self._plan.sampler.params(number, past), rivals)

    def _ended(self) -> list[Trial]:
        return self._study.past(self._plan.n_trials)

    def found(self) -> Sweep:
        """What the sweep has come to."""
        plan = self._plan
        return Sweep(
            plan.ranker,
            plan.space,
            plan.measure,
            self._ended(),
            plan.n_trials,
            plan.n_folds,
            plan.seed,
        )

    def progress(self) -> str:
        """A line about the trial that has ended last."""
        found, trial = self.found(), self._study.trials[self._newest]
        n_ended, total = len(found.trials), self._plan.n_trials
        told = f"{self._plan.measure} {trial.value:.4f}" if trial.is_complete else trial.state
        line = f"trial {trial.number}, {n_ended} of {total}: {told}"
        if found.ranking:
            line += f", the best {found.best.value:.4f} (trial {found.best.number})"
        seconds = time.perf_counter() - self._started
        left = seconds / max(1, n_ended - self.n_taken_over) * (total - n_ended)
        return f"{line}, {trial.seconds:.1f} s" + (f", about {left:.0f} s left" if left else "")


def _check_data(data: Any, plan: Plan) -> None:
    if not isinstance(data, Dataset):
        raise DataError(f"a sweep needs a Dataset, not a {type(data).__name__}")
    if data.n_queries < plan.n_folds:
        raise DataError(
            f"the data has {data.n_queries} queries, too few for n_folds={plan.n_folds}: use fewer "
            "folds, or more data"
        )
    if Evaluator(plan.measure, data).blank.all():
        raise DataError(
            f"{plan.measure} has no value on this data, where no order of a query's documents is "
            "better than another: pass labelled data"
        )


def _longest(ranker: Learner, space: Space) -> int:
    """Most rounds that a trial can have."""
    name = ranker._rounds
    swept = space.dimensions.get(name)
    return int(getattr(ranker, name) if swept is None else max(swept.extremes()))


def _plain(value: Any) -> Any:
    plain = isinstance(value, (str, int, float, list, Mapping)) or value is None
    return value if plain else repr(value)
