"""What features are called wherever a person reads of one."""

from __future__ import annotations

from collections.abc import Sequence


def feature_label(j: int, names: Sequence[str] | None = None) -> str:
    """The name of column `j`; without names its number from 1, as LETOR files count."""
    return f"feature {j + 1}" if names is None else names[j]


def feature_labels(names: Sequence[str] | None, n_features: int) -> list[str]:
    """What the features of a matrix are called, one after the other."""
    return [feature_label(j, names) for j in range(n_features)]
