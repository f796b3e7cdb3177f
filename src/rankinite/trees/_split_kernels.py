"""Kernels that find the best splits of nodes in their histograms."""

from typing import NamedTuple

import numpy as np
from numba import prange

from rankinite._numba import kernel, parallel_kernel
from rankinite.binning._binning_kernels import BLOCK, MISSING_BIN
from rankinite.trees._histogram_kernels import N_BINS

# Rows of the scratch of a scan: Σλ, rows and mass on the left of every candidate, and its bin.
N_SCRATCH = 4


class Limits(NamedTuple):
    """What a leaf must have, and what holds its step back, in units of the histogram.

    The mass of a side is the number of its rows for least squares, and Σw for Newton.

    Attributes
    ----------
    min_mass : float
        Least mass of a side.
    l2 : float
        Added to it.
    """

    min_mass: float
    l2: float


@kernel()
def _candidates(histogram, first_cell, count_bits, n_bins, missing_left, scratch):
    """What lies left of each candidate split of one feature; returns how many there are.

    A bin without rows is no candidate: the split is the one before it. Candidates are written
    one after the other without a branch, for in small nodes an empty bin is a coin toss.
    """
    mask = (np.int64(1) << count_bits) - 1
    cells = histogram[0, first_cell : first_cell + N_BINS]
    weights = histogram[histogram.shape[0] - 1, first_cell : first_cell + N_BINS]
    newton = histogram.shape[0] > 1
    sums, counts, masses, bins = scratch[0], scratch[1], scratch[2], scratch[3]
    left, mass = np.int64(0), np.int64(0)
    if missing_left:
        left, mass = cells[MISSING_BIN], weights[MISSING_BIN]
    n = np.uint64(0)
    if newton:
        for b in range(n_bins):
            left += cells[b]
            mass += weights[b]
            sums[n] = float(left >> count_bits)
            counts[n] = float(left & mask)
            masses[n] = float(mass)
            bins[n] = float(b)
            n += np.uint64(cells[b] != 0)
    else:
        for b in range(n_bins):
            left += cells[b]
            sums[n] = float(left >> count_bits)
            counts[n] = float(left & mask)
            bins[n] = float(b)
            n += np.uint64(cells[b] != 0)
    return np.int64(n)


@kernel()
def _gains(sums, masses, sum_total, mass_total, l2):
    """Write the gain of each candidate over its sum.

    The gain is the loss reduction of a split into two sides with the sums G and the masses M,

        M_l·M_r / (M_l + M_r) · (G_l / M_l − G_r / M_r)²  =  (G_l·M_r − G_r·M_l)² / (M_l·M_r·M)

    here without the factor 1/M, which all have in common. The mass is the number of rows for
    least squares, where this is the fall of the sum S_j of Burges 2010, Eq. 11; it is Σw for
    Newton, where it is twice the fall of the loss's quadratic model. All are integers below 2^53,
    exact in float64, so sides with equal means gain exactly 0: both products round the same
    number.

    With l2 = c each mass is M + c, and G_l²/(M_l + c) + G_r²/(M_r + c) − G²/(M + c) is, written so
    that nothing cancels if c is 0,

        ((G_l·(M_r + c) − G_r·(M_l + c))² − c·(G_l²·(M_r + c) + G_r²·(M_l + c)))
            / ((M_l + c)·(M_r + c)·(M + c))
    """
    for k in range(sums.shape[0]):
        left, right = sums[k], sum_total - sums[k]
        mass_left = masses[k] + l2
        mass_right = (mass_total - masses[k]) + l2
        difference = left * mass_right - right * mass_left
        held_back = l2 * (left * left * mass_right + right * right * mass_left)
        product = mass_left * mass_right
        gain = (difference * difference - held_back) / product
        sums[k] = gain if product > 0.0 else 0.0


