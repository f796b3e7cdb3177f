"""A bag of rankers, each trained on most of the queries and stopped on the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from rankinite.combination.members import Members, RankerOfRankers
from rankinite.data import Dataset
from rankinite.ensemble.augmentation import augmented, check_settings
from rankinite.ensemble.fitting import check_ranker, fitted, fresh
from rankinite.ensemble.folds import folds_of, in_fold
from rankinite.ensemble.meta_ranker import MetaRanker
from rankinite.errors import ModelFileError, ParameterError
from rankinite.exchange.plain import PlainForest
from rankinite.exchange.sums import weighted_sum_of_forests
from rankinite.models.checked_state import saved_names, saved_whole
from rankinite.models.file import Arrays, State
from rankinite.models.parameters import Constraint, Whole
from rankinite.models.plain_scorers import plain_of
from rankinite.models.ranker import Ranker, training_data
from rankinite.models.storage import from_state, nested, to_state, unnested
from rankinite.training.cross_validation import OutOfFold
from rankinite.training.resuming import comparable

_OF_AUGMENTED = ("fraction", "times", "single_labels", "random_state")


class Bagging(MetaRanker, RankerOfRankers):
    """The mean of rankers, each trained without one fold of the queries and stopped on it.

    So all queries are learned from, and yet each ranker has some to watch (Burges et al. 2011,
    section 4.3).

    Parameters
    ----------
    ranker : ranker
        It is copied and trained for each fold. With `early_stopping` it keeps the rounds that were
        best on the fold it has not seen; without, it only notes how good they were there.
    n_folds : int
        Folds by query, and rankers in the bag.
    augment : dict, optional
        Arguments of `rankinite.augmented`, such as ``{"fraction": 0.7, "times": 5}``, for the
        queries that a ranker learns from; the fold that it watches stays as it is.
    random_state : int or None
        Of the folds, which depend on the ids of the queries, not on their order; None draws others
        every time.
    n_threads : int, optional
        Threads of training and scoring, also for the rankers inside; all cores, or what `ranker`
        says, by default.

    Attributes
    ----------
    models_ : list of ranker
        Model k has not learned from fold k.
    folds_ : ndarray of int64, shape (n_queries,)
        The fold of each query of the training data; −1 where it weighs nothing. It is not in the
        model file.
    oof_scores_ : ndarray of float64, shape (n_rows,)
        Out-of-fold scores of the training rows, in the caller's order: each by the model that has
        not learned from its query, though it may have stopped by it. They are not in the model
        file.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the training data had names.

    Examples
    --------
    >>> import rankinite as rk
    >>> train, test = rk.artificial(n_queries=(60, 20), n_docs=10, n_features=5)
    >>> ranker = rk.LambdaMART(n_estimators=30, early_stopping=3)
    >>> bag = rk.Bagging(ranker, n_folds=4).fit(train)
    >>> len(bag.models_), bag.predict(test).shape
    (4, (200,))
    >>> held_out = rk.evaluate(bag.oof_scores_, train)["ndcg@10"]
    """

    constraints: ClassVar[Mapping[str, Constraint]] = {
        **MetaRanker.constraints,
        "n_folds": Whole(2),
        "random_state": Whole(0, 2**63 - 1, optional=True),
    }

    models_: list[Any]
    _found: tuple[np.ndarray, np.ndarray] | None = None  # folds and scores, of a bag just trained

    def __init__(
        self,
        ranker: Any,
        n_folds: int = 10,
        augment: Mapping[str, Any] | None = None,
        random_state: int | None = 0,
        n_threads: int | None = None,
    ) -> None:
        self.ranker = ranker
        self.n_folds = n_folds
        self.augment = augment
        self.random_state = random_state
        self.n_threads = n_threads

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        folds: Any = None,
        **unknown: Any,
    ) -> Self:
        """Train a ranker for each fold.

        Parameters
        ----------
        X : Dataset, matrix or frame
            A Dataset brings its labels, preferences, queries and weights along.
        y, qid, sample_weight, query_weight
            Labels, query ids and weights, when X is not a Dataset; see `rankinite.Dataset`.
        folds : array-like of int, shape (n_queries,), or mapping, optional
            The fold of each query, from 0 to ``n_folds - 1``, in the order in which queries first
            appear or by id, so that several rankers can share them; drawn by default.
        """
        self._refuse_unknown("fit", unknown)
        self.check_params()
        rows = training_data(X, y, qid, sample_weight, query_weight)
        dataset = rows.that_count()
        if dataset.preferences is None:
            _ = dataset.labels  # an error if there are none
        numbers = folds_of(rows, folds, int(self.n_folds), self.random_state)
        counted = numbers[numbers >= 0]
        models = []
        for fold in range(int(self.n_folds)):
            with in_fold(fold):
                train = dataset.select_queries(counted != fold)
                if self.augment is not None:
                    train = augmented(train, **self.augment)
                valid = dataset.select_queries(counted == fold)
                models.append(fitted(self.ranker, train, valid, self.n_threads))
        self.models_ = models
        self.n_features_in_ = rows.n_features
        self._feature_names = rows.feature_names
        self._found = numbers, self._out_of_fold(rows, numbers)
        return self

    @classmethod
    def of(cls, models: Sequence[Ranker]) -> Self:
        """The mean of rankers that are trained already, on the same features.

        Parameters
        ----------
        models : sequence of ranker
            Model k has not learned from fold k.
        """
        for model in models:
            model.check_fitted()
        if not models or len({model.n_features_in_ for model in models}) > 1:
            raise ParameterError(
                "a bag needs rankers of the same features, and there are none, or others: pass "
                "those of one training"
            )
        bag = cls(fresh(models[0], None), n_folds=len(models))
        bag.models_ = list(models)
        bag.n_features_in_ = models[0].n_features_in_
        bag._feature_names = models[0]._feature_names
        return bag

    def _out_of_fold(self, rows: Dataset, numbers: np.ndarray) -> np.ndarray:
        """Scores in the caller's order; queries that weigh nothing are new to all models."""
        found = OutOfFold(rows, 1.0)
        for fold, model in enumerate(self.models_):
            of_fold = numbers == fold
            found.put(of_fold, model.score_dataset(rows.select_queries(of_fold)))
        if (numbers < 0).any():
            found.put(numbers < 0, self.score_dataset(rows.select_queries(numbers < 0)))
        return rows.in_caller_order(found.score_dataset(rows))

    @property
    def folds_(self) -> np.ndarray:
        """The fold of each query of the training data."""
        return self._of_training("folds_")[0]

    @property
    def oof_scores_(self) -> np.ndarray:
        """Scores of the training rows, each by the model that has not learned from its query."""
        return self._of_training("oof_scores_")[1]

    def _of_training(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        self.check_fitted()
        if self._found is None:
            raise AttributeError(
                f"{name} is there only right after fit: it belongs to the training data, and a "
                "model file does not keep it"
            )
        return self._found

    @property
    def early_stopping(self) -> None:
        """None: the rankers stop on their own folds."""

    @property
    def n_restarts(self) -> int:
        """None: the rankers watch their own folds."""
        return 0

    @property
    def needs_queries(self) -> bool:
        """Whether only a Dataset can be scored."""
        inner = [self.ranker, *getattr(self, "models_", [])]
        return any(getattr(model, "needs_queries", False) for model in inner)

    def in_words(self) -> str:
        """The trained bag in a few words, for people."""
        self.check_fitted()
        return f"Bagging of {len(self.models_)} rankers, the first a {self.models_[0].in_words()}"

    def _score_rows(self, dataset: Dataset, n_rounds: int | None) -> np.ndarray:
        return self.score_by_members(dataset, self.n_threads)

    def _score_matrix(self, X: np.ndarray, n_rounds: int | None) -> np.ndarray:
        return self.score_by_members(X, self.n_threads)

    def _inner(self) -> Members:
        return {f"fold {number}": model for number, model in enumerate(self.models_)}

    def _of_scores(self, raw: np.ndarray, offsets: np.ndarray | None) -> np.ndarray:
        # One after the other, so that the sum is the same in any batch.
        total = raw[:, 0].copy()
        for column in raw.T[1:]:
            total += column
        return total / raw.shape[1]

    def plain(self) -> PlainForest:
        """The bag as one forest whose sum is divided by the number of its rankers."""
        self.check_fitted()
        parts = [plain_of(model, f"the ranker of {name}") for name, model in self._inner().items()]
        whole = weighted_sum_of_forests(parts, [1.0] * len(parts), divisor=len(parts))
        return replace(whole, feature_names=self._feature_names)

    def check_params(self) -> None:
        """Refuse parameters outside their range, or that do not fit each other."""
        super().check_params()
        check_ranker(self.ranker, "ranker")
        self._check_augment()

    def _check_augment(self) -> None:
        if self.augment is None:
            return
        if not isinstance(self.augment, Mapping) or not set(self.augment) <= set(_OF_AUGMENTED):
            raise ParameterError(
                f"augment must be a dict of the arguments {', '.join(_OF_AUGMENTED)} of "
                f"rankinite.augmented, got {self.augment!r}"
            )
        try:
            check_settings(**self.augment)
        except ParameterError as error:
            raise ParameterError(f"augment is wrong: {error}") from None

    def __sklearn_clone__(self) -> Self:
        """An untrained copy, whose ranker is a copy too."""
        copy = super().__sklearn_clone__()
        if isinstance(copy.ranker, Ranker):
            copy.ranker = fresh(copy.ranker, None)
        return copy

    def to_state(self) -> tuple[State, Arrays]:
        """What `from_state` takes: the state as JSON has it, and the arrays."""
        arrays: Arrays = {}
        models = []
        for number, model in enumerate(self.models_):
            state, own = to_state(model)
            models.append(state)
            arrays |= nested(f"model {number}", own)
        seed = self.random_state
        params = {
            "n_folds": int(self.n_folds),
            "augment": None if self.augment is None else comparable(dict(self.augment)),
            "random_state": None if seed is None else int(seed),
        }
        state = {
            "params": params,
            "n_features": self.n_features_in_,
            "feature_names": self._feature_names,
            "models": models,
        }
        return state, arrays

    @classmethod
    def from_state(cls, state: State, arrays: Arrays) -> Self:
        """What was saved by `to_state`, after a check."""
        models = [
            from_state(inner, unnested(f"model {number}", arrays))
            for number, inner in enumerate(state["models"])
        ]
        n_features = saved_whole(state, "n_features")
        if not models or any(getattr(m, "n_features_in_", None) != n_features for m in models):
            raise ModelFileError(
                f"the bag in the model file has no models, or one that has not its {n_features} "
                "features: save the model again"
            )
        if not all(isinstance(model, Ranker) for model in models):
            raise ModelFileError("the bag in the model file holds no rankers: save the model again")
        bag = cls(fresh(models[0], None), **state["params"])
        # Not its own check, which would look at measures that only the training had.
        super(Bagging, bag).check_params()
        bag._check_augment()
        bag.models_ = models
        bag.n_features_in_ = n_features
        bag._feature_names = saved_names(state, n_features)
        return bag
