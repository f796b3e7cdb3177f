"""Training time per tree beside LightGBM, on rows like those of a web search collection.

    python benchmarks/training.py [--queries 6000] [--leaves 31 255] [--trees 10] [--repeats 5]

Both get the same 2 threads, rows, 255 bins, leaves, smallest leaf and learning rate, and the same
pairs: NDCG with λs for pairs whose upper document is among the first ten (rankinite: the measure
ndcg@10; LightGBM: lambdarank_truncation_level=10). LightGBM runs in each of its settings that may
be its fastest. Repeats are interleaved and medians shown. Binning is not counted; it has a column
of its own. The last column is NDCG@10 on other queries after all the trees of the run, to show
that none of them buys its speed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import lightgbm
import numpy as np

import rankinite as rk
import web_like
from rankinite.boosting.loop import Run

THREADS = 2
LIGHTGBM_SETTINGS = {
    "LightGBM": {},
    "LightGBM columns": {"force_col_wise": True},
    "LightGBM rows": {"force_row_wise": True},
    "LightGBM quantised": {"use_quantized_grad": True},
    "LightGBM quantised rows": {"use_quantized_grad": True, "force_row_wise": True},
}


class Clock:
    """Notes when each tree was finished."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def after_round(self, run: Run) -> bool:
        self.times.append(time.perf_counter())
        return False

    def finish(self, run: Run) -> None:
        pass


Result = tuple[float, Callable[[np.ndarray], np.ndarray]]


def time_rankinite(train: rk.Dataset, leaves: int, trees: int) -> Result:
    clock = Clock()
    model = rk.LambdaMART(n_estimators=trees + 1, max_leaf_nodes=leaves, n_threads=THREADS)
    model.fit(train, callbacks=[clock])
    return (clock.times[-1] - clock.times[0]) / trees, model.predict


def time_lightgbm(train: lightgbm.Dataset, parameters: dict, trees: int) -> Result:
    booster = lightgbm.Booster(parameters, train)
    booster.update()
    started = time.perf_counter()
    for _ in range(trees):
        booster.update()
    return (time.perf_counter() - started) / trees, booster.predict


def lightgbm_parameters(leaves: int, setting: dict) -> dict:
    return {
        "objective": "lambdarank",
        "lambdarank_truncation_level": 10,
        "num_leaves": leaves,
        "learning_rate": 0.1,
        "min_data_in_leaf": 20,
        "num_threads": THREADS,
        "verbose": -1,
    } | setting


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=6000)
    parser.add_argument("--leaves", type=int, nargs="+", default=[31, 255])
    parser.add_argument("--trees", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    train = web_like.dataset(arguments.queries)
    test = web_like.dataset(500, seed=1)
    train.binned()
    time_rankinite(train.select_queries(range(50)), 31, 2)  # compiles
    print(f"{train.n_rows:,} rows × {train.n_features}, {THREADS} threads: ms a tree (median)")
    for leaves in arguments.leaves:
        learners: dict[str, Callable[[], Result]] = {
            "rankinite": lambda leaves=leaves: time_rankinite(train, leaves, arguments.trees)
        }
        for name, setting in LIGHTGBM_SETTINGS.items():
            parameters = lightgbm_parameters(leaves, setting)
            rows = lightgbm.Dataset(
                train.X, train.y, group=train.query_sizes, params=parameters
            ).construct()
            learners[name] = lambda rows=rows, parameters=parameters: time_lightgbm(
                rows, parameters, arguments.trees
            )
        results = [
            {name: run() for name, run in learners.items()} for _ in range(arguments.repeats)
        ]
        print(f"\n{leaves} leaves{'':17}{'ms a tree':>10}{'ratio':>8}{'ndcg@10':>10}")
        ours = np.median([result["rankinite"][0] for result in results])
        for name in learners:
            seconds = np.median([result[name][0] for result in results])
            ndcg = rk.evaluate(results[-1][name][1], test)["ndcg@10"]
            print(f"{name:26}{1e3 * seconds:10.1f}{seconds / ours:8.2f}{ndcg:10.4f}", flush=True)


if __name__ == "__main__":
    main()
