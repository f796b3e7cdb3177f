"""Scores of Dask collections, partition by partition, when they are asked for."""

from __future__ import annotations

import copy
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd

from rankinite.errors import ParameterError
from rankinite.models.ranker import Ranker

_NAME = "score"


def scores(model: Ranker, X: Any, n_rounds: int | None) -> Any:
    """A lazy collection of the scores of `X`, in its partitions."""
    # Dask runs as many of these at once as a worker has threads.
    single = copy.copy(model).set_params(n_threads=1)
    # One task of its own, not a copy in every one.
    held = dask.delayed(single, pure=False, traverse=False)
    # What is wrong with the columns or `n_rounds` is told now, by a row of their kinds, and not in
    # the logs of the workers.
    if isinstance(X, dd.DataFrame):
        _of_block(X._meta_nonempty, single, n_rounds)
        meta = pd.Series(dtype=np.float64, name=_NAME)
        return X.map_partitions(_of_frame, held, n_rounds, meta=meta, enforce_metadata=False)
    if isinstance(X, da.Array) and X.ndim == 2:
        _of_block(np.zeros((1, X.shape[1]), X.dtype), single, n_rounds)
        return X.rechunk({1: -1}).map_blocks(
            _of_block, held, n_rounds, drop_axis=1, dtype=np.float64, meta=np.empty(0)
        )
    raise ParameterError(
        f"X is a {type(X).__name__}: pass a Dask data frame or an array of two dimensions, or "
        "score with to_local().predict"
    )


def _of_frame(part: pd.DataFrame, model: Ranker, n_rounds: int | None) -> pd.Series:
    return pd.Series(_of_block(part, model, n_rounds), index=part.index, name=_NAME)


def _of_block(block: Any, model: Ranker, n_rounds: int | None) -> np.ndarray:
    return model.predict(block, n_rounds=n_rounds) if block.shape[0] else np.empty(0)
