"""Time until the validation NDCG@10 is reached that LightGBM has after 100 trees.

    python benchmarks/time_to_accuracy.py [--leaves 31] [--trees 100] [--repeats 3]

5,000 queries of `web_like.py` to train and 1,000 to validate. Nobody evaluates while the clock
runs: the scores after every tree are computed afterwards. A learner of ours that does not get
there in twice as many trees has no ratio.
"""

from __future__ import annotations

import argparse

import numpy as np

import learners
import rankinite as rk
import web_like
from lines import Line, report


def reached(trained: learners.Trained, valid: rk.Dataset, goal: float) -> int | None:
    """The first number of trees with an NDCG@10 of at least `goal`."""
    for n_trees in range(1, len(trained.times) + 1):
        scores = trained.predict(valid.X, n_trees)
        if rk.evaluate(scores, valid)["ndcg@10"] >= goal:
            return n_trees
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leaves", type=int, nargs="+", default=[31])
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    rows = web_like.dataset(6000)
    train, valid = rows.select_queries(range(5000)), rows.select_queries(range(5000, 6000))
    train.binned()
    lines = []
    for leaves in arguments.leaves:
        theirs = {
            name: learners.lightgbm(train, leaves, setting)
            for name, setting in learners.LIGHTGBM_SETTINGS.items()
        }
        ours = {
            name: lambda trees, setting=setting, leaves=leaves: learners.rankinite(
                train, leaves, trees, setting
            )
            for name, setting in learners.RANKINITE_SETTINGS.items()
        }
        for run in ours.values():
            run(1)  # compiles
        results = [
            {name: run(arguments.trees) for name, run in theirs.items()}
            | {name: run(2 * arguments.trees) for name, run in ours.items()}
            for _ in range(arguments.repeats)
        ]
        times = {
            name: np.median([result[name].times for result in results], axis=0)
            for name in results[0]
        }
        for name in theirs:
            trained = results[-1][name]
            goal = rk.evaluate(trained.predict(valid.X, arguments.trees), valid)["ndcg@10"]
            seconds = float(times[name][-1])
            print(f"\n{leaves} leaves: {name} has {goal:.4f} after {seconds:.1f} s")
            for own in ours:
                n_trees = reached(results[-1][own], valid, goal)
                if n_trees is None:
                    print(f"  {own:20} not reached", flush=True)
                    continue
                taken = float(times[own][n_trees - 1])
                ratio = f"{seconds / taken:.2f}"
                print(f"  {own:20} {n_trees:4} trees {taken:6.1f} s, ratio {ratio}", flush=True)
                lines.append(
                    Line(
                        f"to NDCG@10 {goal:.4f}, {leaves} leaves, {own}",
                        f"{taken:.1f} s, {n_trees} trees",
                        f"{seconds:.1f} s ({name})",
                        ratio,
                        "1.5",
                    )
                )
    report(lines)


if __name__ == "__main__":
    main()
