"""XGBoost's JSON and UBJSON, which ``xgboost.Booster.load_model`` takes.

Features, thresholds, leaves and sums are float32, x < t goes left, and every split says where
missing values go. The sum begins with the base score. The file is one of XGBoost 2, which later
releases read too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rankinite.exchange.plain import PlainForest
from rankinite.exchange.ubjson import to_ubjson
from rankinite.exchange.writers.folding import (
    LARGEST_SINGLE,
    below_nodes,
    check_single,
    check_zeros,
    folded,
    one_leaf,
    positive_cover,
)
from rankinite.exchange.writers.texts import number_texts, numbers_in_pairs, to_json
from rankinite.exchange.writers.thresholds import single_at_most, strictly_below

# What the parent of a root is called.
_NOBODY = 2**31 - 1


def write(plain: PlainForest, *, variant: str = ".json") -> bytes:
    """The bytes of an XGBoost model file, JSON or UBJSON (``.ubj``)."""
    model = saved_model(plain, plain.feature_names or [])
    return to_ubjson(model) if variant == ".ubj" else to_json(model).encode()


def saved_model(plain: PlainForest, names: list[str]) -> dict[str, Any]:
    """What XGBoost saves, as objects, lists and arrays.

    Parameters
    ----------
    names : list of str
        Names of the features; empty if they have none.
    """
    check_zeros(plain, "XGBoost")
    check_single(plain, "XGBoost")
    plain = folded(plain)
    if plain.forest.n_trees == 0:
        plain = replace(plain, forest=one_leaf(0.0), cover=None)
    n_trees = plain.forest.n_trees
    base_score = number_texts(np.array([plain.start], np.float32))[0]
    return {
        "learner": {
            "attributes": {},
            "feature_names": names,
            "feature_types": ["float"] * len(names),
            "gradient_booster": {
                "model": {
                    "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(n_trees)},
                    "iteration_indptr": list(range(n_trees + 1)),
                    "tree_info": [0] * n_trees,
                    "trees": _trees(plain),
                },
                "name": "gbtree",
            },
            "learner_model_param": {
                "base_score": base_score,
                "boost_from_average": "0",
                "num_class": "0",
                "num_feature": str(plain.n_features),
                "num_target": "1",
            },
            "objective": {"lambdarank_param": dict(_LAMBDARANK), "name": "rank:ndcg"},
        },
        "version": [2, 1, 0],
    }


# How XGBoost would go on training: its own defaults.
_LAMBDARANK = {
    "lambdarank_bias_norm": "1",
    "lambdarank_normalization": "1",
    "lambdarank_num_pair_per_sample": "4294967295",
    "lambdarank_pair_method": "topk",
    "lambdarank_unbiased": "0",
    "ndcg_exp_gain": "1",
}


def _trees(plain: PlainForest) -> list[dict[str, Any]]:
    forest = plain.forest
    strict = strictly_below(forest, single_at_most(forest.threshold))
    inner, leaves, parents = numbers_in_pairs(forest, strict.left, strict.right)
    first_places = forest.node_offsets + forest.leaf_offsets
    inner_at = inner + np.repeat(first_places[:-1], np.diff(forest.node_offsets))
    leaves_at = leaves + np.repeat(first_places[:-1], np.diff(forest.leaf_offsets))
    own = np.arange(len(inner)) - np.repeat(forest.node_offsets[:-1], np.diff(forest.node_offsets))

    def placed(of_inner: Any, of_leaves: Any, dtype: type) -> np.ndarray:
        array: np.ndarray = np.empty(len(parents), dtype)
        array[inner_at], array[leaves_at] = of_inner, of_leaves
        return array

    cover = positive_cover(plain)
    inner_cover = below_nodes(forest, cover)
    mean = below_nodes(forest, forest.value * cover) / inner_cover
    arrays = {
        # Some readers take the values of leaves from here.
        "base_weights": placed(mean, forest.value, np.float32),
        "default_left": placed(strict.missing_left, 0, np.uint8),
        "left_children": placed(2 * own + 1, -1, np.int32),
        "loss_changes": placed(np.clip(forest.gain, 0, LARGEST_SINGLE), 0, np.float32),
        "parents": np.where(parents < 0, _NOBODY, parents).astype(np.int32),
        "right_children": placed(2 * own + 2, -1, np.int32),
        "split_conditions": placed(strict.threshold, forest.value, np.float32),
        "split_indices": placed(forest.feature, 0, np.int32),
        "split_type": np.zeros(len(parents), np.uint8),
        "sum_hessian": placed(inner_cover, cover, np.float32),
    }
    no_categories = {
        name: np.zeros(0, dtype)
        for name, dtype in (
            ("categories", np.int32),
            ("categories_nodes", np.int32),
            ("categories_segments", np.int64),
            ("categories_sizes", np.int64),
        )
    }
    return [
        {
            **{name: array[first:last] for name, array in arrays.items()},
            **no_categories,
            "id": t,
            "tree_param": {
                "num_deleted": "0",
                "num_feature": str(plain.n_features),
                "num_nodes": str(last - first),
                "size_leaf_vector": "1",
            },
        }
        for t, (first, last) in enumerate(
            zip(first_places[:-1].tolist(), first_places[1:].tolist(), strict=True)
        )
    ]
