"""Scoring time beside LightGBM's predict and lleaves, on one thread: batches and single queries.

    python benchmarks/scoring.py [--leaves 31 255] [--trees 500] [--repeats 2000] [--lleaves FOLDER]

Every one scores with a forest of the same number of trees and leaves, trained on the same rows;
ours is first checked against its own training scores, LightGBM's against its own batch scores, and
lleaves against LightGBM, whose forest it compiles. They take turns of ten calls, each with other
rows, as a server would get them: a processor that meets the same documents again and again learns
their way through the trees by heart. p50 and p99 are over all calls. lleaves needs an older
llvmlite than numba: with ``--lleaves`` it gets an environment of its own in that folder, made there
if need be, and answers from a process of its own, which does the timing itself.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np

import rankinite as rk
import web_like
from lines import Line, report
from rankinite.boosting import tree_stage

BATCHES = (10, 100, 1000)
# Calls before the next one's turn: whoever comes first after another process finds cold caches.
CALLS = 10
# Different rows to score, taken in turn.
POOL = 200
# lleaves compiles a forest of 500 × 31 in about a minute; larger ones take many.
MOST_LEAVES_FOR_LLEAVES = 31
LLEAVES_PACKAGES = ("lleaves==1.3.*", "llvmlite<0.44", "lightgbm")


class Lleaves:
    """A process that loads LightGBM's forest, compiles it, and times calls on request."""

    def __init__(self, folder: Path, theirs: lightgbm.Booster, X: np.ndarray) -> None:
        python = folder / "bin" / "python"
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
            subprocess.run([python, "-m", "pip", "install", "-q", *LLEAVES_PACKAGES], check=True)
        with tempfile.TemporaryDirectory() as scratch:
            theirs.save_model(Path(scratch) / "forest.txt")
            np.save(Path(scratch) / "X.npy", X)
            np.save(Path(scratch) / "scores.npy", theirs.predict(X))
            command = [python, Path(__file__).with_name("lleaves_process.py"), scratch]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            print(f"lleaves compiled in {float(self._answer()):.0f} s", flush=True)

    def _answer(self) -> str:
        assert self.process.stdout is not None
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit("lleaves failed: see its message above")
        return answer

    def times(self, n_docs: int, starts: Iterator[int]) -> list[float]:
        """Milliseconds of a few calls, one after the other."""
        assert self.process.stdin is not None
        print(n_docs, *islice(starts, CALLS), file=self.process.stdin, flush=True)
        return [float(time) for time in self._answer().split()]

    def close(self) -> None:
        self.process.communicate()


def timed(predict: Callable[[np.ndarray], object], queries: Iterator[np.ndarray]) -> list[float]:
    """Milliseconds of a few calls, one after the other."""
    times = []
    for X in islice(queries, CALLS):
        started = time.perf_counter()
        predict(X)
        times.append(1e3 * (time.perf_counter() - started))
    return times


def lines_of(
    forest: str, n_docs: int, peers: list[str], times: list[list[float]], batch: int
) -> list[Line]:
    """A line for each peer: of a batch its p50, of a query p50 and p99."""
    shown = []
    for own in times:
        p50, p99 = np.percentile(own, [50, 99])
        shown.append(f"{p50:.2f} ms" if n_docs == batch else f"{p50:.3f} ({p99:.2f}) ms")
    medians = [np.median(own) for own in times]
    bars = {"LightGBM": "4" if n_docs == batch else "1", "lleaves": "1"}
    return [
        Line(
            f"scoring {n_docs} documents, {forest}",
            shown[0],
            f"{shown[k]} ({peer})",
            f"{medians[k] / medians[0]:.1f}",
            bars[peer],
        )
        for k, peer in enumerate(peers, start=1)
    ]


def row(name: str, n_docs: int, times: list[list[float]]) -> str:
    """Our p50 and p99, and those of each peer with the ratio of the p50."""
    ours, *peers = (np.percentile(own, [50, 99]) for own in times)
    line = f"{name:12}{n_docs:10}{ours[0]:10.3f} ({ours[1]:6.2f})"
    for peer in peers:
        line += f"{peer[0]:10.3f} ({peer[1]:6.2f}){peer[0] / ours[0]:6.1f}×"
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leaves", type=int, nargs="+", default=[31, 255])
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--lleaves", type=Path, metavar="FOLDER", help="its environment")
    arguments = parser.parse_args()
    train = web_like.dataset(400)
    lines = []
    for leaves in arguments.leaves:
        lines += compare(train, leaves, arguments)
    report(lines)


def trained(train: rk.Dataset, leaves: int, n_trees: int) -> tuple[rk.LambdaMART, np.ndarray]:
    """Our forest, and the scores that training ended with."""
    scores_of_round = []
    add_grown_tree = tree_stage.add_grown_tree

    def watched(grown: Any, value: np.ndarray, scores: np.ndarray) -> None:
        add_grown_tree(grown, value, scores)
        scores_of_round[:] = [scores]

    tree_stage.add_grown_tree = watched
    try:
        model = rk.LambdaMART(n_estimators=n_trees, max_leaf_nodes=leaves, n_threads=1).fit(train)
    finally:
        tree_stage.add_grown_tree = add_grown_tree
    return model, scores_of_round[0]


def compare(train: rk.Dataset, leaves: int, arguments: argparse.Namespace) -> list[Line]:
    ours, training_scores = trained(train, leaves, arguments.trees)
    assert np.array_equal(ours.predict(train), training_scores)
    theirs = lightgbm.train(
        {"objective": "lambdarank", "num_leaves": leaves, "verbose": -1, "num_threads": 1},
        lightgbm.Dataset(train.X, train.y, group=train.query_sizes),
        arguments.trees,
    )
    # The number of threads of the training does not hold for its predict.
    predict = partial(theirs.predict, num_threads=1)
    assert ours.forest_.n_trees == theirs.num_trees() == arguments.trees
    lleaves = None
    if arguments.lleaves is None:
        print("lleaves is left out: give --lleaves FOLDER to have it installed there and timed")
    elif leaves > MOST_LEAVES_FOR_LLEAVES:
        print(f"lleaves is left out at {leaves} leaves: it would compile for many minutes")
    else:
        lleaves = Lleaves(arguments.lleaves, theirs, train.X)
    peers = ["LightGBM", *(["lleaves"] if lleaves else [])]
    print("one thread, milliseconds: p50 (p99), ratio of p50")
    print(f"{'forest':12}{'documents':>10}{'rankinite':>19}" + "".join(f"{p:>26}" for p in peers))
    lines = []
    for n_docs in BATCHES:
        starts = np.linspace(0, len(train.X) - n_docs, POOL).astype(int)
        queries = [train.X[start : start + n_docs] for start in starts]
        assert np.array_equal(ours.predict(queries[0]), ours.predict(train)[:n_docs])
        assert np.array_equal(predict(queries[0]), predict(train.X)[:n_docs])
        timers = [partial(timed, own, cycle(queries)) for own in (ours.predict, predict)]
        if lleaves:
            timers.append(partial(lleaves.times, n_docs, cycle(starts)))
        times: list[list[float]] = [[] for _ in timers]
        for _ in range(max(10, arguments.repeats // n_docs)):
            for own, timer in zip(times, timers, strict=True):
                own += timer()
        forest = f"{arguments.trees} × {leaves}"
        print(row(forest, n_docs, times), flush=True)
        lines += lines_of(forest, n_docs, peers, times, max(BATCHES))
    if lleaves:
        lleaves.close()
    return lines


if __name__ == "__main__":
    main()
