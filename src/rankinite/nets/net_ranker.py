"""What RankNet and LambdaRank share: fitting, scoring, saving, resuming."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from rankinite.data import Dataset
from rankinite.data.feature_labels import feature_labels
from rankinite.distributed import Communicator
from rankinite.errors import DataError, ModelFileError, ParameterError
from rankinite.exchange.plain import PlainNet
from rankinite.models.base_model import base_scores
from rankinite.models.checked_state import (
    saved_extended,
    saved_number,
    saved_text,
    saved_whole,
)
from rankinite.models.file import Arrays, State
from rankinite.models.parameters import Constraint, Real, Whole
from rankinite.models.plain_scorers import plain_net
from rankinite.models.standardizing import Standardizer
from rankinite.models.storage import nested, unnested
from rankinite.models.weight_space import WeightSpace
from rankinite.nets.net import Net, checked_weights, free_weights, score_standardized
from rankinite.nets.objectives import NetObjective, TrainingRows
from rankinite.nets.rounds import Earlier, NetRounds, NetState, Schedule
from rankinite.order.canonical import canonical
from rankinite.training import Learner, Run, Watched, WatchedSets

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

    constraints: ClassVar[Mapping[str, Constraint]] = {
        **Learner.constraints,
        "n_hidden": Whole(0),
        "n_epochs": Whole(1),
        "decay": Real(0.0, 1.0),
        "n_restarts": Whole(0),
        "patience": Whole(1),
    }
    _rounds = "n_epochs"
    unit = "epoch"

    n_hidden: int
    n_epochs: int
    decay: float
    n_restarts: int
    patience: int

    net_: Net

    @abstractmethod
    def _objective(self, rows: TrainingRows, dataset: Dataset) -> NetObjective:
        """What to learn on this data."""

    def _prepare(
        self, dataset: Dataset, before: np.ndarray, communicator: Communicator
    ) -> NetRounds:
        X, numbers = self._feature_source(dataset)
        by_pairs = self.learns_preferences and dataset.preferences is not None
        if not by_pairs:
            _ = dataset.labels  # an error if there are none
        order = canonical(dataset, before, by_pairs=by_pairs)
        picked, places = order.rows, None
        if numbers is not None:
            picked = numbers[picked]
        standardizer = Standardizer.learn(X, picked)
        if numbers is not None:
            # Documents that come several times are standardised once.
            picked, places = np.unique(picked, return_inverse=True)
        rows = TrainingRows(
            order,
            standardizer.transform(X, picked),
            before[order.rows],
            int(self.n_hidden),
            self._seed,
            places,
        )
        objective = self._objective(rows, dataset)
        schedule = self._schedule(dataset.n_features)
        return NetRounds(objective, schedule, standardizer, order.fingerprint)

    def _schedule(self, n_features: int) -> Schedule:
        return Schedule(
            n_features=n_features,
            n_hidden=int(self.n_hidden),
            learning_rate=float(self.learning_rate),
            decay=float(self.decay),
            n_restarts=int(self.n_restarts),
            patience=int(self.patience),
            seed=self._seed,
        )

    def _sets(
        self, valid: Mapping[str, Dataset], train: Dataset, communicator: Communicator
    ) -> WatchedSets:
        if self.n_restarts > 0 and not valid:
            raise ParameterError(
                f"n_restarts={self.n_restarts} needs data to watch: pass valid=, or leave it out"
            )
        return super()._sets(valid, train, communicator)

    def _watch(
        self, watched: Watched, before: np.ndarray, rounds: NetRounds
    ) -> tuple[np.ndarray, np.ndarray]:
        X = self._feature_values(watched.data, watched.what)
        rounds.note_watched(watched)
        return rounds.standardizer.transform(X), before

    def _take(self, rounds: NetRounds, n_rounds: int) -> None:
        # Whatever the number: the weights of the best epoch are all that is kept.
        self.net_ = Net(rounds.standardizer, int(self.n_hidden), rounds.state.best)
        self._last, self._watching = rounds.state, rounds.watching

    def _earlier(self, other: Self, rounds: NetRounds, run: Run) -> Earlier:
        if other._watching != rounds.watching:
            raise DataError(
                "the checkpoint watched other validation data: resume with that of the "
                "interrupted run"
            )
        if other._n_done > run.n_rounds:
            raise ParameterError(
                f"the checkpoint has {other._n_done} epochs, more than n_epochs={run.n_rounds}: "
                "resume with at least as many"
            )
        return Earlier(other._last, other.history_, other._n_done)

    @property
    def _n_done(self) -> int:
        """Epochs of the run that the model comes from, also those after its best."""
        return len(self.history_["train"]["cost"]) if self.history_ else 0

    @property
    def n_rounds_(self) -> int:
        """Epochs after which the net had the weights that the model keeps."""
        return self.best_iteration_

    def in_words(self) -> str:
        """The trained model in a few words, for people."""
        self.check_fitted()
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
        self.check_fitted()
        if self.net_.n_hidden > 0:
            raise AttributeError(
                f"{name} is there only for a linear net: this one has {self.net_.n_hidden} hidden "
                "units, see net_"
            )

    def _score_matrix(self, X: np.ndarray, n_rounds: int | None) -> np.ndarray:
        return self.net_.score(X) + base_scores(self._base, X)

    def plain(self) -> PlainNet:
        """The trained net as arrays."""
        self.check_fitted()
        net = self.net_
        layer = net.hidden_weights() if net.n_hidden else None
        return plain_net(self, net.standardizer, net.output_weights(), layer)

    def weight_space(self, dataset: Dataset) -> WeightSpace:
        """The weights as a point that can be moved about, on one dataset."""
        self.check_fitted()
        dataset = self._with_known_features(dataset)
        net = self.net_
        Z = net.standardizer.transform(self._feature_values(dataset))
        start = base_scores(self._base, dataset) + np.zeros(dataset.n_rows)
        free, names = free_weights(net, feature_labels(dataset.feature_names, Z.shape[1]))

        def scores(weights: np.ndarray) -> np.ndarray:
            moved = net.weights.copy()
            moved[free] = weights
            return score_standardized(Z, moved, net.n_hidden, start)

        return WeightSpace(net.weights[free], names, scores)

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
        self._last = NetState(last, best, **_saved_training(state["training"]))
        self._watching = saved_text(state, "watching")
        # Without it the number of epochs would not be known.
        if self.history_ and "cost" not in self.history_.get("train", {}):
            raise ModelFileError("the model file has no training costs: save the model again")


def _saved_training(state: State) -> dict[str, Any]:
    """The numbers of a `NetState`, after a check."""
    rate = saved_number(state, "rate")
    if rate <= 0:
        raise ModelFileError(
            f"the model file has the learning rate {rate:g}, which is not above 0: save it again"
        )
    return {
        "rate": rate,
        **{name: saved_extended(state, name) for name in ("best_value", "cost", "peak")},
        **{name: saved_whole(state, name) for name in ("attempt", "peak_epoch")},
    }
