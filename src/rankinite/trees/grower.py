"""Growing one tree, best split first.

Python owns the nodes, the heap and the stopping; kernels see arrays. What must be reduced over
workers is the histogram of a node and the number of rows on each side of a split, and nothing
else: both pass through the communicator here.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numba
import numpy as np

from rankinite.binning import BinnedMatrix
from rankinite.distributed import Communicator, total
from rankinite.order.seeds import derive_seed, draw_without_replacement
from rankinite.trees._histogram_kernels import N_BINS, build_histogram
from rankinite.trees._partition_kernels import draw_rows, partition_rows
from rankinite.trees._split_kernels import N_SCRATCH, Limits, best_splits
from rankinite.trees.fixed_point import ROWS_AT_MOST, Packed
from rankinite.trees.tree import Tree

# Below this many rows the parts of a node are not worth a second thread.
ROWS_A_PART = 4096
# Parts of the search for splits, for each thread: they are not equally long.
SEARCHES_A_THREAD = 4


@dataclass(frozen=True)
class GrowthParameters:
    """How a tree grows; the names are those of the estimators.

    `min_curvature_leaf` and `l2_regularization` count in `w_unit`, in which w grows with the
    slope σ of the objective. Least squares has rows in the place of w.
    """

    max_leaf_nodes: int = 31
    max_depth: int | None = None
    min_samples_leaf: int = 20
    min_curvature_leaf: float = 0.0
    l2_regularization: float = 0.0
    split: str = "least_squares"
    row_fraction: float = 1.0
    feature_fraction: float = 1.0
    w_unit: float = 1.0

    @property
    def l2_of_steps(self) -> float:
        """What is added to Σw of a leaf."""
        return self.l2_regularization * self.w_unit

    def limits(self, root: np.ndarray, packed: Packed) -> Limits:
        """For the search in the histograms of a tree, of which that of the root is given.

        Rows count by their mass: one of `min_samples_leaf` is as much as rows have on average. So
        a few documents that matter may have a leaf of their own, and many that hardly do may not.
        """
        if self.split == "least_squares":
            return Limits(float(self.min_samples_leaf), self.l2_regularization)
        unit = self.w_unit * packed.w_scale
        # Every row has one bin of the first feature.
        cells, masses = root[0, :, :N_BINS].sum(axis=1).tolist()
        mean = masses / max(cells & ((1 << packed.count_bits) - 1), 1)
        least = max(self.min_samples_leaf * mean, self.min_curvature_leaf * unit)
        return Limits(least, self.l2_regularization * unit)


@dataclass(frozen=True)
class GrownTree:
    """A tree and where it put the training rows: leaf l holds ``rows[starts[l]:stops[l]]``."""

    tree: Tree
    rows: np.ndarray
    starts: np.ndarray
    stops: np.ndarray


@dataclass
class _Node:
    """A leaf so far: its rows ``[start, stop)``, and the best split of it, if there is one."""

    leaf: int
    start: int
    stop: int
    # Over all workers; the rows above are this worker's.
    count: int
    parent: int = -1
    is_left: bool = False
    depth: int = 0
    histogram: np.ndarray | None = None
    gain: float = 0.0
    feature: int = -1
    bin: int = 0
    missing_left: bool = False

    @property
    def number(self) -> int:
        """Where the node stands in the tree: from the split that made it, and the side."""
        return 2 * (self.parent + 1) + self.is_left


class Grower:
    """Grows trees on one binned matrix; scratch memory is kept between trees.

    Parameters
    ----------
    binned : BinnedMatrix
        This worker's rows.
    parameters : GrowthParameters
    keys : ndarray of uint64, shape (n_rows,)
        The rows' own random numbers (`rankinite.order.row_keys`).
    n_rows : int
        Number of rows over all workers.
    communicator : Communicator
    """

    def __init__(
        self,
        binned: BinnedMatrix,
        parameters: GrowthParameters,
        keys: np.ndarray,
        n_rows: int,
        communicator: Communicator,
    ) -> None:
        self.binned = binned
        self.parameters = parameters
        self.keys = keys
        self.n_rows = n_rows
        self.communicator = communicator
        self._n_bins = binned.mapper.n_bins
        self._words = binned.blocks.view(np.uint64)
        self._left = np.empty(binned.n_rows, np.uint32)
        self._right = np.empty(binned.n_rows, np.uint32)
        self._cells = np.empty(binned.n_rows, np.int64)
        n_blocks, _, width = binned.blocks.shape
        n_channels = 2 if parameters.split == "newton" else 1
        n_threads = numba.get_num_threads()
        self._shape = (n_blocks, n_channels, width * N_BINS)
        self._partial = np.empty((n_threads, *self._shape), np.int64)
        self._scratch = np.empty((SEARCHES_A_THREAD * n_threads, N_SCRATCH, N_BINS + 1))
        self._free: list[np.ndarray] = []
        n_features = binned.n_features
        self._allowed = np.ones((2, n_features), np.bool_)
        self._gains = np.empty((2, n_features))
        self._bins = np.empty((2, n_features), np.uint8)
        self._missing_left = np.empty((2, n_features), np.bool_)
        self._features = np.empty(2, np.int64)

    def grow(self, packed: Packed, seed: np.uint64, drawn: np.ndarray | None = None) -> GrownTree:
        """Grow a tree on the packed gradients.

        Parameters
        ----------
        packed : Packed
            The cells of this worker's rows.
        seed : uint64
            Of this tree; nodes derive theirs from it.
        drawn : ndarray of uint32, optional
            Those of this worker's rows that the tree is to see, ascending; all by default. It is
            overwritten.
        """
        rows, n_rows = drawn, self.n_rows
        if rows is None:
            rows = np.arange(self.binned.n_rows, dtype=np.uint32)
        else:
            n_rows = total(len(rows), self.communicator)
        root = _Node(leaf=0, start=0, stop=len(rows), count=n_rows)
        leaves = [root]
        splits: list[_Node] = []
        left: list[int] = []
        right: list[int] = []
        heap: list[tuple[float, int]] = []
        self._open([root], rows, packed, seed, heap)
        while heap and len(leaves) < self.parameters.max_leaf_nodes:
            _, leaf = heapq.heappop(heap)
            node = leaves[leaf]
            if node.parent >= 0:
                (left if node.is_left else right)[node.parent] = len(splits)
            left.append(~leaf)
            right.append(~len(leaves))
            children = self._divide(node, rows, parent=len(splits), new_leaf=len(leaves))
            splits.append(node)
            leaves[leaf] = children[0]
            leaves.append(children[1])
            if len(leaves) < self.parameters.max_leaf_nodes:
                self._open_children(node, *children, rows, packed, seed, heap)
            self._release(node)
        for node in leaves:
            self._release(node)
        return GrownTree(
            self._tree(splits, left, right, leaves, packed),
            rows,
            np.array([node.start for node in leaves], np.int64),
            np.array([node.stop for node in leaves], np.int64),
        )

    def _open(
        self,
        nodes: list[_Node],
        rows: np.ndarray,
        packed: Packed,
        seed: np.uint64,
        heap: list[tuple[float, int]],
    ) -> None:
        """Sum the histogram of a node, or of two siblings, over their rows, and find their splits.

        Of siblings the smaller one comes first; the larger may hold its parent's histogram, from
        which the smaller one's is then taken away.
        """
        subtract = False
        for node in nodes:
            subtract = node.histogram is not None
            if node.histogram is None:
                node.histogram = self._histogram(self._drawn(node, rows, seed), packed)
        self._find_splits(nodes, subtract, packed, seed)
        for node in nodes:
            if node.gain > 0.0:
                # Equal gains: the leaf with the smaller number first.
                heapq.heappush(heap, (-node.gain, node.leaf))
            else:
                self._release(node)

    def _open_children(
        self,
        node: _Node,
        left: _Node,
        right: _Node,
        rows: np.ndarray,
        packed: Packed,
        seed: np.uint64,
        heap: list[tuple[float, int]],
    ) -> None:
        """Open both children of a node that was split, if either may be split again."""
        small, large = (left, right) if left.count <= right.count else (right, left)
        if not self._may_split(large):
            return
        if self.parameters.row_fraction == 1.0:
            large.histogram, node.histogram = node.histogram, None
        self._open([small, large], rows, packed, seed, heap)

    def _drawn(self, node: _Node, rows: np.ndarray, seed: np.uint64) -> np.ndarray:
        """The rows that choose the node's split: all, or those drawn for it."""
        own = rows[node.start : node.stop]
        fraction = self.parameters.row_fraction
        if fraction == 1.0:
            return own
        scratch = self._left[: len(own)]
        node_seed = derive_seed(seed, node.number, "rows")
        limit = share_of_words(fraction)
        return scratch[: draw_rows(own, self.keys, node_seed, limit, scratch)]

    def _histogram(self, rows: np.ndarray, packed: Packed) -> np.ndarray:
        histogram = self._free.pop() if self._free else np.empty(self._shape, np.int64)
        n_parts = self._n_parts(len(rows))
        build_histogram(
            self._words,
            rows,
            packed.cells,
            packed.w_bits,
            packed.cell_count_bits,
            packed.count_bits,
            ROWS_AT_MOST,
            self._cells,
            histogram[np.newaxis] if n_parts == 1 else self._partial[:n_parts],
            histogram,
        )
        return self.communicator.sum(histogram)

    def _n_parts(self, n_rows: int) -> int:
        """How many parts of a node's rows are worth working on at the same time."""
        return max(1, min(len(self._partial), n_rows // ROWS_A_PART))

    def _release(self, node: _Node) -> None:
        if node.histogram is not None:
            self._free.append(node.histogram)
            node.histogram = None

    def _find_splits(
        self, nodes: list[_Node], subtract: bool, packed: Packed, seed: np.uint64
    ) -> None:
        root = nodes[0].histogram
        if nodes[0].parent < 0 and root is not None:
            self._limits = self.parameters.limits(root, packed)
        for k, node in enumerate(nodes):
            self._allow_features(k, node, seed)
        best_splits(
            nodes[0].histogram,
            nodes[-1].histogram,
            len(nodes),
            subtract,
            packed.count_bits,
            self._n_bins,
            self._allowed,
            self._limits,
            self._scratch,
            self._gains,
            self._bins,
            self._missing_left,
            self._features,
        )
        for k, node in enumerate(nodes):
            best = node.feature = int(self._features[k])
            node.gain = float(self._gains[k, best])
            node.bin = int(self._bins[k, best])
            node.missing_left = bool(self._missing_left[k, best])

    def _may_split(self, node: _Node) -> bool:
        """Whether a node has rows enough for two leaves, as far as counting tells, and may."""
        deepest = self.parameters.max_depth
        by_count = self.parameters.split == "least_squares"
        fewest = self.parameters.min_samples_leaf if by_count else 1
        return node.count >= 2 * fewest and (deepest is None or node.depth < deepest)

    def _allow_features(self, k: int, node: _Node, seed: np.uint64) -> None:
        """Draw the features that may split a node; none if it must stay a leaf."""
        fraction = self.parameters.feature_fraction
        n_features = self.binned.n_features
        may_split = self._may_split(node)
        self._allowed[k] = may_split and fraction == 1.0
        if may_split and fraction < 1.0:
            n_drawn = max(1, round(fraction * n_features))
            node_seed = derive_seed(seed, node.number, "features")
            self._allowed[k, draw_without_replacement(n_features, n_drawn, node_seed)] = True

    def _divide(
        self, node: _Node, rows: np.ndarray, parent: int, new_leaf: int
    ) -> tuple[_Node, _Node]:
        block, column = divmod(node.feature, self.binned.blocks.shape[2])
        own = rows[node.start : node.stop]
        n_left = partition_rows(
            self.binned.blocks[block],
            column,
            node.bin,
            node.missing_left,
            own,
            self._n_parts(len(own)),
            self._left,
            self._right,
        )
        count_left = total(n_left, self.communicator)
        middle, depth = node.start + n_left, node.depth + 1
        return (
            _Node(node.leaf, node.start, middle, count_left, parent, True, depth),
            _Node(new_leaf, middle, node.stop, node.count - count_left, parent, False, depth),
        )

    def _tree(
        self,
        splits: list[_Node],
        left: list[int],
        right: list[int],
        leaves: list[_Node],
        packed: Packed,
    ) -> Tree:
        edges = self.binned.mapper.feature_edges
        n_bins = self._n_bins
        # A split at the last bin divides missing values from all others: any x ≤ +inf goes left.
        thresholds = [
            edges(node.feature)[node.bin] if node.bin < n_bins[node.feature] - 1 else np.inf
            for node in splits
        ]
        return Tree(
            feature=np.array([node.feature for node in splits], np.int32),
            threshold=np.array(thresholds, np.float64),
            bin=np.array([node.bin for node in splits], np.uint8),
            missing_left=np.array([node.missing_left for node in splits], np.bool_),
            left=np.array(left, np.int32),
            right=np.array(right, np.int32),
            gain=_unscaled(np.array([node.gain for node in splits]), packed),
            value=np.zeros(len(leaves)),
            count=np.array([node.count for node in leaves], np.int64),
        )


def share_of_words(fraction: float) -> np.uint64:
    """The number below which this share of all 64-bit words lies."""
    return np.uint64(min(fraction * 2.0**64, 2.0**64 - 2048))


def _unscaled(gains: np.ndarray, packed: Packed) -> np.ndarray:
    """Gains (Σλ)² / n, or (Σλ)² / Σw, back from the scales of the integers.

    The scales are powers of two whose squares may be out of range, so their exponents are added.
    """
    lam_exponent = math.frexp(packed.lam_scale)[1] - 1
    w_exponent = math.frexp(packed.w_scale)[1] - 1
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(gains, w_exponent - 2 * lam_exponent)
