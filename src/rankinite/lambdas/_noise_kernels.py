"""Kernels that perturb the scores of a query, so that its order becomes a random thing.

With Gumbel noise of scale 1/σ a ranking is a draw from Plackett and Luce's model of rankings whose
strengths are e^{σs}: a document is the first with probability e^{σs_i} / Σ e^{σs_j}, and so on
among those that are left.
"""

import numpy as np

from rankinite._hash_kernels import mix
from rankinite._numba import BORROWS, kernel

# A draw takes 16 bits of a random word, and looks up the noise by the highest of these.
DRAWS_A_WORD = 4
TABLE_BITS = 12
_SHARES = (np.arange(2**TABLE_BITS) + 0.5) / 2**TABLE_BITS
# Quantiles of Gumbel's distribution, in single precision: no platform rounds them otherwise.
GUMBEL = (-np.log(-np.log(_SHARES))).astype(np.float32)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@kernel(**BORROWS)
def perturb(scores, row_keys, seed, draw, scale, noisy):
    """Write the scores plus `scale` times the noise of one draw.

    Parameters
    ----------
    scores : ndarray of float64, shape (n,)
    row_keys : ndarray of uint64, shape (n,)
        The documents' own random numbers, in the order of the scores.
    seed : uint64
        Of the round.
    draw : int
    scale : float
    noisy : ndarray of float64, shape (≥ n,)
        Output; may be the scores.
    """
    word_seed = mix(seed + np.uint64(1 + draw // DRAWS_A_WORD) * _GOLDEN)
    shift = np.uint64(16 * (draw % DRAWS_A_WORD) + 16 - TABLE_BITS)
    mask = np.uint64(2**TABLE_BITS - 1)
    for k in range(scores.shape[0]):
        place = (mix(row_keys[k] ^ word_seed) >> shift) & mask
        noisy[k] = scores[k] + scale * np.float64(GUMBEL[place])
