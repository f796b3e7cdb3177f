"""Clusters of Dask on this machine, and what is sent to them."""

from contextlib import contextmanager
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

LACKING = [name for name in ("dask", "distributed", "xgboost") if find_spec(name) is None]

needs_dask = [
    pytest.mark.dask,
    pytest.mark.skipif(
        bool(LACKING), reason=f"there is no {', '.join(LACKING)}: make test-distributed installs it"
    ),
]


@contextmanager
def cluster(n_workers=2):
    """A client of a scheduler and some workers, which are processes with a thread each."""
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    with LocalCluster(n_workers=n_workers, **options) as made, Client(made) as client:
        yield client


def frame(rows):
    """A dataset as a frame, whose query ids are text."""
    made = pd.DataFrame(rows.X, columns=[f"f{j}" for j in range(rows.n_features)])
    made["label"] = rows.y
    made["query"] = [f"q{qid}" for qid in np.repeat(rows.qids, rows.query_sizes)]
    if rows.weight is not None:
        made["weight"] = rows.weight
    return made


def lazy(made, npartitions, shuffled=False):
    """A frame of Dask, as it is or with its rows in any order."""
    import dask.dataframe as dd

    if shuffled:
        made = made.sample(frac=1.0, random_state=1)
    return dd.from_pandas(made, npartitions=npartitions, sort=False)


def arrays(rows, chunk):
    """X, y, qid and weight as arrays of Dask, the features cut too."""
    import dask.array as da

    qid = np.repeat(rows.qids, rows.query_sizes)
    X = da.from_array(np.asfortranarray(rows.X), chunks=(chunk, 7))
    columns = [rows.y, qid] if rows.weight is None else [rows.y, qid, rows.weight]
    return (X, *(da.from_array(column, chunks=chunk + 9) for column in columns))
