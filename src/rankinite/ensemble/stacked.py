"""A ranker on top of others: it learns from their scores of whole queries, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from rankinite.combination.members import about, named_rankers, scores_of_members
from rankinite.data import Dataset
from rankinite.ensemble.bagging import Bagging
from rankinite.ensemble.fitting import check_ranker, fitted, fresh
from rankinite.ensemble.folds import folds_of
from rankinite.ensemble.meta_ranker import MetaRanker
from rankinite.ensemble.query_features import QUERY_FEATURES, out_of_fold, with_query_features
from rankinite.errors import DataError, ModelFileError, ParameterError
from rankinite.models.checked_state import saved_names, saved_whole
from rankinite.models.file import Arrays, State
from rankinite.models.parameters import Constraint, Whole
from rankinite.models.ranker import Ranker, training_data
from rankinite.models.storage import from_state, nested, to_state, unnested
from rankinite.training.cross_validation import watches
from rankinite.training.watching import named_sets


class Stacked(MetaRanker):
    """A ranker with four further features from the scores of each of some base rankers.

    They are the maximum and the mean of a base ranker's scores over the documents of a query, and
    over its top three (Burges et al. 2011, section 4.2; `query_features`). While the ranker on top
    is trained they are out of fold: each query's come from a model that was trained without it.

    Parameters
    ----------
    ranker : ranker
        The one on top; it is copied and trained.
    bases : ranker, or dict or list of rankers
        They are copied and trained too. Those of a list are called "1", "2" and so on, a single one
        by its class. A `Bagging` has out-of-fold scores already and is trained once; any other is
        trained for each fold, and then on all queries.
    n_folds : int
    random_state : int or None
        Of the folds, see `fold_numbers`.
    n_threads : int, optional
        Threads of training and scoring, also for the rankers inside; all cores, or what they say,
        by default.

    Attributes
    ----------
    bases_ : dict of str to ranker
        By name, trained.
    ranker_ : ranker
        The one on top, trained on the features of the data and those of the bases.
    n_features_in_ : int
        Features of the data, without those of the bases.
    feature_names_in_ : ndarray of str
        Only if the training data had names.

    Examples
    --------
    >>> import rankinite as rk
    >>> train, test = rk.artificial(n_queries=(60, 20), n_docs=10, n_features=5)
    >>> mart = rk.MART(loss="graded", n_estimators=10)
    >>> top = rk.LambdaMART(measure="err@10", n_estimators=10)
    >>> model = rk.Stacked(top, {"mart": mart}, n_folds=3).fit(train)
    >>> model.predict(test).shape, model.ranker_.n_features_in_
    ((200,), 9)
    """

    _not_plain = "looks at the other documents of a query: distil it to a forest"
    constraints: ClassVar[Mapping[str, Constraint]] = {
        **MetaRanker.constraints,
        "n_folds": Whole(2),
        "random_state": Whole(0, 2**63 - 1, optional=True),
    }
    # Only a Dataset can be scored: it says which documents belong to a query.
    needs_queries = True

    bases_: dict[str, Any]
    ranker_: Any

    def __init__(
        self,
        ranker: Any,
        bases: Any,
        n_folds: int = 10,
        random_state: int | None = 0,
        n_threads: int | None = None,
    ) -> None:
        self.ranker = ranker
        self.bases = bases
        self.n_folds = n_folds
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
        valid: Dataset | Mapping[str, Dataset] | None = None,
        folds: Any = None,
        **unknown: Any,
    ) -> Self:
        """Train the base rankers, and the one on top.

        Parameters
        ----------
        X : Dataset, matrix or frame
            A Dataset brings its labels, queries and weights along.
        y, qid, sample_weight, query_weight
            Labels, query ids and weights, when X is not a Dataset; see `rankinite.Dataset`.
        valid : Dataset or dict of Datasets, optional
            For rankers that watch data while they learn. Base rankers with `early_stopping` watch
            the first fold without it, and learn from the others.
        folds : array-like of int, shape (n_queries,), or mapping, optional
            The fold of each query, from 0 to ``n_folds - 1``, in the order in which queries first
            appear or by id; drawn by default.
        """
        self._refuse_unknown("fit", unknown)
        self.check_params()
        rows = training_data(X, y, qid, sample_weight, query_weight)
        sets = named_sets(valid)
        numbers = folds_of(rows, folds, int(self.n_folds), self.random_state)
        bases, scores = {}, {}
        for name, base in _named(self.bases).items():
            with about(name):
                bases[name], scores[name] = self._base(base, rows, sets, numbers)
        named = {
            name: with_query_features(each, _scores(bases, each, self.n_threads))
            for name, each in sets.items()
        }
        stacked = with_query_features(rows, scores)
        self.ranker_ = fitted(self.ranker, stacked, named or None, self.n_threads)
        self.bases_ = bases
        self.n_features_in_ = rows.n_features
        self._feature_names = rows.feature_names
        return self

    def _base(
        self, base: Ranker, rows: Dataset, sets: dict[str, Dataset], numbers: np.ndarray
    ) -> tuple[Any, np.ndarray]:
        """A base ranker that knows all queries, and scores of those that do not."""
        if isinstance(base, Bagging):
            bag = fresh(base, self.n_threads)
            shared = numbers if int(bag.n_folds) == int(self.n_folds) else None
            return bag.fit(rows, folds=shared), bag.oof_scores_
        scores = out_of_fold(base, rows, int(self.n_folds), folds=numbers, n_threads=self.n_threads)
        if sets or not watches(base):
            return fitted(base, rows, sets or None, self.n_threads), scores
        train, valid = (rows.select_queries(chosen) for chosen in (numbers != 0, numbers == 0))
        return fitted(base, train, valid, self.n_threads), scores

    @classmethod
    def of(cls, ranker: Ranker, bases: Mapping[str, Any]) -> Stacked:
        """A model from rankers that are trained already.

        Parameters
        ----------
        ranker : ranker
            Trained on what `with_query_features` makes of data and out-of-fold scores of the bases,
            in their order.
        bases : dict of str to ranker
        """
        for model in (ranker, *bases.values()):
            model.check_fitted()
        own = {base.n_features_in_ for base in bases.values()}
        known = ranker.n_features_in_ - len(QUERY_FEATURES) * len(bases)
        if own != {known}:
            raise ParameterError(
                f"the ranker on top has {ranker.n_features_in_} features, and with "
                f"{len(QUERY_FEATURES)} for each of {len(bases)} bases it should have "
                f"{len(QUERY_FEATURES)} times as many more than these: train it on "
                "with_query_features"
            )
        model = cls(fresh(ranker, None), {name: fresh(each, None) for name, each in bases.items()})
        model.ranker_, model.bases_ = ranker, dict(bases)
        model.n_features_in_ = known
        names = getattr(ranker, "_feature_names", None)
        model._feature_names = None if names is None else names[:known]
        return model

    def in_words(self) -> str:
        """The trained model in a few words, for people."""
        self.check_fitted()
        return f"{self.ranker_.in_words()}, on top of {', '.join(self.bases_)}"

    def _score_rows(self, dataset: Dataset, n_rounds: int | None) -> np.ndarray:
        stacked = with_query_features(dataset, _scores(self.bases_, dataset, self.n_threads))
        top = {"the ranker on top": self.ranker_}
        return scores_of_members(top, stacked, self.n_threads)[:, 0]

    def _score_matrix(self, X: np.ndarray, n_rounds: int | None) -> NoReturn:
        raise DataError(
            "a Stacked ranker takes the scores of each query together, and a matrix does not say "
            "which rows belong to a query: pass a Dataset"
        )

    def check_params(self) -> None:
        """Refuse parameters outside their range, or that do not fit each other."""
        super().check_params()
        check_ranker(self.ranker, "ranker")
        for name, base in _named(self.bases).items():
            check_ranker(base, f"the base {name!r}")

    def __sklearn_clone__(self) -> Self:
        """An untrained copy, whose rankers are copies too."""
        copy = super().__sklearn_clone__()
        copy.ranker = fresh(copy.ranker, None)
        copy.bases = {name: fresh(base, None) for name, base in _named(copy.bases).items()}
        return copy

    def to_state(self) -> tuple[State, Arrays]:
        """What `from_state` takes: the state as JSON has it, and the arrays."""
        top, arrays = to_state(self.ranker_)
        arrays = nested("top", arrays)
        bases = []
        for number, (name, base) in enumerate(self.bases_.items()):
            with about(name):
                state, own = to_state(base)
            bases.append({"name": name, "state": state})
            arrays |= nested(f"base {number}", own)
        seed = self.random_state
        params = {
            "n_folds": int(self.n_folds),
            "random_state": None if seed is None else int(seed),
        }
        state = {
            "params": params,
            "n_features": self.n_features_in_,
            "feature_names": self._feature_names,
            "bases": bases,
            "top": top,
        }
        return state, arrays

    @classmethod
    def from_state(cls, state: State, arrays: Arrays) -> Self:
        """What was saved by `to_state`, after a check."""
        bases = {
            str(base["name"]): from_state(base["state"], unnested(f"base {number}", arrays))
            for number, base in enumerate(state["bases"])
        }
        top = from_state(state["top"], unnested("top", arrays))
        n_features = saved_whole(state, "n_features")
        wide = n_features + len(QUERY_FEATURES) * len(bases)
        fit = len(bases) == len(state["bases"]) > 0 and getattr(top, "n_features_in_", 0) == wide
        if not fit or any(getattr(b, "n_features_in_", 0) != n_features for b in bases.values()):
            raise ModelFileError(
                f"the model file has {len(bases)} base rankers of {n_features} features, and a "
                "ranker on top that does not fit: save the model again"
            )
        if not all(isinstance(model, Ranker) for model in (top, *bases.values())):
            raise ModelFileError(
                "the model file has something else than rankers on top of each other: save the "
                "model again"
            )
        own = {name: fresh(base, None) for name, base in bases.items()}
        model = cls(fresh(top, None), own, **state["params"])
        super(Stacked, model).check_params()
        model.ranker_, model.bases_ = top, bases
        model.n_features_in_ = n_features
        model._feature_names = saved_names(state, n_features)
        return model


def _named(bases: Any) -> dict[str, Any]:
    """Base rankers by name."""
    if isinstance(bases, Ranker):
        bases = {type(bases).__name__: bases}
    if not isinstance(bases, Mapping | Sequence) or isinstance(bases, str):
        raise ParameterError(
            "bases must be a ranker, or a dict of them by name, or a list, not a "
            f"{type(bases).__name__}"
        )
    return named_rankers(bases)


def _scores(bases: Mapping[str, Any], data: Dataset, n_threads: int | None) -> dict[str, Any]:
    """Scores of trained base rankers by name, in the caller's row order."""
    table = scores_of_members(dict(bases), data, n_threads)
    return {name: data.in_caller_order(column) for name, column in zip(bases, table.T, strict=True)}
