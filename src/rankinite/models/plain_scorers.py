"""Anything that scores, as a plain model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rankinite.errors import ExportError
from rankinite.exchange.plain import Plain, PlainClasses, PlainNet
from rankinite.models.standardizing import Standardizer


def plain_of(scorer: Any, what: str) -> Plain:
    """A ranker, a base model or a foreign one as arrays with a stated arithmetic.

    Parameters
    ----------
    scorer : what `rankinite.models.base_model.as_scorer` gave
    what : str
        What an error calls it: "base_model".
    """
    if hasattr(scorer, "plain"):
        try:
            return scorer.plain()
        except ExportError as error:
            raise ExportError(f"{what} cannot be told as trees or weights: {error}") from error
    if not hasattr(scorer, "predict"):
        raise ExportError(
            f"{what} is a function, and no file of another engine can hold it: export the ranker "
            "without it, and add its scores yourself"
        )
    raise ExportError(
        f"{what} is a {getattr(scorer, 'origin', type(scorer).__name__)}, which cannot be told as "
        "trees or weights: export the ranker without it, and add its scores yourself"
    )


def plain_net(
    ranker: Any, standardizer: Standardizer, output: np.ndarray, layer: np.ndarray | None = None
) -> PlainNet:
    """A ranker that is a net over standardised features.

    Parameters
    ----------
    ranker : Learner
        An `ExportError` if it has a base model.
    output : ndarray of float64, shape (n_hidden,) or (n_features,)
    layer : ndarray of float64, shape (n_features + 1, n_hidden), optional
        Weights of the hidden units, the biases last.
    """
    if ranker._base is not None:
        raise ExportError(
            f"a {type(ranker).__name__} with a base_model cannot be exported to other engines, "
            "because the two do not make one net: export them one by one, and add their scores"
        )
    return PlainNet(
        standardizer.mean,
        standardizer.scale,
        standardizer.low,
        standardizer.high,
        hidden=None if layer is None else layer[:-1].copy(),
        hidden_bias=None if layer is None else layer[-1].copy(),
        output=output.copy(),
        feature_names=ranker._feature_names,
    )


def named(plain: Plain, names: list[str] | None) -> Plain:
    """The plain model with the names that a ranker has for the features."""
    if isinstance(plain, PlainClasses):
        return replace(plain, outputs=[replace(o, feature_names=names) for o in plain.outputs])
    return replace(plain, feature_names=names)
