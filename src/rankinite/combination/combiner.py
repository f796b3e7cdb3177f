"""From the raw scores of some rankers to one score: the methods, and what they learn."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankinite.combination.members import in_content_order
from rankinite.combination.normalising import Normalizer, by_query
from rankinite.combination.pair_tree import Tree, checked_tree, pair_tree
from rankinite.combination.powell import exact_powell, powell
from rankinite.combination.problem import Problem
from rankinite.data import Dataset, FeatureValues
from rankinite.errors import DataError, ModelFileError, RankiniteWarning
from rankinite.measures import Measure
from rankinite.models.file import Arrays, State
from rankinite.models.linear import weighted_sum
from rankinite.models.storage import from_state, nested, to_state, unnested
from rankinite.nets import LambdaRank
from rankinite.order.canonical import canonical

METHODS = ("average", "linear", "net", "powell", "exact_powell", "pair_tree")
"""What `method` may be; see `Combination`."""

_EPOCHS = 100
# Above that of a LambdaRank over features: a few scores on one scale, and often few queries.
_LEARNING_RATE = 0.02
# A net over scores keeps the epoch that was best on a part of the queries that it does not learn
# from: one in so many, if there are enough of them.
_HELD_OUT = 5
_ENOUGH_QUERIES = 20


@dataclass(frozen=True)
class CombinerSettings:
    """How to combine, and what the rankers are called; see the parameters of `Combination`."""

    names: tuple[str, ...]
    method: str
    normalize: str
    measure: Measure
    weights: tuple[float, ...] | None = None
    tree: Any = None
    random_state: int | None = 0
    n_threads: int | None = None
    verbose: int = 0


@dataclass(frozen=True, eq=False)
class Combiner:
    """What was learned: from raw scores to one score.

    Attributes
    ----------
    used : ndarray of int64, shape (n_used,)
        Places of the rankers that count; the others gave every document the same score.
    normalizer : Normalizer
        Of the rankers that are used.
    top : ndarray of float64, shape (n_used,), or LambdaRank
        The weights of the normalised scores, or a net over them.
    tree : Tree or None
        In which order pairs were combined.
    history : list of float
        The measure as it was while the weights were learned.
    """

    used: np.ndarray
    normalizer: Normalizer
    top: np.ndarray | LambdaRank
    tree: Tree | None = None
    history: list[float] = field(default_factory=list)

    @property
    def weights(self) -> np.ndarray | None:
        """The weights of the normalised scores; None with a net."""
        return None if isinstance(self.top, LambdaRank) else self.top

    @property
    def net(self) -> LambdaRank | None:
        """The net over the normalised scores; None with weights."""
        return self.top if isinstance(self.top, LambdaRank) else None

    def scores(self, raw: np.ndarray, offsets: np.ndarray | None) -> np.ndarray:
        """Combined scores, shape (n_rows,), of raw ones, shape (n_rows, n_rankers)."""
        Z = self.normalizer.transform(np.ascontiguousarray(raw[:, self.used]), offsets)
        if isinstance(self.top, LambdaRank):
            return self.top.net_.score(Z)
        return weighted_sum(Z, self.top)

    def state(self) -> tuple[State, Arrays]:
        """What `from_state` takes."""
        arrays = nested("normalizer", self.normalizer.to_arrays()) | {"used": self.used}
        state: State = {"net": None, "tree": self.tree, "history": self.history}
        if isinstance(self.top, LambdaRank):
            state["net"], net_arrays = to_state(self.top)
            arrays |= nested("net", net_arrays)
        else:
            arrays["weights"] = self.top
        return state, arrays

    @classmethod
    def from_state(cls, kind: str, names: Sequence[str], state: State, arrays: Arrays) -> Combiner:
        """The combiner of a model file, after a check."""
        used = arrays["used"]
        if used.dtype != np.int64 or not np.array_equal(used, np.unique(used)) or not len(used):
            raise ModelFileError("the model file does not say which rankers count: save it again")
        chosen = [names[j] for j in used.tolist() if j >= 0]
        normalizer = Normalizer.from_arrays(kind, chosen, unnested("normalizer", arrays))
        tree = None if state["tree"] is None else checked_tree(state["tree"], chosen)
        history = [float(value) for value in state["history"]]
        if state["net"] is None:
            weights = _checked_weights(arrays["weights"], len(used))
            return cls(used, normalizer, weights, tree, history)
        net = from_state(state["net"], unnested("net", arrays))
        if not isinstance(net, LambdaRank) or net.n_features_in_ != len(used):
            raise ModelFileError(
                "the net in the model file is not one of its rankers: save the model again"
            )
        return cls(used, normalizer, net, tree, history)


def _checked_weights(weights: np.ndarray, n_used: int) -> np.ndarray:
    """Weights from a model file, if they can be those of so many rankers."""
    if weights.dtype != np.float64 or weights.shape != (n_used,):
        raise ModelFileError(
            f"the model file has weights of shape {weights.shape} for {n_used} rankers: save the "
            "model again"
        )
    if not np.isfinite(weights).all():
        raise ModelFileError("the model file has a weight that is no number: save the model again")
    return weights


def learn(table: Dataset, settings: CombinerSettings) -> Combiner:
    """Learn how to combine scores.

    Parameters
    ----------
    table : Dataset
        Its features are the raw scores of the rankers. The average needs no labels.
    """
    if settings.method != "average":
        _ = table.labels  # an error if there are none
    used = _varying(table, settings)
    # The others are as good as absent.
    scores_of_used = FeatureValues(np.ascontiguousarray(table.X[:, used]))
    table = in_content_order(Dataset.of(table, scores_of_used))
    names = [settings.names[j] for j in used]
    normalizer = Normalizer.learn(settings.normalize, names, table)
    if settings.method == "average":
        given = settings.weights
        weights = np.full(len(used), 1.0 / len(used)) if given is None else np.array(given)[used]
        return Combiner(used, normalizer, weights)
    Z = normalizer.transform(table.X, table.offsets)
    problem = Problem(Dataset.of(table, FeatureValues(Z)), settings.measure, settings.verbose)
    if len(used) == 1:
        return Combiner(used, normalizer, np.ones(1))
    if settings.method == "net":
        net = _net(problem, settings)
        return Combiner(used, normalizer, net, history=problem.history)
    if settings.method == "pair_tree":
        branch = pair_tree(problem, names, settings.tree)
        return Combiner(used, normalizer, branch.weights, branch.tree, problem.history)
    weights = _SEARCHES[settings.method](problem, settings)
    return Combiner(used, normalizer, weights, history=problem.history)


def _varying(table: Dataset, settings: CombinerSettings) -> np.ndarray:
    """Places of the rankers whose scores are not all the same; a warning tells of the others."""
    order, names = canonical(table), settings.names
    values = by_query(settings.normalize, names, table.X[order.rows], order.offsets)
    varies = values.min(axis=0) < values.max(axis=0)
    constant = ", ".join(repr(name) for name, some in zip(names, varies, strict=True) if not some)
    if not varies.any():
        raise DataError(
            f"every score of {constant} is the same on this data: there is nothing to combine"
        )
    if constant:
        warnings.warn(
            f"all scores of {constant} are the same on this data: the weight is 0",
            RankiniteWarning,
            stacklevel=4,
        )
    return np.flatnonzero(varies)


def _linear(problem: Problem, settings: CombinerSettings) -> np.ndarray:
    """Weights by a linear LambdaRank, of the epoch that ranks the data best."""
    model = _lambdarank(settings, n_hidden=0).fit(problem.data, valid=problem.data)
    problem.history += model.history_["valid"][str(settings.measure)]
    return model.coef_


def _net(problem: Problem, settings: CombinerSettings) -> LambdaRank:
    """A LambdaRank with a hidden layer, of the epoch that ranks best what it has not learned."""
    train = valid = problem.data
    useful = np.flatnonzero(~problem.blank)
    if len(useful) >= _ENOUGH_QUERIES:
        # The queries lie in the order of hashes of their content: every fifth is a random one.
        held_out = np.zeros(train.n_queries, dtype=bool)
        held_out[useful[::_HELD_OUT]] = True
        train, valid = train.select_queries(~held_out), train.select_queries(held_out)
    model = _lambdarank(settings, n_hidden=10).fit(train, valid=valid)
    problem.history += model.history_["valid"][str(settings.measure)]
    return model


def _lambdarank(settings: CombinerSettings, n_hidden: int) -> LambdaRank:
    return LambdaRank(
        settings.measure,
        n_hidden=n_hidden,
        n_epochs=_EPOCHS,
        learning_rate=_LEARNING_RATE,
        random_state=settings.random_state,
        n_threads=settings.n_threads,
        verbose=settings.verbose,
    )


_SEARCHES: dict[str, Callable[[Problem, CombinerSettings], np.ndarray]] = {
    "linear": _linear,
    "powell": lambda problem, _: powell(problem),
    "exact_powell": lambda problem, _: exact_powell(problem),
}
