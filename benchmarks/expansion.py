"""kNN expansion of a training set, beside scikit-learn's nearest neighbours.

    python benchmarks/expansion.py [--rows 1000000] [--seeds 20000] [--features 50]

Features are random numbers around 200 centres, so that some rows have near seeds and most have not.
Each program runs in a process of its own, on two threads; peak memory is the largest resident set,
the data included. scikit-learn (brute force by cosine, float32, the features standardised before)
gets a slice of the rows, and its time is taken in proportion. The first check is that both find the
same rows near on that slice.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np

import rankinite as rk
from lines import Line, report

THREADS = 2
MAX_DISTANCE = 0.05
SLICE = 20_000


def make(n_rows: int, n_features: int, seed: int, centres: np.ndarray) -> rk.Dataset:
    """Queries of 50 documents, near to random centres; a fifth of the labels are not 0."""
    X, y = np.empty((n_rows, n_features), np.float32), np.empty(n_rows)
    for start in range(0, n_rows, SLICE):
        # Slice by slice, so that the first one is the same whatever the number of rows.
        rng = np.random.default_rng([seed, start])
        part = X[start : start + SLICE]
        rng.standard_normal(out=part, dtype=np.float32)
        part *= 0.3
        part += centres[rng.integers(0, len(centres), len(part))]
        y[start : start + SLICE] = rng.choice(3, len(part), p=[0.8, 0.15, 0.05])
    return rk.Dataset(X, y, qid=np.arange(n_rows) // 50)


def sets(n_rows: int, n_seeds: int, n_features: int) -> tuple[rk.Dataset, rk.Dataset]:
    centres = np.random.default_rng(0).standard_normal((200, n_features), dtype=np.float32)
    return make(n_seeds, n_features, 1, centres), make(n_rows, n_features, 2, centres)


def standardised(X: np.ndarray, like: np.ndarray) -> np.ndarray:
    return ((X - like.mean(axis=0)) / like.std(axis=0)).astype(np.float32)


def by_rankinite(n_rows: int, n_seeds: int, n_features: int) -> dict[str, object]:
    target, background = sets(n_rows, n_seeds, n_features)
    options = {"max_distance": MAX_DISTANCE, "seed_fraction": 1.0, "n_threads": THREADS}
    rk.expand(target, background.select_queries([0]), **options)  # compiles
    started = time.perf_counter()
    grown = rk.expand(target, background, label_match=False, **options)
    return {
        "seconds": time.perf_counter() - started,
        "first": grown.rows[grown.rows < SLICE].tolist(),
        "told": str(grown),
    }


def by_sklearn(n_rows: int, n_seeds: int, n_features: int) -> dict[str, object]:
    from sklearn.neighbors import NearestNeighbors

    target, background = sets(min(n_rows, SLICE), n_seeds, n_features)
    labels = target.y.reshape(-1, 50)
    mixed = np.repeat(labels.min(axis=1) < labels.max(axis=1), 50)
    seeds = standardised(target.X, target.X)[mixed]
    rows = standardised(background.X, target.X)
    search = NearestNeighbors(n_neighbors=3, metric="cosine", algorithm="brute", n_jobs=THREADS)
    search.fit(seeds)
    search.kneighbors(rows[:10])
    started = time.perf_counter()
    distances, _ = search.kneighbors(rows)
    seconds = time.perf_counter() - started
    near = np.flatnonzero((distances <= MAX_DISTANCE).all(axis=1))
    return {"seconds": seconds * n_rows / len(rows), "first": near.tolist()}


WAYS = {"rankinite": by_rankinite, "scikit-learn": by_sklearn}


def run(name: str, sizes: list[str]) -> dict[str, object]:
    """What a process of its own found, with the peak of its memory in MB."""
    words = [sys.executable, __file__, *sizes, "--only", name]
    environment = {**os.environ, "OMP_NUM_THREADS": str(THREADS)}
    process = subprocess.Popen(words, stdout=subprocess.PIPE, env=environment, text=True)
    assert process.stdout is not None
    found = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(words)} failed")
    return {**found, "memory": usage.ru_maxrss / 1e3}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seeds", type=int, default=20_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--only", choices=list(WAYS), help="one of them, in this process")
    arguments = parser.parse_args()
    sizes = arguments.rows, arguments.seeds, arguments.features
    if arguments.only is not None:
        print(json.dumps(WAYS[arguments.only](*sizes)))
        return
    flags = ["--rows", str(sizes[0]), "--seeds", str(sizes[1]), "--features", str(sizes[2])]
    ours, theirs = run("rankinite", flags), run("scikit-learn", flags)
    # float32 decides otherwise only where a distance is the limit to its last digits.
    differing = set(ours["first"]) ^ set(theirs["first"])
    assert len(differing) <= len(ours["first"]) / 1000, f"{len(differing)} rows differ"
    print(ours["told"])
    report(
        [
            Line(
                f"expansion, {sizes[0]:,} × {sizes[2]} against {sizes[1]:,} seeds",
                f"{ours['seconds']:.0f} s, {ours['memory']:,.0f} MB",
                f"{theirs['seconds']:.0f} s (in proportion), {theirs['memory']:,.0f} MB",
                f"{theirs['seconds'] / ours['seconds']:.1f}",
                "below 120 s, 2,000 MB",
            )
        ]
    )


if __name__ == "__main__":
    main()
