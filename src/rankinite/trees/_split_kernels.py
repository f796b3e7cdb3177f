"""Kernels that find the best split of a node in its histograms."""

import numpy as np
from numba import prange

from rankinite._numba import kernel, parallel_kernel
from rankinite.trees._histogram_kernels import N_BINS

MISSING = N_BINS - 1


@kernel()
def _gain(sum_left, sum_right, mass_left, mass_right):
    """Loss reduction of a split into two sides with the given Σλ and mass.

    The mass is the number of rows for least squares, where this is the fall of the sum S_j of
    Burges 2010, Eq. 11; it is Σw for Newton, where it is twice the fall of the loss's quadratic
    model. Written with the difference of the means, which cannot turn a tie into a gain.
    """
    difference = sum_left / mass_left - sum_right / mass_right
    return difference * difference * (mass_left * mass_right / (mass_left + mass_right))


@parallel_kernel()
def best_splits(
    histogram,
    weights,
    count_bits,
    newton,
    n_bins,
    allowed,
    min_samples_leaf,
    gains,
    bins,
    missing_left,
):
    """The best split of each feature.

    Rows with a bin up to `bins[f]` go left; missing ones go left if `missing_left[f]`. A feature
    without a split gets the gain 0. Of equal splits the lowest bin wins, and missing rows go
    right before left; where no row of the node is missing they follow the larger side.

    Parameters
    ----------
    histogram : ndarray of int64, shape (n_features_padded, 256)
        Σλ above, the count below (`count_bits` bits).
    weights : ndarray of int64, shape like `histogram`
        Σw, for `newton`; otherwise ignored.
    n_bins : ndarray of int64, shape (n_features,)
    allowed : ndarray of bool, shape (n_features,)
        The features drawn for this node.
    """
    mask = (np.int64(1) << count_bits) - 1
    for feature in prange(n_bins.shape[0]):
        gains[feature] = 0.0
        if not allowed[feature]:
            continue
        cells = histogram[feature]
        masses = weights[feature] if newton else cells
        last = n_bins[feature] - 1
        total = cells[MISSING]
        total_mass = masses[MISSING]
        for b in range(last + 1):
            total += cells[b]
            total_mass += masses[b]
        n_total = total & mask
        n_missing = cells[MISSING] & mask
        # One pass with the missing rows on the right, one with them on the left.
        for direction in range(2 if n_missing > 0 else 1):
            left = cells[MISSING] if direction == 1 else np.int64(0)
            left_mass = masses[MISSING] if direction == 1 else np.int64(0)
            # With no missing rows a split at the last bin leaves the right side empty; with
            # missing rows it separates those from all others.
            for b in range(last + 1):
                if cells[b] == 0:
                    # No row has this bin: the split is the one before it.
                    continue
                left += cells[b]
                left_mass += masses[b]
                n_left = left & mask
                if n_left < min_samples_leaf:
                    continue
                if n_total - n_left < min_samples_leaf:
                    break
                right = total - left
                if newton:
                    mass_left = float(left_mass)
                    mass_right = float(total_mass - left_mass)
                    if mass_left <= 0.0 or mass_right <= 0.0:
                        continue
                else:
                    mass_left = float(n_left)
                    mass_right = float(n_total - n_left)
                gain = _gain(
                    float(left >> count_bits), float(right >> count_bits), mass_left, mass_right
                )
                if gain > gains[feature]:
                    gains[feature] = gain
                    bins[feature] = b
                    missing_left[feature] = (
                        direction == 1 if n_missing > 0 else 2 * n_left > n_total
                    )
