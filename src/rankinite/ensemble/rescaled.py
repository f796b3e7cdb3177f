"""Scores put otherwise: as probabilities, or query by query (Burges et al. 2011, section 4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from rankinite.boosting import MART
from rankinite.boosting.objectives import probability
from rankinite.combination.members import scores_of_members
from rankinite.combination.normalising import by_query, needs_queries
from rankinite.data import Dataset
from rankinite.ensemble.fitting import check_ranker, fitted, fresh
from rankinite.ensemble.meta_ranker import MetaRanker
from rankinite.errors import ModelFileError, ParameterError
from rankinite.exchange.plain import Plain
from rankinite.models.checked_state import saved_names, saved_number, saved_whole
from rankinite.models.file import Arrays, State
from rankinite.models.parameters import Constraint, OneOf
from rankinite.models.plain_scorers import plain_of
from rankinite.models.ranker import Ranker, feature_names_of, training_data
from rankinite.models.storage import from_state, nested, to_state, unnested

NORMALIZATIONS = ("none", "query", "query_max")
# Losses of MART whose scores are the log odds of a probability.
PROBABILISTIC = ("graded", "logistic", "balanced")


class Rescaled(MetaRanker):
    """A ranker whose scores are put otherwise: as probabilities, or query by query.

    Parameters
    ----------
    ranker : ranker
        It is copied and trained.
    probabilities : bool
        Take the probability 1 / (1 + e^{−2σF}) for the score F, as `MART.predict_proba` does. The
        ranker is a MART with a logistic loss then (``"graded"`` for the probabilities that ERR
        gives to labels), or a bag of such.
    normalize : {"none", "query", "query_max"}
        What is done with the scores of each query: nothing; mean 0 and variance 1; or
        P_max·(1 + P − P_max) of probabilities, by which those of queries without a good document
        vary less. With the last two only a Dataset can be scored.
    n_threads : int, optional
        Threads of training and scoring; all cores, or what the ranker says, by default.

    Attributes
    ----------
    ranker_ : ranker
        Trained.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the training data had names.

    Examples
    --------
    >>> import rankinite as rk
    >>> train, test = rk.artificial(n_queries=(60, 20), n_docs=10, n_features=5)
    >>> mart = rk.MART(loss="graded", n_estimators=10)
    >>> model = rk.Rescaled(mart, probabilities=True, normalize="query_max").fit(train)
    >>> scores = model.predict(test)
    >>> bool(scores.min() > 0 and scores.max() < 1)
    True
    """

    _not_plain = (
        "scores by probabilities, or normalises each query: export the ranker inside, or distil it"
    )
    constraints: ClassVar[Mapping[str, Constraint]] = {
        **MetaRanker.constraints,
        "probabilities": OneOf((True, False)),
        "normalize": OneOf(NORMALIZATIONS),
    }

    ranker_: Any

    def __init__(
        self,
        ranker: Any,
        probabilities: bool = False,
        normalize: str = "none",
        n_threads: int | None = None,
    ) -> None:
        self.ranker = ranker
        self.probabilities = probabilities
        self.normalize = normalize
        self.n_threads = n_threads

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        valid: Any = None,
        **unknown: Any,
    ) -> Self:
        """Train the ranker.

        Parameters
        ----------
        X, y, qid, sample_weight, query_weight, valid
            As for the `fit` of the ranker.
        """
        self._refuse_unknown("fit", unknown)
        self.check_params()
        rows = training_data(X, y, qid, sample_weight, query_weight)
        self._take(fitted(self.ranker, rows, valid, self.n_threads))
        return self

    @classmethod
    def of(cls, ranker: Ranker, probabilities: bool = False, normalize: str = "none") -> Self:
        """Around a ranker that is trained already."""
        ranker.check_fitted()
        model = cls(fresh(ranker, None), probabilities, normalize)
        model._check_scale()
        model._take(ranker)
        return model

    def _take(self, trained: Ranker) -> None:
        self.ranker_ = trained
        self.n_features_in_ = trained.n_features_in_
        self._feature_names = feature_names_of(trained)

    @property
    def needs_queries(self) -> bool:
        """Whether only a Dataset can be scored."""
        inside = getattr(self, "ranker_", self.ranker)
        return needs_queries(self.normalize) or bool(getattr(inside, "needs_queries", False))

    def in_words(self) -> str:
        """The trained model in a few words, for people."""
        self.check_fitted()
        inside = self.ranker_.in_words()
        words = f"Probabilities of a {inside}" if self.probabilities else inside
        return words if self.normalize == "none" else f"{words}, normalised in each query"

    def rescaled(self, scores: np.ndarray, offsets: np.ndarray | None) -> np.ndarray:
        """Scores of the ranker inside as this one gives them.

        Parameters
        ----------
        scores : ndarray of float64, shape (n_rows,)
        offsets : ndarray of int64, shape (n_queries + 1,), or None
            The queries, if they are known.
        """
        if self.probabilities:
            scores = probability(scores, _slope(self.ranker))
        return by_query(self.normalize, ["inside"], scores[:, np.newaxis], offsets)[:, 0]

    def _score_rows(self, dataset: Dataset, n_rounds: int | None) -> np.ndarray:
        return self._score(dataset, dataset.offsets)

    def _score_matrix(self, X: np.ndarray, n_rounds: int | None) -> np.ndarray:
        return self._score(X, None)

    def _score(self, data: Dataset | np.ndarray, offsets: np.ndarray | None) -> np.ndarray:
        scores = scores_of_members({"inside": self.ranker_}, data, self.n_threads)[:, 0]
        return self.rescaled(scores, offsets)

    def plain(self) -> Plain:
        """The ranker inside, if its scores stay as they are."""
        if self.probabilities or self.normalize != "none":
            return super().plain()
        self.check_fitted()
        return plain_of(self.ranker_, "the ranker inside")

    def check_params(self) -> None:
        """Refuse parameters outside their range, or that do not fit each other."""
        super().check_params()
        check_ranker(self.ranker, "ranker")
        self._check_scale()

    def _check_scale(self) -> None:
        super().check_params()
        if self.probabilities:
            _slope(self.ranker)
        elif self.normalize == "query_max":
            raise ParameterError(
                "normalize='query_max' is for probabilities: add probabilities=True, or use 'query'"
            )

    def __sklearn_clone__(self) -> Self:
        """An untrained copy, whose ranker is a copy too."""
        copy = super().__sklearn_clone__()
        if isinstance(copy.ranker, Ranker):
            copy.ranker = fresh(copy.ranker, None)
        return copy

    def to_state(self) -> tuple[State, Arrays]:
        """What `from_state` takes: the state as JSON has it, and the arrays."""
        inner, arrays = to_state(self.ranker_)
        state = {
            "params": {"probabilities": self.probabilities, "normalize": self.normalize},
            "n_features": self.n_features_in_,
            "feature_names": self._feature_names,
            "ranker": inner,
        }
        return state, nested("ranker", arrays)

    @classmethod
    def from_state(cls, state: State, arrays: Arrays) -> Self:
        """What was saved by `to_state`, after a check."""
        trained = from_state(state["ranker"], unnested("ranker", arrays))
        if not isinstance(trained, Ranker):
            raise ModelFileError(
                "the model file has scores put otherwise of something else than a ranker: save "
                "the model again"
            )
        params = dict(state["params"])
        if "sigma" in params:
            params["probabilities"] = _as_declared(params, trained)
            del params["sigma"]
        model = cls(fresh(trained, None), **params)
        # Not its own check, which would look at measures that only the training had.
        model._check_scale()
        model._take(trained)
        n_features = saved_whole(state, "n_features", low=1)
        if trained.n_features_in_ != n_features:
            raise ModelFileError(
                f"the model file has a ranker of {trained.n_features_in_} features in one of "
                f"{n_features}: save the model again"
            )
        model._feature_names = saved_names(state, n_features)
        return model


class Probabilities:
    """What files of earlier releases called probabilities of a MART."""

    @staticmethod
    def from_state(state: State, arrays: Arrays) -> Rescaled:
        """The same as it is called today."""
        params = {"probabilities": True, "normalize": state["normalize"]}
        n_features = state["ranker"]["n_features"]
        return Rescaled.from_state({**state, "params": params, "n_features": n_features}, arrays)


def _slope(ranker: Any) -> float:
    """σ of the MART that a ranker is, or is made of; refused if it gives no probabilities."""
    inside = ranker
    while not isinstance(inside, (MART, Rescaled)) and isinstance(inside, Ranker):
        inside = getattr(inside, "ranker", None)
    if not isinstance(inside, MART) or inside.loss not in PROBABILISTIC:
        raise ParameterError(
            "ranker must be a MART with a logistic loss, such as loss='graded', or a bag of such, "
            f"for others have no probabilities, and it is {ranker!r}"
        )
    return float(inside.sigma)


def _as_declared(params: State, trained: Ranker) -> bool:
    """Whether a file of an earlier release, which has the slope itself, has probabilities."""
    if params["sigma"] is None:
        return False
    if saved_number(params, "sigma") != _slope(trained):
        raise ModelFileError(
            "the model file has probabilities of another slope than its ranker has: save the "
            "model again"
        )
    return True
