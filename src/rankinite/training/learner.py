"""What every learner does alike: taking data in, stopping early, keeping the best, saving."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from rankinite._numba import threads
from rankinite.data import Dataset
from rankinite.errors import DataError, ModelFileError, ParameterError
from rankinite.measures import Measure, PairAccuracy, PairMeasure, measure
from rankinite.models.base_model import as_scorer, check_base
from rankinite.models.file import Arrays, State
from rankinite.models.foreign import is_foreign
from rankinite.models.parameters import Constraint, Real, Whole
from rankinite.models.ranker import Ranker, training_data
from rankinite.models.storage import from_state, load, nested, to_state, unnested
from rankinite.training.callbacks import Checkpoint, EarlyStopping, Progress, best_round
from rankinite.training.run import Callback, History, Run
from rankinite.training.watching import check_measurable, leading_set, mean_of, named_sets

# From the measures of the sets after a round to one number.
Merit = Callable[[Mapping[str, Mapping[str, float]]], float]

# Parameters that may differ between an interrupted run and the one that resumes it, of any
# learner: they do not change what a round learns.
_FREE_ON_RESUME = {"early_stopping", "backfit", "n_threads", "verbose", "base_model"}


class Learner(Ranker):
    """A ranker that is trained in rounds on labelled queries.

    A subclass trains in `_train`, and there calls `_keep` with what the rounds have come to; it
    says in `_own_state` and `_restore` what of it belongs into the model file.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : list of str or None
    history_ : dict
        ``history_["valid"]["ndcg@10"][t]`` is the mean of the measure after t + 1 rounds.
    best_iteration_ : int
        Number of rounds at which the validation measure was best; all of them without
        validation data.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "learning_rate": Real(0.0),
        "early_stopping": Whole(1, optional=True),
        "sigma": Real(0.0),
        "random_state": Whole(0, 2**63 - 1),
        "n_threads": Whole(1, optional=True),
        "verbose": Whole(0),
    }
    # The parameter that bounds the rounds, and what a round is called.
    _rounds: ClassVar[str] = "n_estimators"
    _unit: ClassVar[str] = "tree"
    # Parameters that are not in the model file as they stand. The number of threads belongs to the
    # machine: the file of a model must not depend on it.
    _not_in_file: ClassVar[tuple[str, ...]] = ("base_model", "n_threads")
    # Whether a dataset that holds only bins is enough to train on.
    learns_from_bins: ClassVar[bool] = False
    # Whether a dataset with preferences is learned from them; labels are learned otherwise.
    learns_preferences: ClassVar[bool] = False

    measure: str | Measure
    valid_measure: str | Measure | None
    learning_rate: float
    base_model: Any
    early_stopping: int | None
    sigma: float
    random_state: int
    verbose: int

    history_: History
    best_iteration_: int

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
        """Train on queries with labels, or with preferences if this learner can.

        Parameters
        ----------
        X : Dataset, matrix or frame
            A Dataset brings its labels, preferences, queries and weights along.
        y, qid, weight, query_weight
            Labels, query ids and weights, when X is not a Dataset; see `rankinite.Dataset`.
        valid : Dataset or dict of Datasets, optional
            Sets to measure after every round. Early stopping watches the one called "valid", or
            the last one.
        callbacks : sequence
            Objects with ``after_round(run)`` (true ends the training) and ``finish(run)``.
        resume : path or model, optional
            A checkpoint of an interrupted run with the same data and parameters: its rounds are
            taken over, and the result is the model that the run would have given, bit for bit.

        Returns
        -------
        self
            With an interrupt (Ctrl-C) the model keeps what it has learned, and the interrupt goes
            on.
        """
        self._check_params()
        dataset = training_data(X, y, qid, weight, query_weight)
        if dataset.y is None and dataset.preferences is not None and not self.learns_preferences:
            raise DataError(
                f"the data has preferences and no labels, and a {type(self).__name__} learns from "
                "labels: pass y, or use LambdaMART or RankNet"
            )
        sets = named_sets(valid, self.early_stopping)
        self._check_base(dataset, callbacks)
        for name, rows in sets.items():
            check_measurable(rows, self._measure_on(rows), name)
        with threads(self.n_threads):
            self._train(dataset, sets, callbacks, resume)
        return self

    @abstractmethod
    def _train(
        self,
        dataset: Dataset,
        sets: dict[str, Dataset],
        callbacks: Sequence[Callback],
        resume: Any,
    ) -> None:
        """Train on the data, watching the sets."""

    @abstractmethod
    def _own_state(self) -> tuple[State, Arrays]:
        """What was learned, for the model file."""

    @abstractmethod
    def _restore(self, state: State, arrays: Arrays) -> None:
        """Take back what `_own_state` gave; parameters, features and base are there already."""

    @property
    @abstractmethod
    def n_rounds_(self) -> int:
        """Rounds whose result the model keeps."""

    def in_words(self) -> str:
        """The trained model in a few words, for people."""
        self._check_fitted()
        return f"{type(self).__name__} with {self.n_rounds_} {self._unit}s"

    def _check_params(self) -> None:
        super()._check_params()
        for name in ("measure", "valid_measure"):
            value = getattr(self, name)
            if value is None and name == "valid_measure":
                continue
            try:
                if isinstance(measure(value), PairMeasure) and name == "measure":
                    raise ParameterError(
                        f"{value} can be watched, as valid_measure, but not learned; data with "
                        "preferences is learned from its pairs whatever the measure"
                    )
            except ParameterError as error:
                raise ParameterError(f"{name} is wrong: {error}") from None
        if self.base_model is not None and not is_foreign(self.base_model):
            as_scorer(self.base_model)

    def _check_base(self, dataset: Dataset, callbacks: Sequence[Callback]) -> None:
        """Refuse a base model that would fail later: on the data, or when a checkpoint is due."""
        if self.base_model is None:
            return
        base = as_scorer(self.base_model)
        check_base(base, dataset)
        if getattr(base, "needs_queries", False):
            raise ParameterError(
                "base_model normalises the scores of each query by themselves, and a base model "
                "scores documents one by one: use a Combination with normalize='data'"
            )
        if any(isinstance(callback, Checkpoint) for callback in callbacks):
            to_state(base)

    def _watched_measure(self, has_preferences: bool = False) -> Measure:
        """What is watched on a set with labels, or on one with preferences."""
        if self.valid_measure is not None:
            return measure(self.valid_measure)
        return PairAccuracy() if has_preferences else measure(self.measure)

    def _measure_on(self, rows: Dataset) -> Measure:
        """What is watched on these rows."""
        return self._watched_measure(rows.preferences is not None)

    def _mean_on(self, rows: Dataset) -> Callable[[np.ndarray], dict[str, float]]:
        """The mean of what is watched on these rows, by its name, as a function of the scores."""
        return mean_of(self._measure_on(rows), rows, float(getattr(self, "sigma", 1.0)))

    def _all_callbacks(
        self,
        sets: dict[str, Dataset],
        callbacks: Sequence[Callback],
        keep: Callable[[Any], None],
    ) -> list[Callback]:
        """The learner's own callbacks and the caller's; checkpoints learn how to save."""
        own: list[Callback] = []
        if self.early_stopping is not None:
            name = leading_set(sets)
            watched = self._measure_on(sets[name])
            own.append(
                EarlyStopping(self.early_stopping, name, str(watched), watched.lower_is_better)
            )
        if self.verbose:
            own.append(Progress())
        for callback in callbacks:
            if isinstance(callback, Checkpoint):
                callback.save = _checkpoint_of(self, keep)
        return [*own, *callbacks]

    def _keep(self, run: Run, dataset: Dataset, base: Any, data: str) -> None:
        """Store what a run has come to in the fitted attributes.

        Parameters
        ----------
        base : scorer or None
        data : str
            The fingerprint of the training data.
        """
        self.n_features_in_ = dataset.n_features
        self.feature_names_in_ = dataset.feature_names
        self.history_ = run.history
        self.best_iteration_ = run.n_done
        self._base = base
        self._data_fingerprint = data

    def _merit(self, sets: dict[str, Dataset]) -> Merit | None:
        """How good a round is by the leading set, more is better; None without a set."""
        if not sets:
            return None
        name = leading_set(sets)
        watched = self._measure_on(sets[name])
        sign = -1.0 if watched.lower_is_better else 1.0
        return lambda values: sign * values[name][str(watched)]

    def _best_round(self, sets: dict[str, Dataset]) -> int:
        """The round at which the leading set's measure was best; all if there is none."""
        if not sets:
            return self.best_iteration_
        name = leading_set(sets)
        watched = self._measure_on(sets[name])
        best = best_round(self.history_, name, str(watched), watched.lower_is_better)
        return best or self.best_iteration_

    def _checkpoint(self, resume: Any, data: str) -> Self | None:
        """The model of an interrupted run, if it is one of this very run."""
        if resume is None:
            return None
        other = resume if isinstance(resume, Learner) else load(resume)
        if type(other) is not type(self):
            raise ParameterError(
                f"the checkpoint is a {type(other).__name__}, not a {type(self).__name__}: "
                "resume with what the interrupted run saved"
            )
        other._check_fitted()
        theirs, ours = comparable(other.get_params(False)), comparable(self.get_params(False))
        for name in sorted(set(ours) - _FREE_ON_RESUME - {self._rounds}):
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
        return other

    def _state(self) -> tuple[State, Arrays]:
        params = self.get_params(deep=False)
        params = {name: value for name, value in params.items() if name not in self._not_in_file}
        own, arrays = self._own_state()
        state = {
            "params": comparable(params),
            "n_features": self.n_features_in_,
            "feature_names": self.feature_names_in_,
            "history": self.history_,
            "best_iteration": self.best_iteration_,
            "data": self._data_fingerprint,
            "base": None,
            **own,
        }
        if self._base is not None:
            state["base"], base_arrays = to_state(self._base)
            arrays = arrays | nested("base", base_arrays)
        return state, arrays

    @classmethod
    def _from_state(cls, state: State, arrays: Arrays) -> Self:
        base = None
        if state["base"] is not None:
            base = from_state(state["base"], unnested("base", arrays))
        model = cls(**{**state["params"], "base_model": base})
        # Not its own check, which would look at measures that only the trainer had.
        super(Learner, model)._check_params()
        model.n_features_in_ = int(state["n_features"])
        model.feature_names_in_ = state["feature_names"]
        names = model.feature_names_in_
        if names is not None and len(names) != model.n_features_in_:
            raise ModelFileError(
                f"the model file has {len(names)} feature names for {model.n_features_in_} "
                "features: save the model again"
            )
        model.history_ = state["history"]
        model.best_iteration_ = int(state["best_iteration"])
        model._base = base
        model._data_fingerprint = state["data"]
        model._restore(state, arrays)
        return model


def _checkpoint_of(model: Learner, keep: Callable[[Any], None]) -> Callable[[Run, Any], None]:
    def save(run: Run, path: Any) -> None:
        keep(run)
        model.save(path)

    return save


def comparable(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters as JSON has them: measures by name, numpy's numbers as Python's."""

    def plain(value: Any) -> Any:
        if isinstance(value, Measure):
            return str(value)
        if isinstance(value, tuple):
            return [plain(each) for each in value]
        return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value

    return {name: plain(value) for name, value in params.items()}
