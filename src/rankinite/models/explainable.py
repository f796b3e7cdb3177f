"""What every ranker can tell of itself: shares of features in scores, leaves, importances."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from rankinite.attribution import contributions, leaves, node_frame
from rankinite.data import Dataset
from rankinite.errors import ExportError, ParameterError
from rankinite.exchange.plain import Plain, PlainForest
from rankinite.models.parameters import OneOf

if TYPE_CHECKING:
    from rankinite.explanation import PermutationImportance

# A row's contributions take as long as the scores of at least so many: threads are worth it sooner.
_AS_DEAR_AS = 32


class Explainable(ABC):
    """The part of a ranker that explains it, from its plain model or from its scores alone."""

    n_features_in_: int

    def contributions(self, X: Any, *, background: Any = None) -> np.ndarray:
        """What each feature adds to the scores: exact Shapley values, whose sum is the score.

        For trees they are those of path-dependent TreeSHAP (Lundberg et al. 2018), with the
        training rows as weights: what LightGBM's ``pred_contrib`` and ``shap.TreeExplainer`` give.
        A linear ranker's are weight times value, or the distance from the mean value in training
        if it standardises the features.

        Parameters
        ----------
        X : Dataset, matrix or frame
            As for `predict`.
        background : Dataset, matrix or frame, optional
            Rows that are counted in the leaves instead of those of the training: needed for
            trees from files that do not tell how many there were.

        Returns
        -------
        ndarray of float64, shape (n_rows, n_features_in_ + 1)
            Rows in the caller's order. The last column is what all scores begin with: the mean
            score over the training rows, by the counts in the leaves.
        """
        plain = self._plain_to_explain()
        rows = self._rows_of(X)
        counted = None if background is None else self._rows_of(background)
        with self._threads_for(_AS_DEAR_AS * len(rows)):
            shares = contributions(plain, rows, counted)
        return X.in_caller_order(shares) if isinstance(X, Dataset) else shares

    def leaves(self, X: Any) -> np.ndarray:
        """The leaf of each row in each tree, int32 of shape (n_rows, n_trees).

        Parameters
        ----------
        X : Dataset, matrix or frame
            As for `predict`; rows are given in the caller's order.
        """
        plain = self._plain_trees()
        rows = self._rows_of(X)
        with self._threads_for(len(rows)):
            found = leaves(plain, rows)
        return X.in_caller_order(found) if isinstance(X, Dataset) else found

    def to_frame(self, library: str = "pandas") -> Any:
        """All nodes of all trees as a frame, one row a node.

        Parameters
        ----------
        library : str
            "pandas" or "polars".

        Returns
        -------
        DataFrame
            With the columns tree, node, leaf, depth, parent, left, right, feature, threshold,
            missing, gain, value, count and cover; `attribution.node_frame` explains them.
        """
        return node_frame(self._plain_trees(), library)

    def feature_importance(
        self,
        kind: str = "gain",
        data: Dataset | None = None,
        measure: Any = None,
        *,
        n_repeats: int = 5,
        random_state: int | None = 0,
    ) -> np.ndarray | PermutationImportance:
        """How much the features matter, in the trees or for a measure.

        Parameters
        ----------
        kind : {"gain", "count", "permutation"}
            Sum of the gains of a feature's splits, or their number, which only trees have; or
            what the measure loses when the feature's values are dealt anew to the documents.
        data : Dataset
            With labels, for "permutation": best data that the ranker was not trained on.
        measure : str or Measure, optional
            By default the one that the ranker learned.
        n_repeats, random_state
            As in `rankinite.permutation_importance`.

        Returns
        -------
        ndarray of float64, shape (n_features_in_,), or PermutationImportance
        """
        OneOf(("gain", "count", "permutation")).check("kind", kind)
        if kind == "permutation":
            from rankinite.explanation import permutation_importance

            if data is None:
                raise ParameterError(
                    "the importance by permutation is measured: pass data=<a Dataset with labels>"
                )
            return permutation_importance(
                self, data, measure, n_repeats=n_repeats, random_state=random_state
            )
        if data is not None or measure is not None:
            raise ParameterError(
                f"the importance by {kind} is that of the trees alone: leave out data and measure, "
                "or ask for kind='permutation'"
            )
        self.check_fitted()
        forest = getattr(self, "forest_", None)
        forest = self._plain_trees().forest if forest is None else forest
        return forest.importance(self.n_features_in_, kind)

    def _plain_to_explain(self) -> Plain:
        """The plain model, or an error that speaks of explaining."""
        try:
            return self.plain()
        except ExportError as error:
            raise ParameterError(
                f"a {type(self).__name__} like this cannot be explained by its parts: {error}; "
                "permutation importance and partial dependence work for every ranker"
            ) from error

    def _plain_trees(self) -> PlainForest:
        """The ranker's trees, or an error if it is made of something else."""
        plain = self._plain_to_explain()
        if not isinstance(plain, PlainForest):
            raise ParameterError(f"a {type(self).__name__} has no trees to look at")
        return plain

    @abstractmethod
    def check_fitted(self) -> None:
        """Raise an error if the ranker is not trained."""

    @abstractmethod
    def plain(self) -> Plain:
        """The trained ranker as arrays with a stated arithmetic."""

    @abstractmethod
    def _rows_of(self, X: Any) -> np.ndarray:
        """The feature values of some rows, shape (n_rows, n_features)."""

    @abstractmethod
    def _threads_for(self, n_rows: int) -> AbstractContextManager[int]:
        """The scope in which `n_rows` rows are scored."""
