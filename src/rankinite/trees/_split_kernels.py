"""Kernels that find the best splits of nodes in their histograms."""

import numpy as np
from numba import prange

from rankinite._numba import kernel, parallel_kernel
from rankinite.data._binning_kernels import MISSING_BIN
from rankinite.trees._histogram_kernels import N_BINS


@kernel()
def _scan(cells, masses, count_bits, newton, n_bins, total, total_mass, min_samples_leaf):
    """The best split of one feature: (gain, bin, whether missing rows go left).

    The gain is the loss reduction of a split into two sides with the sums G and the masses M,

        M_l·M_r / (M_l + M_r) · (G_l / M_l − G_r / M_r)²  =  (G_l·M_r − G_r·M_l)² / (M_l·M_r·M)

    The mass is the number of rows for least squares, where this is the fall of the sum S_j of
    Burges 2010, Eq. 11; it is Σw for Newton, where it is twice the fall of the loss's quadratic
    model. All are integers below 2^53, exact in float64, so sides with equal means gain exactly 0:
    both products round the same number.
    """
    mask = (np.int64(1) << count_bits) - 1
    n_total = total & mask
    sum_total = float(total >> count_bits)
    n_missing = cells[MISSING_BIN] & mask
    best, almost_best, best_bin, best_missing_left = 0.0, 0.0, 0, False
    # One pass with the missing rows on the right, one with them on the left.
    for direction in range(2 if n_missing > 0 else 1):
        left = cells[MISSING_BIN] if direction == 1 else np.int64(0)
        left_mass = masses[MISSING_BIN] if direction == 1 else np.int64(0)
        # With no missing rows a split at the last bin leaves the right side empty; with missing
        # rows it separates those from all others.
        for b in range(n_bins):
            if cells[b] == 0:
                # No row has this bin: the split is the one before it.
                continue
            left += cells[b]
            n_left = left & mask
            if newton:
                left_mass += masses[b]
            if n_left < min_samples_leaf:
                continue
            if n_total - n_left < min_samples_leaf:
                break
            mass = left_mass if newton else n_left
            if mass <= 0 or mass >= total_mass:
                continue
            sum_left, mass_left = float(left >> count_bits), float(mass)
            mass_right = float(total_mass) - mass_left
            difference = sum_left * mass_right - (sum_total - sum_left) * mass_left
            square, product = difference * difference, mass_left * mass_right
            # Divide only where the product says that it may be the best so far.
            if square > almost_best * product and square / product > best:
                best = square / product
                almost_best = best * (1.0 - 1e-12)
                best_bin = b
                best_missing_left = direction == 1 if n_missing > 0 else 2 * n_left > n_total
    if best > 0.0:
        best /= float(total_mass)
    return best, best_bin, best_missing_left


@kernel()
def _totals(first, second, subtract):
    """Sums of one feature's cells in two nodes; see `best_splits`."""
    totals = np.zeros(2, np.int64)
    for b in range(N_BINS):
        totals[0] += first[b]
        totals[1] += second[b] - (first[b] if subtract else 0)
    return totals


@kernel()
def _take_away(part, whole):
    for b in range(N_BINS):
        whole[b] -= part[b]


@parallel_kernel()
def best_splits(
    first,
    first_weights,
    second,
    second_weights,
    n_nodes,
    subtract,
    count_bits,
    newton,
    n_bins,
    allowed,
    min_samples_leaf,
    gains,
    bins,
    missing_left,
):
    """The best split of each feature, in one node or in two siblings at once.

    Rows with a bin up to ``bins[k, f]`` go left; missing ones go left if ``missing_left[k, f]``.
    A feature without a split gets the gain 0. Of equal splits the lowest bin wins, and missing
    rows go right before left; where no row of the node is missing they follow the larger side.

    Parameters
    ----------
    first, second : ndarray of int64, shape (n_features_padded, 256)
        Histograms of the nodes: Σλ above, the count below (`count_bits` bits). With `n_nodes` 1
        the second is not looked at.
    first_weights, second_weights : ndarray of int64, shape like `first`
        Σw, for `newton`; otherwise not looked at.
    subtract : bool
        `second` holds the parent of both: make it the sibling by taking `first` away.
    n_bins : ndarray of int64, shape (n_features,)
    allowed : ndarray of bool, shape (2, n_features)
        The features drawn for each node.
    gains, bins, missing_left : ndarrays of shape (2, n_features)
        Output.
    """
    n_features = n_bins.shape[0]
    mask = (np.int64(1) << count_bits) - 1
    # Every feature divides the same rows, so the totals are those of the first.
    totals = _totals(first[0], second[0], subtract)
    masses = _totals(first_weights[0], second_weights[0], subtract)
    if not newton:
        masses[0], masses[1] = totals[0] & mask, totals[1] & mask
    for unit in prange(n_nodes * n_features):
        node = unit // n_features
        feature = unit % n_features
        cells, weights = first[feature], first_weights[feature]
        if node == 1:
            if subtract:
                _take_away(first[feature], second[feature])
                if newton:
                    _take_away(first_weights[feature], second_weights[feature])
            cells, weights = second[feature], second_weights[feature]
        gains[node, feature] = 0.0
        if allowed[node, feature]:
            gain, b, goes_left = _scan(
                cells,
                weights,
                count_bits,
                newton,
                n_bins[feature],
                totals[node],
                masses[node],
                min_samples_leaf,
            )
            gains[node, feature] = gain
            bins[node, feature] = b
            missing_left[node, feature] = goes_left
