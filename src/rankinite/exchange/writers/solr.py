"""Solr's models, as JSON for its model store: MultipleAdditiveTreesModel and LinearModel.

Features, thresholds, leaves and sums are float32. A row goes left if x ≤ t + 1e-6, added in single
precision: so a threshold is written as a number from which this makes the threshold that is meant.
"""

from __future__ import annotations

import json

import numpy as np

from rankinite.errors import ExportError
from rankinite.exchange.plain import Plain, PlainForest, PlainLinear
from rankinite.exchange.writers.folding import check_single, check_zeros, in_leaves
from rankinite.exchange.writers.names import names_from_one
from rankinite.exchange.writers.texts import check_depth, nested, number_texts
from rankinite.exchange.writers.thresholds import next_number, single_at_most

# What Solr adds to every threshold.
SLACK = np.float32(1e-6)
_PACKAGE = "org.apache.solr.ltr.model"


def write(
    plain: Plain,
    *,
    variant: str = ".json",
    name: str = "rankinite",
    store: str | None = None,
    missing: str | None = None,
    thresholds: str | None = None,
) -> bytes:
    """The bytes to be put into Solr's model store.

    Parameters
    ----------
    name : str
        What queries call the model.
    store : str, optional
        The feature store; Solr takes its default one if there is none.
    missing : str, optional
        ``"zero"``: missing values count as zeros, and the file says nothing of them, as Solr before
        its release 9.3 wants it.
    thresholds : str, optional
        ``"nearest"``: where no number gives a threshold with Solr's slack, take the nearest.
    """
    for option, value, known in (
        ("missing", missing, "zero"),
        ("thresholds", thresholds, "nearest"),
    ):
        if value not in (None, known):
            raise ExportError(f"{option} must be {known!r} or left out, got {value!r}")
    if isinstance(plain, PlainLinear):
        kind, params = "LinearModel", _weights(plain)
    else:
        assert isinstance(plain, PlainForest)
        kind = "MultipleAdditiveTreesModel"
        params = _trees(plain, missing == "zero", thresholds == "nearest")
    features = ",".join(f'{{"name":{json.dumps(label)}}}' for label in names_from_one(plain))
    head = {"class": f"{_PACKAGE}.{kind}", "name": name} | ({"store": store} if store else {})
    members = json.dumps(head, indent=1)[1:-2]
    return f'{{{members},\n "features":[{features}],\n "params":{params}}}\n'.encode()


def _weights(plain: PlainLinear) -> str:
    if plain.intercept != 0.0:
        raise ExportError(
            f"the model adds {plain.intercept:g} to every score, and Solr's LinearModel has no "
            "constant: pass constant='drop' to leave it out, which changes no ranking"
        )
    with np.errstate(over="ignore"):
        weights = plain.weights.astype(np.float32)
    if not np.isfinite(weights).all():
        raise ExportError("the model has a weight that is not finite in single precision")
    pairs = zip(names_from_one(plain), number_texts(weights), strict=True)
    # Solr wants doubles, not whole numbers, and these texts always have a point or an exponent.
    return '{"weights":{' + ",".join(f"{json.dumps(name)}:{text}" for name, text in pairs) + "}}"


def _trees(plain: PlainForest, missing_is_zero: bool, nearest: bool) -> str:
    check_zeros(plain, "Solr")
    check_single(plain, "Solr")
    plain = in_leaves(plain)
    forest = plain.forest
    check_depth(forest, "Solr")
    names = [json.dumps(name) for name in names_from_one(plain)]
    features = forest.feature.tolist()
    conditions = number_texts(_without_slack(forest.threshold, nearest), "Infinity")
    values = number_texts(forest.value.astype(np.float32))
    sides = [
        "" if missing_is_zero else ',"missing":"left"' if left else ',"missing":"right"'
        for left in forest.missing_left.tolist()
    ]

    def split(node: int, left: str, right: str) -> str:
        return (
            f'{{"feature":{names[features[node]]},"threshold":"{conditions[node]}"{sides[node]},'
            f'"left":{left},"right":{right}}}'
        )

    def leaf(number: int) -> str:
        return f'{{"value":"{values[number]}"}}'

    trees = ",\n".join(
        f'{{"weight":"1","root":{nested(forest, t, forest.left, forest.right, leaf, split)}}}'
        for t in range(forest.n_trees)
    )
    mode = "" if missing_is_zero else '"isNullSameAsZero":false,'
    return f'{{{mode}"trees":[\n{trees}\n]}}'


def _without_slack(threshold: np.ndarray, nearest: bool) -> np.ndarray:
    """The float32 from which Solr's slack makes the largest float32 that is not above a threshold.

    Numbers lie closer together near 0 than near -1e-6, and above -2^k than below it: there some
    thresholds have none. The nearest above it then keeps the threshold itself on its side.
    """
    wanted = single_at_most(threshold)
    candidate = next_number(next_number(wanted - SLACK, -np.inf), -np.inf)
    best, move = candidate, np.full(len(wanted), np.inf)
    for _ in range(5):
        seen = candidate + SLACK
        with np.errstate(invalid="ignore"):  # ∞ − ∞
            own = np.where(seen == wanted, 0.0, seen.astype(np.float64) - wanted)
        better = (own >= 0.0) & (own < move)
        best, move = np.where(better, candidate, best), np.where(better, own, move)
        candidate = next_number(candidate, np.inf)
    n_moved = int((move != 0.0).sum())
    if n_moved and not nearest:
        example = wanted[move != 0.0][0]
        raise ExportError(
            f"Solr adds 1e-6 to every threshold, and {n_moved:,} of {len(wanted):,} thresholds, "
            f"such as {example:.9g}, are then no sum of single precision: pass "
            f"thresholds='nearest' to move them up by at most {move.max():.2g}, or train "
            "on a feature of a larger scale"
        )
    return best
