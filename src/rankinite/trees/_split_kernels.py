"""Kernels that find the best splits of nodes in their histograms."""

from typing import NamedTuple

import numpy as np
from numba import prange

from rankinite._numba import kernel, parallel_kernel
from rankinite.binning._binning_kernels import BLOCK, MISSING_BIN
from rankinite.trees._histogram_kernels import N_BINS

# Rows of the scratch of a scan: the cells left of every split, and the gains.
N_SCRATCH = 2
# A gain is looked at if it may be above another, whatever both were rounded to.
NEARLY = 1.0 - 2.0**-40


class Limits(NamedTuple):
    """What a leaf must have, and what holds its step back, in units of the histogram.

    The mass of a side is the number of its rows for least squares, and Σw for Newton.

    Attributes
    ----------
    min_mass : float
        Least mass of a side; at least 1, which a single row has.
    l2 : float
        Added to it.
    """

    min_mass: float
    l2: float


@kernel()
def add_from_left(cells, n_bins, left, lefts):
    """Write what lies left of a split at each bin, where `left` is there already."""
    for b in range(n_bins):
        left += cells[b]
        lefts[b] = left


@kernel()
def _gains(halves, n_bins, sum_total, mass_total, limits, gains):
    """Write the gain of a split at each bin; not above 0 where there must be none.

    The gain is the loss reduction of a split into two sides with the sums G and the masses M,

        M_l·M_r / (M_l + M_r) · (G_l / M_l − G_r / M_r)²  =  (G_l·M_r − G_r·M_l)² / (M_l·M_r·M)

    here without the factor 1/M, which all have in common. The mass is the number of rows for
    least squares, where this is the fall of the sum S_j of Burges 2010, Eq. 11; it is Σw for
    Newton, where it is twice the fall of the loss's quadratic model. All are integers, exact in
    float64, so sides with equal means gain exactly 0: both products round the same number.

    With l2 = c each mass is M + c, and G_l²/(M_l + c) + G_r²/(M_r + c) − G²/(M + c) is, written so
    that nothing cancels if c is 0,

        ((G_l·(M_r + c) − G_r·(M_l + c))² − c·(G_l²·(M_r + c) + G_r²·(M_l + c)))
            / ((M_l + c)·(M_r + c)·(M + c))

    Parameters
    ----------
    halves : ndarray of int32
        The cells on the left, mass and sum in turns.
    """
    least = limits.min_mass
    for b in range(np.uint64(n_bins)):
        above, below, lighter = fraction_of(halves, b, sum_total, mass_total, limits)
        gains[b] = above / below if lighter >= least else 0.0


@kernel(inline="always")
def fraction_of(halves, b, sum_total, mass_total, limits):
    """The gain of a split at a bin as a fraction, and the mass of its lighter side."""
    l2 = limits.l2
    mass = float(halves[np.uint64(2) * b])
    left = float(halves[np.uint64(2) * b + np.uint64(1)])
    rest, right = mass_total - mass, sum_total - left
    mass_left, mass_right = mass + l2, rest + l2
    difference = left * mass_right - right * mass_left
    held_back = l2 * (left * left * mass_right + right * right * mass_left)
    return difference * difference - held_back, mass_left * mass_right, min(mass, rest)


@kernel()
def _may_be_above(halves, n_bins, sum_total, mass_total, limits, gain):
    """Whether the gain of a split at some bin may be above this one.

    Most features of a node are left behind by one before them: to know that takes no division.
    """
    least, bar = limits.min_mass, gain * NEARLY
    found = np.int64(0)
    for b in range(np.uint64(n_bins)):
        above, below, lighter = fraction_of(halves, b, sum_total, mass_total, limits)
        found |= np.int64((above > bar * below) & (lighter >= least))
    return found != 0


@kernel()
def _first_best(gains, n_bins):
    """The bin of the largest gain, and of equal ones the lowest; −1 if no gain is above 0.

    The bits of floats that are not negative are in the order of the floats.
    """
    patterns = gains.view(np.int64)
    largest = np.int64(0)
    for b in range(n_bins):
        largest = max(largest, patterns[b])
    if largest == 0:
        return -1
    b = 0
    while patterns[b] != largest:
        b += 1
    return b


