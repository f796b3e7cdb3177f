"""LightGBM's text, as ``save_model`` writes it.

Sums of float64 in the order of the trees. What a missing value is, each split says: NaN; NaN and
zero; or nothing, so that NaN counts as zero. A forest's score is the mean of its trees.
"""

from __future__ import annotations

import re

import numpy as np

from rankinite.exchange.checked import names_of, whole, wholes
from rankinite.exchange.faults import BeyondError, DamagedError, reader
from rankinite.exchange.nodes import Nodes
from rankinite.exchange.plain import PlainForest
from rankinite.exchange.readers._lightgbm import MISSING_KINDS, forest_with_missing, refuse_classes

# What ends the trees; what follows, such as the parameters of the training, no score depends on.
_END = "\nend of trees"
# What no score depends on; but LightGBM stops reading where there are not as many as splits, and of
# what leaves have one more.
_UNUSED = {"internal_value": 0, "internal_weight": 0, "internal_count": 0, "leaf_weight": 1}
# The beginning of a line of a tree: LightGBM looks for the next equals sign, wherever it stands.
_FIELD = re.compile("[a-z_0-9]+=")
# Bits of a split's decision_type.
_CATEGORICAL, _DEFAULT_LEFT = 1, 2


def is_lightgbm_text(content: bytes) -> bool:
    """Whether a file begins as LightGBM's text does."""
    return content.startswith((b"tree\n", b"tree\r\n"))


@reader("LightGBM")
def read(content: bytes) -> PlainForest:
    """The forest of LightGBM's text."""
    text = content.decode().replace("\r\n", "\n")
    trees, end, _ = text.partition(_END)
    head, *blocks = trees.split("\nTree=")
    if not head.startswith("tree\n") or not end:
        raise DamagedError("it does not begin or end as LightGBM's text does")
    header = _Fields(head)
    refuse_classes(whole(header["num_class"], "num_class"))
    refuse_classes(whole(header["num_tree_per_iteration"], "num_tree_per_iteration"))
    if "tree_sizes" in header and len(header["tree_sizes"].split()) != len(blocks):
        raise DamagedError("it does not have as many trees as it says")
    names = header["feature_names"].split()
    n_features = whole(header["max_feature_idx"], "max_feature_idx") + 1
    if len(names) != n_features:
        raise DamagedError(f"it has {len(names)} names for {n_features} features")
    read_trees, kinds = [], []
    for t, block in enumerate(blocks):
        number, _, rest = block.partition("\n")
        if whole(number, "the number of a tree") != t:
            raise DamagedError(f"tree {t} is missing, or stands elsewhere")
        fields, _, more = rest.partition("\n\n")
        if more.strip("\n"):
            raise DamagedError(f"tree {t} goes on after an empty line, where it ends for LightGBM")
        if not all(_FIELD.match(line) for line in fields.rstrip("\n").split("\n")):
            raise DamagedError(f"tree {t} has a line that is no name with a value")
        tree, kind = _tree(_Fields(fields))
        read_trees.append(tree)
        kinds.append(kind)
    return forest_with_missing(
        read_trees,
        kinds,
        n_features,
        names_of(names, "Column_", n_features),
        averages="average_output" in head.split("\n"),
    )


class _Fields(dict[str, str]):
    """The lines ``name=value`` of a text."""

    def __init__(self, text: str) -> None:
        found = [line.split("=", 1) for line in text.split("\n") if "=" in line]
        super().__init__(found)
        if len(self) < len(found):
            raise DamagedError("something is said twice")

    def reals(self, name: str, count: int) -> np.ndarray:
        """Numbers as float64."""
        # By way of Python's numbers: numpy takes ten times as long to read strings.
        return self._counted(name, [*map(float, self._words(name))], count, np.float64)

    def wholes(self, name: str, count: int) -> np.ndarray:
        """Whole numbers as int64."""
        return wholes([*map(int, self._words(name))], name, count)

    def _words(self, name: str) -> list[str]:
        # Python takes underscores in numbers, and the digits of all scripts.
        if "_" in self[name] or not self[name].isascii():
            raise DamagedError(f"{name} has something that is no number")
        return self[name].split()

    @staticmethod
    def _counted(name: str, values: list[float], count: int, dtype: type) -> np.ndarray:
        if len(values) != count:
            raise DamagedError(f"{name} has {len(values)} values, not {count}")
        return np.array(values, dtype)


def _tree(fields: _Fields) -> tuple[Nodes, np.ndarray]:
    """A tree, and the kind of missing values of each of its splits."""
    if whole(fields.get("is_linear", "0"), "is_linear", 0, 1):
        raise BeyondError("its leaves are linear models; train it without linear_tree")
    n_leaves = whole(fields["num_leaves"], "num_leaves", 1)
    n_inner = n_leaves - 1
    value = fields.reals("leaf_value", n_leaves)
    count = np.zeros(n_leaves)
    if n_inner == 0:
        return Nodes.leaf(float(value[0])), np.zeros(0, np.int64)
    decision = fields.wholes("decision_type", n_inner)
    if (decision & _CATEGORICAL).any():
        raise BeyondError(
            "it splits by categories; train it on numbers, or give its scores as a feature"
        )
    kind = (decision >> 2) & 3
    if (kind >= len(MISSING_KINDS)).any():
        raise DamagedError("a split has a kind of missing values that there is not")
    splits: dict[str, np.ndarray] = {
        "left": fields.wholes("left_child", n_inner),
        "right": fields.wholes("right_child", n_inner),
        "feature": fields.wholes("split_feature", n_inner),
        "threshold": fields.reals("threshold", n_inner),
        "missing_left": (decision & _DEFAULT_LEFT) != 0,
        "gain": fields.reals("split_gain", n_inner)
        if "split_gain" in fields
        else np.zeros(n_inner),
    }
    for name, more in _UNUSED.items():
        if len(fields.get(name, "").split()) not in (n_inner + more, 0):
            raise DamagedError(f"{name} does not have {n_inner + more} values")
    if "leaf_count" in fields:
        count = fields.wholes("leaf_count", n_leaves).astype(np.float64)
    return Nodes.apart(splits, value, count), kind
