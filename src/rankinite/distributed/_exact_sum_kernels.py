"""Kernels that add floats up without rounding."""

import numpy as np

from rankinite._numba import kernel

# A finite float64 is a whole number of times 2^-1074, and below 2^1024: with 32 bits a limb, and
# two more for the sums, so many limbs hold it.
LIMB_BITS = 32
N_LIMBS = 68


@kernel()
def add_exactly(patterns, limbs):
    """Add finite values to a number of many limbs, in units of 2^-1074.

    A limb takes less than 2^34 of a value, so that 2^29 values find room before any is carried.

    Parameters
    ----------
    patterns : ndarray of uint64, shape (n,)
        The bits of float64.
    limbs : ndarray of int64, shape (N_LIMBS,)
        The least significant first; changed in place.
    """
    mask = np.uint64((1 << LIMB_BITS) - 1)
    limb_bits = np.uint64(LIMB_BITS)
    for i in range(patterns.shape[0]):
        pattern = patterns[i]
        exponent = np.int64((pattern >> np.uint64(52)) & np.uint64(2047))
        mantissa = pattern & np.uint64((1 << 52) - 1)
        if exponent > 0:
            mantissa |= np.uint64(1 << 52)
            exponent -= 1
        place = exponent // LIMB_BITS
        shift = np.uint64(exponent % LIMB_BITS)
        low = (mantissa & mask) << shift
        high = (mantissa >> limb_bits) << shift
        sign = np.int64(-1 if pattern >> np.uint64(63) else 1)
        limbs[place] += sign * np.int64(low & mask)
        limbs[place + 1] += sign * np.int64((low >> limb_bits) + (high & mask))
        limbs[place + 2] += sign * np.int64(high >> limb_bits)
