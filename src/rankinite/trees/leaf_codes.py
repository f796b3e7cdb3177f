"""The leaves of binned rows in a tree that has few different splits, as symmetric trees do.

At which of its L splits a row goes left is a number of L bits, and a table of 2^L entries tells the
leaf. So a row takes L looks at its bins, all of them at places that are known beforehand.
"""

from __future__ import annotations

import numpy as np

from rankinite.binning import BinnedMatrix
from rankinite.binning._binning_kernels import MISSING_BIN
from rankinite.trees._leaf_code_kernels import leaves_by_code
from rankinite.trees.tree import Tree

# A tree with more different splits would have too large a table.
MOST_SPLITS = 12


def leaves_by_splits(tree: Tree, binned: BinnedMatrix) -> np.ndarray | None:
    """The leaf of each row, of int32; None if the tree has too many different splits."""
    split_of, features, sides = _splits_of(tree)
    if not 0 < len(features) <= MOST_SPLITS:
        return None
    leaf_of = np.empty(binned.n_rows, np.int32)
    table = _leaves_of_codes(tree, split_of, 2 ** len(features))
    leaves_by_code(binned.blocks, features, sides, table, leaf_of)
    return leaf_of


def _splits_of(tree: Tree) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The split of every node, by its number, and of each the feature and the bit of every bin."""
    splits = np.stack([tree.feature.astype(np.int64), tree.bin, tree.missing_left])
    (features, bins, missing_left), split_of = np.unique(splits, axis=1, return_inverse=True)
    goes_left = np.arange(MISSING_BIN + 1) <= bins[:, np.newaxis]
    goes_left[:, MISSING_BIN] = missing_left
    bits = np.left_shift(1, np.arange(len(bins)))[:, np.newaxis]
    return split_of.ravel(), np.ascontiguousarray(features), (goes_left * bits).astype(np.uint16)


def _leaves_of_codes(tree: Tree, split_of: np.ndarray, n_codes: int) -> np.ndarray:
    """Where each code ends, when all of them go down the tree side by side."""
    codes = np.arange(n_codes)
    at = np.zeros(n_codes, np.int32)
    inside = codes
    while len(inside):
        nodes = at[inside]
        goes_left = codes[inside] >> split_of[nodes] & 1 == 1
        at[inside] = np.where(goes_left, tree.left[nodes], tree.right[nodes])
        inside = inside[at[inside] >= 0]
    return ~at
