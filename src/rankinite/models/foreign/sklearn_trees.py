"""The trees of scikit-learn as our own forest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankinite.exchange.faults import DamagedError
from rankinite.exchange.nodes import Nodes, forest_of
from rankinite.exchange.plain import PlainForest


def forest_of_sklearn(model: Any) -> PlainForest | None:
    """The trees of a regressor or of a classifier of two classes; None if it is made of none.

    None as well if it is not trained, or has other attributes than the scikit-learn known here.
    """
    make = _KINDS.get(type(model).__name__)
    try:
        return None if make is None else make(model)
    except (AttributeError, DamagedError, IndexError, KeyError, TypeError, ValueError):
        return None


def _one_tree(model: Any) -> PlainForest:
    return _plain(model, [_tree(model.tree_)], takes_missing=_takes_missing(model))


def _mean_of_trees(model: Any) -> PlainForest:
    trees = [_tree(each.tree_) for each in model.estimators_]
    return _plain(model, trees, divisor=len(trees), takes_missing=_takes_missing(model))


def _boosted_trees(model: Any) -> PlainForest:
    trees = [_tree(each.tree_, model.learning_rate) for (each,) in model.estimators_]
    # What its trees start from, which is tried out to be the same for all rows.
    start = float(model._raw_predict_init(np.zeros((1, model.n_features_in_), np.float32))[0, 0])
    return _plain(model, trees, start=start, takes_missing=False)


def _histogram_trees(model: Any) -> PlainForest:
    trees = [_histogram_tree(predictor.nodes) for (predictor,) in model._predictors]
    start = float(np.ravel(model._baseline_prediction)[0])
    return _plain(model, trees, start=start, single_features=False)


_KINDS = {
    "DecisionTreeRegressor": _one_tree,
    "DecisionTreeClassifier": _one_tree,
    "ExtraTreeRegressor": _one_tree,
    "ExtraTreeClassifier": _one_tree,
    "RandomForestRegressor": _mean_of_trees,
    "RandomForestClassifier": _mean_of_trees,
    "ExtraTreesRegressor": _mean_of_trees,
    "ExtraTreesClassifier": _mean_of_trees,
    "GradientBoostingRegressor": _boosted_trees,
    "GradientBoostingClassifier": _boosted_trees,
    "HistGradientBoostingRegressor": _histogram_trees,
    "HistGradientBoostingClassifier": _histogram_trees,
}


def _plain(model: Any, trees: Sequence[Nodes], **arithmetic: Any) -> PlainForest:
    """The forest of some trees, which look at float32 unless told otherwise."""
    names = getattr(model, "feature_names_in_", None)
    n_features = int(model.n_features_in_)
    forest, _ = forest_of(trees, n_features)
    return PlainForest(
        forest,
        n_features,
        None if names is None else [str(name) for name in names],
        **{"single_features": True, **arithmetic},
    )


def _takes_missing(model: Any) -> bool:
    return bool(model.__sklearn_tags__().input_tags.allow_nan)


def _tree(tree: Any, factor: float = 1.0) -> Nodes:
    # A regressor's value, or the shares of two classes.
    if tree.value.shape[1:] not in ((1, 1), (1, 2)):
        raise ValueError("the tree has several outputs")
    return Nodes(
        tree.children_left,
        tree.children_right,
        tree.feature,
        tree.threshold,
        tree.missing_go_to_left,
        np.zeros(tree.node_count),
        factor * tree.value[:, 0, -1],
        tree.n_node_samples,
    )


def _histogram_tree(nodes: np.ndarray) -> Nodes:
    if nodes["is_categorical"].any():
        raise ValueError("the tree splits by categories")
    leaf = nodes["is_leaf"].astype(bool)
    return Nodes(
        np.where(leaf, -1, nodes["left"].astype(np.int64)),
        np.where(leaf, -1, nodes["right"].astype(np.int64)),
        nodes["feature_idx"].astype(np.int64),
        nodes["num_threshold"],
        nodes["missing_go_to_left"],
        nodes["gain"],
        nodes["value"],
        nodes["count"].astype(np.float64),
    )
