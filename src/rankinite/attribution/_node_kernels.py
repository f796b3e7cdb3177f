"""The kernel that brings all nodes of trees, inner ones and leaves, into one order."""

from rankinite._numba import kernel


@kernel()
def describe_nodes(
    left, right, node_offsets, leaf_offsets, parent, depth, on_left, on_right, value, count, cover
):
    """Write where every node stands, and the sums over the leaves below each inner node.

    In each tree the inner nodes come first, then the leaves; `value`, `count` and `cover` of the
    leaves are given. All arrays from `parent` on have one element a node, and −1 is no node.
    """
    for tree in range(node_offsets.shape[0] - 1):
        first, last = node_offsets[tree], node_offsets[tree + 1]
        n_nodes = last - first
        start = first + leaf_offsets[tree]
        parent[start] = -1
        depth[start] = 0
        for node in range(n_nodes):
            row = start + node
            a, b = left[first + node], right[first + node]
            on_left[row] = a if a >= 0 else n_nodes + ~a
            on_right[row] = b if b >= 0 else n_nodes + ~b
            for child in (on_left[row], on_right[row]):
                parent[start + child] = node
                depth[start + child] = depth[row] + 1
        for leaf in range(n_nodes + 1):
            on_left[start + n_nodes + leaf] = on_right[start + n_nodes + leaf] = -1
        for row in range(start + n_nodes - 1, start - 1, -1):
            a, b = start + on_left[row], start + on_right[row]
            count[row] = count[a] + count[b]
            cover[row] = cover[a] + cover[b]
            share = cover[a] / cover[row] if cover[row] > 0 else 0.5
            value[row] = value[b] + share * (value[a] - value[b])
