"""LightGBM's text, which ``lightgbm.Booster(model_file=…)`` takes.

Thresholds, leaves and sums are float64, x ≤ t goes left, and every split says where missing values
go: so nothing of a forest is lost. Weights and counts are filled in, because LightGBM's own
explanations and refitting look at them.
"""

from __future__ import annotations

import re

import numpy as np

from rankinite.errors import ExportError
from rankinite.exchange.plain import PlainForest
from rankinite.exchange.writers.folding import below_nodes, in_leaves, positive_cover
from rankinite.exchange.writers.texts import number_texts
from rankinite.exchange.writers.thresholds import for_doubles

# Bits of a split's decision_type: where missing values go, and what is missing.
_DEFAULT_LEFT, _ZERO_IS_MISSING, _NAN_IS_MISSING = 2, 1 << 2, 2 << 2
# What LightGBM does not let stand in a name; it puts an underscore for white space itself.
_NOT_IN_NAMES = re.compile(r'[\s",:\[\]{}]')
# LightGBM counts in 32 bits.
_MOST_ROWS = 2**31 - 1


def write(plain: PlainForest, *, variant: str = ".txt") -> bytes:
    """The bytes of a LightGBM model file."""
    averages = _is_mean_of_trees(plain)
    whole = plain if averages else in_leaves(plain)
    trees = _trees(whole)
    head = [
        "tree",
        "version=v4",
        "num_class=1",
        "num_tree_per_iteration=1",
        "label_index=0",
        f"max_feature_idx={plain.n_features - 1}",
        "objective=lambdarank",
        *(["average_output"] if averages else []),
        f"feature_names={' '.join(_names(plain))}",
        f"feature_infos={' '.join(_infos(plain))}",
        f"tree_sizes={' '.join(str(len(tree)) for tree in trees)}",
        "",
        "",
    ]
    tail = f"end of trees\n\n{_importances(plain)}\n{_PARAMETERS}\npandas_categorical:null\n"
    return "".join(["\n".join(head), *trees, tail]).encode()


_PARAMETERS = "parameters:\n[boosting: gbdt]\n[objective: lambdarank]\n\nend of parameters\n"


def _is_mean_of_trees(plain: PlainForest) -> bool:
    """Whether LightGBM can divide by the number of trees itself, as it does for random forests."""
    return plain.divisor == plain.forest.n_trees > 1 and (
        (plain.start, plain.scale, plain.bias) == (0.0, 1.0, 0.0)
    )


def _names(plain: PlainForest) -> list[str]:
    """Names as LightGBM takes them; Column_0, … where there are none, as it has them."""
    if plain.feature_names is None:
        return [f"Column_{j}" for j in range(plain.n_features)]
    names = [_NOT_IN_NAMES.sub("_", name) for name in plain.feature_names]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ExportError(
            f"LightGBM has underscores for spaces and brackets in names, and then two features are "
            f"called {twice!r}: train with other names"
        )
    return names


def _infos(plain: PlainForest) -> list[str]:
    """Ranges of values, which are not known here; none for features that no tree looks at."""
    used = np.zeros(plain.n_features, bool)
    used[plain.forest.feature] = True
    return ["[-inf:inf]" if is_used else "none" for is_used in used.tolist()]


def _importances(plain: PlainForest) -> str:
    """How often each feature is split by, the most frequent first."""
    counts = plain.forest.importance(plain.n_features, "count").astype(np.int64)
    names = _names(plain)
    order = np.argsort(-counts, kind="stable")
    lines = [f"{names[j]}={counts[j]}" for j in order.tolist() if counts[j] > 0]
    return "\n".join(["feature_importances:", *lines, ""])


def _trees(plain: PlainForest) -> list[str]:
    """One text a tree, each with its number."""
    forest = plain.forest
    weight, count = positive_cover(plain), _counts(plain)
    inner_weight = below_nodes(forest, weight)
    of_nodes = {
        "split_feature": number_texts(forest.feature),
        "split_gain": number_texts(forest.gain),
        "threshold": number_texts(for_doubles(plain)),
        "decision_type": number_texts(_decision_types(plain)),
        "left_child": number_texts(forest.left),
        "right_child": number_texts(forest.right),
    }
    of_leaves = {
        "leaf_value": number_texts(forest.value),
        "leaf_weight": number_texts(weight),
        "leaf_count": number_texts(count),
    }
    of_nodes_at_the_end = {
        "internal_value": number_texts(below_nodes(forest, forest.value * weight) / inner_weight),
        "internal_weight": number_texts(inner_weight),
        "internal_count": number_texts(below_nodes(forest, count)),
    }
    texts = []
    for t in range(forest.n_trees):
        nodes = slice(forest.node_offsets[t], forest.node_offsets[t + 1])
        leaves = slice(forest.leaf_offsets[t], forest.leaf_offsets[t + 1])
        parts = ((of_nodes, nodes), (of_leaves, leaves), (of_nodes_at_the_end, nodes))
        lines = [f"Tree={t}", f"num_leaves={leaves.stop - leaves.start}", "num_cat=0"]
        lines += [
            f"{k}={' '.join(v[part])}" for texts_of, part in parts for k, v in texts_of.items()
        ]
        texts.append("\n".join([*lines, "is_linear=0", "shrinkage=1", "", "", ""]))
    return texts


def _decision_types(plain: PlainForest) -> np.ndarray:
    forest = plain.forest
    kinds = np.full(len(forest.feature), _NAN_IS_MISSING)
    if plain.zero_is_missing is not None:
        kinds[plain.zero_is_missing[forest.feature]] = _ZERO_IS_MISSING
    return kinds + _DEFAULT_LEFT * forest.missing_left


def _counts(plain: PlainForest) -> np.ndarray:
    """Rows in every leaf, above 0 and few enough for LightGBM.

    Where they are not known, the shares of the leaves are: LightGBM's explanations need no more.
    """
    count, offsets = plain.forest.count, plain.forest.leaf_offsets
    smallest = np.minimum.reduceat(count, offsets[:-1])
    total = np.add.reduceat(count, offsets[:-1])
    unfit = np.repeat((smallest <= 0) | (total > _MOST_ROWS), np.diff(offsets))
    cover = positive_cover(plain)
    share = cover / np.repeat(np.add.reduceat(cover, offsets[:-1]), np.diff(offsets))
    return np.where(unfit, np.maximum(1, np.rint(share * 2**24)), count).astype(np.int64)
