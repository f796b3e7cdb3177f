"""Probabilities as scores, as MART gives them in Burges et al. (2011), section 4.2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from rankinite.boosting import MART
from rankinite.combination.members import scores_of_members
from rankinite.combination.normalising import needs_queries
from rankinite.data import Dataset
from rankinite.ensemble.around import rescaled
from rankinite.ensemble.fitting import check_ranker, fitted, fresh
from rankinite.ensemble.meta_ranker import MetaRanker
from rankinite.errors import ModelFileError, ParameterError
from rankinite.models.checked_state import saved_names
from rankinite.models.file import Arrays, State
from rankinite.models.parameters import Constraint, OneOf
from rankinite.models.ranker import training_data
from rankinite.models.storage import from_state, nested, to_state, unnested


class Probabilities(MetaRanker):
    """MART by its probabilities of relevance instead of their log odds.

    Parameters
    ----------
    ranker : MART
        With a logistic loss; ``"graded"`` for the probabilities that ERR gives to labels. It is
        copied and trained.
    normalize : {"none", "query_max"}
        The probabilities as they are, or P_max·(1 + P − P_max) with the highest of the query: then
        those of queries without a good document vary less, and only a Dataset can be scored.
    n_threads : int, optional
        Threads of training and scoring; all cores, or what the ranker says, by default.

    Attributes
    ----------
    ranker_ : MART
        Trained.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the training data had names.

    Examples
    --------
    >>> import rankinite as rk
    >>> train, test = rk.artificial(n_queries=(60, 20), n_docs=10, n_features=5)
    >>> mart = rk.MART(loss="graded", n_estimators=10)
    >>> model = rk.Probabilities(mart, normalize="query_max").fit(train)
    >>> scores = model.predict(test)
    >>> bool(scores.min() > 0 and scores.max() < 1)
    True
    """

    _not_plain = "scores by probabilities: export the ranker inside, or distil it"
    constraints: ClassVar[Mapping[str, Constraint]] = {
        **MetaRanker.constraints,
        "normalize": OneOf(("none", "query_max")),
    }

    ranker_: MART

    def __init__(self, ranker: Any, normalize: str = "none", n_threads: int | None = None) -> None:
        self.ranker = ranker
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
            As for `MART.fit`.
        """
        self._refuse_unknown("fit", unknown)
        self.check_params()
        rows = training_data(X, y, qid, sample_weight, query_weight)
        self._take(fitted(self.ranker, rows, valid, self.n_threads))
        return self

    def _take(self, trained: MART) -> None:
        self.ranker_ = trained
        self.n_features_in_, self._feature_names = trained.n_features_in_, trained._feature_names

    @property
    def needs_queries(self) -> bool:
        """Whether only a Dataset can be scored, because queries are normalised by themselves."""
        return needs_queries(self.normalize)

    def in_words(self) -> str:
        """The trained model in a few words, for people."""
        self.check_fitted()
        return f"Probabilities of a {self.ranker_.in_words()}"

    def _score_rows(self, dataset: Dataset, n_rounds: int | None) -> np.ndarray:
        return self._score(dataset, dataset.offsets)

    def _score_matrix(self, X: np.ndarray, n_rounds: int | None) -> np.ndarray:
        return self._score(X, None)

    def _score(self, data: Dataset | np.ndarray, offsets: np.ndarray | None) -> np.ndarray:
        scores = scores_of_members({"mart": self.ranker_}, data, self.n_threads)[:, 0]
        return rescaled(scores, offsets, self.normalize, self.ranker_.sigma)

    def check_params(self) -> None:
        """Refuse parameters outside their range, or that do not fit each other."""
        super().check_params()
        check_ranker(self.ranker, "ranker")
        self._check_logistic()

    def _check_logistic(self) -> None:
        if not isinstance(self.ranker, MART) or self.ranker.loss == "least_squares":
            raise ParameterError(
                "ranker must be a MART with a logistic loss, such as loss='graded', for others "
                f"have no probabilities, and it is {self.ranker!r}"
            )

    def __sklearn_clone__(self) -> Self:
        """An untrained copy, whose ranker is a copy too."""
        copy = super().__sklearn_clone__()
        copy.ranker = fresh(copy.ranker, None)
        return copy

    def to_state(self) -> tuple[State, Arrays]:
        """What `from_state` takes: the state as JSON has it, and the arrays."""
        inner, arrays = to_state(self.ranker_)
        state = {"normalize": self.normalize, "feature_names": self._feature_names, "ranker": inner}
        return state, nested("ranker", arrays)

    @classmethod
    def from_state(cls, state: State, arrays: Arrays) -> Self:
        """What was saved by `to_state`, after a check."""
        trained = from_state(state["ranker"], unnested("ranker", arrays))
        if not isinstance(trained, MART):
            raise ModelFileError(
                "the model file has probabilities of something else than MART: save the model again"
            )
        model = cls(fresh(trained, None), state["normalize"])
        # Not its own check, which would look at measures that only the training had.
        super(Probabilities, model).check_params()
        model._check_logistic()
        model._take(trained)
        model._feature_names = saved_names(state, model.n_features_in_)
        return model
