"""The trees of scikit-learn as our own forest."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rankinite.trees import Forest, Tree


class Ensemble(NamedTuple):
    """Trees whose sum gives scores: (start + Σ tree) / divisor.

    Attributes
    ----------
    forest : Forest
    start : float
    divisor : int
    single : bool
        Whether features are rounded to single precision first.
    takes_missing : bool
    """

    forest: Forest
    start: float
    divisor: int
    single: bool
    takes_missing: bool


def ensemble_of(model: Any) -> Ensemble | None:
    """The trees of a regressor; None if it is none that is made of trees, or not trained.

    A ValueError or AttributeError means attributes that this scikit-learn does not have.
    """
    make = _KINDS.get(type(model).__name__)
    try:
        return None if make is None else make(model)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return None


def _one_tree(model: Any) -> Ensemble:
    return Ensemble(Forest.from_trees([_tree(model.tree_)]), 0.0, 1, True, _takes_missing(model))


def _mean_of_trees(model: Any) -> Ensemble:
    trees = [_tree(each.tree_) for each in model.estimators_]
    return Ensemble(Forest.from_trees(trees), 0.0, len(trees), True, _takes_missing(model))


def _boosted_trees(model: Any) -> Ensemble:
    start = 0.0 if model.init_ == "zero" else float(np.ravel(model.init_.constant_)[0])
    trees = [_tree(each.tree_, model.learning_rate) for each in model.estimators_[:, 0]]
    return Ensemble(Forest.from_trees(trees), start, 1, True, False)


def _histogram_trees(model: Any) -> Ensemble:
    trees = [_histogram_tree(predictor.nodes) for (predictor,) in model._predictors]
    start = float(np.ravel(model._baseline_prediction)[0])
    return Ensemble(Forest.from_trees(trees), start, 1, False, True)


_KINDS = {
    "DecisionTreeRegressor": _one_tree,
    "ExtraTreeRegressor": _one_tree,
    "RandomForestRegressor": _mean_of_trees,
    "ExtraTreesRegressor": _mean_of_trees,
    "GradientBoostingRegressor": _boosted_trees,
    "HistGradientBoostingRegressor": _histogram_trees,
}


def _takes_missing(model: Any) -> bool:
    return bool(model.__sklearn_tags__().input_tags.allow_nan)


def _tree(tree: Any, factor: float = 1.0) -> Tree:
    if tree.value.shape[1:] != (1, 1):
        raise ValueError("the tree has several outputs")
    return _from_nodes(
        tree.children_left < 0,
        tree.children_left,
        tree.children_right,
        tree.feature,
        tree.threshold,
        tree.missing_go_to_left,
        factor * tree.value[:, 0, 0],
        tree.n_node_samples,
    )


def _histogram_tree(nodes: np.ndarray) -> Tree:
    if nodes["is_categorical"].any():
        raise ValueError("the tree splits by categories")
    return _from_nodes(
        nodes["is_leaf"].astype(bool),
        nodes["left"],
        nodes["right"],
        nodes["feature_idx"],
        nodes["num_threshold"],
        nodes["missing_go_to_left"],
        nodes["value"],
        nodes["count"],
    )


def _from_nodes(leaf: np.ndarray, left: np.ndarray, right: np.ndarray, *rest: np.ndarray) -> Tree:
    """A tree whose nodes and leaves are numbered together, with leaves numbered on their own."""
    feature, threshold, missing_left, value, count = rest
    # A child c ≥ 0 is an inner node, c < 0 is the leaf ~c.
    number = np.where(leaf, ~(np.cumsum(leaf) - 1), np.cumsum(~leaf) - 1)
    inner = ~leaf
    return Tree(
        feature=feature[inner].astype(np.int32),
        threshold=threshold[inner].astype(np.float64),
        bin=np.zeros(inner.sum(), np.uint8),
        missing_left=missing_left[inner].astype(bool),
        left=number[left[inner]].astype(np.int32),
        right=number[right[inner]].astype(np.int32),
        gain=np.zeros(inner.sum()),
        value=value[leaf].astype(np.float64),
        count=count[leaf].astype(np.int64),
    )
