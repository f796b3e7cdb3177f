"""Scoring with twelve rankers in one file, beside the sum of what each takes by itself.

    python benchmarks/combined_scoring.py [--trees 300] [--repeats 30] [--file FILE]

Eight LambdaMART and two MART of 31 leaves and two nets, as in the ensemble of Burges et al. 2011,
each trained without another tenth of the queries, so that their bins differ. All are timed on one
thread, in turns: each ranker by itself a few calls, then the combination. The scores are first
checked against those of the rankers one by one. With ``--file`` the trained combination is kept
there, and read from there the next time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import rankinite as rk
import web_like
from lines import Line, report

BATCHES = (10, 100, 1000)
# Calls of one ranker before the next one's turn.
CALLS = 5
N_FOLDS = 10
BAR = 1.3


def trained(n_trees: int) -> rk.Combination:
    """The twelve rankers, averaged."""
    train = web_like.dataset(300)
    fold = np.arange(train.n_queries) % N_FOLDS
    rows = [train.select_queries(fold != k) for k in range(N_FOLDS)]
    measures = ("ndcg@10", "err@10")
    trees = {"n_estimators": n_trees, "max_leaf_nodes": 31, "feature_fraction": 0.7}
    rankers: dict[str, object] = {}
    for k in range(8):
        model = rk.LambdaMART(measures[k % 2], random_state=k, **trees)
        rankers[f"lambdamart {k}"] = model.fit(rows[k])
    for k in range(2):
        rankers[f"lambdarank {k}"] = rk.LambdaRank(measures[k], n_epochs=3).fit(rows[k])
        rankers[f"mart {k}"] = rk.MART(random_state=k, **trees).fit(rows[8 + k])
    return rk.Combination(rankers).fit(train)


def milliseconds(predict: Callable[[np.ndarray], object], X: np.ndarray) -> float:
    """The median of a few calls, in processor time.

    On a machine that has other things to do, a long call is interrupted more often than twelve
    short ones, of which the median leaves out those that were.
    """
    times = []
    for _ in range(CALLS):
        started = time.thread_time()
        predict(X)
        times.append(1e3 * (time.thread_time() - started))
    return float(np.median(times))


def check(model: rk.Combination, X: np.ndarray) -> None:
    """The combination's scores are those of its rankers, to the bit."""
    raw = np.column_stack([ranker.predict(X) for ranker in model.rankers.values()])
    assert np.array_equal(model._combiner.scores(raw, None), model.predict(X))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--file", type=Path, help="where the trained combination is kept")
    arguments = parser.parse_args()
    if arguments.file is not None and arguments.file.exists():
        model = rk.load(arguments.file)
    else:
        model = trained(arguments.trees)
        if arguments.file is not None:
            model.save(arguments.file)
    for each in (model, *model.rankers.values()):
        each.n_threads = 1
    rows = web_like.matrix(10, 100, seed=5)
    lines = []
    for n_docs in BATCHES:
        X = np.ascontiguousarray(rows[:n_docs])
        check(model, X)
        alone, together = [], []
        for _ in range(arguments.repeats):
            alone.append(sum(milliseconds(each.predict, X) for each in model.rankers.values()))
            together.append(milliseconds(model.predict, X))
        # The median of the ratios of neighbouring turns: whatever slows the machine slows both.
        ratio = float(np.median(np.divide(together, alone)))
        lines.append(
            Line(
                f"scoring {n_docs} documents, {len(model.rankers)} rankers in one file",
                f"{np.median(together):.2f} ms",
                f"{np.median(alone):.2f} ms (one by one)",
                f"{1 / ratio:.2f}",
                f"{1 / BAR:.2f}",
            )
        )
    report(lines)


if __name__ == "__main__":
    main()
