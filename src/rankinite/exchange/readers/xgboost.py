"""XGBoost's JSON and UBJSON, as ``save_model`` writes them.

Features, thresholds, leaves and every partial sum are float32. The sum begins with the base score,
which the file has on the scale of predictions; x < t goes left, which is x ≤ the next float32
below t. Trees that dropout has weighed count with float32(weight · leaf).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rankinite.exchange.checked import (
    flags,
    json_object,
    mapping,
    names_of,
    real_text,
    reals,
    sequence,
    singles,
    whole,
    wholes,
)
from rankinite.exchange.faults import BeyondError, DamagedError, reader
from rankinite.exchange.nodes import Nodes, forest_of
from rankinite.exchange.plain import PlainForest
from rankinite.exchange.ubjson import from_ubjson, is_ubjson


def _same(score: float) -> float:
    return score


def _log_odds(score: float) -> float:
    """In single precision, as XGBoost takes them: each step is rounded."""
    odds = np.float32(1) / np.float32(score) - np.float32(1)
    return -float(np.float32(math.log(float(odds))))


# From the scale of predictions to that of sums, by the beginnings of the names of objectives.
_LINKS: dict[str, Callable[[float], float]] = {
    "rank:": _same,
    "reg:squarederror": _same,
    "reg:squaredlogerror": _same,
    "reg:linear": _same,
    "reg:absoluteerror": _same,
    "reg:pseudohubererror": _same,
    "reg:quantileerror": _same,
    "reg:expectileerror": _same,
    "binary:hinge": _same,
    "reg:logistic": _log_odds,
    "binary:logistic": _log_odds,
    "binary:logitraw": _log_odds,
    "count:poisson": math.log,
    "reg:gamma": math.log,
    "reg:tweedie": math.log,
    "survival:cox": math.log,
    "survival:aft": math.log,
}


@reader("XGBoost")
def read(content: bytes) -> PlainForest:
    """The forest of XGBoost's JSON or UBJSON."""
    model = (
        mapping(from_ubjson(content), "the file") if is_ubjson(content) else json_object(content)
    )
    return forest_of_model(model)


def forest_of_model(model: dict[str, Any]) -> PlainForest:
    """The forest of what a file holds."""
    learner = mapping(model["learner"], "learner")
    param = mapping(learner["learner_model_param"], "learner_model_param")
    for name, most in (("num_class", 1), ("num_target", 1)):
        if whole(param.get(name, "0"), name) > most:
            raise BeyondError(f"it has {param[name]} scores a row, and a ranker has one")
    n_features = whole(param["num_feature"], "num_feature", 1)
    start = _start(learner, param)
    booster, weights = _trees_of(mapping(learner["gradient_booster"], "gradient_booster"))
    trees = [mapping(tree, "a tree") for tree in sequence(booster["trees"], "trees")]
    _check_numbers(booster, trees)
    forest, cover = forest_of(
        [_tree(tree, weight) for tree, weight in zip(trees, _weights(weights, trees), strict=True)],
        n_features,
    )
    return PlainForest(
        forest,
        n_features,
        names_of(sequence(learner.get("feature_names", []), "feature_names"), "f", n_features),
        start=start,
        single_features=True,
        single_sums=True,
        cover=cover,
    )


def _start(learner: dict[str, Any], param: dict[str, Any]) -> float:
    """The base score on the scale of sums; newer releases write it as a list of one."""
    objective = mapping(learner["objective"], "objective")["name"]
    if not isinstance(objective, str):
        raise DamagedError("the objective has no name")
    links = [link for name, link in _LINKS.items() if objective.startswith(name)]
    if not links:
        raise BeyondError(
            f"its objective is {objective[:40]!a}, whose scale of scores is not known here"
        )
    text = param["base_score"]
    if isinstance(text, str):
        text = text.strip().removeprefix("[").removesuffix("]")
    score = real_text(text, "the base score")
    with np.errstate(over="ignore"):
        score = float(np.float32(score))
        try:
            start = float(np.float32(links[0](score)))
        except (ValueError, ZeroDivisionError):
            start = math.nan
    if not math.isfinite(start):
        raise DamagedError(f"a base score of {score:g} cannot be with {objective[:40]!a}")
    return start


