"""Exact Shapley values of the features in a sum of trees, by integrals that are sums of few terms.

The game is that of path-dependent TreeSHAP (Lundberg, Erion, Lee 2018, *Consistent individualized
feature attribution for tree ensembles*): a document that walks down a tree follows its own values
at nodes of known features, and at others goes both ways, by the shares of the training rows.

Let each feature be known with probability t, and F(t) be the mean value of the tree. The Shapley
value of a feature is the integral of its partial derivative over t from 0 to 1 (Owen 1972,
*Multilinear extensions of games*). For a leaf this is a polynomial in t, whose degree is one below
the number of features on the path, so n points of Gauss and Legendre integrate 2n features
exactly. At a point t everything is a mean of numbers by positive weights, so nothing cancels.

Let a node send the share ρ left, let z be the product of the shares at the earlier nodes of its
feature on the path, and let the document have gone the path's way at all of them. Its feature was
known with the odds t : (1 − t) z, so with f = t + (1 − t) z

    the chance to go left is  a = ρ + (t / f) · pull,   pull = 1 − ρ or −ρ,

as the document's own value says left or right. Where it has left the path at an earlier node of
the feature, that is known to be unknown: pull = 0. With V of the children, and P the chance to
come to the node, V = a V_left + (1 − a) V_right, and the node's part in the feature's derivative is

    P · z / f² · pull · (V_left − V_right),

for the factor of the feature in the product of a leaf's path goes from f to t [own way] + (1 − t)
z ρ; the difference of the two logarithmic derivatives, times the new factor, is z (1 − ρ) / f for
the own way and its negative for the other.

So a point costs one way down and one way up a tree. Documents lie side by side in vectors.
"""

import numpy as np

from rankinite._float_vectors import (
    above4,
    fill4,
    fma4,
    load4,
    mul4,
    spread4,
    store4,
    sub4,
    up_to4,
)
from rankinite._numba import kernel

# Documents that go through a tree together; a multiple of four.
WIDTH = 32


