"""Models exported to C beside our own scorer and LightGBM's, on one thread.

    python benchmarks/c_export.py [--leaves 31 255] [--trees 500] [--repeats 30] [--levels O2 O3]

One LambdaMART forest is written in both forms, tables and branches, and compiled by gcc at each
level; LightGBM loads the same forest from its own format. All are first checked to give the same
bits for the same rows. Then they take turns of a few calls; medians are over all calls, of
processor time, which other work on the machine disturbs least. Every turn has other rows: branches
that a processor has seen before it foretells. Compiling is timed in processor time too, and the
size is that of the object file.
"""

from __future__ import annotations

import argparse
import ctypes
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import lightgbm
import numpy as np

import rankinite as rk
import web_like
from lines import Line, report

BATCHES = (1, 10, 1000)
FORMS = ("tables", "branches")
# Calls before the next one's turn, so that the caches are its own.
CALLS = 5
# gcc takes minutes of time and gigabytes for so many branches at a higher level.
MOST_LEAVES_FOR_O3 = 31


def timed(predict: Callable[[np.ndarray], object], batches: list[np.ndarray]) -> list[float]:
    """Milliseconds of processor time of a few calls, one after the other."""
    times = []
    for X in batches:
        started = time.thread_time()
        predict(X)
        times.append(1e3 * (time.thread_time() - started))
    return times


class Compiled:
    """A C file, compiled to a library."""

    def __init__(self, path: Path, level: str) -> None:
        object_file, library = path.with_suffix(f".{level}.o"), path.with_suffix(f".{level}.so")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = ["gcc", "-std=c99", f"-{level}", "-fPIC", "-c", path, "-o", object_file]
        subprocess.run(command, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.size = object_file.stat().st_size
        subprocess.run(["gcc", "-shared", object_file, "-o", library, "-lm"], check=True)
        self._scores = getattr(ctypes.CDLL(str(library)), f"{path.stem}_scores")
        self._scores.restype = None

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Scores of rows of doubles that lie close together."""
        scores = np.empty(len(X))
        n_rows, n_features = X.shape
        self._scores(
            ctypes.c_void_p(X.ctypes.data),
            ctypes.c_size_t(n_rows),
            ctypes.c_size_t(n_features),
            ctypes.c_void_p(scores.ctypes.data),
        )
        return scores


def compare(
    train: rk.Dataset, leaves: int, arguments: argparse.Namespace, folder: Path
) -> list[Line]:
    """Time one forest in all its forms."""
    ours = rk.LambdaMART(
        n_estimators=arguments.trees, max_leaf_nodes=leaves, n_threads=1, random_state=0
    ).fit(train)
    ours.export(folder / "forest.txt", "lightgbm")
    theirs = lightgbm.Booster(model_file=folder / "forest.txt")
    name = f"{arguments.trees} × {leaves}"
    predictors: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "rankinite": ours.predict,
        "LightGBM": partial(theirs.predict, num_threads=1),
    }
    for form in FORMS:
        path = folder / f"{form}.c"
        ours.export(path, "c", form=form)
        for level in arguments.levels:
            if form == "branches" and level == "O3" and leaves > MOST_LEAVES_FOR_O3:
                continue
            code = Compiled(path, level)
            predictors[f"{form} -{level}"] = code.predict
            print(
                f"{name}, {form} -{level}: {path.stat().st_size / 1e6:.1f} MB of C compile in "
                f"{code.seconds:.1f} s to {code.size / 1e6:.1f} MB",
                flush=True,
            )
    rows = np.ascontiguousarray(train.X, np.float64)
    expected = ours.predict(rows)
    for who, predict in predictors.items():
        assert np.array_equal(predict(rows), expected), who
    print(f"{'forest':12}{'rows':>6}" + "".join(f"{who:>15}" for who in predictors))
    lines = []
    for n_rows in BATCHES:
        times: dict[str, list[float]] = {who: [] for who in predictors}
        n_batches = min(arguments.repeats * CALLS, len(rows) // n_rows)
        batches = np.split(rows[: n_batches * n_rows], n_batches)
        for turn in range(arguments.repeats):
            own = [batches[(turn * CALLS + k) % n_batches] for k in range(CALLS)]
            for who, predict in predictors.items():
                times[who] += timed(predict, own)
        medians = {who: float(np.median(own)) for who, own in times.items()}
        print(
            f"{name:12}{n_rows:6}" + "".join(f"{m:12.4f} ms" for m in medians.values()), flush=True
        )
        tables = medians["tables -O2"]
        lines.append(
            Line(
                f"{n_rows} documents in C, {name}",
                f"{tables:.3f} ms",
                f"{medians['LightGBM']:.3f} ms (LightGBM)",
                f"{medians['LightGBM'] / tables:.1f}",
                "1",
            )
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leaves", type=int, nargs="+", default=[31, 255])
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--levels", nargs="+", default=["O2", "O3"], choices=["O2", "O3"])
    arguments = parser.parse_args()
    if "O2" not in arguments.levels:
        parser.error("--levels needs O2, which the ratios are of")
    train = web_like.dataset(400)
    lines: list[Line] = []
    for leaves in arguments.leaves:
        # A library that is loaded is not loaded again from a file of the same name.
        with tempfile.TemporaryDirectory() as folder:
            lines += compare(train, leaves, arguments, Path(folder))
    report(lines)


if __name__ == "__main__":
    main()
