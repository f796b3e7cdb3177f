"""The exact line search between two rankers, beside a search on a grid.

python benchmarks/line_search.py [--queries 10000] [--documents 50] [--repeats 3]

Two scores of a document are independent random numbers, so that half of all pairs cross. The grid
is of 100 weights, each of which is one evaluation: it is there for scale, as it finds less. First
the curve is compared with evaluations at some of its intervals. The query of 5,000 documents runs
in a process of its own, for the peak of its memory.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import rankinite as rk
from lines import Line, report
from rankinite.linesearch import LineSearch, LineSearcher
from rankinite.measures import Evaluator, mean_value

MEASURES = ("ndcg@10", "ndcg", "err", "map")
GRID = np.linspace(0.005, 0.995, 100)


def random_data(n_queries: int, n_docs: int) -> tuple[rk.Dataset, np.ndarray, np.ndarray]:
    """Labels from 0 to 4, and two scores a document."""
    rng = np.random.default_rng(0)
    n_rows = n_queries * n_docs
    y, qid = rng.integers(0, 5, n_rows), np.repeat(np.arange(n_queries), n_docs)
    data = rk.Dataset(np.zeros((n_rows, 1), np.float32), y, qid=qid)
    return data, rng.normal(size=n_rows), rng.normal(size=n_rows)


def check(found: LineSearch, data: rk.Dataset, a: np.ndarray, b: np.ndarray, measure: str) -> None:
    """Raise if the curve is not what evaluation says."""
    edges, values = found.curve
    for place in np.random.default_rng(1).integers(0, len(values), 5):
        alpha = edges[place : place + 2].mean()
        value = rk.evaluate((1 - alpha) * a + alpha * b, data, measure)[measure]
        np.testing.assert_allclose(values[place], value, rtol=0, atol=1e-12)


def search_grid(evaluator: Evaluator, a: np.ndarray, b: np.ndarray) -> float:
    """The best value of the grid; the labels were judged before."""
    sums = [mean_value(evaluator.values((1 - x) * a + x * b)) for x in GRID]
    return max(total / weight for total, weight in sums)


def timed(repeats: int, *calls: object) -> list[float]:
    """Median seconds of each call, interleaved."""
    taken = np.empty((repeats, len(calls)))
    for r in range(repeats):
        for k, call in enumerate(calls):
            started = time.perf_counter()
            call()  # type: ignore[operator]
            taken[r, k] = time.perf_counter() - started
    return np.median(taken, axis=0).tolist()


def many_queries(n_queries: int, n_docs: int, repeats: int) -> list[Line]:
    data, a, b = random_data(n_queries, n_docs)
    leaves = np.random.default_rng(2).normal(size=31)
    tree = leaves[np.random.default_rng(3).integers(0, 31, data.n_rows)]
    print(f"{n_queries:,} queries of {n_docs} documents; medians, seconds")
    print(
        f"{'measure':10}{'exact':>8}{'a + α·tree':>12}{'grid':>8}{'steps':>11}  best: exact, grid"
    )
    lines = []
    for measure in MEASURES:
        searcher = LineSearcher(measure, data)
        found = searcher.search(a, b, 0, 1, convex=True)
        check(found, data, a, b, measure)
        evaluator = Evaluator(measure, data)
        best_of_grid = search_grid(evaluator, a, b)

        def exact(searcher: LineSearcher = searcher) -> LineSearch:
            return searcher.search(a, b, 0, 1, convex=True)

        def with_tree(searcher: LineSearcher = searcher) -> LineSearch:
            return searcher.search(a, tree, 0.1, 100)

        def grid(evaluator: Evaluator = evaluator) -> float:
            return search_grid(evaluator, a, b)

        ours, trees, slow = timed(repeats, exact, with_tree, grid)
        print(
            f"{measure:10}{ours:8.3f}{trees:12.3f}{slow:8.3f}{len(found.curve.values):11,}"
            f"  {found.value:.6f}, {best_of_grid:.6f}"
        )
        bar = "below 1 s" if measure == "ndcg@10" else ""
        lines.append(
            Line(
                f"exact line search, {measure}, {n_queries:,} × {n_docs}",
                f"{ours:.2f} s",
                f"{slow:.2f} s (100 evaluations)",
                f"{slow / ours:.1f}",
                bar,
            )
        )
    return lines


def peak_memory() -> float:
    """The most memory that this process has had, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def long_query(n_docs: int = 5_000) -> None:
    """One query, every measure, and the peak of the memory above that before (on Linux)."""
    small, a, b = random_data(1, 10)
    data, a_long, b_long = random_data(1, n_docs)
    print(f"a query of {n_docs:,} documents; seconds, and MB at the peak more than before")
    for measure in MEASURES:
        LineSearcher(measure, small).search(a, b, 0, 1, convex=True)  # compiles
        searcher = LineSearcher(measure, data)
        Path("/proc/self/clear_refs").write_text("5")  # the peak is counted anew from here
        before = peak_memory()
        started = time.perf_counter()
        found = searcher.search(a_long, b_long, 0, 1, convex=True)
        taken = time.perf_counter() - started
        more = peak_memory() - before
        print(f"{measure:10}{taken:8.3f}{more:8.0f} MB{len(found.curve.values):11,} steps")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--documents", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--long-query", action="store_true", help="only that")
    arguments = parser.parse_args()
    if arguments.long_query:
        long_query()
        return
    lines = many_queries(arguments.queries, arguments.documents, arguments.repeats)
    subprocess.run([sys.executable, __file__, "--long-query"], check=True)
    report(lines)


if __name__ == "__main__":
    main()
