"""Trees and forests as flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from rankinite.errors import ModelFileError
from rankinite.trees.layout import Scorer, scorer_of


@dataclass(frozen=True)
class Tree:
    """A binary tree with L leaves and L − 1 inner nodes.

    A child c ≥ 0 is an inner node, c < 0 is the leaf ``~c`` (that is, −1 − c). Node 0 is the
    root; a tree of one leaf has no inner node. Children have larger numbers than their parent.

    Attributes
    ----------
    feature : ndarray of int32, shape (L − 1,)
    threshold : ndarray of float64
        A row with x ≤ threshold goes left.
    bin : ndarray of uint8
        The same split in bins: a row with bin ≤ `bin` goes left.
    missing_left : ndarray of bool
        Where rows with a missing value go.
    left, right : ndarray of int32
    gain : ndarray of float64
        Loss reduction of the split.
    value : ndarray of float64, shape (L,)
        What the tree adds to a score, the learning rate included.
    count : ndarray of int64, shape (L,)
        Number of training rows in each leaf.
    """

    feature: np.ndarray
    threshold: np.ndarray
    bin: np.ndarray
    missing_left: np.ndarray
    left: np.ndarray
    right: np.ndarray
    gain: np.ndarray
    value: np.ndarray
    count: np.ndarray

    @classmethod
    def of_one_leaf(cls, value: float) -> Tree:
        """A tree that says the same of every row."""
        no_node: dict[str, np.ndarray] = {name: np.empty(0, _DTYPES[name]) for name in _NODE_FIELDS}
        return cls(
            **no_node,
            bin=np.empty(0, np.uint8),
            value=np.array([value]),
            count=np.zeros(1, np.int64),
        )

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.value)

    @property
    def is_symmetric(self) -> bool:
        """Whether nodes are split alike: there are at most half as many different splits."""
        splits = {
            *zip(
                self.feature.tolist(),
                self.threshold.tolist(),
                self.missing_left.tolist(),
                strict=True,
            )
        }
        return 2 * len(splits) <= len(self.feature) + 1

    def with_values(self, value: np.ndarray) -> Tree:
        """The same splits with other leaf values."""
        return replace(self, value=np.asarray(value, np.float64))


_NODE_FIELDS = ("feature", "threshold", "missing_left", "left", "right", "gain")
_LEAF_FIELDS = ("value", "count")
_DTYPES = {
    "feature": np.int32,
    "threshold": np.float64,
    "missing_left": np.bool_,
    "left": np.int32,
    "right": np.int32,
    "gain": np.float64,
    "value": np.float64,
    "count": np.int64,
    "node_offsets": np.int64,
    "leaf_offsets": np.int64,
}


@dataclass(frozen=True)
class GrownTree:
    """A tree, and the leaf of each of this worker's training rows, of int32."""

    tree: Tree
    leaf_of: np.ndarray


