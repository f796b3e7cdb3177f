"""The one skeleton of training: from `fit` to the last round, for every learner.

`Learner.fit` takes the data in, lets the learner prepare its `Rounds`, and hands them to `train`;
what they have learned becomes the fitted attributes, at every checkpoint and at the end.
"""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar, Self

import numpy as np

from rankinite._numba import threads
from rankinite.data import Dataset
from rankinite.data.shares import agreed_share
from rankinite.distributed import Communicator, SameRows, Serial, failing_together, told_by
from rankinite.distributed.cores import threads_of_worker
from rankinite.errors import (
    DataError,
    NothingLearnedWarning,
    ParameterError,
    RankiniteWarning,
)
from rankinite.measures.evaluation import labels_named
from rankinite.models.base_model import as_scorer, base_scores, check_base
from rankinite.models.foreign import is_foreign
from rankinite.models.parameters import Constraint, Real, Whole
from rankinite.models.ranker import training_data
from rankinite.models.storage import to_state
from rankinite.order.seeds import seed_of
from rankinite.training.agreement import (
    agreed_sets,
    check_same_data_on_all,
    check_same_parameters,
)
from rankinite.training.callbacks import Checkpoint, Progress
from rankinite.training.distribution import Distribution
from rankinite.training.measured_learner import MeasuredLearner
from rankinite.training.nothing_learned import why_nothing
from rankinite.training.resuming import check_same_data, checkpoint_of
from rankinite.training.rounds import Rounds, train
from rankinite.training.run import Callback, Run, as_callbacks
from rankinite.training.watching import (
    Watched,
    WatchedSets,
    check_measurable,
    check_watchable,
    like_training,
    means_of,
    named_sets,
)

# Parameters that may differ between an interrupted run and the one that resumes it, of any
# learner, beside the number of rounds: they do not change what a round learns.
_FREE_ON_RESUME = {"early_stopping", "backfit", "n_threads", "verbose", "base_model"}


