"""Models as the Learning to Rank plugins of Elasticsearch and OpenSearch score them.

Two forms of XGBoost's files. Features, thresholds, leaves and sums are float32; x < t goes left.
Nothing is said of the base score in a dump, and that of a saved model is not looked at; its leaves
are those among the weights.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rankinite.exchange.checked import json_object, mapping, reals, sequence, singles, wholes
from rankinite.exchange.faults import DamagedError, reader
from rankinite.exchange.plain import PlainForest
from rankinite.exchange.readers._xgboost_dump import dumped_trees, is_dump
from rankinite.exchange.readers.xgboost import forest_of_model
from rankinite.exchange.strict import strict_as_at_most


@reader("Elasticsearch")
def read(content: bytes) -> PlainForest:
    """The forest of a definition of a model, in either form."""
    if not is_dump(content):
        return _raw(json_object(content))
    forest, names = dumped_trees(content)
    return PlainForest(
        replace(strict_as_at_most(forest, np.float32), value=singles(forest.value, "leaf")),
        len(names),
        names,
        single_features=True,
        single_sums=True,
    )


def _raw(model: dict[str, Any]) -> PlainForest:
    learner = mapping(model["learner"], "learner")
    names = sequence(learner["feature_names"], "feature_names")
    if sequence(learner["feature_types"], "feature_types") != ["float"] * len(names):
        raise DamagedError("its features are not all of the type float, with a name each")
    mapping(learner["learner_model_param"], "learner_model_param")["base_score"] = "0"
    for tree in sequence(learner["gradient_booster"]["model"]["trees"], "trees"):
        is_leaf = wholes(tree["left_children"], "left_children") < 0
        conditions = reals(tree["split_conditions"], "split_conditions")
        weights = reals(tree["base_weights"], "base_weights")
        with np.errstate(over="ignore"):  # what is beyond float32 is infinity here
            tree["split_conditions"] = np.where(is_leaf, weights, conditions).astype(np.float32)
    return forest_of_model(model)
