"""Training time per tree beside LightGBM, XGBoost and CatBoost, on rows like a web collection's.

    python benchmarks/training.py [--queries 6000] [--leaves 31 255] [--trees 20] [--repeats 3]
                                  [--learners NAME ...]

Every learner gets the same rows, bins, leaves, smallest leaf, learning rate and threads, and as
far as it can the same pairs (`learners.py`). LightGBM runs in each of its settings that may be its
fastest. Repeats are interleaved and medians shown, of the trees after the first eleven, in which
LightGBM's GOSS does not draw yet. Binning is not counted (`binning.py` does). The last column is
NDCG@10 on other queries after all the trees of the run, to show that none of them buys its speed.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import learners
import web_like
from lines import Line, report

PEERS = {"LightGBM": 3.0, "XGBoost": 3.0, "CatBoost": 3.0}


def measure(leaves: int, arguments: argparse.Namespace) -> list[Line]:
    runs = {}
    with tempfile.TemporaryDirectory() as folder:
        train = learners.leave(web_like.dataset(arguments.queries), Path(folder) / "train.npz")
        test = learners.leave(web_like.dataset(500, seed=1), Path(folder) / "test.npz")
        for name in arguments.learners:
            runs[name] = learners.Learner(name, leaves, train, test)
            runs[name].wait()
    results = [
        {name: run.run(learners.WARM_UP + arguments.trees) for name, run in runs.items()}
        for _ in range(arguments.repeats)
    ]
    for run in runs.values():
        run.close()
    ms = {
        name: 1e3 * float(np.median([result[name].seconds_a_tree() for result in results]))
        for name in runs
    }
    print(f"\n{leaves} leaves{'':21}{'ms a tree':>10}{'ratio':>8}{'ndcg@10':>10}")
    for name in runs:
        ndcg = results[-1][name].ndcgs[-1]
        print(f"{name:30}{ms[name]:10.1f}{ms[name] / ms['rankinite']:8.2f}{ndcg:10.4f}", flush=True)
    lines = []
    for peer, bar in PEERS.items():
        of_peer = [name for name in runs if name.startswith(peer)]
        if not of_peer:
            continue
        best = min(of_peer, key=lambda name: ms[name])
        lines += [
            Line(
                f"training, {leaves} leaves: {own}",
                f"{ms[own]:.0f} ms a tree",
                f"{ms[best]:.0f} ms ({best})",
                f"{ms[best] / ms[own]:.2f}",
                f"{bar}",
            )
            for own in runs
            if own in learners.RANKINITE_SETTINGS
        ]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=6000)
    parser.add_argument("--leaves", type=int, nargs="+", default=[31, 255])
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    names = learners.names()
    parser.add_argument("--learners", nargs="+", choices=names, default=names)
    arguments = parser.parse_args()
    print(f"{arguments.queries:,} queries of 120 documents, {learners.THREADS} threads")
    report([line for leaves in arguments.leaves for line in measure(leaves, arguments)])


if __name__ == "__main__":
    main()