class Learner(MeasuredLearner):
    """A ranker that is trained in rounds on labelled queries.

    A subclass makes the rounds of its kind (`_prepare`), readies the sets that are watched for them
    (`_watch`), and takes what they have learned (`_take`). It says in `_own_state` and `_restore`
    what of it belongs into the model file, and in `_earlier` how to go on from there.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        Only if the training data had names.
    history_ : dict
        ``history_["valid"]["ndcg@10"][t]`` is the mean of the measure after t + 1 rounds.
    best_iteration_ : int
        Number of rounds at which the validation measure was best; all of them without
        validation data.
    seed_ : int
        What all random numbers came from: `random_state`, or what was drawn for None.
    """

    constraints: ClassVar[Mapping[str, Constraint]] = {
        "learning_rate": Real(0.0),
        "early_stopping": Whole(1, optional=True),
        "sigma": Real(0.0),
        "random_state": Whole(0, 2**63 - 1, optional=True),
        "n_threads": Whole(1, optional=True),
        "verbose": Whole(0),
    }
    # The parameter that bounds the rounds, and what a round is called.
    _rounds: ClassVar[str] = "n_estimators"
    unit: ClassVar[str] = "tree"
    # Whether the score is a sum over rounds, of which the first ones can score alone.
    sums_rounds: ClassVar[bool] = False
    # Whether a dataset that holds only bins is enough to train on.
    learns_from_bins: ClassVar[bool] = False
    # Whether a dataset with preferences is learned from them; labels are learned otherwise.
    learns_preferences: ClassVar[bool] = False
    # Whether only documents of one query with different labels teach something.
    learns_from_pairs: ClassVar[bool] = True
    # Whether several workers can train it together, each on queries of its own.
    distributes: ClassVar[bool] = False

    learning_rate: float
    early_stopping: int | None
    sigma: float
    verbose: int

    # Of the training that is under way.
    _seed: int
    _distribution: Distribution = Distribution()

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        valid: Dataset | Mapping[str, Dataset] | None = None,
        callbacks: Sequence[Callback] = (),
        resume: str | os.PathLike[str] | Self | None = None,
        communicator: Communicator | None = None,
        distribute: str = "rows",
        select: str = "sample",
        overlap: int = 0,
        **unknown: Any,
    ) -> Self:
        """Train on queries with labels, or with preferences if this learner can.

        Parameters
        ----------
        X : Dataset, matrix or frame
            A Dataset brings its labels, preferences, queries and weights along.
        y, qid, sample_weight, query_weight
            Labels, query ids, weights of the rows and of the queries, when X is not a Dataset
            (there `sample_weight` is called ``weight``).
        valid : Dataset or dict of Datasets, optional
            Sets to measure after every round. Early stopping watches the one called "valid", or
            the last one.
        callbacks : sequence
            Objects with ``after_round(run)`` (true ends the training) and ``finish(run)``.
        resume : path or model, optional
            A checkpoint of an interrupted run with the same data and parameters: its rounds are
            taken over, and the result is the model that the run would have given, bit for bit.
        communicator : Communicator, optional
            The workers that train together (`rankinite.mpi`): all get the model that one worker
            would have got from all data, bit for bit, unless they distribute trees.
        distribute : {"rows", "features", "trees"}
            What the workers share out. Rows: each passes the queries that it has, or None as X if
            it has none; one without validation data may leave `valid` out, and pass None for a set
            that it has no rows of. Features: each passes all data, and looks for splits in its
            share of the features. Trees: data as for rows, but each tree is grown by one worker on
            its own queries alone, and takes the steps that all queries ask for. Next to nothing is
            told between workers, and the model is another one for other shares of the data (Svore
            and Burges 2012, algorithm 3).
        select : {"sample", "full"}
            Whose tree joins the model, for ``distribute="trees"``: that of a worker drawn by how
            many rows it has, the only one to grow one then; or, of the trees that all of them
            grow, the one that is best for the `measure` on the queries its worker does not have.
        overlap : int
            For ``distribute="trees"``: each worker also grows its trees on the queries of so many
            others, the next ones by rank, which it is sent once, in bins.

        Returns
        -------
        self
            With an interrupt (Ctrl-C) the model keeps what it has learned, and the interrupt goes
            on. If there was nothing to learn, a `NothingLearnedWarning` says why.
        """
        self._refuse_unknown("fit", unknown)
        communicator = Serial() if communicator is None else communicator
        with failing_together(communicator):
            self.check_params()
            self._distribution = Distribution(distribute, select, overlap)
            self._distribution.check(communicator.size)
            self._check_workers(
                communicator, **asdict(self._distribution), resume=resume is not None
            )
            if distribute == "features" and communicator.size > 1:
                communicator = SameRows(communicator)
            rows = None
            if X is not None or communicator.size == 1:
                rows = training_data(X, y, qid, sample_weight, query_weight)
            sets = agreed_sets(named_sets(valid, communicator.size > 1), communicator)
            rows = agreed_share(rows, communicator, "the training data")
            self._fit(rows, sets, as_callbacks(callbacks), resume, communicator)
        return self

    def _fit(
        self,
        rows: Dataset,
        valid: Mapping[str, Dataset],
        callbacks: Sequence[Callback],
        resume: Any,
        communicator: Communicator,
    ) -> None:
        """Train on this worker's share of the data."""
        dataset = rows.that_count(communicator)
        if dataset.y is None and dataset.preferences is not None and not self.learns_preferences:
            raise DataError(
                f"the data has preferences and no labels, and a {type(self).__name__} learns from "
                "labels: pass y, or use LambdaMART or RankNet"
            )
        base = self._checked_base(dataset, callbacks)
        with threads(threads_of_worker(self.n_threads, communicator.job)):
            run = self._train(dataset, base, valid, callbacks, resume, communicator)
            why = why_nothing(self, dataset, communicator) if run.learned_nothing else ""
        if not run.speaks:
            return
        if run.diverged:
            warnings.warn(run.diverged, RankiniteWarning, stacklevel=3)
        elif run.learned_nothing:
            warnings.warn(f"nothing was learned: {why}", NothingLearnedWarning, stacklevel=3)

    def _train(
        self,
        dataset: Dataset,
        base: Any,
        valid: Mapping[str, Dataset],
        callbacks: Sequence[Callback],
        resume: Any,
        communicator: Communicator,
    ) -> Run:
        sets = self._sets(valid, dataset, communicator)
        job = communicator.job
        other = self._checkpoint(resume, job)
        # A run that drew its seed goes on with it.
        drawn = None if other is None else other.seed_
        seed = seed_of(drawn if self.random_state is None else self.random_state)
        self._seed = told_by(seed, job)
        speaks = job.rank == 0
        callbacks = [each for each in callbacks if speaks or not _is_on_one_worker(each)]
        own: list[Callback] = [Progress()] if self.verbose and speaks else []
        if self.early_stopping is not None:
            own.insert(0, sets.early_stopping(self.early_stopping))
        before = _scores_before(base, dataset)
        with labels_named(self.get_params(deep=False)["measure"], dataset):
            rounds = self._prepare(dataset, before, communicator)
        for watched in sets:
            before = _scores_before(base, watched.data)
            watched.rows, watched.scores = self._watch(watched, before, rounds)
        if job is not communicator:
            check_same_data_on_all(rounds.fingerprint, [each.data for each in sets], job)
        run = Run(n_rounds=int(getattr(self, self._rounds)), unit=self.unit, speaks=speaks)
        earlier = None
        if other is not None:
            check_same_data(other, rounds.fingerprint)
            earlier = self._earlier(other, rounds, run)

        def keep() -> None:
            self._keep(run, rounds, sets, dataset, base)

        def save(path: str | os.PathLike[str]) -> None:
            keep()
            if speaks:
                self.save(path)

        run.save = save
        try:
            train(run, rounds, sets, [*own, *callbacks], earlier, job)
        finally:
            # A run that failed before its first round leaves the model as it was.
            if run.n_done or run.diverged:
                run.learned_nothing = rounds.learned_nothing()
                keep()
                if self.early_stopping is not None:
                    self._take(rounds, self.best_iteration_)

        def tell(text: str) -> None:
            for each in (*own, *callbacks):
                if isinstance(each, Progress):
                    each.tell(text)

        self._refine(rounds, dataset, tell)
        return run

    @abstractmethod
    def _prepare(self, dataset: Dataset, before: np.ndarray, communicator: Communicator) -> Rounds:
        """Make ready to learn.

        Parameters
        ----------
        dataset : Dataset
            This worker's share.
        before : ndarray of float64, shape (n_rows,)
            Scores of the base model, in stored order; 0 without one.
        communicator : Communicator
            Of size 1 for learners that do not distribute.
        """

    @abstractmethod
    def _watch(self, watched: Watched, before: np.ndarray, rounds: Any) -> tuple[Any, np.ndarray]:
        """The features of a set as the rounds score them, and its scores before the first.

        Parameters
        ----------
        watched : Watched
            Its data has the features of the training data.
        before : ndarray of float64, shape (n_rows,)
            Scores of the base model; 0 without one.
        rounds : what `_prepare` made
        """

    @abstractmethod
    def _take(self, rounds: Any, n_rounds: int) -> None:
        """Store what the first `n_rounds` rounds have learned in the fitted attributes."""

    def _earlier(self, other: Self, rounds: Any, run: Run) -> Any:
        """What the model of an interrupted run has learned, as `Rounds.take_over` needs it.

        A learner that cannot resume says so in `_checkpoint`.
        """
        raise NotImplementedError("this learner refuses to resume")

    def _refine(self, rounds: Any, dataset: Dataset, tell: Callable[[str], None]) -> None:
        """Change what was kept, after the last round of a run that was not broken off.

        `tell` shows how far it is, to those who watch.
        """

    def _check_rounds(self, n_rounds: int | None) -> None:
        if not self.sums_rounds:
            super()._check_rounds(n_rounds)
        elif n_rounds is not None:
            Whole(0, self.n_rounds_).check("n_rounds", n_rounds)

    def in_words(self) -> str:
        """The trained model in a few words, for people."""
        self.check_fitted()
        return f"{type(self).__name__} with {self.n_rounds_} {self.unit}s"

    def check_params(self) -> None:
        """Refuse parameters outside their range, or that do not fit each other."""
        super().check_params()
        if self.base_model is not None and not is_foreign(self.base_model):
            as_scorer(self.base_model)

    def _check_workers(self, communicator: Communicator, **options: Any) -> None:
        """Refuse workers that cannot train this learner together, with these options of `fit`."""
        if communicator.size > 1:
            self.check_distributes()
            check_same_parameters({**self.get_params(deep=False), **options}, communicator)

    def check_distributes(self) -> None:
        """Refuse to be trained by several workers, if it cannot be."""
        if not self.distributes:
            raise ParameterError(
                f"a {type(self).__name__} cannot be trained by several workers: use LambdaMART, "
                "MART or McRank, or train it on one"
            )

    def _checked_base(self, dataset: Dataset, callbacks: Sequence[Callback]) -> Any:
        """The base model as a scorer; refused if it would fail on the data or at a checkpoint."""
        if self.base_model is None:
            return None
        base = as_scorer(self.base_model)
        check_base(base, dataset)
        if getattr(base, "needs_queries", False):
            raise ParameterError(
                "base_model looks at the scores of a query's documents together, and a base model "
                "scores documents one by one: use one that does, such as a Combination with "
                "normalize='data'"
            )
        if any(isinstance(callback, Checkpoint) for callback in callbacks):
            to_state(base)
        return base

    def _sets(
        self, valid: Mapping[str, Dataset], train: Dataset, communicator: Communicator
    ) -> WatchedSets:
        """The sets that are watched, each with its measure; refused if they cannot be measured."""
        sets = []
        for name, rows in valid.items():
            own = self.measures_on(rows)
            for each in own:
                check_measurable(rows, each, name)
            rows = like_training(rows, train, name)
            evaluate = means_of(own, rows, float(getattr(self, "sigma", 1.0)), communicator)
            sets.append(Watched(name, rows, own, evaluate))
        found = WatchedSets(sets)
        if self.early_stopping is not None and found.leader is not None:
            check_watchable(found.leader)
        return found

    def _keep(
        self, run: Run, rounds: Rounds, sets: WatchedSets, dataset: Dataset, base: Any
    ) -> None:
        """Store what a run has come to in the fitted attributes."""
        self.n_features_in_ = dataset.n_features
        self._feature_names = dataset.feature_names
        self.history_ = run.history
        self.best_iteration_ = sets.best_round(run.history, run.n_done)
        self.seed_ = self._seed
        self._base = base
        self._data_fingerprint = rounds.fingerprint
        self._take(rounds, run.n_done)

    def _checkpoint(self, resume: Any, communicator: Communicator) -> Self | None:
        """The model of an interrupted run, if it has this learner's parameters."""
        if resume is None:
            return None
        free = _FREE_ON_RESUME | {self._rounds}
        return checkpoint_of(self, resume, free, communicator)


def _scores_before(base: Any, rows: Dataset) -> np.ndarray:
    """Scores before the first round, shape (n_rows,): those of the base model, or 0."""
    zeros = np.zeros(rows.n_rows)
    # Not every model takes a matrix without rows, as a worker may have it.
    return zeros if base is None or rows.n_rows == 0 else base_scores(base, rows) + zeros


def _is_on_one_worker(callback: Callback) -> bool:
    return getattr(callback, "on_one_worker", False)
