"""Histograms, splits, growth and prediction by plain loops over rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tests.naive.lambdas import mix

MISSING = 255


def histogram(bins: np.ndarray, rows: Sequence[int], values: Sequence[int]) -> list[list[int]]:
    """Σ value of the rows in every bin, for each column of `bins` (n_rows, n_features)."""
    sums = [[0] * 256 for _ in range(bins.shape[1])]
    for row in rows:
        for feature, b in enumerate(bins[row]):
            sums[feature][b] += int(values[row])
    return sums


@dataclass(frozen=True)
class Split:
    gain: float
    feature: int
    bin: int
    missing_left: bool

    def goes_left(self, row_of_bins: np.ndarray) -> bool:
        b = row_of_bins[self.feature]
        return self.missing_left if b == MISSING else bool(b <= self.bin)


@dataclass(frozen=True)
class Problem:
    """What a tree is grown on: bins, integer λ, and the integer mass of each row.

    The mass is at least 1, and 1 for least squares. `l2` is in its unit, and so is `least`, the
    least mass of a leaf.
    """

    bins: np.ndarray
    n_bins: Sequence[int]
    lam: Sequence[int]
    mass: Sequence[int]
    least: float = 1.0
    l2: float = 0.0

    def mass_of(self, rows: Sequence[int]) -> float:
        """Σ mass: the number of rows, or Σw."""
        return float(_sum_of(self.mass)(rows))


def gain(
    problem: Problem, left: Sequence[int], right: Sequence[int], at_once: bool = False
) -> float:
    """Fall of the loss: difference of the means, squared, times the harmonic mass.

    In the arrangement of the kernel, so that splits that are equal there are equal here: that of
    levels (`at_once`) divides once.
    """
    sum_of = _sum_of(problem.lam)
    l2 = problem.l2
    mass = problem.mass_of([*left, *right]) + l2
    mass_left, mass_right = problem.mass_of(left) + l2, problem.mass_of(right) + l2
    won, lost = float(sum_of(left)), float(sum_of(right))
    difference = won * mass_right - lost * mass_left
    held_back = l2 * (won * won * mass_right + lost * lost * mass_left)
    if at_once:
        return (difference * difference - held_back) / (mass_left * mass_right * mass)
    return (difference * difference - held_back) / (mass_left * mass_right) / mass


def _sum_of(values: Sequence[int]) -> Callable[[Sequence[int]], int]:
    return lambda rows: sum(map(values.__getitem__, rows))


def splits_of(problem: Problem, rows: Sequence[int], feature: int) -> list[Split]:
    """Every permitted split by one feature: missing rows right first, then from the lowest bin."""
    n_missing = sum(problem.bins[row, feature] == MISSING for row in rows)
    found = []
    for missing_left in (False, True) if n_missing else (False,):
        for b in range(problem.n_bins[feature]):
            split = Split(0.0, feature, b, missing_left)
            left = [row for row in rows if split.goes_left(problem.bins[row])]
            right = [row for row in rows if not split.goes_left(problem.bins[row])]
            if not left or not right:
                continue
            mass_left, mass_right = problem.mass_of(left), problem.mass_of(right)
            if min(mass_left, mass_right) < problem.least:
                continue
            direction = missing_left if n_missing else mass_left > mass_right
            found.append(Split(gain(problem, left, right), feature, b, direction))
    return found


def best_split(
    problem: Problem, rows: Sequence[int], features: Sequence[int] | None = None
) -> Split | None:
    """The first of the largest gain, in the order of the features; None if nothing is won."""
    best = None
    for feature in range(problem.bins.shape[1]) if features is None else sorted(features):
        for split in splits_of(problem, rows, feature):
            if split.gain > (0.0 if best is None else best.gain):
                best = split
    return best


@dataclass
class NaiveTree:
    """Splits in the order they were made; a child c < 0 is the leaf ~c."""

    splits: list[Split] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    leaf_rows: list[list[int]] = field(default_factory=list)

    def leaf_of(self, row_of_bins: np.ndarray) -> int:
        """Walk from the root."""
        child = 0 if self.splits else -1
        while child >= 0:
            goes_left = self.splits[child].goes_left(row_of_bins)
            child = self.left[child] if goes_left else self.right[child]
        return ~child


def grow(
    problem: Problem,
    max_leaf_nodes: int,
    rows_of: Callable[[int, list[int]], list[int]] = lambda number, rows: rows,
    features_of: Callable[[int], Sequence[int] | None] = lambda number: None,
) -> NaiveTree:
    """Split the leaf whose best split wins most, found anew for all leaves after every split.

    The left child keeps the leaf's number. `rows_of` and `features_of` draw what a node sees;
    a node's number is 2·(index of the split that made it + 1), plus one on the left side, 0 for
    the root.
    """
    tree = NaiveTree(leaf_rows=[list(range(len(problem.bins)))])
    numbers = [0]
    while len(tree.leaf_rows) < max_leaf_nodes:
        candidates = [
            (best_split(problem, rows_of(number, rows), features_of(number)), leaf)
            for leaf, (number, rows) in enumerate(zip(numbers, tree.leaf_rows, strict=True))
            if len(rows) > 1
        ]
        possible = [(split, leaf) for split, leaf in candidates if split is not None]
        if not possible:
            break
        split, leaf = max(possible, key=lambda found: (found[0].gain, -found[1]))
        _apply(tree, numbers, split, leaf, problem.bins)
    return tree


NODES_A_GROUP = 8


def common_gains(problem: Problem, nodes: Sequence[Sequence[int]], split: Split) -> list[float]:
    """What a split gains in each of some nodes; 0 where a side would be too light."""
    found = []
    for rows in nodes:
        left = [row for row in rows if split.goes_left(problem.bins[row])]
        right = [row for row in rows if not split.goes_left(problem.bins[row])]
        lighter = min(problem.mass_of(left), problem.mass_of(right))
        suits = left and right and lighter >= problem.least
        found.append(max(gain(problem, left, right, at_once=True), 0.0) if suits else 0.0)
    return found


def common_split(
    problem: Problem, nodes: Sequence[Sequence[int]], features: Sequence[int]
) -> Split | None:
    """The first split of the largest sum of gains, added up in groups of nodes."""
    rows = [row for own in nodes for row in own]
    best = None
    for feature in features:
        n_missing = sum(problem.bins[row, feature] == MISSING for row in rows)
        for missing_left in (False, True) if n_missing else (False,):
            for b in range(problem.n_bins[feature]):
                split = Split(0.0, feature, b, missing_left)
                gains = common_gains(problem, nodes, split)
                groups = range(0, len(gains), NODES_A_GROUP)
                total = sum(sum(gains[first : first + NODES_A_GROUP]) for first in groups)
                if total > (0.0 if best is None else best.gain):
                    if not n_missing:
                        on_left = [row for row in rows if problem.bins[row, feature] <= b]
                        missing_left = 2 * problem.mass_of(on_left) > problem.mass_of(rows)
                    best = Split(total, feature, b, missing_left)
    return best


def grow_symmetric(
    problem: Problem,
    max_leaf_nodes: int,
    rows_of: Callable[[int, list[int]], list[int]] = lambda number, rows: rows,
    features_of: Callable[[int], Sequence[int] | None] = lambda level: None,
) -> NaiveTree:
    """Split all leaves by one split, level after level, those that it suits.

    Of more than there is room for those that gain most. A leaf too light for two sides takes no
    part. `features_of` draws by level.
    """
    tree = NaiveTree(leaf_rows=[list(range(len(problem.bins)))])
    numbers, waiting = [0], [0]
    for level in itertools.count():
        nodes = [rows_of(numbers[leaf], tree.leaf_rows[leaf]) for leaf in waiting]
        features = features_of(level)
        features = range(problem.bins.shape[1]) if features is None else sorted(features)
        split = common_split(problem, nodes, features)
        room = max_leaf_nodes - len(tree.leaf_rows)
        if split is None or room <= 0:
            return tree
        gains = common_gains(problem, nodes, split)
        first = sorted(range(len(gains)), key=lambda k: (-gains[k], k))[:room]
        chosen = {k for k in first if gains[k] > 0.0}
        following = []
        for k, leaf in enumerate(waiting):
            if k in chosen:
                _apply(tree, numbers, replace(split, gain=gains[k]), leaf, problem.bins)
                following += [leaf, len(tree.leaf_rows) - 1]
            elif problem.mass_of(nodes[k]) >= 2 * problem.least:
                following.append(leaf)
        waiting = following
    return None


def _apply(tree: NaiveTree, numbers: list[int], split: Split, leaf: int, bins: np.ndarray) -> None:
    this, new_leaf = len(tree.splits), len(tree.leaf_rows)
    for children in (tree.left, tree.right):
        children[:] = [this if child == ~leaf else child for child in children]
    tree.splits.append(split)
    tree.left.append(~leaf)
    tree.right.append(~new_leaf)
    rows = tree.leaf_rows[leaf]
    tree.leaf_rows[leaf] = [row for row in rows if split.goes_left(bins[row])]
    tree.leaf_rows.append([row for row in rows if not split.goes_left(bins[row])])
    numbers[leaf] = 2 * (this + 1) + 1
    numbers.append(2 * (this + 1))


def leaf_of(tree: Any, bins: Sequence[int]) -> int:
    """The leaf to which a row of bins walks."""
    child = 0 if len(tree.feature) else ~0
    while child >= 0:
        b = bins[tree.feature[child]]
        goes_left = tree.missing_left[child] if b == MISSING else b <= tree.bin[child]
        child = tree.left[child] if goes_left else tree.right[child]
    return ~child


def draw_rows(rows: Sequence[int], keys: Sequence[int], seed: int, fraction: float) -> list[int]:
    """Rows whose own random number, as a share of 2^64, is below `fraction`."""
    return [row for row in rows if mix(int(keys[row]) ^ int(seed)) < fraction * 2.0**64]


def score(forest: Any, x: Sequence[float], start: float = 0.0, n_trees: int | None = None) -> float:
    """Walk down the first trees one after the other and add up what their leaves say."""
    total = start
    for tree in range(len(forest.node_offsets) - 1 if n_trees is None else n_trees):
        nodes, leaves = int(forest.node_offsets[tree]), int(forest.leaf_offsets[tree])
        child = 0 if forest.node_offsets[tree + 1] > nodes else -1
        while child >= 0:
            node = nodes + child
            value = float(x[forest.feature[node]])
            missing = value != value
            goes_left = forest.missing_left[node] if missing else value <= forest.threshold[node]
            child = int(forest.left[node] if goes_left else forest.right[node])
        total += float(forest.value[leaves + ~child])
    return total


def code(thresholds: Sequence[float], x: float) -> int:
    """How many thresholds lie below x; 255 for a missing value."""
    return MISSING if x != x else sum(threshold < x for threshold in thresholds)
