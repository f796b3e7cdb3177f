"""Hashes of 64 bits: where random numbers come from, instead of a generator."""

import numpy as np

from rankinite._numba import kernel


@kernel(inline="always")
def mix(x):
    """Scramble 64 bits (the finaliser of splitmix64: Steele, Lea, Flood 2014)."""
    x = np.uint64(x)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel()
def hash_words(words):
    """One 64-bit hash of several words; their order matters."""
    key = np.uint64(0)
    for word in words:
        key = mix(key ^ word) + np.uint64(0x9E3779B97F4A7C15)
    return mix(key)


@kernel()
def keys_from_seed(n, seed):
    """`n` random words from one seed."""
    keys = np.empty(n, np.uint64)
    for i in range(n):
        keys[i] = mix(seed + np.uint64(i + 1) * np.uint64(0x9E3779B97F4A7C15))
    return keys