@kernel()
def add_contributions(first_row, last_row, X, used, trees, paths, points, most_nodes, out):
    """Write the contributions of the features to the sum of all trees, for some rows.

    Parameters
    ----------
    X : ndarray of float64, shape (n_rows, n_features)
    used : ndarray of int64, shape (n_slots,)
        The features that are asked about.
    trees, paths, points : as in `paths`
    most_nodes : int
        Inner nodes of the largest tree.
    out : ndarray of float64, shape (n_rows, at least n_features)
    """
    n_slots = used.shape[0]
    x = np.empty(n_slots * WIDTH)
    sums = np.empty(n_slots * WIDTH)
    went_left, alive, pull, chance, reach = np.empty((5, most_nodes * WIDTH))
    value = np.empty((2 * most_nodes + 1) * WIDTH)
    lean, slope = np.empty(most_nodes), np.empty(most_nodes)
    for begin in range(first_row, last_row, WIDTH):
        n_rows = min(WIDTH, last_row - begin)
        width = 4 * ((n_rows + 3) // 4)
        _turn_to_columns(X[begin : begin + n_rows], used, width, x)
        sums[:] = 0.0
        for tree in range(trees.node_offsets.shape[0] - 1):
            first, last = trees.node_offsets[tree], trees.node_offsets[tree + 1]
            n_nodes = last - first
            if n_nodes == 0:
                continue
            left, right = trees.left[first:last], trees.right[first:last]
            slot = trees.slot[first:last]
            share_left, held = paths.share_left[first:last], paths.held[first:last]
            _decide(x, trees, paths, first, last, width, went_left, alive, pull)
            _spread_leaves(trees.value[trees.leaf_offsets[tree] :], n_nodes, width, value)
            n_points = paths.n_points[tree]
            start = points.starts[n_points]
            for k in range(start, start + n_points):
                t, weight = points.point[k], points.weight[k]
                for node in range(n_nodes):
                    inverse = 1.0 / (t + (1.0 - t) * held[node])
                    lean[node] = t * inverse
                    slope[node] = weight * held[node] * inverse * inverse
                _go_down(left, right, share_left, lean, pull, width, chance, reach)
                _come_up(left, right, slot, slope, pull, chance, reach, width, value, sums)
        for row in range(n_rows):
            for j in range(n_slots):
                out[begin + row, used[j]] = sums[j * width + row]


@kernel()
def _turn_to_columns(X, used, width, x):
    """Put the features that count side by side, document by document; lanes beyond them are 0."""
    for j in range(used.shape[0]):
        for row in range(width):
            x[j * width + row] = X[row, used[j]] if row < X.shape[0] else 0.0


@kernel()
def _decide(x, trees, paths, first, last, width, went_left, alive, pull):
    """Write where each document goes at each node, and which way that pulls the chances.

    `alive` is 1 where the document has gone the path's way at all earlier nodes of the feature,
    and `went_left` where it is alive and goes left; both are 0 otherwise.
    """
    zero, one = fill4(0.0), fill4(1.0)
    for node in range(last - first):
        place = first + node
        threshold = spread4(trees.threshold, place)
        share = spread4(paths.share_left, place)
        before = paths.earlier[place] * width
        own = trees.slot[place] * width
        for lane in range(0, width, 4):
            value = load4(x, own + lane)
            if trees.missing_left[place]:
                goes_left = above4(value, threshold, zero, one)
            else:
                goes_left = up_to4(value, threshold, one, zero)
            lives = one
            if before >= 0:
                lives = load4(went_left, before + lane)
                if not paths.from_left[place]:
                    lives = sub4(load4(alive, before + lane), lives)
            goes_left = mul4(goes_left, lives)
            here = node * width + lane
            store4(alive, here, lives)
            store4(went_left, here, goes_left)
            store4(pull, here, sub4(goes_left, mul4(share, lives)))


@kernel()
def _spread_leaves(leaf_values, n_nodes, width, value):
    """Give every document's leaves their values, behind the places of the inner nodes."""
    for leaf in range(n_nodes + 1):
        own = spread4(leaf_values, leaf)
        for lane in range(0, width, 4):
            store4(value, (n_nodes + leaf) * width + lane, own)


@kernel()
def _go_down(left, right, share_left, lean, pull, width, chance, reach):
    """Write the chance to go left at each node, and that to come to it from the root."""
    for lane in range(0, width, 4):
        store4(reach, lane, fill4(1.0))
    for node in range(left.shape[0]):
        share, leaning = spread4(share_left, node), spread4(lean, node)
        on_left, on_right = left[node], right[node]
        for lane in range(0, width, 4):
            here = node * width + lane
            to_left = fma4(leaning, load4(pull, here), share)
            store4(chance, here, to_left)
            here_from_root = load4(reach, here)
            left_from_root = mul4(here_from_root, to_left)
            if on_left >= 0:
                store4(reach, on_left * width + lane, left_from_root)
            if on_right >= 0:
                store4(reach, on_right * width + lane, sub4(here_from_root, left_from_root))


@kernel()
def _come_up(left, right, slot, slope, pull, chance, reach, width, value, sums):
    """Write the mean value below each node, and add its part to the sum of its feature."""
    n_nodes = left.shape[0]
    for node in range(n_nodes - 1, -1, -1):
        on_left, on_right = left[node], right[node]
        on_left = width * (on_left if on_left >= 0 else n_nodes + ~on_left)
        on_right = width * (on_right if on_right >= 0 else n_nodes + ~on_right)
        own_slope = spread4(slope, node)
        for lane in range(0, width, 4):
            here = node * width + lane
            lower = load4(value, on_right + lane)
            apart = sub4(load4(value, on_left + lane), lower)
            store4(value, here, fma4(load4(chance, here), apart, lower))
            steep = mul4(own_slope, load4(pull, here))
            feature = slot[node] * width + lane
            gain = mul4(load4(reach, here), apart)
            store4(sums, feature, fma4(steep, gain, load4(sums, feature)))
