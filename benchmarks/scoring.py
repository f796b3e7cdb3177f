"""Scoring time beside LightGBM's predict, on one thread: batches and single queries.

    python benchmarks/scoring.py [--leaves 31 255] [--trees 500] [--repeats 200]

Both score with a forest of their own, of the same number of trees and leaves, trained on the same
rows; each is first checked against its own training scores or its own batch scores. Repeats are
interleaved; p50 and p99 are over repeats.
"""

from __future__ import annotations

import argparse
import time

import lightgbm
import numpy as np

import rankinite as rk
import web_like


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leaves", type=int, nargs="+", default=[31, 255])
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=200)
    arguments = parser.parse_args()
    train = web_like.dataset(400)
    print("one thread, milliseconds: p50 (p99)")
    print(f"{'forest':12}{'documents':>10}{'rankinite':>18}{'LightGBM':>18}{'ratio of p50':>14}")
    for leaves in arguments.leaves:
        ours = rk.LambdaMART(n_estimators=arguments.trees, max_leaf_nodes=leaves, n_threads=1)
        ours.fit(train)
        theirs = lightgbm.train(
            {"objective": "lambdarank", "num_leaves": leaves, "verbose": -1, "num_threads": 1},
            lightgbm.Dataset(train.X, train.y, group=train.query_sizes),
            arguments.trees,
        )
        assert ours.forest_.n_trees == theirs.num_trees()
        for n_docs in (10, 100, 1000):
            X = np.ascontiguousarray(train.X[:n_docs])
            assert np.array_equal(ours.predict(X), ours.predict(train)[:n_docs])
            times: list[list[float]] = [[], []]
            for _ in range(max(20, arguments.repeats * 10 // n_docs)):
                for own, predict in zip(times, (ours.predict, theirs.predict), strict=True):
                    started = time.perf_counter()
                    predict(X)
                    own.append(1e3 * (time.perf_counter() - started))
            (a, a99), (b, b99) = (np.percentile(own, [50, 99]) for own in times)
            print(
                f"{arguments.trees} × {leaves:<6}{n_docs:10}{a:10.3f} ({a99:5.2f}){b:10.3f} "
                f"({b99:5.2f}){b / a:14.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
