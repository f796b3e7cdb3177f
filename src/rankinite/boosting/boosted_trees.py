"""What the rankers made of trees share: fitting, scoring, saving, resuming."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from rankinite.binning import BinMapper, BinnedMatrix, BinnedRows, Bins
from rankinite.boosting.auto import auto_values, rounds_a_trial
from rankinite.boosting.growth_trials import GrowthTrials
from rankinite.boosting.objectives import Identity, Link, Objective, Outputs, document_weights
from rankinite.boosting.query_sample import QuerySample
from rankinite.boosting.rounds import BoostingRounds
from rankinite.boosting.row_sample import RowSample
from rankinite.boosting.selection import BestForOthers, DrawnWorker
from rankinite.boosting.share_stage import Selection, Share, ShareStage
from rankinite.boosting.tree_stage import Trees, TreeStage
from rankinite.data import Dataset, FeatureRows
from rankinite.data.overlap import with_next_shares
from rankinite.distributed import Communicator, Serial, total
from rankinite.errors import ModelFileError, ParameterError
from rankinite.exchange.plain import Plain, PlainForest
from rankinite.exchange.sums import weighted_sum_of_forests
from rankinite.measures import Evaluator, PairAccuracy, measure
from rankinite.models.base_model import base_scores
from rankinite.models.checked_state import saved_named_numbers, saved_numbers
from rankinite.models.file import Arrays, State
from rankinite.models.parameters import Constraint, OneOf, Real, Whole
from rankinite.models.plain_scorers import named, plain_of
from rankinite.models.storage import nested, unnested
from rankinite.order.row_keys import fingerprint, row_keys
from rankinite.training import Learner, Run, Watched
from rankinite.trees import (
    Forest,
    Grower,
    GrowthParameters,
    Tree,
    bins_of_thresholds,
    grower_of,
    score_binned,
    score_features,
)


class BoostedTrees(Learner):
    """A sum of regression trees, grown one after the other on the λs of an objective.

    An objective may have several outputs, each a sum of trees of its own; its link says how they
    become a score.

    Attributes
    ----------
    forest_ : Forest
        The trees round by round, within a round by output.
    chosen_ : dict
        What parameters that are "auto" have come to, by their names; but for `growth`, of which
        `n_symmetric_` tells.
    """

    constraints: ClassVar[Mapping[str, Constraint]] = {
        **Learner.constraints,
        "n_estimators": Whole(1),
        "max_leaf_nodes": Whole(2),
        "max_depth": Whole(1, optional=True),
        "min_samples_leaf": Whole(1),
        "min_curvature_leaf": Real(0.0, or_low=True),
        "l2_regularization": Real(0.0, or_low=True),
        "max_bins": Whole(2, 255),
        "growth": OneOf(("auto", "symmetric", "best_first")),
        "split": OneOf(("least_squares", "newton")),
        "row_fraction": Real(0.0, 1.0),
        "feature_fraction": Real(0.0, 1.0),
        "query_fraction": Real(0.0, 1.0),
        "importance_fraction": Real(0.0, 1.0, words=("auto",)),
    }
    learns_from_bins = True
    sums_rounds = True
    distributes = True

    n_estimators: int
    max_leaf_nodes: int
    max_depth: int | None
    min_samples_leaf: int
    min_curvature_leaf: float
    l2_regularization: float
    max_bins: int
    growth: str
    split: str
    row_fraction: float
    feature_fraction: float
    query_fraction: float
    importance_fraction: float | str

    forest_: Forest
    chosen_: dict[str, float]
    _auto: dict[str, float | None]  # of the training that is under way
    _link: Link

    def check_params(self) -> None:
        """Refuse parameters outside their range, or that do not fit each other."""
        super().check_params()
        if self.min_curvature_leaf > 0 and self.split == "least_squares":
            raise ParameterError(
                f"min_curvature_leaf={self.min_curvature_leaf:g} needs split='newton': "
                "least-squares splits do not look at the curvature"
            )

    @abstractmethod
    def _objective(
        self,
        dataset: Dataset,
        keys: np.ndarray,
        communicator: Communicator,
        together: Communicator,
    ) -> Objective:
        """What to learn on this data.

        `communicator` is that of all workers, `together` that of those who grow a tree together.
        """

    def _prepare(
        self, dataset: Dataset, before: np.ndarray, communicator: Communicator
    ) -> TreeRounds:
        binned = dataset.binned(self.max_bins, communicator)
        share = self._share(dataset, communicator)
        n_rows = total(dataset.n_rows, communicator)
        learned = None if dataset.preferences is not None else measure(self.measure)
        self._auto = auto_values(n_rows if share is None else share.mean_rows, learned)
        own, together = dataset, communicator
        if share is not None:
            # Each grows trees by itself, on what it has.
            together = Serial()
            dataset, binned, before = self._overlapping(dataset, binned, before, share)
            n_rows = dataset.n_rows
        keys = self._row_keys(dataset, binned)
        objective = self._objective(dataset, keys, communicator, together)
        start = objective.start()
        if self.base_model is not None:
            start = np.zeros_like(start)
        outputs = first_outputs(start, objective.link, before)
        data = fingerprint(
            binned,
            keys,
            dataset.offsets,
            document_weights(dataset),
            *outputs,
            communicator=together,
        )
        growth = replace(self._growth(dataset, communicator), w_unit=objective.w_unit)
        grower = grower_of(binned, growth, keys, n_rows, together)
        stage = self._stage(objective, grower, outputs, dataset)
        stage.sample = self._sample(keys, dataset, together)
        if share is None:
            if self.growth == "auto":
                stage.trials = GrowthTrials(rounds_a_trial(n_rows))
            return TreeRounds(stage, data, objective.link, start)
        stage.seed = share.seed_of(self._seed)
        data = share.fingerprint(data, self._distribution.select)
        selection = self._selection(share, own, objective, grower)
        return TreeRounds(ShareStage(stage, share, selection), data, objective.link, start)

    def _share(self, dataset: Dataset, communicator: Communicator) -> Share | None:
        """What this worker has to grow trees on by itself; None if all grow them together."""
        if self._distribution.distribute != "trees" or communicator.size == 1:
            return None
        return Share.of(dataset.n_rows, int(self._distribution.overlap), communicator)

    def _overlapping(
        self, dataset: Dataset, binned: Bins, before: np.ndarray, share: Share
    ) -> tuple[Dataset, BinnedMatrix, np.ndarray]:
        """This worker's rows, their bins and the base model's scores, with those of its overlap."""
        if share.overlap:
            # Labels that do not fit are told by the worker that calls them its own.
            keys = self._row_keys(dataset, binned)
            self._objective(dataset, keys, share.communicator, Serial())
        if isinstance(binned, BinnedRows):
            binned = binned.copied()
        return with_next_shares(dataset, binned, before, share.overlap, share.communicator)

    def _selection(
        self, share: Share, own: Dataset, objective: Objective, grower: Grower
    ) -> Selection:
        """Whose tree joins the model, if each worker grows trees of its own."""
        if self._distribution.select == "sample":
            return DrawnWorker(share, self._seed)
        by_pairs = self.learns_preferences and own.preferences is not None
        learned = PairAccuracy() if by_pairs else measure(self.measure)
        evaluator = Evaluator(learned, own, communicator=share.communicator)
        return BestForOthers(share, evaluator, objective.link, grower.binned)

    def _sample(
        self, keys: np.ndarray, dataset: Dataset, communicator: Communicator
    ) -> RowSample | None:
        """What trees are grown on, if not on all documents."""
        of_queries = float(self.query_fraction)
        of_rows = float(self._setting("importance_fraction"))
        if of_queries == of_rows == 1.0:
            return None
        queries = None
        if of_queries < 1.0:
            queries = QuerySample(keys, dataset.offsets, of_queries, communicator)
        return RowSample(keys, communicator, of_rows, queries)

    def _setting(self, name: str) -> Any:
        """The value of a parameter that may be "auto"."""
        given = getattr(self, name)
        return self._auto[name] if given == "auto" else given

    def _watch(
        self, watched: Watched, before: np.ndarray, rounds: TreeRounds
    ) -> tuple[Bins, np.ndarray]:
        bins = binned_like(watched, rounds.mapper)
        return bins, first_outputs(rounds.start, rounds.link, before)

    def _take(self, rounds: TreeRounds, n_rounds: int) -> None:
        self._start, self._link = rounds.start, rounds.link
        self.chosen_ = {
            name: value
            for name, value in self._auto.items()
            if value is not None and getattr(self, name, None) == "auto"
        }
        self.forest_ = Forest.from_trees(rounds.trees(n_rounds))

    def _earlier(self, other: Self, rounds: TreeRounds, run: Run) -> list[Trees]:
        trees = other.forest_.trees(bins_of_thresholds(other.forest_, rounds.mapper))
        n_outputs = len(rounds.start)
        return [tuple(trees[i : i + n_outputs]) for i in range(0, len(trees), n_outputs)]

    def _stage(
        self, objective: Objective, grower: Grower, outputs: np.ndarray, dataset: Dataset
    ) -> TreeStage:
        """How a round learns; `outputs` are those of the training rows before the first."""
        return TreeStage(objective, grower, outputs, float(self.learning_rate), self._seed)

    def _row_keys(self, dataset: Dataset, binned: Bins) -> np.ndarray:
        """The rows' own random numbers, from all that training sees of them."""
        return row_keys(binned, dataset.labels, dataset.weight, dataset.offsets)

    def _growth(self, dataset: Dataset, communicator: Communicator) -> GrowthParameters:
        return GrowthParameters(
            growth="symmetric" if self.growth == "auto" else self.growth,
            max_leaf_nodes=int(self.max_leaf_nodes),
            max_depth=None if self.max_depth is None else int(self.max_depth),
            min_samples_leaf=int(self.min_samples_leaf),
            min_curvature_leaf=float(self.min_curvature_leaf),
            l2_regularization=float(self.l2_regularization),
            split=self.split,
            row_fraction=float(self.row_fraction),
            feature_fraction=float(self.feature_fraction),
        )

    @property
    def n_rounds_(self) -> int:
        """Rounds whose trees the model keeps."""
        return self.forest_.n_trees // len(self._start)

    @property
    def n_symmetric_(self) -> int:
        """How many of the trees have nodes that are split alike."""
        bins = np.zeros(len(self.forest_.feature), np.uint8)
        return sum(tree.is_symmetric for tree in self.forest_.trees(bins))

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each feature in the sum of all splits' gains, shape (n_features,)."""
        gains = np.asarray(self.feature_importance("gain"))
        return gains / gains.sum() if gains.sum() > 0 else gains

    def _score_matrix(self, X: np.ndarray, n_rounds: int | None) -> np.ndarray:
        return self.scores_of_outputs(self._outputs(X, n_rounds))

    def _score_rows(self, dataset: Dataset, n_rounds: int | None) -> np.ndarray:
        if isinstance(dataset.features, FeatureRows) and dataset.features.has_values:
            return super()._score_rows(dataset, n_rounds)
        # Bins are as good as values.
        return self.scores_of_outputs(self._outputs(dataset, n_rounds))

    def _outputs(self, data: Dataset | np.ndarray, n_rounds: int | None) -> list[np.ndarray]:
        """The sum of the trees of each output."""
        sums = zip(self.forests, self.starts(data), strict=True)
        rows = data.features.matrix if isinstance(data, Dataset) else data
        if not isinstance(rows, np.ndarray):
            return [score_binned(forest, rows, start, n_rounds) for forest, start in sums]
        return [score_features(forest, rows, start, n_rounds) for forest, start in sums]

    @property
    def forests(self) -> list[Forest]:
        """The trees of each output."""
        return self.forest_.dealt(len(self._start))

    def starts(self, data: Dataset | np.ndarray) -> list[np.ndarray | float]:
        """What each output begins with: its start, and its part of the base model's scores."""
        base = base_scores(self._base, data)
        return [s + f * base for s, f in zip(self._start, self._link.base_factors, strict=True)]

    def scores_of_outputs(self, outputs: Outputs) -> np.ndarray:
        """Scores, shape (n_rows,), of the sums of the trees of each output."""
        return self._link.scores(outputs)

    def plain(self) -> Plain:
        """The trained ranker as arrays, with the trees of the base model first."""
        self.check_fitted()
        names = self._feature_names
        own = [
            PlainForest(forest, self.n_features_in_, names, start=float(start))
            for forest, start in zip(self.forests, self._start, strict=True)
        ]
        if self._base is None:
            return self._plain_of_outputs(own)
        base = plain_of(self._base, "base_model")
        factors = self._link.base_factors.tolist()
        sums = [
            weighted_sum_of_forests([base, output], [factor, 1.0])
            for factor, output in zip(factors, own, strict=True)
        ]
        return named(self._plain_of_outputs(sums), names)

    def _plain_of_outputs(self, outputs: list[PlainForest]) -> Plain:
        """What the sums of the trees of each output come to."""
        return outputs[0]

    def _own_state(self) -> tuple[State, Arrays]:
        state: State = {"start": self._start.tolist()}
        if self.chosen_:
            state["chosen"] = self.chosen_
        return state, nested("forest", self.forest_.to_arrays())

    def _restore(self, state: State, arrays: Arrays) -> None:
        self.forest_ = Forest.from_arrays(unnested("forest", arrays), self.n_features_in_)
        self._start = np.array(saved_numbers(state, "start"))
        self.chosen_ = saved_named_numbers(state, "chosen") if "chosen" in state else {}
        n_outputs = len(self._start)
        whole = n_outputs > 0 and self.forest_.n_trees % n_outputs == 0
        if not whole or not np.isfinite(self._start).all():
            raise ModelFileError(
                f"the model file has {self.forest_.n_trees} trees for {n_outputs} outputs that "
                f"start at {self._start.tolist()}: save the model again"
            )
        self._link = self._saved_link(state, arrays)
        if len(self._link.base_factors) != n_outputs:
            raise ModelFileError(
                f"the model file has {n_outputs} outputs, and its classes need "
                f"{len(self._link.base_factors)}: save the model again"
            )

    def _saved_link(self, state: State, arrays: Arrays) -> Link:
        return Identity()


