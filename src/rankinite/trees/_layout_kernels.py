"""Kernels that turn trees into what scoring reads: clears of leaves, and nodes of eight bytes.

In both, a node looks at one row of codes and sends a document to the right when
``code − (rank + 1)``, in bytes that wrap around, is below a length; code 255 is "missing".

A tree of few different splits, as symmetric trees are, takes a clear for each of these instead: a
bit of it stays with the documents that go left, and a table tells the leaf of each pattern of bits.
"""

import numpy as np

from rankinite._numba import kernel
from rankinite.trees._coding_kernels import MISSING_CODE

# Clears that are made at once for few documents; planes have a multiple of them.
PAIR = 2
# A clear that leaves all leaves alive.
NO_CLEAR = 255 << 16


@kernel()
def number_splits(column, rank, missing_left, node_offsets, most, split_of, n_splits):
    """Number the different splits of every tree, in the order in which its nodes have them.

    Parameters
    ----------
    column, rank, missing_left, node_offsets
        Of `layout.Splits`.
    most : ndarray of int64, shape (n_trees,)
        A tree that has more different splits than these is left to its nodes.
    split_of : ndarray of int64, shape (n_nodes,)
        Output: the number of every node's split.
    n_splits : ndarray of int64, shape (n_trees,)
        Output: how many; 0 for a tree that is left to its nodes.
    """
    for tree in range(node_offsets.shape[0] - 1):
        nodes = node_offsets[tree]
        first = np.empty(most[tree], np.int64)
        n = 0
        for node in range(nodes, node_offsets[tree + 1]):
            k = 0
            while k < n and not (
                column[first[k]] == column[node]
                and rank[first[k]] == rank[node]
                and missing_left[first[k]] == missing_left[node]
            ):
                k += 1
            if k == n:
                if n == most[tree]:
                    n = 0
                    break
                first[n] = node
                n += 1
            split_of[node] = k
        n_splits[tree] = n


@kernel()
def write_leaves_of_patterns(left, right, split_of, node_offsets, pattern_starts, leaf_of_pattern):
    """Write where every pattern of a tree's splits ends: bit k says that split k sends left."""
    for tree in range(node_offsets.shape[0] - 1):
        nodes, start = node_offsets[tree], pattern_starts[tree]
        for pattern in range(pattern_starts[tree + 1] - start):
            child = 0
            while child >= 0:
                node = nodes + child
                child = left[node] if pattern >> split_of[node] & 1 else right[node]
            leaf_of_pattern[start + pattern] = ~child


