"""What the λ-gradients cost beside the trees, in training on rows like a web collection's.

python benchmarks/lambdas.py [--queries 6000] [--leaves 31] [--trees 12]

For each measure a LambdaMART is trained, so that the scores move as they do in training, and the
time of the λs is taken out of the time of its trees. First the λs of some queries are compared
with those of the brute-force twin in tests/naive.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import rankinite as rk
import web_like
from lines import Line, report
from rankinite.lambdas import LambdaGradients
from rankinite.order.seeds import derive_seed

MEASURES = ("ndcg", "err", "map", "ndcg@10")


def compare_with_twin(train: rk.Dataset, n_queries: int = 3, n_docs: int = 40) -> None:
    """Raise if the λs of a few queries are not those of the definitions."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from tests.naive import lambdas as naive
    from tests.naive import measures as values

    twins = {
        "ndcg": values.ndcg,
        "err": partial(values.err, max_label=4),
        "map": values.ap,
        "ndcg@10": partial(values.ndcg, k=10),
    }
    rng = np.random.default_rng(0)
    for query in range(n_queries):
        first = int(train.offsets[query])
        labels = np.ascontiguousarray(train.labels[first : first + n_docs], np.float64)
        keys = rng.integers(0, 2**64, n_docs, np.uint64)
        scores = rng.normal(size=n_docs)
        order = naive.ranking(scores, keys, derive_seed(0, 0, "ties"))
        for name, twin in twins.items():
            measure = rk.measure("err:max_label=4" if name == "err" else name)
            gradients = LambdaGradients(
                measure, labels, np.array([0, n_docs]), keys, normalize=True
            )
            found = gradients(scores, 0)
            expected = naive.lambdas(twin, labels, scores, order, normalize=True)
            atol = 1e-5 * np.abs(expected[0]).max()
            np.testing.assert_allclose(found, expected, rtol=0, atol=atol, err_msg=name)


def train_and_watch(train: rk.Dataset, measure: str, leaves: int, n_trees: int) -> np.ndarray:
    """Milliseconds of the λs and of the whole of every tree but the first, shape (2, n_trees)."""
    spent: list[float] = []
    ends: list[float] = []
    call = LambdaGradients.__call__

    def timed(self: LambdaGradients, *arguments: Any) -> Any:
        started = time.perf_counter()
        result = call(self, *arguments)
        spent.append(time.perf_counter() - started)
        ends.append(started)
        return result

    LambdaGradients.__call__ = timed  # type: ignore[method-assign]
    try:
        model = rk.LambdaMART(measure, n_estimators=n_trees + 2, max_leaf_nodes=leaves)
        model.fit(train)
    finally:
        LambdaGradients.__call__ = call  # type: ignore[method-assign]
    return 1e3 * np.array([spent[1:-1], np.diff(ends)[1:]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=6000)
    parser.add_argument("--leaves", type=int, default=31)
    parser.add_argument("--trees", type=int, default=12)
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    train = web_like.dataset(arguments.queries)
    train.binned()
    compare_with_twin(train)
    for measure in MEASURES:
        rk.LambdaMART(measure, n_estimators=1).fit(train)  # compiles
    taken: dict[str, list[np.ndarray]] = {measure: [] for measure in MEASURES}
    for _ in range(arguments.repeats):
        for measure in MEASURES:
            taken[measure].append(
                train_and_watch(train, measure, arguments.leaves, arguments.trees)
            )
    print(f"{train.n_rows:,} rows, {arguments.leaves} leaves, medians; ms an iteration")
    print(f"{'measure':10}{'λs':>8}{'fastest':>9}{'all':>8}{'share':>8}")
    lines = []
    for measure, runs in taken.items():
        lambdas, everything = np.concatenate(runs, axis=1)
        middle, whole = np.median(lambdas), np.median(everything)
        print(f"{measure:10}{middle:8.1f}{lambdas.min():9.1f}{whole:8.1f}{middle / whole:8.0%}")
        pairs = "all pairs" if "@" not in measure else "pairs of the first ten"
        lines.append(
            Line(
                f"λs of {measure}, {pairs}",
                f"{middle:.1f} ms",
                f"{whole:.1f} ms (the whole tree)",
                f"{middle / whole:.0%}",
                "below 20%",
            )
        )
    report(lines)


if __name__ == "__main__":
    main()
