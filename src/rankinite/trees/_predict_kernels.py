"""Kernels that add the values of trees to scores, tree after tree.

Several sums can be taken in one pass over the documents, which become codes once for all of them:
sum k is that of the trees ``bounds[k, 0]`` to ``bounds[k, 1]`` of one layout.
"""

import numpy as np
from numba import prange

from rankinite._numba import kernel, parallel_kernel
from rankinite.binning._binning_kernels import BLOCK, MISSING_BIN
from rankinite.trees._coding_kernels import code_bins, code_features
from rankinite.trees._layout_kernels import PAIR
from rankinite.trees._vector_kernels import (
    both_sides,
    cleared,
    filled,
    prefetch,
    store_bytes,
    store_lowest_bits,
    where_any,
)

# Documents that are scored together, side by side in vectors.
WIDE, NARROW = 128, 16
# Up to so many documents are scored by narrow vectors, one after the other.
FEW = 48
# Documents that walk down a tree side by side.
LANES = 32
# Nodes in a line of the cache.
LINE = 8


def _plane_scorer(width, sides):
    """The kernel that scores up to `width` documents by planes.

    They lie in a vector `sides` times, and each side is cleared by clears of its own.
    """
    lanes, steps_a_pair = width * sides, PAIR // sides

    @kernel()
    def add_planes(codes, layout, first_tree, last_tree, scores):
        """Add trees to the scores of up to `width` documents.

        Each tree has a bit a leaf, eight in a plane; every test clears the leaves that a document
        cannot reach; the first leaf that stays alive is the one it falls into (QuickScorer,
        Lucchese et al. 2015; side by side in vectors: RapidScorer, Ye et al. 2018). Where trees
        have a bit a split, at most two planes of these are a pattern, and a table has its leaf.
        """
        clears, rows = layout.clears, layout.clear_rows
        place_values, leaf_of_pattern = layout.place_values, layout.leaf_of_pattern
        n_rows = np.uint64(scores.shape[0])
        leaf = np.empty(width, np.uint16)
        # Unsigned, so that no index can count from the end, and all planes in one go.
        plane = np.uint64(layout.plane_starts[first_tree])
        for tree in range(np.uint64(first_tree), np.uint64(last_tree)):
            bits = filled(np.uint8(0), width)
            which = filled(np.uint8(0), width)
            number = np.uint8(0)
            last_plane = np.uint64(layout.plane_starts[tree + np.uint64(1)])
            first_pattern = np.uint64(layout.pattern_starts[tree])
            last_pattern = np.uint64(layout.pattern_starts[tree + np.uint64(1)])
            while plane < last_plane:
                alive = filled(np.uint8(255), lanes)
                first = layout.plane_offsets[plane] * steps_a_pair
                last = layout.plane_offsets[plane + np.uint64(1)] * steps_a_pair
                for i in range(first, last):
                    alive = cleared(alive, codes, clears, rows, i, sides)
                plane += np.uint64(1)
                if last_pattern > first_pattern:
                    which, bits = bits, both_sides(alive, sides)
                else:
                    # The first plane with a leaf alive stays.
                    which = where_any(bits, which, filled(number, width))
                    bits = where_any(bits, bits, both_sides(alive, sides))
                    number = np.uint8(number + 1)
            first_leaf = np.uint64(layout.leaf_offsets[tree])
            if last_pattern > first_pattern:
                mask = last_pattern - first_pattern - np.uint64(1)
                if mask > np.uint64(255):
                    store_bytes(which, bits, leaf)
                else:
                    store_bytes(bits, bits, leaf)
                for row in range(n_rows):
                    pattern = first_pattern + (np.uint64(leaf[row]) & mask)
                    own_leaf = first_leaf + np.uint64(leaf_of_pattern[pattern])
                    scores[row] += place_values[own_leaf]
            else:
                store_lowest_bits(which, bits, leaf)
                for row in range(n_rows):
                    scores[row] += place_values[first_leaf + np.uint64(leaf[row])]

    return add_planes


add_planes_wide = _plane_scorer(WIDE, 1)
add_planes_narrow = _plane_scorer(NARROW, 2)


