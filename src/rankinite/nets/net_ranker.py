"""What RankNet and LambdaRank share: fitting, scoring, saving, resuming."""

from __future__ import annotations

import copy
import hashlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import numpy as np

from rankinite._numba import number_of_threads, threads
from rankinite.data import Dataset
from rankinite.errors import DataError, ParameterError
from rankinite.models.base_model import as_scorer, base_scores
from rankinite.models.file import Arrays, State
from rankinite.models.parameters import Constraint, Real, Whole
from rankinite.models.standardizing import Standardizer
from rankinite.models.storage import nested, unnested
from rankinite.models.weight_space import WeightSpace, feature_labels
from rankinite.nets import training
from rankinite.nets.net import BLOCK_ROWS, Net, checked_weights, free_weights, score_standardized
from rankinite.nets.objectives import NetObjective, TrainingRows
from rankinite.nets.training import NetRun, Settings, WatchedRows
from rankinite.order.canonical import canonical
from rankinite.training import Callback, Learner
from rankinite.training.watching import check_like, check_watchable, leading_set

_NUMBERS = ("rate", "best_value", "cost", "attempt", "peak", "peak_epoch")


class NetRanker(Learner):
    """A net that is trained query by query, with a step of its weights after each.

    Attributes
    ----------
    net_ : Net
        With the weights at which the validation measure was best; the last ones without
        validation data.
    history_ : dict
        ``history_["valid"]["ndcg@10"][t]`` is the mean of the measure after t + 1 epochs, and
        ``history_["train"]["cost"][t]`` the training cost of an epoch.
    best_iteration_ : int
        Number of epochs at which the validation measure was best; all of them without
        validation data.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **Learner._constraints,
        "n_hidden": Whole(0),
        "n_epochs": Whole(1),
        "decay": Real(0.0, 1.0),
        "n_restarts": Whole(0),
        "patience": Whole(1),
    }
    _rounds = "n_epochs"
    _unit = "epoch"

    n_hidden: int
    n_epochs: int
    decay: float
    n_restarts: int
    patience: int

    net_: Net

    @abstractmethod
    def _objective(self, rows: TrainingRows, dataset: Dataset) -> NetObjective:
        """What to learn on this data."""

    def _train(
        self,
        dataset: Dataset,
        sets: dict[str, Dataset],
        callbacks: Sequence[Callback],
        resume: Any,
    ) -> None:
        if self.n_restarts > 0 and not sets:
            raise ParameterError(
                f"n_restarts={self.n_restarts} needs data to watch: pass valid=, or leave it out"
            )
        X = self._feature_values(dataset)
        by_pairs = self.learns_preferences and dataset.preferences is not None
        if not by_pairs:
            _ = dataset.labels  # an error if there are none
        base = None if self.base_model is None else as_scorer(self.base_model)
        start = base_scores(base, dataset) + np.zeros(dataset.n_rows)
        order = canonical(dataset, start, by_pairs=by_pairs)
        standardizer = Standardizer.of(X, order)
        rows = TrainingRows(
            order,
            standardizer.transform(X, order.rows),
            start[order.rows],
            int(self.n_hidden),
            int(self.random_state),
        )
        objective = self._objective(rows, dataset)
        watched = {
            name: self._watched(rows, name, dataset, base, standardizer)
            for name, rows in sets.items()
        }
        if self.early_stopping is not None:
            name = leading_set(sets)
            check_watchable(watched[name].evaluate(watched[name].start), name)
        watching = _fingerprint(sets)
        settings = self._settings(dataset.n_features)
        run = NetRun(int(self.n_epochs), self._unit, state=settings.first_state())
        self._take_over(run, self._checkpoint(resume, order.fingerprint), watching)

        def keep(run: NetRun) -> None:
            self._keep(run, dataset, base, order.fingerprint)
            self.best_iteration_ = self._best_round(sets)
            self.net_ = Net(standardizer, int(self.n_hidden), run.state.best)
            self._last, self._n_done, self._watching = run.state, run.n_done, watching

        all_callbacks = self._all_callbacks(sets, callbacks, keep)
        try:
            training.train(run, objective, settings, watched, self._merit(sets), all_callbacks)
        finally:
            # A run that failed before its first epoch leaves the model as it was.
            if run.n_done or run.diverged:
                keep(run)

    def _settings(self, n_features: int) -> Settings:
        return Settings(
            n_features=n_features,
            n_hidden=int(self.n_hidden),
            learning_rate=float(self.learning_rate),
            decay=float(self.decay),
            n_restarts=int(self.n_restarts),
            patience=int(self.patience),
            seed=int(self.random_state),
        )

    def _watched(
        self, rows: Dataset, name: str, train: Dataset, base: Any, standardizer: Standardizer
    ) -> WatchedRows:
        check_like(rows, train, name)
        X = self._feature_values(rows, f"the validation set {name!r}")
        start = base_scores(base, rows) + np.zeros(rows.n_rows)
        return WatchedRows(standardizer.transform(X), start, self._mean_on(rows))

    def _take_over(self, run: NetRun, other: NetRanker | None, watching: str) -> None:
        """Begin where an interrupted run was."""
        if other is None:
            return
        if other._watching != watching:
            raise DataError(
                "the checkpoint watched other validation data: resume with that of the "
                "interrupted run"
            )
        if other._n_done > run.n_rounds:
            raise ParameterError(
                f"the checkpoint has {other._n_done} epochs, more than n_epochs={run.n_rounds}: "
                "resume with at least as many"
            )
        run.state = other._last
        run.history = copy.deepcopy(other.history_)
        run.n_done = run.n_taken_over = other._n_done

    @property
    def n_rounds_(self) -> int:
        """Epochs after which the net had the weights that the model keeps."""
        return self.best_iteration_

    def in_words(self) -> str:
        """The trained model in a few words, for people."""
        self._check_fitted()
        units = f"{self.net_.n_hidden} hidden units" if self.net_.n_hidden else "no hidden units"
        return f"{type(self).__name__} with {units} after {self.n_rounds_} epochs"

    @property
    def coef_(self) -> np.ndarray:
        """What a unit of each raw feature adds to a linear net's score, shape (n_features,)."""
        self._check_linear("coef_")
        return self.net_.weights * self.net_.standardizer.scale

    @property
    def intercept_(self) -> float:
        """The score of a linear net at features of 0, without the base model's."""
        self._check_linear("intercept_")
        return float(-np.sum(self.coef_ * self.net_.standardizer.mean))

    def _check_linear(self, name: str) -> None:
        self._check_fitted()
        if self.net_.n_hidden > 0:
            raise AttributeError(
                f"{name} is there only for a linear net: this one has {self.net_.n_hidden} hidden "
                "units, see net_"
            )

    def _score_matrix(self, X: np.ndarray) -> np.ndarray:
        return self.net_.score(X) + base_scores(self._base, X)

    def _weight_space(self, dataset: Dataset) -> WeightSpace:
        self._check_fitted()
        self._check_features(dataset.n_features, dataset.feature_names)
        net = self.net_
        Z = net.standardizer.transform(self._feature_values(dataset))
        start = base_scores(self._base, dataset) + np.zeros(dataset.n_rows)
        free, names = free_weights(net, feature_labels(dataset.feature_names, Z.shape[1]))

        def scores(weights: np.ndarray) -> np.ndarray:
            moved = net.weights.copy()
            moved[free] = weights
            return score_standardized(Z, moved, net.n_hidden, start)

        return WeightSpace(net.weights[free], names, scores)

    def _threads_for(self, n_rows: int) -> AbstractContextManager[int]:
        # Small batches stay on the calling thread, and need no scope.
        n_threads = number_of_threads(self.n_threads)
        return nullcontext(1) if n_rows <= BLOCK_ROWS else threads(n_threads)

    def _own_state(self) -> tuple[State, Arrays]:
        numbers = {name: getattr(self._last, name) for name in _NUMBERS}
        state = {"training": numbers, "n_done": self._n_done, "watching": self._watching}
        arrays = nested("standardizer", self.net_.standardizer.to_arrays())
        return state, arrays | {"weights": self.net_.weights, "last_weights": self._last.weights}

    def _restore(self, state: State, arrays: Arrays) -> None:
        n_features, n_hidden = self.n_features_in_, int(self.n_hidden)
        standardizer = Standardizer.from_arrays(unnested("standardizer", arrays), n_features)
        best, last = (
            checked_weights(arrays[name], n_features, n_hidden)
            for name in ("weights", "last_weights")
        )
        self.net_ = Net(standardizer, n_hidden, best)
        numbers = {name: state["training"][name] for name in _NUMBERS}
        self._last = training.State(last, best, **numbers)
        self._n_done, self._watching = int(state["n_done"]), state["watching"]


def _fingerprint(sets: dict[str, Dataset]) -> str:
    """Tells validation data from other, in any order of the rows."""
    digest = hashlib.sha256()
    for name, rows in sets.items():
        digest.update(f"{name} {canonical(rows).fingerprint} ".encode())
        if rows.preferences is not None:
            digest.update(f"{canonical(rows, by_pairs=True).fingerprint} ".encode())
    return digest.hexdigest()[:16]
