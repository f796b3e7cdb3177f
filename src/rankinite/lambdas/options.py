"""Which pairs count how much, beside the measure: what all kinds of λs are told."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LambdaOptions:
    """The options of `LambdaGradients`; see there."""

    truncation: int | None
    sigma: float
    normalize: bool
    noise: float
    n_draws: int