@dataclass(frozen=True)
class Forest:
    """Trees one after the other; the arrays of `Tree`, concatenated.

    Tree t has the inner nodes ``node_offsets[t]:node_offsets[t + 1]`` and the leaves
    ``leaf_offsets[t]:leaf_offsets[t + 1]``; children count from the tree's own first node.
    """

    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    left: np.ndarray
    right: np.ndarray
    gain: np.ndarray
    value: np.ndarray
    count: np.ndarray
    node_offsets: np.ndarray
    leaf_offsets: np.ndarray

    @classmethod
    def from_trees(cls, trees: Sequence[Tree]) -> Forest:
        """Concatenate trees."""
        arrays: dict[str, np.ndarray] = {
            name: np.concatenate(
                [np.empty(0, _DTYPES[name]), *(getattr(tree, name) for tree in trees)]
            ).astype(_DTYPES[name])
            for name in (*_NODE_FIELDS, *_LEAF_FIELDS)
        }
        n_leaves = [tree.n_leaves for tree in trees]
        leaf_offsets = np.concatenate([[0], np.cumsum(n_leaves)]).astype(np.int64)
        node_offsets = leaf_offsets - np.arange(len(trees) + 1)
        return cls(**arrays, node_offsets=node_offsets, leaf_offsets=leaf_offsets)

    @classmethod
    def concatenated(cls, forests: Sequence[Forest]) -> Forest:
        """All trees of some forests, one forest after the other."""
        arrays = {
            name: np.concatenate([getattr(forest, name) for forest in forests])
            for name in (*_NODE_FIELDS, *_LEAF_FIELDS)
        }
        for name in ("node_offsets", "leaf_offsets"):
            sizes = [np.diff(getattr(forest, name)) for forest in forests]
            arrays[name] = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
        return cls(**arrays)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.node_offsets) - 1

    @cached_property
    def most_leaves(self) -> int:
        """Number of leaves of the largest tree."""
        return int(np.diff(self.leaf_offsets).max(initial=0))

    def __len__(self) -> int:
        return self.n_trees

    def first(self, n_trees: int) -> Forest:
        """The forest of the first `n_trees` trees."""
        nodes, leaves = self.node_offsets[n_trees], self.leaf_offsets[n_trees]
        arrays = {name: getattr(self, name)[:nodes] for name in _NODE_FIELDS}
        arrays |= {name: getattr(self, name)[:leaves] for name in _LEAF_FIELDS}
        return Forest(
            **arrays,
            node_offsets=self.node_offsets[: n_trees + 1],
            leaf_offsets=self.leaf_offsets[: n_trees + 1],
        )

    def dealt(self, n_hands: int) -> list[Forest]:
        """As many forests as asked, dealt tree by tree: the first has the trees 0, n, 2n, ….

        They are made once and kept, because each is laid out for scoring.
        """
        if n_hands == 1:
            return [self]
        if n_hands not in self._hands:
            trees = self.trees(np.zeros(len(self.feature), np.uint8))
            self._hands[n_hands] = [Forest.from_trees(trees[k::n_hands]) for k in range(n_hands)]
        return self._hands[n_hands]

    @cached_property
    def _hands(self) -> dict[int, list[Forest]]:
        return {}

    @cached_property
    def scorer(self) -> Scorer:
        """The forest laid out for scoring, made when it is first asked for.

        Threads that ask at the same time may each make one; they are equal.
        """
        return scorer_of(
            self.feature,
            self.threshold,
            self.missing_left,
            self.left,
            self.right,
            self.value,
            self.node_offsets,
            self.leaf_offsets,
        )

    def trees(self, bins: np.ndarray) -> list[Tree]:
        """The trees one by one, given every split's bin (`scoring.bins_of_thresholds`)."""
        trees = []
        for t in range(self.n_trees):
            nodes = slice(self.node_offsets[t], self.node_offsets[t + 1])
            leaves = slice(self.leaf_offsets[t], self.leaf_offsets[t + 1])
            arrays = {name: getattr(self, name)[nodes] for name in _NODE_FIELDS}
            arrays |= {name: getattr(self, name)[leaves] for name in _LEAF_FIELDS}
            trees.append(Tree(**arrays, bin=bins[nodes]))
        return trees

    def importance(self, n_features: int, kind: str = "gain") -> np.ndarray:
        """Importance of every feature: the sum of its splits' `gain`, or their ``"count"``."""
        weights = self.gain if kind == "gain" else None
        return np.bincount(self.feature, weights=weights, minlength=n_features).astype(np.float64)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The arrays by name, for saving."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], n_features: int) -> Forest:
        """A forest from saved arrays, after checking that every path ends in a leaf."""
        missing = [field.name for field in fields(cls) if field.name not in arrays]
        if missing:
            raise ModelFileError(f"the model file has no array {missing[0]!r} for its trees")
        forest = cls(**{field.name: arrays[field.name] for field in fields(cls)})
        forest._validate(n_features)
        return forest

    def _validate(self, n_features: int) -> None:
        def check(holds: bool | np.bool_, what: str) -> None:
            if not holds:
                raise ModelFileError(f"the trees in the model file are damaged: {what}")

        for name, dtype in _DTYPES.items():
            array = getattr(self, name)
            check(array.dtype == dtype and array.ndim == 1, f"{name} has the wrong type")
        for name in ("node_offsets", "leaf_offsets"):
            offsets = getattr(self, name)
            check(len(offsets) > 0 and offsets[0] == 0, f"{name} do not start at 0")
            check((np.diff(offsets) >= 0).all(), f"{name} fall")
        check(len(self.node_offsets) == len(self.leaf_offsets), "offsets disagree in length")
        n_inner = np.diff(self.node_offsets)
        n_leaves = np.diff(self.leaf_offsets)
        check((n_leaves == n_inner + 1).all(), "leaves and nodes disagree")
        for name in _NODE_FIELDS:
            check(len(getattr(self, name)) == self.node_offsets[-1], f"{name} is cut off")
        for name in _LEAF_FIELDS:
            check(len(getattr(self, name)) == self.leaf_offsets[-1], f"{name} is cut off")
        check(
            ((self.feature >= 0) & (self.feature < n_features)).all(), "a feature is out of range"
        )
        check(np.isfinite(self.value).all(), "a leaf value is not finite")
        check(not np.isnan(self.threshold).any(), "a threshold is NaN")
        # A child node comes after its parent, so there is no cycle; and every node and leaf
        # but the root is a child exactly once, so the tree is whole.
        own_index = np.arange(self.node_offsets[-1]) - np.repeat(self.node_offsets[:-1], n_inner)
        nodes_here = np.repeat(n_inner, n_inner)
        leaves_here = np.repeat(n_leaves, n_inner)
        owners, leaf_owners = [], []
        for child in (self.left.astype(np.int64), self.right.astype(np.int64)):
            inner = child >= 0
            check((child[inner] > own_index[inner]).all(), "a node comes before its parent")
            check((child[inner] < nodes_here[inner]).all(), "a child is out of range")
            check((~child[~inner] < leaves_here[~inner]).all(), "a leaf is out of range")
            first_node = np.repeat(self.node_offsets[:-1], n_inner)
            first_leaf = np.repeat(self.leaf_offsets[:-1], n_inner)
            owners.append((child + first_node)[inner])
            leaf_owners.append((~child + first_leaf)[~inner])
        for found, what in ((owners, "node"), (leaf_owners, "leaf")):
            every = np.concatenate(found)
            check(len(np.unique(every)) == len(every), f"a {what} has two parents")


@dataclass(frozen=True)
class SideBySide:
    """Several forests that score the same rows, each with a sum of its own.

    Attributes
    ----------
    together : Forest
        The trees of all of them, so that rows become codes once for all.
    bounds : ndarray of int64, shape (n_forests, 2)
        Forest k has the trees ``bounds[k, 0]:bounds[k, 1]``.
    """

    together: Forest
    bounds: np.ndarray

    @classmethod
    def of(cls, forests: Sequence[Forest]) -> SideBySide:
        """Put forests side by side."""
        ends = np.cumsum([0, *(forest.n_trees for forest in forests)])
        return cls(Forest.concatenated(forests), np.column_stack([ends[:-1], ends[1:]]))