@kernel()
def scan(cells, n_bins, total, limits, to_beat, scratch):
    """The best split of one feature: (gain, bin, whether missing rows go left).

    The gain is without its factor 1/M, and 0 if there is none above `to_beat`.

    One pass with the missing rows on the right, one with them on the left. With no missing rows
    a split at the last bin leaves the right side empty; with missing rows it separates those from
    all others.
    """
    lefts, gains = scratch[0].view(np.int64), scratch[1]
    halves = lefts.view(np.int32)
    sum_total, mass_total = float(total >> 32), float(np.int32(total))
    missing = cells[MISSING_BIN]
    best, best_bin, missing_left = 0.0, 0, False
    for direction in range(2 if missing != 0 else 1):
        add_from_left(cells, n_bins, missing if direction == 1 else np.int64(0), lefts)
        bar = max(best, to_beat)
        if not _may_be_above(halves, n_bins, sum_total, mass_total, limits, bar):
            continue
        _gains(halves, n_bins, sum_total, mass_total, limits, gains)
        b = _first_best(gains, n_bins)
        if b >= 0 and gains[b] > bar:
            best, best_bin = gains[b], b
            missing_left = direction == 1
            if missing == 0:
                missing_left = 2 * halves[2 * b] > mass_total
    return best, best_bin, missing_left


@kernel()
def _total(histogram):
    """Σ of the first feature's cells: every feature divides the same rows."""
    total = np.int64(0)
    for b in range(N_BINS):
        total += histogram[0, b]
    return total


@kernel()
def _take_away(part, whole, n_bins):
    """Take the part of a node's rows away from the whole; only bins that the feature has."""
    for b in range(n_bins):
        whole[b] -= part[b]
    whole[MISSING_BIN] -= part[MISSING_BIN]


@kernel()
def best_feature(gains):
    """The feature of the largest gain; of equal ones the first."""
    best = 0
    for feature in range(gains.shape[0]):
        if gains[feature] > gains[best]:
            best = feature
    return best


@parallel_kernel()
def best_splits(
    first,
    second,
    n_nodes,
    subtract,
    n_bins,
    allowed,
    limits,
    scratch,
    gains,
    bins,
    missing_left,
    features,
):
    """The best split of each feature and the best of those, in one node or two siblings at once.

    Rows with a bin up to ``bins[k, f]`` go left; missing ones go left if ``missing_left[k, f]``.
    A feature without a split gets the gain 0, and so may one that is not the best. Of equal splits
    the lowest bin wins, and missing rows go right before left; where no row of the node is missing
    they follow the heavier side.

    Parameters
    ----------
    first, second : ndarray of int64, shape (n_blocks, 16 * 256)
        Histograms of the nodes (`rankinite.trees.fixed_point`). With `n_nodes` 1 the second is not
        looked at.
    subtract : bool
        `second` holds the parent of both: make it the sibling by taking `first` away.
    n_bins : ndarray of int64, shape (n_features,)
    allowed : ndarray of bool, shape (2, n_features)
        The features drawn for each node.
    limits : Limits
    scratch : ndarray of float64, shape (n_parts, 2, 256)
        The work is cut into this many parts.
    gains, bins, missing_left : ndarrays of shape (2, n_features)
        Output.
    features : ndarray of int64, shape (2,)
        Output: the feature with the largest gain; of equal ones the first.
    """
    n_features = n_bins.shape[0]
    n_parts = scratch.shape[0]
    total, other_total = _total(first), _total(second)
    if subtract:
        other_total -= total
    for part in prange(n_parts):
        # Neighbours, so that no two threads write to one line of the cache.
        last = (part + 1) * n_nodes * n_features // n_parts
        # The best gain of a node among the features that this part has seen.
        best, best_node = 0.0, 0
        for unit in range(part * n_nodes * n_features // n_parts, last):
            node = unit // n_features
            feature = unit % n_features
            block, first_cell = feature // BLOCK, feature % BLOCK * N_BINS
            cells = first[block, first_cell : first_cell + N_BINS]
            if node == 1:
                part_of_it = cells
                cells = second[block, first_cell : first_cell + N_BINS]
                if subtract:
                    _take_away(part_of_it, cells, n_bins[feature])
            if node != best_node:
                best, best_node = 0.0, node
            own_total = other_total if node == 1 else total
            gain, b, goes_left = 0.0, 0, False
            if allowed[node, feature]:
                gain, b, goes_left = scan(
                    cells, n_bins[feature], own_total, limits, best, scratch[part]
                )
                best = max(best, gain)
                gain /= float(np.int32(own_total)) + limits.l2
            gains[node, feature] = gain
            bins[node, feature] = b
            missing_left[node, feature] = goes_left
    for node in range(n_nodes):
        features[node] = best_feature(gains[node])
