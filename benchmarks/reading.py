"""Reading SVMlight text beside scikit-learn and LightGBM.

    python benchmarks/reading.py [--megabytes 500] [--repeats 3] [--folder FOLDER]

The text is that of `web_text`. scikit-learn's load_svmlight_file gives a sparse matrix, rankinite's
read a dense one; the first check is that all values, labels and query ids are equal. LightGBM reads
and bins in one step, so it stands beside rankinite's reading and binning together: from values in
memory, and in pieces straight into bins. Its file has no query ids and no comments, which it cannot
read, and is that much shorter. 2 threads; scikit-learn has one, and reads the file once. The rest
is interleaved; medians are shown.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import lightgbm
import numpy as np
from sklearn.datasets import load_svmlight_file

import rankinite as rk
import web_text
from lines import Line, report
from rankinite._numba import threads

THREADS = 2
BYTES_A_QUERY = 133_000


def seconds_of(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def lightgbm_run(path: Path, two_round: bool) -> Callable[[], object]:
    parameters = {"max_bin": 255, "num_threads": THREADS, "two_round": two_round, "verbose": -1}
    return lambda: lightgbm.Dataset(str(path), params=parameters).construct()


def check_against_scikit_learn(path: Path) -> float:
    """Compare all that is read; the seconds that scikit-learn took."""
    started = time.perf_counter()
    X, y, qid = load_svmlight_file(str(path), query_id=True, zero_based=False)
    seconds = time.perf_counter() - started
    ours = rk.read(path)
    assert np.array_equal(ours.y, y)
    assert np.array_equal(np.repeat(ours.qids, ours.query_sizes), qid)
    for first in range(0, ours.n_rows, 10_000):
        rows = slice(first, first + 10_000)
        assert np.array_equal(ours.X[rows, : X.shape[1]], X[rows].toarray())
    return seconds


def compare(folder: Path, n_queries: int, repeats: int) -> None:
    ours, theirs = web_text.write(folder, n_queries)
    sklearn_seconds = check_against_scikit_learn(ours)
    runs = {
        "rankinite, values": lambda: rk.read(ours),
        "rankinite, values and bins": lambda: rk.read(ours).binned(),
        "rankinite, bins in pieces": lambda: rk.read(ours, max_bins=255),
        "LightGBM, bins": lightgbm_run(theirs, False),
        "LightGBM, bins, two_round": lightgbm_run(theirs, True),
    }
    times: dict[str, list[float]] = {name: [] for name in runs}
    with threads(THREADS):
        runs["rankinite, bins in pieces"]()  # compiles
        for _ in range(repeats):
            for name, run in runs.items():
                times[name].append(seconds_of(run))
    size = ours.stat().st_size / 1e6
    print(f"{size:.0f} MB of text, {n_queries * web_text.N_DOCS:,} rows, {THREADS} threads")
    medians = {name: float(np.median(each)) for name, each in times.items()}
    print(f"{'':30}{'seconds':>9}{'MB/s':>8}")
    for name, seconds in (medians | {"scikit-learn, values": sklearn_seconds}).items():
        print(f"{name:30}{seconds:9.2f}{size / seconds:8.0f}")
    best = min(medians["LightGBM, bins"], medians["LightGBM, bins, two_round"])
    against = [
        ("rankinite, values", "scikit-learn", sklearn_seconds, "10"),
        ("rankinite, values and bins", "LightGBM, bins", best, "2"),
        ("rankinite, bins in pieces", "LightGBM, bins", best, "2"),
    ]
    report(
        [
            Line(
                f"reading {size:.0f} MB of text: {name.removeprefix('rankinite, ')}",
                f"{medians[name]:.2f} s",
                f"{seconds:.2f} s ({peer})",
                f"{seconds / medians[name]:.1f}",
                bar,
            )
            for name, peer, seconds, bar in against
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    n_queries = max(1, arguments.megabytes * 1_000_000 // BYTES_A_QUERY)
    if arguments.folder is not None:
        compare(arguments.folder, n_queries, arguments.repeats)
        return
    with tempfile.TemporaryDirectory() as folder:
        compare(Path(folder), n_queries, arguments.repeats)


if __name__ == "__main__":
    main()
