"""RankLib's models: trees in XML behind a header, and linear ones.

Features, thresholds, leaves and sums are float32, x ≤ t goes left, and missing values are zeros.
RankLib joins lines without the white space around them and takes the parts of a split by position,
so that each tag has a line of its own.
"""

from __future__ import annotations

import numpy as np

from rankinite.errors import ExportError
from rankinite.exchange.plain import Plain, PlainForest, PlainLinear
from rankinite.exchange.writers.folding import check_single, in_leaves, zeros_for_missing
from rankinite.exchange.writers.texts import number_texts
from rankinite.exchange.writers.thresholds import single_at_most
from rankinite.exchange.writers.xml_trees import ensemble


def write(plain: Plain, *, variant: str = ".xml", missing: str | None = None) -> bytes:
    """The bytes of a RankLib model.

    Parameters
    ----------
    missing : str, optional
        ``"zero"``: missing values may count as zeros, whatever the model has learned of them.
    """
    if isinstance(plain, PlainLinear):
        return _linear(plain).encode()
    assert isinstance(plain, PlainForest)
    zeros_for_missing(plain, missing, "RankLib")
    check_single(plain, "RankLib")
    plain = in_leaves(plain)
    forest = plain.forest
    head = [
        "## LambdaMART",
        f"## No. of trees = {forest.n_trees}",
        f"## No. of leaves = {forest.most_leaves}",
        "",
    ]
    values = number_texts(forest.value.astype(np.float32))
    body = ensemble(forest, single_at_most(forest.threshold), values)
    return "\n".join([*head, *body, ""]).encode("ascii")


def _linear(plain: PlainLinear) -> str:
    """A linear regression has a constant, and coordinate ascent has none."""
    if not np.isfinite([*plain.weights, plain.intercept]).all():
        raise ExportError("the model has a weight that is not finite")
    pairs = [f"{j + 1}:{text}" for j, text in enumerate(number_texts(plain.weights))]
    if plain.intercept == 0.0:
        head = ["## Coordinate Ascent", "## Restart = 0", "## MaxIteration = 0"]
        return "\n".join([*head, " ".join(pairs), ""])
    constant = f"0:{plain.intercept!r}"
    return "\n".join(["## Linear Regression", "## Lambda = 0", " ".join([constant, *pairs]), ""])
