"""Kernels that find the split which is best for many nodes together."""

from typing import NamedTuple

import numpy as np
from numba import prange

from rankinite._numba import kernel, parallel_kernel
from rankinite.binning._binning_kernels import BLOCK, MISSING_BIN
from rankinite.trees._histogram_kernels import N_BINS, add_part, gather
from rankinite.trees._partition_kernels import partition_alone, sides_of_bins
from rankinite.trees._split_kernels import add_from_left, best_feature, fraction_of

# Gains of so many nodes are added up one after the other, and then those of all such groups: the
# sums do not depend on how many threads there are.
NODES_A_GROUP = 8


class LevelNodes(NamedTuple):
    """Nodes that are to be split alike.

    Attributes
    ----------
    kept : ndarray of int64, shape (n_places, n_blocks, 16 * 256)
        Histograms.
    places : ndarray of int64, shape (n_nodes,)
        Where the histogram of each node is; −1: its rows are counted when it is looked at.
    siblings : ndarray of int64, shape (n_nodes,)
        If not negative, the histogram is that of the parent, from which this one is to be taken
        away.
    starts, stops : ndarray of int64, shape (n_nodes,)
        Where the rows of each begin and end.
    """

    kept: np.ndarray
    places: np.ndarray
    siblings: np.ndarray
    starts: np.ndarray
    stops: np.ndarray


@parallel_kernel()
def gather_uncounted(nodes, rows, cells, gathered):
    """Write the cells of the rows of nodes without a histogram next to each other."""
    for k in prange(nodes.places.shape[0]):
        if nodes.places[k] < 0:
            own = slice(nodes.starts[k], nodes.stops[k])
            gather(cells, rows[own], gathered[own])


@parallel_kernel()
def common_gains(
    nodes, words, rows, gathered, n_bins, has_missing, allowed, limits, sums, scratch, gains
):
    """Add up the gains of all nodes at each split that they may share.

    Parameters
    ----------
    nodes : LevelNodes
        Parents become the nodes themselves.
    words : ndarray of uint64, shape (n_blocks, n_all_rows, 2)
    rows, gathered : ndarray of uint32 and of int64, shape (n_all_rows,)
        For nodes without a histogram: their rows, and the cells of these.
    n_bins, has_missing, allowed : ndarray of int64, bool and bool, shape (n_features,)
        Only features that have missing rows are tried with these on the left.
    limits : Limits
    sums, scratch : ndarray of int64, shape (n_groups * n_blocks, 16 * 256) and (…, 256)
    gains : ndarray of float64, shape (n_groups, n_features, 2, 256)
        Output: with missing rows on the right, and on the left.
    """
    n_groups, n_features = gains.shape[:2]
    n_blocks = nodes.kept.shape[1]
    for unit in prange(n_groups * n_blocks):
        group, block = unit // n_blocks, unit % n_blocks
        first, last = block * BLOCK, min((block + 1) * BLOCK, n_features)
        for feature in range(first, last):
            _clear(gains[group, feature, 0, : n_bins[feature]])
            _clear(gains[group, feature, 1, : n_bins[feature]])
        end = min((group + 1) * NODES_A_GROUP, nodes.places.shape[0])
        for k in range(group * NODES_A_GROUP, end):
            own = slice(nodes.starts[k], nodes.stops[k])
            if nodes.places[k] < 0:
                cells = sums[unit]
                add_part(words[block], rows[own], gathered[own], cells)
            else:
                cells = nodes.kept[nodes.places[k], block]
                if nodes.siblings[k] >= 0:
                    _take_away(nodes.kept[nodes.siblings[k], block], cells)
            # Every row has one bin of each feature.
            total = _total(cells[:N_BINS])
            if float(np.int32(total)) < 2.0 * limits.min_mass:
                continue
            for feature in range(first, last):
                if not allowed[feature]:
                    continue
                at = (feature - first) * N_BINS
                for direction in range(2 if has_missing[feature] else 1):
                    _add_gains(
                        cells[at : at + N_BINS],
                        n_bins[feature],
                        direction,
                        total,
                        limits,
                        scratch[unit],
                        gains[group, feature, direction],
                    )


@kernel()
def _clear(numbers):
    for k in range(numbers.shape[0]):
        numbers[k] = 0.0


@kernel()
def _take_away(part, whole):
    for k in range(whole.shape[0]):
        whole[k] -= part[k]


@kernel()
def _total(cells):
    total = np.int64(0)
    for b in range(cells.shape[0]):
        total += cells[b]
    return total