class TreeRounds(BoostingRounds[TreeStage | ShareStage, Trees]):
    """Rounds of trees.

    Attributes
    ----------
    start : ndarray of float64, shape (n_outputs,)
        The outputs of every row before the first round, but for the base model.
    """

    def __init__(
        self, stage: TreeStage | ShareStage, fingerprint: str, link: Link, start: np.ndarray
    ) -> None:
        super().__init__(stage, fingerprint, link)
        self.start = start

    @property
    def mapper(self) -> BinMapper:
        """The edges of the bins of the training data."""
        return self.stage.grower.binned.mapper

    def trees(self, n_rounds: int) -> list[Tree]:
        """The trees of the first rounds, within a round by output."""
        return [tree for trees in self.members[:n_rounds] for tree in trees]


def first_outputs(start: np.ndarray, link: Link, before: np.ndarray) -> np.ndarray:
    """Outputs before the first tree, shape (n_outputs, n_rows).

    Parameters
    ----------
    before : ndarray of float64, shape (n_rows,)
        Scores of the base model.
    """
    outputs = np.multiply.outer(link.base_factors, before)
    outputs += start[:, np.newaxis]
    return outputs


def binned_like(watched: Watched, mapper: BinMapper) -> Bins:
    """A validation set in the bins of the training data."""
    return watched.data.features.bins_by(
        mapper,
        f"{watched.what} holds only bins, and they are not those of the training data: save it "
        "with like=<the training data>",
    )
