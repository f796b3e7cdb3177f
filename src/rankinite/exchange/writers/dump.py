"""Trees as XGBoost's ``dump_model`` writes them in JSON, which search engines read.

x < t goes left; a split says by the number of a child where missing values go.
"""

from __future__ import annotations

import json

import numpy as np

from rankinite.exchange.plain import PlainForest
from rankinite.exchange.writers.names import names_from_one
from rankinite.exchange.writers.texts import check_depth, nested, number_texts, numbers_in_pairs
from rankinite.exchange.writers.thresholds import single_at_most, strictly_below


def dumped(plain: PlainForest, engine: str, values: np.ndarray, infinite: bool = True) -> str:
    """A list of trees, one a line.

    Parameters
    ----------
    plain : PlainForest
        All of whose score is in its leaves.
    engine : str
        Who is to read it.
    values : ndarray of float32 or float64, shape (n_leaves,)
    infinite : bool
        Whether a number beyond float32 is infinity to the engine.
    """
    forest = plain.forest
    strict = strictly_below(forest, single_at_most(forest.threshold), infinite)
    depth = check_depth(forest, engine).tolist()
    inner, leaves, _ = numbers_in_pairs(forest, strict.left, strict.right)
    own = np.arange(len(inner)) - np.repeat(forest.node_offsets[:-1], np.diff(forest.node_offsets))
    yes = (2 * own + 1).tolist()
    features, missing_left = forest.feature.tolist(), strict.missing_left.tolist()
    names = [json.dumps(name) for name in names_from_one(plain)]
    conditions = number_texts(strict.threshold, infinity="1e39")
    texts, inner_ids, leaf_ids = number_texts(values), inner.tolist(), leaves.tolist()

    def split(node: int, left: str, right: str) -> str:
        to = yes[node]
        return (
            f'{{"nodeid":{inner_ids[node]},"depth":{depth[node]},'
            f'"split":{names[features[node]]},"split_condition":{conditions[node]},'
            f'"yes":{to},"no":{to + 1},"missing":{to if missing_left[node] else to + 1},'
            f'"children":[{left},{right}]}}'
        )

    def leaf(number: int) -> str:
        return f'{{"nodeid":{leaf_ids[number]},"leaf":{texts[number]}}}'

    trees = (
        nested(forest, t, strict.left, strict.right, leaf, split) for t in range(forest.n_trees)
    )
    return "[\n" + ",\n".join(trees) + "\n]\n"
