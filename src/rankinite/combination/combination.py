"""Several rankers as one ranker."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from rankinite._numba import threads
from rankinite.combination.combiner import METHODS, Combiner, CombinerSettings, learn
from rankinite.combination.members import (
    Members,
    RankerOfRankers,
    about,
    as_members,
    check_members,
    named_rankers,
    table_of,
    table_of_scores,
)
from rankinite.combination.normalising import NORMALIZATIONS, needs_queries
from rankinite.combination.pair_tree import Tree, checked_tree
from rankinite.data import Dataset
from rankinite.errors import ExportError, ModelFileError, ParameterError
from rankinite.exchange.plain import PlainForest
from rankinite.exchange.sums import weighted_sum_of_forests
from rankinite.measures import Measure, PairMeasure, measure
from rankinite.measures.estimator_score import MeasuredRanker
from rankinite.measures.evaluation import labels_named
from rankinite.models.checked_state import saved_names, saved_whole
from rankinite.models.file import Arrays, State
from rankinite.models.parameters import Constraint, OneOf, Whole
from rankinite.models.plain_scorers import plain_of
from rankinite.models.ranker import Ranker, feature_names_of, training_data
from rankinite.models.storage import from_state, nested, to_state, unnested
from rankinite.nets import Net


class Combination(MeasuredRanker, RankerOfRankers):
    """Rankers that are trained already, combined by weights that ``fit`` learns.

    Fit it on other data than the rankers were trained on, or the one that knows its training data
    best gets all the weight.

    Parameters
    ----------
    rankers : dict or list
        Trained rankers by name, or in a list, where they are called "1", "2" and so on. Each may
        be anything that scores: a ranker of this package, a model of LightGBM, XGBoost, CatBoost
        or scikit-learn, a weight vector, a function of the feature matrix.
    method : str
        - "average": the mean of the normalised scores, or their sum by given `weights`. It needs
          no labels, and was as good as any other for the winners of the Yahoo! challenge (Burges
          et al. 2011).
        - "linear": a linear `LambdaRank` over the scores (Gao et al. 2009, section 3).
        - "net": a `LambdaRank` with a hidden layer over the scores. It keeps the epoch that is
          best on a fifth of the queries, from which it does not learn, if there are 20 or more.
        - "powell": Powell's search for the weights with the best measure, by Brent's line search.
        - "exact_powell": the same with line searches that are exact.
        - "pair_tree": pairs of rankers by the best weight between them, then pairs of these.
    measure : str or Measure
        What the combination is to do well; the average does not look at it.
    normalize : str
        How the scores of a ranker are made comparable with those of others.

        - "data": mean 0 and variance 1 over the data of ``fit``.
        - "query": mean 0 and variance 1 in each query, then as "data".
        - "query_max": P_max·(1 + P − P_max) with the highest score of the query, then as "data";
          for probabilities.
        - "none": as they are.

        With "query" and "query_max" only a Dataset can be scored, for it says which documents
        belong to a query.
    weights : dict or sequence, optional
        For the average: what each ranker counts, in terms of normalised scores.
    tree : nested pairs of names, optional
        For the pair tree: what to combine with what, such as ``(("a", "b"), "c")``. By default
        the two whose combination is best, again and again.
    random_state : int
        Seed of "linear" and "net".
    n_threads : int, optional
        Threads of fitting and scoring, also for the rankers inside; all cores by default.
    verbose : int
        1 shows how the measure rises.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the training data, or a ranker of ours, has names.
    weights_ : dict of str to float
        What a unit of each ranker's raw score adds to the combined one, but for a constant; of its
        score normalised in the query if `normalize` says so. A net has none.
    shares_ : dict of str to float
        The same in terms of normalised scores, with 1 as the sum of their sizes.
    tree_ : str or nested pairs of names, or None
        In which order the pair tree has combined the rankers.
    history_ : list of float
        The measure on the data of ``fit`` after each step of the search.

    Examples
    --------
    >>> import rankinite as rk
    >>> train, valid, test = rk.artificial(n_queries=(60, 30, 20), n_docs=20, n_features=10)
    >>> trees = rk.LambdaMART(n_estimators=10).fit(train)
    >>> net = rk.LambdaRank(n_hidden=0, n_epochs=10).fit(train)
    >>> both = rk.Combination({"trees": trees, "net": net}, method="exact_powell").fit(valid)
    >>> rk.evaluate(both, valid)["ndcg@10"] >= rk.evaluate(trees, valid)["ndcg@10"]
    True
    """

    constraints: ClassVar[Mapping[str, Constraint]] = {
        "method": OneOf(METHODS),
        "normalize": OneOf(NORMALIZATIONS),
        "random_state": Whole(0, 2**63 - 1, optional=True),
        "n_threads": Whole(1, optional=True),
        "verbose": Whole(0),
    }

    def __init__(
        self,
        rankers: Mapping[str, Any] | Sequence[Any],
        method: str = "average",
        measure: str | Measure = "ndcg@10",
        normalize: str = "data",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        tree: Any = None,
        random_state: int | None = 0,
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.rankers = rankers
        self.method = method
        self.measure = measure
        self.normalize = normalize
        self.weights = weights
        self.tree = tree
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        scores: Any = None,
        **unknown: Any,
    ) -> Self:
        """Learn how to combine the rankers; they themselves stay as they are.

        Parameters
        ----------
        X : Dataset, matrix or frame
            A Dataset brings its labels, queries and weights along.
        y, qid, sample_weight, query_weight
            Labels, query ids and weights, when X is not a Dataset; see `rankinite.Dataset`.
        scores : array-like of shape (n_rows, n_rankers), optional
            What to learn from instead of the scores that the rankers give to X, in the caller's
            row order: those of models that have not seen the documents, if the rankers have.
        """
        self._refuse_unknown("fit", unknown)
        self.check_params()
        settings = self._settings()
        whole = training_data(X, y, qid, sample_weight, query_weight)
        members = as_members(self.rankers)
        if scores is None:
            dataset = whole.that_count()
            check_members(members, dataset)
            table = table_of(members, dataset, self.n_threads)
        else:
            check_members(members, whole)
            dataset = whole
            table = table_of_scores(scores, whole, len(members)).that_count()
        with threads(self.n_threads), labels_named(self.measure, dataset):
            combiner = learn(table, settings)
        self._members, self._combiner = members, combiner
        self.n_features_in_ = dataset.n_features
        self._feature_names = dataset.feature_names or _names_of_features(members)
        return self

    @property
    def weights_(self) -> dict[str, float]:
        """What a unit of each ranker's raw score adds, by the name of the ranker."""
        weights = self._linear_weights("weights_")
        return self._by_name(weights * self._combiner.normalizer.standardizer.scale)

    @property
    def shares_(self) -> dict[str, float]:
        """The weights of normalised scores, divided by the sum of their sizes."""
        weights = self._linear_weights("shares_")
        total = np.abs(weights).sum()
        return self._by_name(weights / total if total > 0 else weights)

    @property
    def net_(self) -> Net:
        """The net over the normalised scores, of the method "net"."""
        self.check_fitted()
        if self._combiner.net is None:
            raise AttributeError("net_ is there only for method='net' with two rankers or more")
        return self._combiner.net.net_

    @property
    def tree_(self) -> Tree | None:
        """In which order the pair tree has combined the rankers."""
        self.check_fitted()
        return self._combiner.tree

    @property
    def history_(self) -> list[float]:
        """The measure after each step of the search."""
        self.check_fitted()
        return list(self._combiner.history)

    @property
    def needs_queries(self) -> bool:
        """Whether only a Dataset can be scored, because queries are normalised by themselves."""
        members = getattr(self, "_members", {}).values()
        inner = any(getattr(member, "needs_queries", False) for member in members)
        return needs_queries(self.normalize) or inner

    def in_words(self) -> str:
        """The trained combination in a few words, for people."""
        self.check_fitted()
        n = len(self._members)
        words = f"Combination of {n} ranker{'s' if n > 1 else ''} by {self.method}"
        if self._combiner.net is not None:
            return f"{words} with {self.net_.n_hidden} hidden units"
        shares = (f"{round(100 * share)} % {name}" for name, share in self.shares_.items())
        return f"{words}: {', '.join(shares)}"

    def score_dataset(self, dataset: Dataset, *, n_rounds: int | None = None) -> np.ndarray:
        """Scores, shape (n_rows,), in the dataset's stored order (queries contiguous)."""
        self.check_fitted()
        dataset = self._with_known_features(dataset)
        self._check_rounds(n_rounds)
        with self._threads_for(dataset.n_rows):
            return self.score_by_members(dataset, self.n_threads)

    def _score_matrix(self, X: np.ndarray, n_rounds: int | None) -> np.ndarray:
        return self.score_by_members(X, self.n_threads)

    def _inner(self) -> Members:
        return self._members

    def _of_scores(self, raw: np.ndarray, offsets: np.ndarray | None) -> np.ndarray:
        return self._combiner.scores(raw, offsets)

    def plain(self) -> PlainForest:
        """The trained combination as one forest, if it is a weighted sum of forests.

        Means and scales of the normalised scores go into the leaves and the start.
        """
        self.check_fitted()
        if needs_queries(self.normalize):
            raise ExportError(
                f"a Combination with normalize={self.normalize!r} cannot be exported to other "
                "engines, because a document's score depends on the others of its query: fit it "
                "with normalize='data', or distil it"
            )
        if self._combiner.weights is None:
            raise ExportError(
                "a Combination by a net cannot be exported to other engines, because it is no "
                "weighted sum of its rankers: fit it with another method, or distil it"
            )
        used = self._combiner.used.tolist()
        members = [list(self._members.items())[j] for j in used]
        parts = [plain_of(member, f"the ranker {name!r}") for name, member in members]
        standardizer = self._combiner.normalizer.standardizer
        factors = self._combiner.weights * standardizer.scale
        constant = -math.fsum((factors * standardizer.mean).tolist())
        whole = weighted_sum_of_forests(parts, factors.tolist(), constant)
        return replace(whole, feature_names=self._feature_names)

    def _linear_weights(self, name: str) -> np.ndarray:
        """Weights of the normalised scores, shape (n_used,)."""
        self.check_fitted()
        if self._combiner.weights is None:
            raise AttributeError(
                f"{name} is not there for a net, which is no weighted sum: see net_"
            )
        return self._combiner.weights

    def _by_name(self, of_used: np.ndarray) -> dict[str, float]:
        """Numbers of the rankers that are used, by name; 0 for the others."""
        values = np.zeros(len(self._members))
        values[self._combiner.used] = of_used
        return dict(zip(self._members, values.tolist(), strict=True))

    def check_params(self) -> None:
        """Refuse parameters outside their range, or that do not fit each other."""
        super().check_params()
        try:
            of_pairs = isinstance(measure(self.measure), PairMeasure)
        except ParameterError as error:
            raise ParameterError(f"measure is wrong: {error}") from None
        if of_pairs:
            raise ParameterError(
                f"measure {self.measure} is one of preference pairs, and weights are learned from "
                "labels: name another, for instance 'ndcg@10'"
            )
        for name, method in (("weights", "average"), ("tree", "pair_tree")):
            if getattr(self, name) is not None and self.method != method:
                raise ParameterError(
                    f"{name} is for method={method!r}, and the method is {self.method!r}: leave it "
                    "out"
                )

    def _settings(self) -> CombinerSettings:
        names = list(named_rankers(self.rankers))
        return CombinerSettings(
            names=tuple(names),
            method=self.method,
            normalize=self.normalize,
            measure=measure(self.measure),
            weights=None if self.weights is None else _checked_weights(self.weights, names),
            tree=None if self.tree is None else checked_tree(self.tree, names),
            random_state=None if self.random_state is None else int(self.random_state),
            n_threads=self.n_threads,
            verbose=int(self.verbose),
        )

    def to_state(self) -> tuple[State, Arrays]:
        """What `from_state` takes: the state as JSON has it, and the arrays."""
        settings = self._settings()
        state, arrays = self._combiner.state()
        members = []
        for number, (name, member) in enumerate(self._members.items()):
            with about(name):
                member_state, member_arrays = to_state(member)
            members.append({"name": name, "state": member_state})
            arrays |= nested(f"ranker {number}", member_arrays)
        params = {
            "method": settings.method,
            "measure": str(settings.measure),
            "normalize": settings.normalize,
            "weights": settings.weights,
            "tree": settings.tree,
            "random_state": settings.random_state,
            "verbose": settings.verbose,
        }
        own = {
            "params": params,
            "n_features": self.n_features_in_,
            "feature_names": self._feature_names,
            "rankers": members,
            "combiner": state,
        }
        return own, arrays

    @classmethod
    def from_state(cls, state: State, arrays: Arrays) -> Self:
        """What was saved by `to_state`, after a check."""
        members: Members = {}
        for number, member in enumerate(state["rankers"]):
            inner = unnested(f"ranker {number}", arrays)
            members[str(member["name"])] = from_state(member["state"], inner)
        if len(members) != len(state["rankers"]) or not members:
            raise ModelFileError(
                "the model file has no rankers, or two of one name: save the model again"
            )
        model = cls(members, **state["params"])
        # Not its own check, which would look at measures that only the fitting had.
        super(Combination, model).check_params()
        if model.tree is not None:
            model.tree = checked_tree(model.tree, list(members))
        model.n_features_in_ = saved_whole(state, "n_features")
        model._feature_names = saved_names(state, model.n_features_in_)
        for name, member in members.items():
            if member.n_features_in_ != model.n_features_in_:
                raise ModelFileError(
                    f"the ranker {name!r} in the model file has {member.n_features_in_} features, "
                    f"and the combination {model.n_features_in_}: save the model again"
                )
        model._members = members
        model._combiner = Combiner.from_state(
            model.normalize, list(members), state["combiner"], arrays
        )
        return model


def _checked_weights(weights: Any, names: Sequence[str]) -> tuple[float, ...]:
    """Given weights in the order of the rankers."""
    if isinstance(weights, Mapping):
        for name in [*weights, *names]:
            if name not in names or name not in weights:
                raise ParameterError(
                    f"weights must have one number for each of {', '.join(names)}, and {name!r} is "
                    f"{'missing' if name in names else 'none of them'}"
                )
        weights = [weights[name] for name in names]
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        values = np.empty(0)
    if values.shape != (len(names),) or not np.isfinite(values).all():
        raise ParameterError(
            f"weights must be {len(names)} finite numbers, one for each ranker, got {weights!r}"
        )
    return tuple(values.tolist())


def _names_of_features(members: Members) -> list[str] | None:
    """What the first ranker of this package with names for its features calls them."""
    own = (feature_names_of(member) for member in members.values() if isinstance(member, Ranker))
    return next((names for names in own if names is not None), None)
