"""A forest as writers want it: without factors, with leaves alone, and with what is below nodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rankinite.data.feature_labels import feature_label
from rankinite.errors import ExportError
from rankinite.exchange.plain import PlainForest
from rankinite.trees import Forest

# The largest number of single precision.
LARGEST_SINGLE = float(np.finfo(np.float32).max)


def folded(plain: PlainForest) -> PlainForest:
    """The same scores as start + Σ trees: factors go into the leaves, the bias is a last tree."""
    forest, cover = plain.forest, plain.cover
    value, start = forest.value, plain.start
    if plain.scale != 1.0 or plain.divisor != 1:
        value = value * plain.scale / plain.divisor
        start = start * plain.scale / plain.divisor
    if not np.isfinite(value).all() or not np.isfinite([start, plain.bias]).all():
        raise ExportError("the model has a leaf, a factor or a constant that is not finite")
    forest = replace(forest, value=value)
    if plain.bias != 0.0:
        forest = Forest.concatenated([forest, one_leaf(plain.bias)])
        cover = None if cover is None else np.append(cover, 1.0)
    return replace(plain, forest=forest, cover=cover, start=start, scale=1.0, bias=0.0, divisor=1)


def in_leaves(plain: PlainForest) -> PlainForest:
    """The same scores as Σ trees, of which there is at least one.

    Adding the start to the leaves of the first tree gives the very bits of the first partial sum,
    also in single precision: a sum of two float32, rounded to float64, rounds on to the float32
    that it would have been (Figueroa 1995).
    """
    plain = folded(plain)
    forest = plain.forest
    if forest.n_trees == 0:
        return replace(plain, forest=one_leaf(plain.start), start=0.0, cover=None)
    if plain.start == 0.0:
        return plain
    value = forest.value.copy()
    value[: forest.leaf_offsets[1]] += plain.start
    return replace(plain, forest=replace(forest, value=value), start=0.0)


def one_leaf(value: float) -> Forest:
    """A forest of one tree that has one leaf."""
    return Forest(
        feature=np.zeros(0, np.int32),
        threshold=np.zeros(0, np.float64),
        missing_left=np.zeros(0, np.bool_),
        left=np.zeros(0, np.int32),
        right=np.zeros(0, np.int32),
        gain=np.zeros(0, np.float64),
        value=np.array([value], np.float64),
        count=np.ones(1, np.int64),
        node_offsets=np.zeros(2, np.int64),
        leaf_offsets=np.array([0, 1], np.int64),
    )


def largest_sum(plain: PlainForest) -> float:
    """Σ over the trees of their largest |leaf|, with the start: no partial sum is larger."""
    plain = folded(plain)
    return abs(plain.start) + float(_largest_leaves(plain.forest).sum())


def _largest_leaves(forest: Forest) -> np.ndarray:
    if forest.n_trees == 0:
        return np.zeros(0)
    largest: np.ndarray = np.maximum.reduceat(np.abs(forest.value), forest.leaf_offsets[:-1])
    return largest


def check_single(plain: PlainForest, engine: str) -> None:
    """Refuse a model whose scores are beyond single precision."""
    most = largest_sum(plain)
    if not most < LARGEST_SINGLE:
        raise ExportError(
            f"scores may be as large as {most:.3g}, and {engine} adds in single precision, which "
            f"ends at {LARGEST_SINGLE:.3g}"
        )


def check_zeros(plain: PlainForest, engine: str) -> None:
    """Refuse a model to which zeros are missing values."""
    if plain.zero_is_missing is None:
        return
    used = plain.forest.feature[plain.zero_is_missing[plain.forest.feature]]
    if len(used):
        label = feature_label(int(used[0]), plain.feature_names)
        raise ExportError(
            f"the model takes zeros of {label} for missing values, which {engine} cannot express: "
            "train it without zero_as_missing"
        )


def zeros_for_missing(plain: PlainForest, missing: str | None, engine: str) -> None:
    """Refuse a model that sends missing values elsewhere than zeros, unless that is accepted.

    Parameters
    ----------
    missing : str or None
        ``"zero"``: missing values may count as zeros, as they do for the engine.
    """
    if missing not in (None, "zero"):
        raise ExportError(f"missing must be 'zero' or left out, got {missing!r}")
    check_zeros(plain, engine)
    forest = plain.forest
    elsewhere = int((forest.missing_left != (forest.threshold >= 0.0)).sum())
    if elsewhere and missing is None and plain.takes_missing:
        raise ExportError(
            f"{elsewhere:,} of {len(forest.feature):,} splits send missing values elsewhere than "
            f"zeros, and {engine} takes missing values for zeros: pass missing='zero' if they may "
            "count as zeros, or if the rows have none"
        )


def positive_cover(plain: PlainForest) -> np.ndarray:
    """What reached each leaf in training, above 0: 1 in trees of which it is not known."""
    cover = np.array(plain.leaf_cover, np.float64)
    offsets = plain.forest.leaf_offsets
    unknown = np.repeat(np.add.reduceat(cover, offsets[:-1]) <= 0.0, np.diff(offsets))
    cover[unknown] = 1.0
    return cover


def below_nodes(forest: Forest, of_leaves: np.ndarray) -> np.ndarray:
    """Sums over the leaves below every inner node, shape (n_inner,)."""
    leaf_sums = of_leaves.tolist()
    sums = [0.0] * len(forest.feature)
    left, right = forest.left.tolist(), forest.right.tolist()
    first_nodes, first_leaves = forest.node_offsets.tolist(), forest.leaf_offsets.tolist()
    for t in range(forest.n_trees):
        first, first_leaf = first_nodes[t], first_leaves[t]
        # Children come after their parents.
        for node in range(first_nodes[t + 1] - 1, first - 1, -1):
            a, b = left[node], right[node]
            sums[node] = (sums[first + a] if a >= 0 else leaf_sums[first_leaf + ~a]) + (
                sums[first + b] if b >= 0 else leaf_sums[first_leaf + ~b]
            )
    return np.array(sums, of_leaves.dtype)
