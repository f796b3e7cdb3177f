"""Models as Vespa makes ranking expressions of them.

Both forms compare x < t, of doubles, and add doubles. The thresholds of XGBoost's form are float32
numbers, and no base score is known in it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rankinite.exchange.faults import reader
from rankinite.exchange.plain import PlainForest, PlainLinear
from rankinite.exchange.readers import lightgbm_json
from rankinite.exchange.readers._xgboost_dump import dumped_trees, is_dump
from rankinite.exchange.strict import strict_as_at_most


def read(content: bytes, where: str) -> PlainForest | PlainLinear:
    """The forest of LightGBM's or XGBoost's JSON, as Vespa takes it."""
    if is_dump(content):
        return _read_dump(content, where)
    plain = lightgbm_json.read(content, where)
    assert isinstance(plain, PlainForest)
    return replace(plain, forest=strict_as_at_most(plain.forest, np.float64))


@reader("XGBoost")
def _read_dump(content: bytes) -> PlainForest:
    forest, names = dumped_trees(content)
    return PlainForest(strict_as_at_most(forest, np.float64), len(names), names)