@kernel()
def _add_gains(cells, n_bins, direction, total, limits, lefts, gains):
    """Add the gain of a node at each bin of a feature; a split that must not be gains nothing."""
    missing = cells[MISSING_BIN] if direction == 1 else np.int64(0)
    add_from_left(cells, n_bins, missing, lefts)
    halves = lefts.view(np.int32)
    sum_total, mass_total = float(total >> 32), float(np.int32(total))
    mass, least = mass_total + limits.l2, limits.min_mass
    for b in range(np.uint64(n_bins)):
        above, below, lighter = fraction_of(halves, b, sum_total, mass_total, limits)
        gain = above / (below * mass)
        gains[b] += gain if (lighter >= least) & (gain > 0.0) else 0.0


@parallel_kernel()
def best_common(gains, n_bins, has_missing, allowed, best, bins, missing_left):
    """The split of the largest sum of gains: of each feature, and the best of these.

    Of equal ones that of the first feature, with missing rows on the right, at the lowest bin.

    Parameters
    ----------
    gains : ndarray of float64, shape (n_groups, n_features, 2, 256)
        What `common_gains` has written; the first group's become the sums of all.
    best, bins, missing_left : ndarray of shape (n_features,)
        Output.

    Returns
    -------
    int
        The best feature.
    """
    for feature in prange(best.shape[0]):
        best[feature], bins[feature], missing_left[feature] = 0.0, 0, False
        if allowed[feature]:
            for direction in range(2 if has_missing[feature] else 1):
                sums = gains[0, feature, direction]
                for group in range(1, gains.shape[0]):
                    _add(gains[group, feature, direction], n_bins[feature], sums)
                for b in range(n_bins[feature]):
                    if sums[b] > best[feature]:
                        best[feature], bins[feature] = sums[b], b
                        missing_left[feature] = direction == 1
    return best_feature(best)


@kernel()
def _add(terms, n, sums):
    for b in range(n):
        sums[b] += terms[b]


@parallel_kernel()
def gains_of_nodes(nodes, blocks, rows, gathered, feature, split_bin, missing_left, limits, found):
    """What one split does to every node.

    Parameters
    ----------
    nodes : LevelNodes
    blocks : ndarray of uint8, shape (n_blocks, n_all_rows, 16)
        The bytes of `words`.
    rows, gathered
        As for `common_gains`.
    feature, split_bin, missing_left
        The split; the feature is one of those that have histograms.
    limits : Limits
    found : ndarray of float64, shape (5, n_nodes)
        Output: gain (0 if the node must not be split so), mass, mass on the left, mass of the
        missing rows, and whether the node has the mass of two leaves.
    """
    goes_left = sides_of_bins(split_bin, missing_left)
    block, column = feature // BLOCK, feature % BLOCK
    for k in prange(nodes.places.shape[0]):
        total, left, missing = np.int64(0), np.int64(0), np.int64(0)
        if nodes.places[k] < 0:
            for i in range(nodes.starts[k], nodes.stops[k]):
                b, cell = blocks[block, rows[i], column], gathered[i]
                total += cell
                left += cell * np.int64(goes_left[b])
                missing += cell * np.int64(b == MISSING_BIN)
        else:
            cells = nodes.kept[nodes.places[k], block, column * N_BINS : (column + 1) * N_BINS]
            for b in range(N_BINS):
                total += cells[b]
                left += cells[b] * np.int64(goes_left[b])
            missing = cells[MISSING_BIN]
        sides = np.array([left])
        sum_total, mass_total = float(total >> 32), float(np.int32(total))
        above, below, lighter = fraction_of(
            sides.view(np.int32), np.uint64(0), sum_total, mass_total, limits
        )
        gain = above / (below * (mass_total + limits.l2))
        splits = (lighter >= limits.min_mass) & (gain > 0.0)
        found[0, k] = gain if splits else 0.0
        found[1, k] = mass_total
        found[2, k] = float(np.int32(left))
        found[3, k] = float(np.int32(missing))
        found[4, k] = mass_total >= 2.0 * limits.min_mass


@parallel_kernel()
def divide_nodes(block, column, split_bin, missing_left, rows, starts, stops, left, right, n_left):
    """Divide the rows of several nodes by one split, each node on one thread.

    Parameters
    ----------
    block, column, rows, left, right
        As in `partition_rows`.
    starts, stops : ndarray of int64, shape (n_nodes,)
    n_left : ndarray of int64, shape (n_nodes,)
        Output: how many rows of each go left.
    """
    goes_left = sides_of_bins(split_bin, missing_left)
    for k in prange(starts.shape[0]):
        own = slice(starts[k], stops[k])
        n_left[k] = partition_alone(block, column, goes_left, rows[own], left[own], right[own])
