"""Checks of the formats of other libraries, whose own readers end the process on some damage.

LightGBM aborts on a text that was cut short, XGBoost's reader of UBJSON runs past the end, and both
score with whatever children a tree names. CatBoost verifies its models, but for their last bytes.
A ValueError says what is wrong.
"""

from __future__ import annotations

import json
import struct

import numpy as np

# What a LightGBM tree has for every leaf and for every split, and no score depends on.
_OF_LEAVES = {"leaf_weight", "leaf_count"}
_OF_SPLITS = {"split_gain", "internal_value", "internal_weight", "internal_count"}
# UBJSON's numbers by their markers: bytes, and how `struct` calls them.
_NUMBERS = {
    b"i": (1, ">b"),
    b"U": (1, ">B"),
    b"I": (2, ">h"),
    b"l": (4, ">i"),
    b"L": (8, ">q"),
    b"d": (4, ">f"),
    b"D": (8, ">d"),
}


# What ends the trees of a LightGBM text.
_END = "\nend of trees\n"


def lightgbm_trees(text: str) -> str:
    """A LightGBM text up to the end of its trees.

    No score depends on what follows, such as the parameters of the training with the paths of its
    files, and LightGBM ends the process when that is cut short.
    """
    trees, end, _ = text.partition(_END)
    return trees + end


def check_lightgbm(text: str) -> None:
    """Refuse a LightGBM text whose trees are not whole."""
    trees, end, _ = text.partition(_END)
    head, *blocks = trees.split("\nTree=")
    if not head.startswith("tree\n") or not end:
        raise ValueError("it does not begin or end as LightGBM's text does")
    header = _Fields(head)
    sizes = [int(size) for size in header.get("tree_sizes", "").split()]
    # LightGBM cuts the text at these lengths in bytes.
    if sizes and sizes != [len(f"Tree={block}\n".encode()) for block in blocks]:
        raise ValueError("its trees do not have the lengths it says")
    n_features = int(header["max_feature_idx"]) + 1
    for block in blocks:
        _check_lightgbm_tree(_Fields(block), n_features)


class _Fields(dict[str, str]):
    """The lines ``name=value`` of a text."""

    def __init__(self, text: str) -> None:
        super().__init__(line.split("=", 1) for line in text.splitlines() if "=" in line)

    def __missing__(self, name: str) -> str:
        raise ValueError(f"it has no {name}")

    def numbers(self, name: str, count: int, kind: type = float) -> np.ndarray:
        # By way of Python's numbers: numpy takes ten times as long to read strings.
        values = np.array([*map(kind, self[name].split())], np.dtype(kind))
        if len(values) != count:
            raise ValueError(f"{name} has {len(values)} values, not {count}")
        return values


def _check_lightgbm_tree(tree: _Fields, n_features: int) -> None:
    n_leaves = int(tree["num_leaves"])
    n_inner = n_leaves - 1
    if not np.isfinite(tree.numbers("leaf_value", n_leaves)).all():
        raise ValueError("a leaf value is not finite")
    if n_inner == 0:
        return
    for name in tree.keys() & _OF_LEAVES:
        tree.numbers(name, n_leaves)
    for name in tree.keys() & _OF_SPLITS:
        tree.numbers(name, n_inner)
    left, right = (tree.numbers(name, n_inner, int) for name in ("left_child", "right_child"))
    if min(left.min(), right.min()) < -n_leaves:
        raise ValueError("a leaf is out of range")
    _check_children(left, right, n_inner)
    _check_features(tree.numbers("split_feature", n_inner, int), n_features)
    categorical = tree.numbers("decision_type", n_inner, int) & 1 == 1
    sets = tree.numbers("threshold", n_inner)[categorical]
    n_sets = int(tree["num_cat"])
    if len(sets) and (sets.min() < 0 or sets.max() >= n_sets):
        raise ValueError("a set of categories is out of range")
    if n_sets:
        borders = tree.numbers("cat_boundaries", n_sets + 1, int)
        if borders[0] != 0 or (np.diff(borders) < 0).any():
            raise ValueError("the sets of categories are out of order")
        tree.numbers("cat_threshold", borders[-1], int)


