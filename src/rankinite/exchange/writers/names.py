"""What features are called in files that name them."""

from __future__ import annotations

from rankinite.exchange.plain import Plain


def names_from_one(plain: Plain) -> list[str]:
    """The names of the features; without names f1, f2, …, as LETOR files count."""
    return plain.feature_names or [f"f{j + 1}" for j in range(plain.n_features)]
