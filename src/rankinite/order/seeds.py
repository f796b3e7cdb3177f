"""Seeds as a pure function of where a draw happens.

No generator is carried along, so a tree grown again from its seed is the same tree, whatever
was grown before it, on whichever worker.
"""

from __future__ import annotations

import numpy as np

from rankinite._hash_kernels import hash_words, keys_from_seed

_STREAMS = {
    "tree": 1,
    "ties": 2,
    "rows": 3,
    "features": 4,
    "queries": 5,
    "weights": 6,
    "importance": 7,
    "worker": 8,
    "selection": 9,
    "documents": 10,
    "folds": 11,
    "sweep": 12,
    "units": 13,
}


def derive_seed(*parts: int | np.uint64 | str) -> np.uint64:
    """A 64-bit seed from integers and names of streams (which keep draws apart)."""
    numbers = [_STREAMS[part] if isinstance(part, str) else part for part in parts]
    return np.uint64(hash_words(np.array(numbers, np.uint64)))


def seed_of(random_state: int | None) -> int:
    """The seed that a `random_state` stands for: itself, or with None one drawn at random.

    As in scikit-learn, the draw is one of numpy's global generator, which ``numpy.random.seed``
    sets.
    """
    if random_state is None:
        return int(np.random.randint(0, 2**63 - 1, dtype=np.int64))  # noqa: NPY002
    return int(random_state)


def draw_without_replacement(n: int, n_drawn: int, seed: np.uint64) -> np.ndarray:
    """`n_drawn` of the numbers below `n`, ascending."""
    keys = keys_from_seed(n, seed)
    return np.sort(np.argsort(keys, kind="stable")[:n_drawn])
