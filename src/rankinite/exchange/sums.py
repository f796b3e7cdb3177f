"""Several plain models as one: forests added up by weights, features at other places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rankinite.errors import ExportError
from rankinite.exchange.plain import Plain, PlainClasses, PlainForest, PlainLinear, PlainNet
from rankinite.exchange.precision import double_thresholds
from rankinite.trees import Forest

_IN_WORDS = {
    PlainForest: "trees",
    PlainLinear: "a linear model",
    PlainNet: "a net",
    PlainClasses: "the expected grade of a classification",
}


def weighted_sum_of_forests(
    parts: Sequence[Plain], factors: Sequence[float], constant: float = 0.0, divisor: int = 1
) -> PlainForest:
    """One forest that scores (constant + Σ factor · part) / divisor, in double precision.

    The trees come in the order of the parts. A leaf value times its factor is rounded once, and
    with a factor of 1 not at all; sums go on over the bounds of the parts, so scores differ from
    those of the parts in their last places. Parts that round features to single precision get the
    thresholds that part all doubles in the same way.

    Parameters
    ----------
    parts : sequence of Plain
        An `ExportError` if one is no forest.
    factors : sequence of float
    """
    forests = [_forest(part) for part in parts]
    _check_zeros(forests)
    starts = [
        factor * (part.start * part.scale / part.divisor + part.bias)
        for part, factor in zip(forests, factors, strict=True)
    ]
    # One start is passed on as it is; several are added up exactly and rounded once.
    own = [start for start in [*starts, constant] if start]
    has_cover = any(part.cover is not None for part in forests)
    return PlainForest(
        Forest.concatenated([_times(part, f) for part, f in zip(forests, factors, strict=True)]),
        forests[0].n_features,
        forests[0].feature_names,
        start=own[0] if len(own) == 1 else math.fsum(own),
        divisor=divisor,
        zero_is_missing=_zeros(forests),
        takes_missing=all(part.takes_missing for part in forests),
        cover=np.concatenate([part.leaf_cover for part in forests]) if has_cover else None,
    )


def in_columns(
    plain: Plain, columns: Sequence[int], n_features: int, names: list[str] | None
) -> Plain:
    """The same model for rows of more features: its j-th is the one at ``columns[j]`` there."""
    places = np.asarray(columns, np.int64)

    def spread(values: np.ndarray) -> np.ndarray:
        out = np.zeros((n_features, *values.shape[1:]), values.dtype)
        out[places] = values
        return out

    if isinstance(plain, PlainClasses):
        outputs = [in_columns(output, columns, n_features, names) for output in plain.outputs]
        return replace(plain, outputs=outputs)
    if isinstance(plain, PlainLinear):
        return replace(plain, weights=spread(plain.weights), feature_names=names)
    if isinstance(plain, PlainNet):
        arrays = {name: spread(getattr(plain, name)) for name in ("mean", "scale", "low", "high")}
        if plain.hidden is None:
            arrays["output"] = spread(plain.output)
        else:
            arrays["hidden"] = spread(plain.hidden)
        return replace(plain, **arrays, feature_names=names)
    feature = places[plain.forest.feature].astype(plain.forest.feature.dtype)
    zeros = plain.zero_is_missing
    return replace(
        plain,
        forest=replace(plain.forest, feature=feature),
        n_features=n_features,
        feature_names=names,
        zero_is_missing=None if zeros is None else spread(zeros),
    )


def linear_of(net: PlainNet) -> PlainLinear:
    """A net without a hidden layer as weights of raw features.

    It is the same where no value is missing or infinite: here a missing one counts as 0, and
    there as the feature's mean.
    """
    weights = net.output * net.scale
    intercept = math.fsum([net.output_bias, *(-weights * net.mean).tolist()])
    return PlainLinear(weights, intercept, net.feature_names)


def _forest(part: Plain) -> PlainForest:
    if not isinstance(part, PlainForest):
        raise ExportError(
            f"only forests can be added up to one forest, and a part of the sum is "
            f"{_IN_WORDS[type(part)]}: export the parts one by one"
        )
    return part


def _times(part: PlainForest, factor: float) -> Forest:
    """The trees with their values times what they count in the sum."""
    forest = part.forest
    if part.single_features:
        forest = replace(forest, threshold=double_thresholds(forest.threshold))
    factor = factor * part.scale / part.divisor
    return forest if factor == 1.0 else replace(forest, value=forest.value * factor)


def _zeros(forests: Sequence[PlainForest]) -> np.ndarray | None:
    """Features whose zeros are missing in any of the forests."""
    known = [part.zero_is_missing for part in forests if part.zero_is_missing is not None]
    return np.logical_or.reduce(known) if known else None


def _check_zeros(forests: Sequence[PlainForest]) -> None:
    """Refuse parts that see the zeros of a feature in different ways."""
    together = _zeros(forests)
    if together is None:
        return
    for part in forests:
        own = np.zeros_like(together) if part.zero_is_missing is None else part.zero_is_missing
        used = np.isin(np.arange(part.n_features), part.forest.feature)
        if (together & ~own & used).any():
            number = int(np.flatnonzero(together & ~own & used)[0]) + 1
            raise ExportError(
                f"a zero of feature {number} is a missing value for one part of the sum and a "
                "number for another, which one forest cannot say: export the parts one by one"
            )