def _trees_of(booster: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """The model of trees, and their weights if there was dropout."""
    name = booster["name"]
    if name == "gbtree":
        return mapping(booster["model"], "model"), None
    if name == "dart":
        return mapping(mapping(booster["gbtree"], "gbtree")["model"], "model"), booster[
            "weight_drop"
        ]
    if name == "gblinear":
        raise BeyondError("it is linear; pass its weights themselves")
    raise DamagedError("its booster is none of gbtree, dart and gblinear")


def _weights(weights: Any, trees: list[Any]) -> np.ndarray:
    """What each tree counts, of float32 as float64."""
    if weights is None:
        return np.ones(len(trees))
    return singles(reals(weights, "weight_drop", len(trees)), "weight_drop")


def _check_numbers(booster: dict[str, Any], trees: list[dict[str, Any]]) -> None:
    """Refuse trees that were lost or moved, and those of several scores a row."""
    n_trees = whole(mapping(booster["gbtree_model_param"], "param")["num_trees"], "num_trees")
    if len(trees) != n_trees:
        raise DamagedError(f"it has {len(trees)} trees, not {n_trees}")
    if wholes(booster["tree_info"], "tree_info", n_trees).any():
        raise BeyondError("it has several scores a row, and a ranker has one")
    if "iteration_indptr" in booster:  # the first tree of each round, by which XGBoost scores
        bounds = wholes(booster["iteration_indptr"], "iteration_indptr")
        if bounds[:1].tolist() != [0] or bounds[-1] != n_trees or (np.diff(bounds) < 0).any():
            raise DamagedError("the rounds of its trees are not one after the other")
    for number, tree in enumerate(trees):
        if whole(tree.get("id", number), "the number of a tree") != number:
            raise DamagedError(f"tree {number} is missing, or stands elsewhere")


def _tree(tree: dict[str, Any], weight: float) -> Nodes:
    param = mapping(tree["tree_param"], "tree_param")
    if whole(param.get("size_leaf_vector", "1"), "size_leaf_vector") > 1:
        raise BeyondError("its leaves have several values, and a ranker has one score")
    left = wholes(tree["left_children"], "left_children")
    n_nodes = len(left)
    if whole(param["num_nodes"], "num_nodes") != n_nodes:
        raise DamagedError("a tree is cut off")
    if len(sequence(tree.get("categories_nodes", []), "categories_nodes")) or (
        "split_type" in tree and wholes(tree["split_type"], "split_type", n_nodes).any()
    ):
        raise BeyondError(
            "it splits by categories; train it on numbers, or give its scores as a feature"
        )
    condition = singles(
        reals(tree["split_conditions"], "split_conditions", n_nodes), "split_conditions"
    )
    right = wholes(tree["right_children"], "right_children", n_nodes)
    if min(left.min(initial=0), right.min(initial=0)) < -1:
        raise DamagedError("a tree has a child that is out of range")
    missing_left = flags(tree["default_left"], "default_left", n_nodes)
    # Nothing lies below −∞, so that x < −∞ parts the values that are there from the missing ones:
    # as x ≤ ∞ does with the children the other way round.
    never = (left >= 0) & (condition == -np.inf)
    with np.errstate(over="ignore", under="ignore"):
        below = np.nextafter(condition.astype(np.float32), np.float32(-np.inf))
    return Nodes(
        left=np.where(never, right, left),
        right=np.where(never, left, right),
        feature=wholes(tree["split_indices"], "split_indices", n_nodes),
        threshold=np.where(never, np.inf, below.astype(np.float64)),
        missing_left=missing_left ^ never,
        gain=reals(tree["loss_changes"], "loss_changes", n_nodes),
        value=condition if weight == 1.0 else singles(weight * condition, "a weighted tree"),
        cover=reals(tree["sum_hessian"], "sum_hessian", n_nodes),
    )
