"""What the rankers made of trees share: fitting, scoring, saving, resuming."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import numpy as np

from rankinite._numba import number_of_threads, threads
from rankinite.binning import BinMapper, BinnedMatrix
from rankinite.boosting.loop import BoostingRun, Watched, boost
from rankinite.boosting.objectives import Identity, Link, Objective, document_weights
from rankinite.boosting.tree_stage import Trees, TreeStage
from rankinite.data import Dataset
from rankinite.distributed import Communicator, Serial
from rankinite.errors import ModelFileError
from rankinite.models.base_model import as_scorer, base_scores
from rankinite.models.file import Arrays, State
from rankinite.models.parameters import Constraint, OneOf, Real, Whole
from rankinite.models.storage import nested, unnested
from rankinite.order.row_keys import fingerprint, row_keys
from rankinite.training import Callback, Learner
from rankinite.training.watching import binned_like, check_watchable, leading_set
from rankinite.trees import (
    SERIAL_ROWS,
    Forest,
    Grower,
    GrowthParameters,
    bins_of_thresholds,
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
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **Learner._constraints,
        "n_estimators": Whole(1),
        "max_leaf_nodes": Whole(2),
        "min_samples_leaf": Whole(1),
        "max_bins": Whole(2, 255),
        "split": OneOf(("least_squares", "newton")),
        "row_fraction": Real(0.0, 1.0),
        "feature_fraction": Real(0.0, 1.0),
    }
    learns_from_bins = True

    n_estimators: int
    max_leaf_nodes: int
    min_samples_leaf: int
    max_bins: int
    split: str
    row_fraction: float
    feature_fraction: float

    forest_: Forest
    _link: Link

    @abstractmethod
    def _objective(
        self, dataset: Dataset, keys: np.ndarray, communicator: Communicator
    ) -> Objective:
        """What to learn on this data."""

    def _train(
        self,
        dataset: Dataset,
        sets: dict[str, Dataset],
        callbacks: Sequence[Callback],
        resume: Any,
    ) -> None:
        communicator = Serial()
        binned = dataset.binned(self.max_bins)
        keys = self._row_keys(dataset, binned)
        objective = self._objective(dataset, keys, communicator)
        base = None if self.base_model is None else as_scorer(self.base_model)
        start = objective.start()
        if base is not None:
            start = np.zeros_like(start)
        outputs = first_outputs(start, objective.link, base, dataset)
        watched = {
            name: Watched(
                binned_like(rows, dataset, binned.mapper, name),
                first_outputs(start, objective.link, base, rows),
                self._evaluate_on(rows, objective.link),
            )
            for name, rows in sets.items()
        }
        if self.early_stopping is not None:
            name = leading_set(sets)
            check_watchable(watched[name].evaluate(watched[name].scores), name)
        data = fingerprint(binned, keys, dataset.offsets, document_weights(dataset), *outputs)
        earlier = self._members_of(resume, binned.mapper, data, len(start))
        run = BoostingRun(n_rounds=int(self.n_estimators), unit=self._unit)
        growth = self._growth(dataset, communicator)
        grower = Grower(binned, growth, keys, dataset.n_rows, communicator)
        stage = self._stage(objective, grower, outputs, dataset)

        def keep(run: BoostingRun) -> None:
            self._keep(run, dataset, base, data)
            self._start, self._link = start, objective.link
            self.forest_ = Forest.from_trees([tree for trees in run.members for tree in trees])

        all_callbacks = self._all_callbacks(sets, callbacks, keep)
        try:
            boost(run, stage, watched, callbacks=all_callbacks, earlier=earlier)
        finally:
            # A run that failed before its first tree leaves the model as it was.
            if run.members:
                keep(run)
                self.best_iteration_ = self._best_round(sets)
                if self.early_stopping is not None:
                    self.forest_ = self.forest_.first(self.best_iteration_ * len(start))
        self._refine(run.members[: self.n_rounds_], dataset, binned)

    def _refine(self, members: list[Trees], dataset: Dataset, binned: BinnedMatrix) -> None:
        """Change the trees that were kept, after the last round of a run that was not broken off.

        Parameters
        ----------
        members : list of Trees
            What is kept, round by round.
        dataset : Dataset
            The training data, with its bins.
        """

    def _stage(
        self, objective: Objective, grower: Grower, outputs: np.ndarray, dataset: Dataset
    ) -> TreeStage:
        """How a round learns; `outputs` are those of the training rows before the first."""
        return TreeStage(
            objective, grower, outputs, float(self.learning_rate), int(self.random_state)
        )

    def _row_keys(self, dataset: Dataset, binned: BinnedMatrix) -> np.ndarray:
        """The rows' own random numbers, from all that training sees of them."""
        return row_keys(binned, dataset.labels, dataset.weight, dataset.offsets)

    def _evaluate_on(self, rows: Dataset, link: Link) -> Callable[[np.ndarray], dict[str, float]]:
        mean = self._mean_on(rows)
        return lambda outputs: mean(link.scores(outputs))

    def _growth(self, dataset: Dataset, communicator: Communicator) -> GrowthParameters:
        return GrowthParameters(
            max_leaf_nodes=int(self.max_leaf_nodes),
            min_samples_leaf=int(self.min_samples_leaf),
            split=self.split,
            row_fraction=float(self.row_fraction),
            feature_fraction=float(self.feature_fraction),
        )

    def _members_of(self, resume: Any, mapper: BinMapper, data: str, n_outputs: int) -> list[Trees]:
        """The trees of a checkpoint, round by round."""
        other = self._checkpoint(resume, data)
        if other is None:
            return []
        trees = other.forest_.trees(bins_of_thresholds(other.forest_, mapper))
        return [tuple(trees[i : i + n_outputs]) for i in range(0, len(trees), n_outputs)]

    @property
    def n_rounds_(self) -> int:
        """Rounds whose trees the model keeps."""
        return self.forest_.n_trees // len(self._start)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each feature in the sum of all splits' gains, shape (n_features,)."""
        gains = self.feature_importance("gain")
        return gains / gains.sum() if gains.sum() > 0 else gains

    def feature_importance(self, kind: str = "gain") -> np.ndarray:
        """Sum of the gains of a feature's splits (``"gain"``), or their number (``"count"``)."""
        self._check_fitted()
        OneOf(("gain", "count")).check("kind", kind)
        return self.forest_.importance(self.n_features_in_, kind)

    def _score_matrix(self, X: np.ndarray, n_trees: int | None = None) -> np.ndarray:
        return self._link.scores(self._outputs(X, n_trees))

    def _score_bins(self, dataset: Dataset, n_trees: int | None = None) -> np.ndarray:
        return self._link.scores(self._outputs(dataset, n_trees))

    def _outputs(self, data: Dataset | np.ndarray, n_trees: int | None) -> list[np.ndarray]:
        """The sum of the trees of each output."""
        if n_trees is not None:
            Whole(0, self.n_rounds_).check("n_trees", n_trees)
        base = base_scores(self._base, data)
        starts = [s + f * base for s, f in zip(self._start, self._link.base_factors, strict=True)]
        forests = self.forest_.dealt(len(starts))
        rows = data.features.matrix if isinstance(data, Dataset) else data
        if isinstance(rows, BinnedMatrix):
            return [score_binned(f, rows, s, n_trees) for f, s in zip(forests, starts, strict=True)]
        return [score_features(f, rows, s, n_trees) for f, s in zip(forests, starts, strict=True)]

    def _threads_for(self, n_rows: int) -> AbstractContextManager[int]:
        # Small batches stay on the calling thread; a scope would take a tenth of their time.
        n_threads = number_of_threads(self.n_threads)
        return nullcontext(1) if n_rows <= SERIAL_ROWS else threads(n_threads)

    def _own_state(self) -> tuple[State, Arrays]:
        return {"start": self._start.tolist()}, nested("forest", self.forest_.to_arrays())

    def _restore(self, state: State, arrays: Arrays) -> None:
        self.forest_ = Forest.from_arrays(unnested("forest", arrays), self.n_features_in_)
        self._start = np.array(state["start"], np.float64)
        self._link = self._saved_link(state, arrays)
        n_outputs = len(self._start)
        if not np.isfinite(self._start).all() or self.forest_.n_trees % n_outputs:
            raise ModelFileError(
                f"the model file has {self.forest_.n_trees} trees for {n_outputs} outputs that "
                f"start at {self._start}: save the model again"
            )

    def _saved_link(self, state: State, arrays: Arrays) -> Link:
        return Identity()


def first_outputs(start: np.ndarray, link: Link, base: Any, rows: Dataset) -> np.ndarray:
    """Outputs before the first tree, shape (n_outputs, n_rows)."""
    outputs = np.zeros((len(start), rows.n_rows)) + start[:, np.newaxis]
    if base is not None:
        outputs += link.base_factors[:, np.newaxis] * base_scores(base, rows)
    return outputs