@kernel()
def add_walks(codes, layout, first_tree, last_tree, scores):
    """Add trees to the scores of documents that walk down side by side, without branches.

    The steps of one document wait for memory and for each other; those of many overlap. All of
    them step until none moves, for a leaf leads to itself.
    """
    node_starts = layout.node_starts
    nodes = layout.nodes
    place = np.empty(LANES, np.uint64)
    for tree in range(first_tree, last_tree):
        start, stop = node_starts[tree], node_starts[tree + 1]
        if tree + 2 < node_starts.shape[0]:
            for i in range(stop, node_starts[tree + 2], LINE):
                prefetch(nodes, i)
        own_nodes = nodes[start:stop]
        own_values = layout.node_values[start:stop]
        for first in range(0, scores.shape[0], LANES):
            own_codes = codes[:, first:]
            own = scores[first : first + LANES]
            for lane in range(own.shape[0]):
                place[lane] = np.uint64(0)
            moved = np.uint64(1)
            while moved != 0:
                moved = np.uint64(0)
                for lane in range(own.shape[0]):
                    here = place[lane]
                    node = own_nodes[here]
                    code = own_codes[node & np.uint64(0xFFFFFF), np.uint64(lane)]
                    above = np.uint8(np.uint64(code) - (node >> np.uint64(24)))
                    right = above < np.uint8(node >> np.uint64(32))
                    there = (node >> np.uint64(40)) + np.uint64(right)
                    moved |= here ^ there
                    place[lane] = there
            for lane in range(own.shape[0]):
                own[lane] += own_values[place[lane]]


@kernel()
def score_features(X, first_row, last_row, columns, layout, bounds, scores):
    """Add trees to the scores of some feature rows, on the calling thread.

    Parameters
    ----------
    X : ndarray of float32 or float64, shape (n_rows, n_features)
    bounds : ndarray of int64, shape (n_sums, 2)
    scores : ndarray of float64, shape (n_sums, n_rows)
    """
    n_columns = columns.features.shape[0]
    buffer = np.empty(n_columns * WIDE, np.uint8)
    first = first_row
    while first < last_row:
        width = NARROW if last_row - first <= FEW else WIDE
        last = min(first + width, last_row)
        n_rows = last - first
        codes = buffer[: n_columns * width].reshape((n_columns, width))
        code_features(X[first:last], columns, codes)
        for k in range(bounds.shape[0]):
            first_tree, last_tree = bounds[k, 0], bounds[k, 1]
            own = scores[k, first:last]
            if n_rows <= layout.walk_rows:
                add_walks(codes, layout, first_tree, last_tree, own)
            elif width == NARROW:
                add_planes_narrow(codes, layout, first_tree, last_tree, own)
            else:
                add_planes_wide(codes, layout, first_tree, last_tree, own)
        first = last


@kernel()
def score_bins(blocks, used_blocks, first_row, last_row, layout, bounds, scores):
    """Add trees to the scores of some binned rows, on the calling thread.

    The codes of a row are its bins in `used_blocks`; bounds and scores as in `score_features`.
    """
    codes = np.empty((used_blocks.shape[0] * BLOCK, WIDE), np.uint8)
    for first in range(first_row, last_row, WIDE):
        last = min(first + WIDE, last_row)
        code_bins(blocks, used_blocks, first, last - first, codes)
        for k in range(bounds.shape[0]):
            first_tree, last_tree = bounds[k, 0], bounds[k, 1]
            own = scores[k, first:last]
            if last - first <= layout.walk_rows:
                add_walks(codes, layout, first_tree, last_tree, own)
            else:
                add_planes_wide(codes, layout, first_tree, last_tree, own)


@parallel_kernel()
def walk_bins(blocks, feature, bins, missing_left, left, right, value, scores):
    """Add one tree's value to the scores of binned rows, each walking by itself."""
    root = 0 if feature.shape[0] > 0 else -1
    for row in prange(scores.shape[0]):
        child = root
        while child >= 0:
            f = feature[child]
            b = blocks[f // BLOCK, row, f % BLOCK]
            goes_left = missing_left[child] if b == MISSING_BIN else b <= bins[child]
            child = left[child] if goes_left else right[child]
        scores[row] += value[~child]


@parallel_kernel()
def add_leaf_values(leaf_of, value, scores):
    """Add the value of its leaf to the score of each row."""
    for row in prange(scores.shape[0]):
        scores[row] += value[leaf_of[row]]
