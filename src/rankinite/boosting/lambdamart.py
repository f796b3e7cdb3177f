"""LambdaMART, and LambdaSMART: boosted trees on the λ-gradients of a ranking measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from rankinite.binning import Bins
from rankinite.boosting.backfitting import Backfitting
from rankinite.boosting.boosted_trees import BoostedTrees, TreeRounds
from rankinite.boosting.line_stage import LineSearchStage
from rankinite.boosting.objectives import Objective, PreferenceObjective, RankingObjective
from rankinite.boosting.tree_stage import TreeStage
from rankinite.data import Dataset
from rankinite.distributed import Communicator
from rankinite.errors import ParameterError
from rankinite.linesearch import LineSearcher
from rankinite.measures import Measure, MeasuresLike, measure
from rankinite.measures.resolving import resolved
from rankinite.models.base_model import base_scores
from rankinite.models.checked_state import saved_numbers
from rankinite.models.file import Arrays, State
from rankinite.models.parameters import Constraint, OneOf, Real, Whole
from rankinite.order.row_keys import row_keys_with_pairs
from rankinite.trees import Forest, Grower


class LambdaMART(BoostedTrees):
    """Boosted trees that learn a ranking measure (Burges 2010; Wu et al. 2008).

    Each tree is grown on the λ-gradients of the measure. Each leaf takes the Newton step
    γ = Σλ / Σw, or the whole tree the step that is best for the measure. With a `base_model` the
    trees correct its scores: this is LambdaSMART, for adapting a ranker to other data.

    Data with preferences (`Dataset.with_preferences`) is learned from its pairs, whether it has
    labels or not: the λs are those of the pairs' cross-entropy, with |ΔZ| = 1. Then `measure` only
    says what is watched on validation data without preferences, `normalize` and `squares` do
    nothing, and `truncation`, `noise`, `backfit` and the line search are refused.

    Parameters
    ----------
    measure : str or Measure
        What to learn: "ndcg@10", "err@10", "map", "mrr", "p@5", "pairs", "avendcg", or a measure
        of your own (a subclass of `rankinite.Measure`).
    n_estimators : int
        Number of trees.
    max_leaf_nodes : int
        Most leaves of a tree.
    max_depth : int, optional
        Most splits between the root of a tree and a leaf; by default leaves alone are counted.
    learning_rate : float
        Factor of every step (the papers' shrinkage v).
    min_samples_leaf : int
        Fewest documents in a leaf. For ``split="newton"`` they count by their w: a leaf must have
        as much of Σw as so many documents have on average, be they fewer or more.
    min_curvature_leaf : float
        Least Σw in a leaf, in units of σ²; for ``split="newton"``.
    l2_regularization : float
        Added to Σw of a leaf, in units of σ²: it shortens the steps of leaves that few pairs speak
        for, and makes their splits gain less. For ``split="least_squares"``, whose gains have the
        number of documents in the place of Σw, it counts as documents there.
    max_bins : int
        Most bins of a feature, up to 255; missing values have one of their own.
    growth : {"auto", "symmetric", "best_first"}
        Symmetric trees split all nodes of a level by one feature at one threshold, the one that
        gains most over all of them; a node that this does not suit waits for the next level. They
        choose a handful of splits, each by all documents, and fit less of the noise in labels. The
        papers' trees grow best split first, each leaf by a split of its own, and find more at once.
        "auto" grows both on the same λs and documents and takes the one that the queries which were
        not drawn for it confirm: in every round of training data of less than 100,000 documents,
        in every eighth otherwise, and the trees in between grow as the latest did. Where no queries
        can say it is "symmetric".
    split : {"newton", "least_squares"}
        Gain of a split: Σλ²/Σw, the fall of the cost's quadratic model, or the fall of the squared
        error of λ (the papers' choice).
    step : {"newton", "line_search"}
        How far a tree goes: Newton steps, each leaf its own; or the mean λ of each leaf, all
        times one α between 0.1 and 100 with which the measure on the training data is best, found
        exactly (Wu et al. 2008, sections 3 and 5.6). α counts Newton steps of the whole tree. With
        ``learning_rate=1`` the training measure never gets worse: if each α would make it so, every
        leaf has an α of its own, and leaves that cannot help stay where they are. With another rate
        it may get worse, for α is chosen for the whole step.
    backfit : int
        Most sweeps over the trees after the last round: each tree takes the factor, up to 10, with
        which the measure on the training data is best while the others stand. It ends when a sweep
        improves nothing, and never makes the training measure worse.
    row_fraction, feature_fraction : float
        Share of the documents and of the features that are drawn anew at every node to choose
        its split (Gao et al. 2009, section 5.3); features of symmetric trees at every level.
    query_fraction : float
        Share of the queries that are drawn for every tree, to choose all its splits. The steps of
        its leaves are those of all documents.
    importance_fraction : float or "auto"
        Share of the documents of these queries that is drawn for every tree, to choose its splits:
        each with a probability in proportion to |λ| and a little w, and counting the more the less
        likely it was. "auto" is 120,000 over the number of documents in the training data, but at
        least 0.2 and at most 0.75.
    confirm_steps : bool
        Try each tree on the queries that were not drawn for it, and shorten its steps, to 0.4 of
        them at the least, where they hardly lower the cost of these: so noise in the labels is
        learned more slowly than what holds for all queries. Where they lower it well, the steps are
        lengthened, to three times at the most, for there is more to learn than they would get to.
        For ``step="newton"``; workers that distribute trees need it not, for their steps are mostly
        those of other queries anyway.
    base_model : ranker, model, function or weights, optional
        Anything that scores; trees are added to its scores, and it is saved inside the model.
    early_stopping : int, optional
        Stop when the validation measure has not risen for so many trees, and keep the best ones.
    valid_measure : str, Measure or sequence of them, optional
        What to watch on validation data: by default `measure`, or "pair_accuracy" on data with
        preferences. "pair_log_loss" is watched for its lowest value. Of several the first one
        decides when to stop and what was best.
    sigma : float
        Slope of the pair probability. It scales the scores and changes nothing else.
    truncation : int or "auto", optional
        Only pairs whose upper document is among the first so many ranks count, and a cut-off of the
        measure that is above is moved there, for the λs alone. "auto" is six times the cut-off of
        the measure and at least 60 for training data of less than 100,000 documents, otherwise
        three times the cut-off and at least 30. None: the measure as it stands.
    normalize : bool
        Weigh a pair by 1 / (0.01 + σ·gap) of its scores and compress the sum of each query, so
        that the pairs and queries that are still open count most. False gives the λs of the
        papers as they stand.
    squares : float
        How much the squared error of the labels counts beside the λs, in units of their own
        curvature (`rankinite.boosting.label_squares`). It teaches what labels with noise, or few of
        them, have to say, and stands back where scores explain the labels. 0: λs alone.
    noise : float or "auto"
        Scale of the Gumbel noise, in units of 1/σ, that is added to the scores before the λs are
        taken, so that they are an average over rankings that might as well have been. 0: none.
        "auto" is 0.5 for training data of less than 100,000 documents, and 0 otherwise.
    n_draws : int
        Draws of the noise a tree, over which λ and w are averaged.
    random_state : int or None
        Seed of all that is random: noise, queries, rows and features that are drawn, the order of
        equal scores.
        None draws one (`seed_` tells which).
    n_threads : int, optional
        All cores by default. The model does not depend on it, and its file does not keep it.
    verbose : int
        1 shows progress.

    Attributes
    ----------
    chosen_ : dict
        What parameters that are "auto" have come to, by their names; but for `growth`, of which
        `n_symmetric_` tells.
    backfit_history_ : list of float
        The measure on the training data before back-fitting and after each sweep; empty without
        `backfit`.

    Notes
    -----
    Back-fitting comes after early stopping and changes the trees that were kept. `history_` and
    `best_iteration_` are about the rounds before it, so `history_` does not tell the measures of
    the final model; ``predict(n_rounds=k)`` takes the first k trees with their new weights. A
    back-fitted model cannot be resumed; a checkpoint of its rounds can.

    Examples
    --------
    >>> import rankinite as rk
    >>> train, valid, test = rk.artificial(n_queries=(60, 20, 20), n_docs=20, n_features=10)
    >>> model = rk.LambdaMART(n_estimators=20, max_leaf_nodes=7).fit(train, valid=valid)
    >>> rk.evaluate(model, test, "ndcg@10")["ndcg@10"] > 0.5
    True
    """

    constraints: ClassVar[Mapping[str, Constraint]] = {
        **BoostedTrees.constraints,
        "step": OneOf(("newton", "line_search")),
        "confirm_steps": OneOf((True, False)),
        "backfit": Whole(0),
        "truncation": Whole(1, optional=True, words=("auto",)),
        "normalize": OneOf((True, False)),
        "squares": Real(0.0, or_low=True),
        "noise": Real(0.0, or_low=True, words=("auto",)),
        "n_draws": Whole(1),
    }

    learns_preferences = True

    backfit_history_: list[float]

    def __init__(
        self,
        measure: str | Measure = "ndcg@10",
        n_estimators: int = 500,
        max_leaf_nodes: int = 31,
        max_depth: int | None = None,
        learning_rate: float = 0.1,
        min_samples_leaf: int = 20,
        min_curvature_leaf: float = 0.0,
        l2_regularization: float = 0.0,
        max_bins: int = 255,
        growth: str = "auto",
        split: str = "newton",
        step: str = "newton",
        backfit: int = 0,
        row_fraction: float = 1.0,
        feature_fraction: float = 1.0,
        query_fraction: float = 0.8,
        importance_fraction: float | str = "auto",
        confirm_steps: bool = True,
        base_model: Any = None,
        early_stopping: int | None = None,
        valid_measure: MeasuresLike | None = None,
        sigma: float = 1.0,
        truncation: int | str | None = "auto",
        normalize: bool = True,
        squares: float = 1.0,
        noise: float | str = "auto",
        n_draws: int = 4,
        random_state: int | None = 0,
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.n_estimators = n_estimators
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.min_samples_leaf = min_samples_leaf
        self.min_curvature_leaf = min_curvature_leaf
        self.l2_regularization = l2_regularization
        self.max_bins = max_bins
        self.growth = growth
        self.split = split
        self.step = step
        self.backfit = backfit
        self.row_fraction = row_fraction
        self.feature_fraction = feature_fraction
        self.query_fraction = query_fraction
        self.importance_fraction = importance_fraction
        self.confirm_steps = confirm_steps
        self.base_model = base_model
        self.early_stopping = early_stopping
        self.valid_measure = valid_measure
        self.sigma = sigma
        self.truncation = truncation
        self.normalize = normalize
        self.squares = squares
        self.noise = noise
        self.n_draws = n_draws
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def _objective(
        self,
        dataset: Dataset,
        keys: np.ndarray,
        communicator: Communicator,
        together: Communicator,
    ) -> Objective:
        if dataset.preferences is not None:
            self._refuse_searches()
            for name, without in (("truncation", (None, "auto")), ("noise", (0, "auto"))):
                value = getattr(self, name)
                if value not in without:
                    raise ParameterError(
                        f"{name}={value} does not apply to preference pairs, which all count as "
                        "they are: leave it out"
                    )
            return PreferenceObjective(dataset.preferences, dataset.query_weight, float(self.sigma))
        return RankingObjective(
            resolved(measure(self.measure), dataset.labels, communicator),
            dataset,
            keys,
            float(self.sigma),
            float(self.squares),
            together,
            truncation=self._setting("truncation"),
            normalize=bool(self.normalize),
            noise=float(self._setting("noise")),
            n_draws=int(self.n_draws),
            seed=self._seed,
        )

    def check_distributes(self) -> None:
        """Refuse to be trained by several workers, if it cannot be."""
        super().check_distributes()
        for name, without in (("step", "newton"), ("backfit", 0)):
            value = getattr(self, name)
            if value != without:
                raise ParameterError(
                    f"{name}={value!r} searches all training data at once, which no worker has: "
                    "leave it out, or train on one worker"
                )

    def _stage(
        self, objective: Objective, grower: Grower, outputs: np.ndarray, dataset: Dataset
    ) -> TreeStage:
        if self.step == "newton":
            stage = super()._stage(objective, grower, outputs, dataset)
            stage.confirms = bool(self.confirm_steps)
            return stage
        return LineSearchStage(
            objective,
            grower,
            outputs,
            float(self.learning_rate),
            self._seed,
            measure(self.measure),
            dataset,
        )

    def _refuse_searches(self) -> None:
        for name, without in (("step", "newton"), ("backfit", 0)):
            value = getattr(self, name)
            if value != without:
                raise ParameterError(
                    f"{name}={value!r} searches a measure of labels, and this data is learned from "
                    "preference pairs: leave it out"
                )

    def _take(self, rounds: TreeRounds, n_rounds: int) -> None:
        super()._take(rounds, n_rounds)
        self.backfit_history_ = []

    def _refine(self, rounds: TreeRounds, dataset: Dataset, tell: Callable[[str], None]) -> None:
        trees = rounds.trees(self.n_rounds_)
        # On data without anything to learn there is no measure to search either.
        if self.backfit == 0 or all(np.ptp(tree.value) == 0.0 for tree in trees):
            return
        before = self._start[0] + base_scores(self._base, dataset) + np.zeros(dataset.n_rows)
        binned = rounds.stage.grower.binned
        fitting = Backfitting(trees, binned, before, LineSearcher(self.measure, dataset))
        self.backfit_history_ = [fitting.value]
        for n_done in range(self.backfit):
            value = f"{self.measure} {fitting.value:.4f} on the training data"
            tell(f"back-fitting the trees, sweep {n_done + 1}/{self.backfit}: {value}")
            if not fitting.sweep():
                break
            # Together, so that an interrupt finds the model of whole sweeps.
            self.forest_ = Forest.from_trees(fitting.trees)
            self.backfit_history_ = [*self.backfit_history_, fitting.value]

    def _checkpoint(self, resume: Any, communicator: Communicator) -> Self | None:
        other = super()._checkpoint(resume, communicator)
        if other is not None and len(other.backfit_history_) > 1:
            raise ParameterError(
                "the checkpoint is a model that was back-fitted, so its trees are no longer those "
                "of its rounds: resume with a checkpoint that was saved while it trained"
            )
        return other

    def _own_state(self) -> tuple[State, Arrays]:
        state, arrays = super()._own_state()
        if self.backfit_history_:
            state["backfit"] = self.backfit_history_
        return state, arrays

    def _restore(self, state: State, arrays: Arrays) -> None:
        super()._restore(state, arrays)
        self.backfit_history_ = saved_numbers(state, "backfit") if "backfit" in state else []

    def in_words(self) -> str:
        """The trained model in a few words, for people."""
        self.check_fitted()
        if len(self.backfit_history_) < 2:
            return super().in_words()
        return f"{type(self).__name__} with {self.n_rounds_} back-fitted trees"

    def _row_keys(self, dataset: Dataset, binned: Bins) -> np.ndarray:
        if dataset.preferences is None:
            return super()._row_keys(dataset, binned)
        return row_keys_with_pairs(binned, dataset.preferences)
