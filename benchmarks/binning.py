"""Binning a float32 matrix beside LightGBM's Dataset.construct, from the same matrix.

    python benchmarks/binning.py [--queries 6000] [--repeats 3]

Both get 255 bins and 2 threads, and learn the bins from 200,000 rows. LightGBM runs in each of
its settings that may be its fastest. The first check is that the bins are right: a value's bin is
the number of edges below it, no feature has more than 255, and where values are all different the
bins hold about equal numbers of rows. Repeats are interleaved; medians and minima are shown.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import lightgbm
import numpy as np

import web_like
from lines import Line, report
from rankinite._numba import threads
from rankinite.binning import BinnedMatrix, bin_matrix
from rankinite.binning.sampling import sampled_rows

THREADS = 2
N_DOCS = 120
LIGHTGBM_SETTINGS = {
    "LightGBM": {},
    "LightGBM no bundles": {"enable_bundle": False},
    "LightGBM no bundles, rows": {"enable_bundle": False, "force_row_wise": True},
    "LightGBM no bundles, columns": {"enable_bundle": False, "force_col_wise": True},
}


def check(X: np.ndarray, binned: BinnedMatrix) -> None:
    """Compare a part of the bins with a search in the edges, and look at their sizes."""
    mapper = binned.mapper
    assert mapper.n_bins.max() <= 255
    for feature in range(X.shape[1]):
        values, bins = X[::97, feature], binned.column(feature)
        expected = np.searchsorted(mapper.feature_edges(feature), values.astype(np.float64))
        assert np.array_equal(bins[::97], expected)
        if len(np.unique(values)) > 0.9 * len(values):
            sizes = np.bincount(bins, minlength=255)
            assert 0.5 < sizes.min() * 255 / len(X) <= sizes.max() * 255 / len(X) < 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=6000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    X = web_like.matrix(arguments.queries, N_DOCS)
    offsets = np.arange(0, len(X) + 1, N_DOCS)
    qids = np.arange(arguments.queries)
    zeros = np.zeros(len(X))

    def ours() -> None:
        with threads(THREADS):
            bin_matrix(X, 255, sampled_rows(qids, offsets))

    def theirs(setting: dict) -> Callable[[], None]:
        parameters = {"max_bin": 255, "num_threads": THREADS, "verbose": -1} | setting
        return lambda: lightgbm.Dataset(X, zeros, params=parameters).construct()

    check(X, bin_matrix(X, 255, sampled_rows(qids, offsets)))  # compiles
    runs = {"rankinite": ours} | {name: theirs(s) for name, s in LIGHTGBM_SETTINGS.items()}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(arguments.repeats):
        for name, run in runs.items():
            started = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - started)
    print(f"{len(X):,} rows × {X.shape[1]} float32, 255 bins, {THREADS} threads: seconds")
    print(f"{'':32}{'median':>8}{'best':>8}{'ratio':>8}")
    own = np.median(times["rankinite"])
    for name, seconds in times.items():
        middle = np.median(seconds)
        print(f"{name:32}{middle:8.2f}{min(seconds):8.2f}{middle / own:8.1f}")
    best = min(np.median(times[name]) for name in LIGHTGBM_SETTINGS)
    report(
        [
            Line(
                f"binning {len(X):,} × {X.shape[1]} float32",
                f"{own:.2f} s",
                f"{best:.2f} s (LightGBM)",
                f"{best / own:.1f}",
                "2",
            )
        ]
    )


if __name__ == "__main__":
    main()
