"""Time until the validation NDCG@10 is reached that LightGBM has after 100 trees.

    python benchmarks/time_to_accuracy.py [--leaves 31] [--trees 100] [--repeats 3]
                                          [--learners NAME ...]

5,000 queries of `web_like.py` to train and 1,000 to validate. Nobody evaluates while the clock
runs: the scores after every tree are computed afterwards. A learner of ours that does not get
there in half as many trees again has no ratio.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import learners
import web_like
from lines import Line, report

# To train and to validate.
N_QUERIES = (5000, 1000)


def measure(leaves: int, trees: int, repeats: int, names: list[str]) -> list[Line]:
    runs = {}
    rows = web_like.dataset(sum(N_QUERIES))
    with tempfile.TemporaryDirectory() as folder:
        first, rest = rows.select_queries(range(N_QUERIES[0])), range(N_QUERIES[0], sum(N_QUERIES))
        train = learners.leave(first, Path(folder) / "train.npz")
        valid = learners.leave(rows.select_queries(rest), Path(folder) / "valid.npz")
        for name in names:
            runs[name] = learners.Learner(name, leaves, train, valid)
            runs[name].wait()
    results = []
    for repeat in range(repeats):
        # NDCG is the same in every repeat.
        first = repeat == 0
        results.append(
            {
                name: run.run(trees + trees // 2, every_tree=first)
                if name in learners.RANKINITE_SETTINGS
                else run.run(trees)
                for name, run in runs.items()
            }
        )
    for run in runs.values():
        run.close()
    times = {name: np.median([result[name].times for result in results], axis=0) for name in runs}
    lines = []
    for name in (name for name in names if name in learners.LIGHTGBM_SETTINGS):
        goal, seconds = results[0][name].ndcgs[-1], float(times[name][-1])
        print(f"\n{leaves} leaves: {name} has {goal:.4f} after {seconds:.1f} s")
        for own in (name for name in names if name in learners.RANKINITE_SETTINGS):
            there = np.flatnonzero(np.array(results[0][own].ndcgs) >= goal)
            if len(there) == 0:
                print(f"  {own:20} does not get there", flush=True)
                continue
            n_trees = int(there[0]) + 1
            taken = float(times[own][there[0]])
            ratio = f"{seconds / taken:.2f}"
            print(f"  {own:20} {n_trees:4} trees {taken:6.1f} s, ratio {ratio}", flush=True)
            lines.append(
                Line(
                    f"to NDCG@10 {goal:.4f}, {leaves} leaves: {own}",
                    f"{taken:.1f} s, {n_trees} trees",
                    f"{seconds:.1f} s ({name})",
                    ratio,
                    "3.0",
                )
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leaves", type=int, nargs="+", default=[31])
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    names = [*learners.LIGHTGBM_SETTINGS, *learners.RANKINITE_SETTINGS]
    parser.add_argument("--learners", nargs="+", choices=names, default=names)
    arguments = parser.parse_args()
    report(
        [
            line
            for leaves in arguments.leaves
            for line in measure(leaves, arguments.trees, arguments.repeats, arguments.learners)
        ]
    )


if __name__ == "__main__":
    main()
