"""Train on the workers of a Dask cluster: python examples/on_dask.py

Here a scheduler and two workers on this machine, and data that is small enough to compare with the
training of one process: both give the same file. On a cluster of yours make the client by its
address, and read the frames by dask.dataframe.read_parquet.
"""

from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

import rankinite as rk
import rankinite.dask


def frame(rows: rk.Dataset) -> pd.DataFrame:
    """Rows as they may come out of a log: features, a label, and the text of the query."""
    made = pd.DataFrame(rows.X, columns=[f"feature {j}" for j in range(rows.n_features)])
    made["label"] = rows.y
    made["query"] = [f"query {qid}" for qid in np.repeat(rows.qids, rows.query_sizes)]
    return made


def main() -> None:
    """Start the cluster, train, score and save."""
    train, valid = map(frame, rk.artificial(n_queries=(200, 60), n_docs=20, n_features=10))
    settings = {"n_estimators": 30, "max_leaf_nodes": 15, "early_stopping": 10}
    local = {"threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    with LocalCluster(n_workers=2, **local) as cluster, Client(cluster) as client:
        ranker = rankinite.dask.LambdaMART(client=client, **settings)
        rows = dd.from_pandas(train, npartitions=6)
        ranker.fit(rows, "label", qid="query", valid=dd.from_pandas(valid, npartitions=2))
        print(f"{len(client.nthreads())} workers, {ranker.n_moved_} rows moved between them")
        scores = ranker.predict(rows)  # a Dask series; nothing is computed yet
        print(f"the highest score is {scores.max().compute():.3f}")
    model = ranker.to_local()
    model.save("ranker.rk")

    alone = rk.LambdaMART(**settings)
    alone.fit(train, "label", qid="query", valid=rk.Dataset(valid, "label", qid="query"))
    alone.save("alone.rk")
    same = Path("ranker.rk").read_bytes() == Path("alone.rk").read_bytes()
    print("the file of one process:", same)


if __name__ == "__main__":
    main()