@kernel()
def _scan(histogram, first_cell, count_bits, n_bins, total, total_mass, limits, scratch):
    """The best split of one feature: (gain, bin, whether missing rows go left)."""
    mask = (np.int64(1) << count_bits) - 1
    n_total = float(total & mask)
    sum_total = float(total >> count_bits)
    mass_total = float(total_mass)
    any_missing = histogram[0, first_cell + MISSING_BIN] & mask > 0
    counts, masses = scratch[1], scratch[2 if histogram.shape[0] > 1 else 1]
    best, best_bin, best_missing_left = 0.0, 0, False
    # One pass with the missing rows on the right, one with them on the left. With no missing rows
    # a split at the last bin leaves the right side empty; with missing rows it separates those
    # from all others.
    for direction in range(2 if any_missing else 1):
        last = _candidates(histogram, first_cell, count_bits, n_bins, direction == 1, scratch)
        first = 0
        # Masses never fall from candidate to candidate.
        while first < last and masses[first] < limits.min_mass:
            first += 1
        while last > first and (
            mass_total - masses[last - 1] < limits.min_mass or counts[last - 1] == n_total
        ):
            last -= 1
        gains = scratch[0, first:last]
        _gains(gains, masses[first:last], sum_total, mass_total, limits.l2)
        for k in range(gains.shape[0]):
            if gains[k] > best:
                best = gains[k]
                best_bin = np.int64(scratch[3, first + k])
                best_missing_left = direction == 1
                if not any_missing:
                    best_missing_left = 2 * counts[first + k] > n_total
    return best / (mass_total + limits.l2) if best > 0.0 else 0.0, best_bin, best_missing_left


@kernel()
def _total(histogram, channel):
    """Σ of the first feature's cells: every feature divides the same rows."""
    total = np.int64(0)
    for b in range(N_BINS):
        total += histogram[channel, b]
    return total


@kernel()
def _take_away(part, whole, first_cell):
    for channel in range(part.shape[0]):
        own = part[channel, first_cell : first_cell + N_BINS]
        rest = whole[channel, first_cell : first_cell + N_BINS]
        for b in range(N_BINS):
            rest[b] -= own[b]


@kernel()
def _node_totals(first, second, subtract, count_bits):
    """Cells and masses of two whole nodes; see `best_splits`."""
    newton = first.shape[1] > 1
    totals = np.empty((2, 2), np.int64)
    for channel in range(2 if newton else 1):
        totals[0, channel] = _total(first[0], channel)
        totals[1, channel] = _total(second[0], channel)
        if subtract:
            totals[1, channel] -= totals[0, channel]
    if not newton:
        mask = (np.int64(1) << count_bits) - 1
        totals[0, 1], totals[1, 1] = totals[0, 0] & mask, totals[1, 0] & mask
    return totals


@kernel()
def _best_feature(gains):
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
    count_bits,
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
    A feature without a split gets the gain 0. Of equal splits the lowest bin wins, and missing
    rows go right before left; where no row of the node is missing they follow the larger side.

    Parameters
    ----------
    first, second : ndarray of int64, shape (n_blocks, n_channels, 16 * 256)
        Histograms of the nodes: Σλ above, the count below (`count_bits` bits), and for Newton Σw
        in a second channel. With `n_nodes` 1 the second is not looked at.
    subtract : bool
        `second` holds the parent of both: make it the sibling by taking `first` away.
    n_bins : ndarray of int64, shape (n_features,)
    allowed : ndarray of bool, shape (2, n_features)
        The features drawn for each node.
    limits : Limits
    scratch : ndarray of float64, shape (n_parts, 4, 257)
        The work is cut into this many parts.
    gains, bins, missing_left : ndarrays of shape (2, n_features)
        Output.
    features : ndarray of int64, shape (2,)
        Output: the feature with the largest gain; of equal ones the first.
    """
    n_features = n_bins.shape[0]
    n_parts = scratch.shape[0]
    totals = _node_totals(first, second, subtract, count_bits)
    for part in prange(n_parts):
        # Neighbouring features are alike, so each part gets some of all kinds.
        for unit in range(part, n_nodes * n_features, n_parts):
            node = unit // n_features
            feature = unit % n_features
            block, first_cell = feature // BLOCK, feature % BLOCK * N_BINS
            histogram = first[block]
            if node == 1:
                histogram = second[block]
                if subtract:
                    _take_away(first[block], histogram, first_cell)
            gain, b, goes_left = 0.0, 0, False
            if allowed[node, feature]:
                gain, b, goes_left = _scan(
                    histogram,
                    first_cell,
                    count_bits,
                    n_bins[feature],
                    totals[node, 0],
                    totals[node, 1],
                    limits,
                    scratch[part],
                )
            gains[node, feature] = gain
            bins[node, feature] = b
            missing_left[node, feature] = goes_left
    for node in range(n_nodes):
        features[node] = _best_feature(gains[node])