def check_xgboost(content: bytes) -> None:
    """Refuse an XGBoost model whose JSON is not whole, or whose trees are not trees.

    A model in UBJSON is only followed to its end.
    """
    if is_ubjson(content):
        if _skip_ubjson(content, 0) != len(content):
            raise ValueError("it does not end where its data does")
        return
    learner = json.loads(content)["learner"]
    n_features = int(learner["learner_model_param"]["num_feature"])
    booster = learner["gradient_booster"]
    # A model with dropout has the trees one level deeper; a linear one has none.
    for tree in booster.get("gbtree", booster)["model"].get("trees", ()):
        left, right, feature = (
            np.array(tree[name], np.int64)
            for name in ("left_children", "right_children", "split_indices")
        )
        if not len(left) == len(right) == len(feature) == int(tree["tree_param"]["num_nodes"]):
            raise ValueError("a tree is cut off")
        inner = left >= 0
        if (left < -1).any() or ((right >= 0) != inner).any():
            raise ValueError("a node has one child")
        _check_children(left, right, len(left))
        _check_features(feature[inner], n_features)


def check_catboost(content: bytes) -> None:
    """Refuse a binary CatBoost model that was cut short; CatBoost itself looks at what there is."""
    if len(content) < 8 or len(content) < 8 + int.from_bytes(content[4:8], "little"):
        raise ValueError("it is cut off")


def _check_children(left: np.ndarray, right: np.ndarray, n_nodes: int) -> None:
    """Refuse nodes that cannot be a tree: its root is no child, and no node is one twice."""
    children = np.concatenate([left, right])
    children = children[children >= 0]
    if len(children) and (children.max() >= n_nodes or children.min() == 0):
        raise ValueError("a child is out of range")
    if len(np.unique(children)) != len(children):
        raise ValueError("a node has two parents")


def _check_features(feature: np.ndarray, n_features: int) -> None:
    if len(feature) and (feature.min() < 0 or feature.max() >= n_features):
        raise ValueError("a feature is out of range")


def is_ubjson(content: bytes) -> bool:
    """Whether an object in UBJSON follows, where JSON would have a name in quotation marks."""
    return content[:1] == b"{" and content[1:2] in {b"L", b"l", b"I", b"U", b"i", b"#", b"$"}


def _skip_ubjson(content: bytes, at: int, marker: bytes = b"") -> int:
    """Where the value that starts at `at` ends; a `marker` that was given before is not there."""
    if not marker:
        marker, at = content[at : at + 1], at + 1
    if marker in _NUMBERS:
        at += _NUMBERS[marker][0]
    elif marker == b"S":
        at = _skip_text(content, at)
    elif marker in (b"[", b"{"):
        at = _skip_container(content, at, marker == b"{")
    elif marker not in (b"T", b"F", b"Z"):
        raise ValueError(f"{marker!r} does not begin a value")
    if at > len(content):
        raise ValueError("it is cut off")
    return at


def _skip_container(content: bytes, at: int, named: bool) -> int:
    kind, count = b"", -1
    if content[at : at + 1] == b"$":
        kind, at = content[at + 1 : at + 2], at + 2
    if content[at : at + 1] == b"#":
        count, at = _whole_number(content, at + 1)
    if kind in _NUMBERS and not named:
        return at + count * _NUMBERS[kind][0]
    while count != 0:
        if count < 0 and content[at : at + 1] == (b"}" if named else b"]"):
            return at + 1
        at = _skip_ubjson(content, _skip_text(content, at) if named else at, kind)
        count -= 1
    return at


def _skip_text(content: bytes, at: int) -> int:
    length, at = _whole_number(content, at)
    return at + length


def _whole_number(content: bytes, at: int) -> tuple[int, int]:
    size, form = _NUMBERS.get(content[at : at + 1], (0, ""))
    if not form or form in (">f", ">d") or at + 1 + size > len(content):
        raise ValueError("a length is missing")
    (number,) = struct.unpack_from(form, content, at + 1)
    if number < 0:
        raise ValueError("a length is negative")
    return number, at + 1 + size
