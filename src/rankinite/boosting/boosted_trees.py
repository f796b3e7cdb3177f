"""What LambdaMART and MART share: fitting, scoring, saving, resuming."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Self

import numpy as np

from rankinite._numba import number_of_threads, threads
from rankinite.boosting.callbacks import Checkpoint, EarlyStopping, Progress, best_round
from rankinite.boosting.loop import Callback, History, Run, Watched, boost
from rankinite.boosting.objectives import Objective, document_weights
from rankinite.boosting.watching import (
    binned_like,
    check_watchable,
    leading_set,
    mean_of,
    named_sets,
)
from rankinite.data import Dataset
from rankinite.data.binning import BinMapper
from rankinite.data.row_keys import fingerprint, row_keys
from rankinite.distributed import Communicator, Serial
from rankinite.errors import DataError, ModelFileError, ParameterError
from rankinite.measures import Measure, measure
from rankinite.models.file import Arrays, State
from rankinite.models.parameters import Constraint, OneOf, Real, Whole
from rankinite.models.ranker import Ranker, training_data
from rankinite.models.scorer import as_scorer, base_scores
from rankinite.models.storage import from_state, load, nested, to_state, unnested
from rankinite.trees import (
    SERIAL_ROWS,
    Forest,
    Grower,
    GrowthParameters,
    Tree,
    bins_of_thresholds,
    score_binned,
    score_features,
)

# Parameters that may differ between an interrupted run and the one that resumes it: they do not
# change which trees are grown.
_FREE_ON_RESUME = {"n_estimators", "early_stopping", "n_threads", "verbose", "base_model"}


class BoostedTrees(Ranker):
    """A sum of regression trees, grown one after the other on the λs of an objective.

    Attributes
    ----------
    forest_ : Forest
    n_features_in_ : int
    feature_names_in_ : list of str or None
    history_ : dict
        ``history_["valid"]["ndcg@10"][t]`` is the mean of the measure after t + 1 trees.
    best_iteration_ : int
        Number of trees at which the validation measure was highest; all of them without
        validation data.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_estimators": Whole(1),
        "max_leaf_nodes": Whole(2),
        "learning_rate": Real(0.0),
        "min_samples_leaf": Whole(1),
        "max_bins": Whole(2, 255),
        "split": OneOf(("least_squares", "newton")),
        "row_fraction": Real(0.0, 1.0),
        "feature_fraction": Real(0.0, 1.0),
        "early_stopping": Whole(1, optional=True),
        "sigma": Real(0.0),
        "random_state": Whole(0, 2**63 - 1),
        "n_threads": Whole(1, optional=True),
        "verbose": Whole(0),
    }

    measure: str | Measure
    valid_measure: str | Measure | None
    n_estimators: int
    max_leaf_nodes: int
    learning_rate: float
    min_samples_leaf: int
    max_bins: int
    split: str
    row_fraction: float
    feature_fraction: float
    base_model: Any
    early_stopping: int | None
    sigma: float
    random_state: int
    verbose: int

    forest_: Forest
    history_: History
    best_iteration_: int

    @abstractmethod
    def _objective(
        self, dataset: Dataset, keys: np.ndarray, communicator: Communicator
    ) -> Objective:
        """What to learn on this data."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        weight: Any = None,
        query_weight: Any = None,
        valid: Dataset | Mapping[str, Dataset] | None = None,
        callbacks: Sequence[Callback] = (),
        resume: str | os.PathLike[str] | Self | None = None,
    ) -> Self:
        """Train on labelled queries.

        Parameters
        ----------
        X : Dataset, matrix or frame
            A Dataset brings its labels, queries and weights along.
        y, qid, weight, query_weight
            Labels, query ids and weights, when X is not a Dataset; see `rankinite.Dataset`.
        valid : Dataset or dict of Datasets, optional
            Sets to measure after every tree. Early stopping watches the one called "valid", or
            the last one.
        callbacks : sequence
            Objects with ``after_round(run)`` (true ends the training) and ``finish(run)``.
        resume : path or model, optional
            A checkpoint of an interrupted run with the same data and parameters: its trees are
            taken over, and the result is the model that the run would have given, bit for bit.

        Returns
        -------
        self
            With an interrupt (Ctrl-C) the model keeps the trees it has, and the interrupt goes on.
        """
        self._check_params()
        dataset = training_data(X, y, qid, weight, query_weight)
        sets = named_sets(valid, self.early_stopping)
        with threads(self.n_threads):
            self._train(dataset, sets, callbacks, resume)
        return self

    def _train(
        self,
        dataset: Dataset,
        sets: dict[str, Dataset],
        callbacks: Sequence[Callback],
        resume: Any,
    ) -> None:
        communicator = Serial()
        binned = dataset.binned(self.max_bins)
        keys = row_keys(binned, dataset.labels, dataset.weight, dataset.offsets)
        objective = self._objective(dataset, keys, communicator)
        base = None if self.base_model is None else as_scorer(self.base_model)
        start = objective.start() if base is None else 0.0
        scores = start + base_scores(base, dataset) + np.zeros(dataset.n_rows)
        watched = {
            name: Watched(
                binned_like(rows, dataset, binned.mapper, name),
                start + base_scores(base, rows) + np.zeros(rows.n_rows),
                mean_of(self._watched_measure(), rows),
            )
            for name, rows in sets.items()
        }
        if self.early_stopping is not None:
            check_watchable(watched, leading_set(sets))
        data = fingerprint(binned, keys, dataset.offsets, document_weights(dataset), scores)
        earlier = self._trees_of(resume, binned.mapper, data)
        run = Run(n_rounds=int(self.n_estimators))
        grower = Grower(
            binned, self._growth(dataset, communicator), keys, dataset.n_rows, communicator
        )

        def keep(run: Run) -> None:
            self._keep(run, dataset, base, start, data)

        callbacks = [*self._own_callbacks(sets), *callbacks]
        for callback in callbacks:
            if isinstance(callback, Checkpoint):
                callback.save = _checkpoint_of(self, keep)
        try:
            boost(
                run,
                objective,
                grower,
                scores,
                watched,
                learning_rate=float(self.learning_rate),
                seed=int(self.random_state),
                callbacks=callbacks,
                earlier=earlier,
            )
        finally:
            # A run that failed before its first tree leaves the model as it was.
            if run.trees:
                keep(run)
                self._choose_best(sets)

    def _check_params(self) -> None:
        super()._check_params()
        for name in ("measure", "valid_measure"):
            value = getattr(self, name)
            if value is None and name == "valid_measure":
                continue
            try:
                measure(value)
            except ParameterError as error:
                raise ParameterError(f"{name} is wrong: {error}") from None
        if self.base_model is not None:
            as_scorer(self.base_model)

    def _growth(self, dataset: Dataset, communicator: Communicator) -> GrowthParameters:
        return GrowthParameters(
            max_leaf_nodes=int(self.max_leaf_nodes),
            min_samples_leaf=int(self.min_samples_leaf),
            split=self.split,
            row_fraction=float(self.row_fraction),
            feature_fraction=float(self.feature_fraction),
        )

    def _watched_measure(self) -> Measure:
        return measure(self.measure if self.valid_measure is None else self.valid_measure)

    def _own_callbacks(self, sets: dict[str, Dataset]) -> list[Callback]:
        own: list[Callback] = []
        if self.early_stopping is not None:
            name = leading_set(sets)
            own.append(EarlyStopping(self.early_stopping, name, str(self._watched_measure())))
        if self.verbose:
            own.append(Progress())
        return own

    def _keep(self, run: Run, dataset: Dataset, base: Any, start: float, data: str) -> None:
        """Store what the run has come to in the fitted attributes."""
        self.forest_ = Forest.from_trees(run.trees)
        self.n_features_in_ = dataset.n_features
        self.feature_names_in_ = dataset.feature_names
        self.history_ = run.history
        self.best_iteration_ = len(run.trees)
        self._base = base
        self._start = start
        self._data_fingerprint = data

    def _choose_best(self, sets: dict[str, Dataset]) -> None:
        """Note the best round; with early stopping drop the trees after it."""
        if not sets or not self.forest_.n_trees:
            return
        best = best_round(self.history_, leading_set(sets), str(self._watched_measure()))
        self.best_iteration_ = best or self.forest_.n_trees
        if self.early_stopping is not None:
            self.forest_ = self.forest_.first(self.best_iteration_)

    def _trees_of(self, resume: Any, mapper: BinMapper, data: str) -> list[Tree]:
        """The trees of a checkpoint, if it is one of this very run."""
        if resume is None:
            return []
        other = resume if isinstance(resume, BoostedTrees) else load(resume)
        if type(other) is not type(self):
            raise ParameterError(
                f"the checkpoint is a {type(other).__name__}, not a {type(self).__name__}: "
                "resume with what the interrupted run saved"
            )
        other._check_fitted()
        theirs, ours = _comparable(other.get_params(False)), _comparable(self.get_params(False))
        for name in sorted(set(ours) - _FREE_ON_RESUME):
            if theirs[name] != ours[name]:
                raise ParameterError(
                    f"the checkpoint was trained with {name}={theirs[name]!r}, not "
                    f"{ours[name]!r}: resume with the parameters of the interrupted run"
                )
        if other._data_fingerprint != data:
            raise DataError(
                "the checkpoint was trained on other data, with other weights or on another base "
                "model: resume with those of the interrupted run"
            )
        return other.forest_.trees(bins_of_thresholds(other.forest_, mapper))

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each feature in the sum of all splits' gains, shape (n_features,)."""
        gains = self.feature_importance("gain")
        return gains / gains.sum() if gains.sum() > 0 else gains

    def feature_importance(self, kind: str = "gain") -> np.ndarray:
        """Sum of the gains of a feature's splits (``"gain"``), or their number (``"count"``)."""
        self._check_fitted()
        OneOf(("gain", "count")).check("kind", kind)
        return self.forest_.importance(self.n_features_in_, kind)

    def _score_matrix(self, X: np.ndarray, n_trees: int | None = None) -> np.ndarray:
        self._check_n_trees(n_trees)
        start = self._start + base_scores(self._base, X)
        return score_features(self.forest_, X, start, n_trees)

    def _score_bins(self, dataset: Dataset, n_trees: int | None = None) -> np.ndarray:
        self._check_n_trees(n_trees)
        start = self._start + base_scores(self._base, dataset)
        return score_binned(self.forest_, dataset.binned_as_saved(), start, n_trees)

    def _threads_for(self, n_rows: int) -> AbstractContextManager[int]:
        # Small batches stay on the calling thread; a scope would take a tenth of their time.
        n_threads = number_of_threads(self.n_threads)
        return nullcontext(1) if n_rows <= SERIAL_ROWS else threads(n_threads)

    def _check_n_trees(self, n_trees: int | None) -> None:
        if n_trees is not None:
            Whole(0, self.forest_.n_trees).check("n_trees", n_trees)

    def _state(self) -> tuple[State, Arrays]:
        params = self.get_params(deep=False)
        params.pop("base_model")
        # Belongs to the machine: the file of a model must not depend on the number of threads.
        params.pop("n_threads")
        state = {
            "params": _comparable(params),
            "n_features": self.n_features_in_,
            "feature_names": self.feature_names_in_,
            "start": self._start,
            "history": self.history_,
            "best_iteration": self.best_iteration_,
            "data": self._data_fingerprint,
            "base": None,
        }
        arrays = nested("forest", self.forest_.to_arrays())
        if self._base is not None:
            state["base"], base_arrays = to_state(self._base)
            arrays |= nested("base", base_arrays)
        return state, arrays

    @classmethod
    def _from_state(cls, state: State, arrays: Arrays) -> Self:
        base = None
        if state["base"] is not None:
            base = from_state(state["base"], unnested("base", arrays))
        model = cls(**{**state["params"], "base_model": base})
        super(BoostedTrees, model)._check_params()
        model.n_features_in_ = int(state["n_features"])
        model.feature_names_in_ = state["feature_names"]
        if model.feature_names_in_ is not None and (
            len(model.feature_names_in_) != model.n_features_in_
        ):
            raise ModelFileError(
                f"the model file has {len(model.feature_names_in_)} feature names for "
                f"{model.n_features_in_} features: save the model again"
            )
        model.forest_ = Forest.from_arrays(unnested("forest", arrays), model.n_features_in_)
        model.history_ = state["history"]
        model.best_iteration_ = int(state["best_iteration"])
        model._start = float(state["start"])
        model._base = base
        model._data_fingerprint = state["data"]
        return model


def _checkpoint_of(model: BoostedTrees, keep: Callable[[Run], None]) -> Callable[[Run, Any], None]:
    def save(run: Run, path: Any) -> None:
        keep(run)
        model.save(path)

    return save


def _comparable(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters as JSON has them: measures by name, numpy's numbers as Python's."""

    def plain(value: Any) -> Any:
        if isinstance(value, Measure):
            return str(value)
        return value.item() if isinstance(value, np.generic) else value

    return {name: plain(value) for name, value in params.items()}
