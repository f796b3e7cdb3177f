"""Why the order of rows and queries does not matter: random numbers and an order from content."""

from rankinite.order.canonical import Canonical, canonical
from rankinite.order.row_keys import fingerprint, row_keys, row_keys_with_pairs
from rankinite.order.seeds import derive_seed, draw_without_replacement, seed_of

__all__ = [
    "Canonical",
    "canonical",
    "derive_seed",
    "draw_without_replacement",
    "fingerprint",
    "row_keys",
    "row_keys_with_pairs",
    "seed_of",
]
