"""Training at the size of a large collection: does the time of a tree grow with the rows alone?

    python benchmarks/scale.py [--queries 18000 145000] [--leaves 200] [--trees 3]

Queries of 100 documents with 200 features, made in chunks and binned as they come, so the raw
matrix (11.6 GB at 14.5 million rows) is never there. Prints seconds a tree, nanoseconds a row, and
the peak memory of the process.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator

import numpy as np

import learners
import rankinite as rk
import web_like
from lines import Line, report

N_DOCS, N_FEATURES = 100, 200
QUERIES_A_CHUNK = 1000


def chunks(n_queries: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """(X, y, qid) of a thousand queries at a time, the same in every pass."""
    for first in range(0, n_queries, QUERIES_A_CHUNK):
        n = min(QUERIES_A_CHUNK, n_queries - first)
        X = web_like.matrix(n, N_DOCS, N_FEATURES, seed=first)
        yield X, web_like.labels(X, seed=first), np.repeat(np.arange(first, first + n), N_DOCS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, nargs="+", default=[18_000, 145_000])
    parser.add_argument("--leaves", type=int, default=200)
    parser.add_argument("--trees", type=int, default=3)
    arguments = parser.parse_args()
    heads = ("bins, GB", "set up, s", "s a tree", "ns a row", "peak, GB")
    print(f"{'rows':>12}" + "".join(f"{head:>11}" for head in heads))
    a_row = []
    for n_queries in arguments.queries:
        started = time.perf_counter()
        train = rk.Dataset.from_chunks(lambda n_queries=n_queries: chunks(n_queries))
        setup = time.perf_counter() - started
        trained = learners.rankinite(train, arguments.leaves, arguments.trees + 1, {})
        seconds = trained.seconds_a_tree()
        a_row.append(1e9 * seconds / train.n_rows)
        bins = train.binned().blocks.nbytes / 1e9
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(
            f"{train.n_rows:12,}{bins:11.2f}{setup:11.1f}{seconds:11.2f}{a_row[-1]:11.0f}{peak:11.2f}",
            flush=True,
        )
        del train, trained
    rows = N_DOCS * np.array(arguments.queries)
    report(
        [
            Line(
                f"{rows[-1]:,} rows × {N_FEATURES}, {arguments.leaves} leaves",
                f"{a_row[-1] * rows[-1] / 1e9:.2f} s a tree",
                f"{a_row[0]:.0f} → {a_row[-1]:.0f} ns a row",
                f"{a_row[-1] / a_row[0]:.2f}",
                "below 1.2",
            )
        ]
    )


if __name__ == "__main__":
    main()