@kernel()
def number_leaves(
    left,
    right,
    node_offsets,
    leaf_offsets,
    plane_starts,
    n_splits,
    begin,
    extent,
    leaf_order,
    n_clears,
):
    """Give the leaves of every tree places in which the smaller side of a node comes first.

    A clear then removes few leaves. `begin` is the place of the first leaf of a node's first
    side; `extent` the number of leaves there, negative if it is the right side; `leaf_order[p]`
    the leaf at place p; `n_clears` the number of nodes that clear leaves of a plane of eight. Of
    trees with splits in common, the leaves keep their places, and bits are those of the splits.
    """
    size = np.empty(left.shape[0], np.int64)
    for tree in range(node_offsets.shape[0] - 1):
        nodes, leaves = node_offsets[tree], leaf_offsets[tree]
        n_nodes = node_offsets[tree + 1] - nodes
        if n_splits[tree] > 0:
            for leaf in range(leaves, leaf_offsets[tree + 1]):
                leaf_order[leaf] = leaf
            for plane in range(plane_starts[tree], plane_starts[tree + 1]):
                n_clears[plane] = min(8, n_splits[tree] - 8 * (plane - plane_starts[tree]))
            continue
        for node in range(nodes + n_nodes - 1, nodes - 1, -1):
            one, other = left[node], right[node]
            size[node] = size[nodes + one] if one >= 0 else 1
            size[node] += size[nodes + other] if other >= 0 else 1
        if n_nodes == 0:
            leaf_order[leaves] = leaves
        else:
            begin[nodes] = 0
        for node in range(nodes, nodes + n_nodes):
            first, second = left[node], right[node]
            n_first = size[nodes + first] if first >= 0 else 1
            n_second = size[nodes + second] if second >= 0 else 1
            if n_first <= n_second:
                extent[node] = n_first
            else:
                first, second, n_first = second, first, n_second
                extent[node] = -n_first
            place = begin[node]
            for child, at in ((first, place), (second, place + n_first)):
                if child >= 0:
                    begin[nodes + child] = at
                else:
                    leaf_order[leaves + at] = leaves + ~child
            for plane in range(place // 8, (place + n_first - 1) // 8 + 1):
                n_clears[plane_starts[tree] + plane] += 1


@kernel()
def write_clears(
    column,
    rank,
    missing_left,
    begin,
    extent,
    split_of,
    n_splits,
    node_offsets,
    plane_starts,
    next_clear,
    clears,
    rows,
):
    """Write every node's clears, plane after plane, in the form of `_vector_kernels.cleared`.

    A document that does not go to the first side of a node loses the leaves there, or the bit of
    its split. What is left over of `clears` keeps its value.
    """
    for tree in range(node_offsets.shape[0] - 1):
        n_written = 0
        for node in range(node_offsets[tree], node_offsets[tree + 1]):
            if n_splits[tree] > 0:
                if split_of[node] < n_written:
                    continue
                begin[node], extent[node] = n_written, 1
                n_written += 1
            if extent[node] > 0:
                low = rank[node] + 1
                high = MISSING_CODE - 1 if missing_left[node] else MISSING_CODE
            else:
                low = -1 if missing_left[node] else 0
                high = np.int64(rank[node])
            first = np.int64(begin[node])
            last = first + abs(extent[node]) - 1
            for plane in range(first // 8, last // 8 + 1):
                lowest = max(first - 8 * plane, 0)
                highest = min(last - 8 * plane, 7)
                lost = (2 << highest) - (1 << lowest)
                # If no code clears anything, the clear must leave all leaves alive.
                kept = 255 - lost if low <= high else 255
                where = next_clear[plane_starts[tree] + plane]
                next_clear[plane_starts[tree] + plane] = where + 1
                test = ((high - 128) & 255) | ((high - low - 128) & 255) << 8 | kept << 16
                clears[where] = np.uint32(test)
                rows[where] = np.uint32(16 * column[node])


@kernel()
def write_nodes(
    column, rank, missing_left, left, right, value, node_offsets, leaf_offsets, nodes, node_values
):
    """Write every tree's nodes and leaves level by level, siblings side by side, right one second.

    A record holds, from the lowest bit up, the row of codes (24 bits), rank + 1 and the length of
    the range that goes right (8 each), and the place of the left child in the tree (24). A leaf
    is its own left child, and nothing goes right.
    """
    for tree in range(node_offsets.shape[0] - 1):
        first_node, first_leaf = node_offsets[tree], leaf_offsets[tree]
        start = first_node + first_leaf
        n_inner = node_offsets[tree + 1] - first_node
        queue = np.empty(2 * n_inner + 1, np.int64)
        queue[0] = 0 if n_inner > 0 else -1
        filled = 1
        for place in range(2 * n_inner + 1):
            child = queue[place]
            if child < 0:
                record = place << 40
                node_values[start + place] = value[first_leaf + ~child]
            else:
                node = first_node + child
                length = MISSING_CODE - rank[node] - (1 if missing_left[node] else 0)
                record = column[node] | (rank[node] + 1) << 24 | length << 32 | filled << 40
                queue[filled] = left[node]
                queue[filled + 1] = right[node]
                filled += 2
            nodes[start + place] = np.uint64(record)
