"""Training time per tree beside LightGBM, XGBoost and CatBoost, on rows like a web collection's.

    python benchmarks/training.py [--queries 6000] [--leaves 31 255] [--trees 10] [--repeats 5]

Every learner gets the same rows, bins, leaves, smallest leaf, learning rate and threads, and as
far as it can the same pairs (`learners.py`). LightGBM runs in each of its settings that may be its
fastest. Repeats are interleaved and medians shown. Binning is not counted (`binning.py` does). The
last column is NDCG@10 on other queries after all the trees of the run, to show that none of them
buys its speed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import learners
import rankinite as rk
import web_like
from lines import Line, report


def competitors(train: rk.Dataset, leaves: int) -> dict[str, Callable[[int], learners.Trained]]:
    runs: dict[str, Callable[[int], learners.Trained]] = {}
    for name, setting in learners.RANKINITE_SETTINGS.items():
        runs[name] = lambda trees, setting=setting: learners.rankinite(
            train, leaves, trees, setting
        )
    for name, setting in learners.LIGHTGBM_SETTINGS.items():
        runs[name] = learners.lightgbm(train, leaves, setting)
    runs["XGBoost"] = learners.xgboost(train, leaves)
    runs["CatBoost LambdaMart"] = learners.catboost(train, leaves, "LambdaMart:metric=NDCG")
    runs["CatBoost QueryRMSE"] = learners.catboost(train, leaves, "QueryRMSE")
    return runs


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
    for setting in learners.RANKINITE_SETTINGS.values():
        learners.rankinite(train.select_queries(range(50)), 31, 2, setting)  # compiles
    print(f"{train.n_rows:,} rows × {train.n_features}, {learners.THREADS} threads")
    lines = []
    for leaves in arguments.leaves:
        runs = competitors(train, leaves)
        results = [
            {name: run(arguments.trees + 1) for name, run in runs.items()}
            for _ in range(arguments.repeats)
        ]
        ms = {
            name: 1e3 * float(np.median([result[name].seconds_a_tree() for result in results]))
            for name in runs
        }
        print(f"\n{leaves} leaves{'':21}{'ms a tree':>10}{'ratio':>8}{'ndcg@10':>10}")
        for name in runs:
            scores = results[-1][name].predict(test.X, arguments.trees + 1)
            ndcg = rk.evaluate(scores, test)["ndcg@10"]
            ratio = ms[name] / ms["rankinite"]
            print(f"{name:30}{ms[name]:10.1f}{ratio:8.2f}{ndcg:10.4f}", flush=True)
        for peer, bar in (("LightGBM", 1.5), ("XGBoost", 2.5), ("CatBoost", 2.5)):
            best = min((name for name in runs if name.startswith(peer)), key=lambda name: ms[name])
            lines += [
                Line(
                    f"training, {leaves} leaves: {own}",
                    f"{ms[own]:.0f} ms a tree",
                    f"{ms[best]:.0f} ms ({best})",
                    f"{ms[best] / ms[own]:.2f}",
                    f"{bar}",
                )
                for own in learners.RANKINITE_SETTINGS
            ]
    report(lines)


if __name__ == "__main__":
    main()
