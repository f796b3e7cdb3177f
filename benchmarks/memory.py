"""Peak memory and time of training from a file, beside LightGBM, each in a process of its own.

    python benchmarks/memory.py [--queries 16667] [--trees 10] [--folder FOLDER]

2,000,000 rows × 136 features by default: text of about 2 GB for each program, written to a
temporary folder, or to the one that is given, where it stays for the next run. Both train 31
leaves on 2 threads, 255 bins. LightGBM runs from its own file, with and without two_round, which
reads the file twice to save memory. Peak memory is the largest resident set of the process.

The first check is that the model is that of training from all values in memory, on a file of a
tenth of the size. The bar for rankinite is 1.2 times the bytes of the bins and 400 MB.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lightgbm
import numpy as np

import rankinite as rk
import web_like
import web_text
from lines import Line, report
from rankinite.binning._binning_kernels import BLOCK

THREADS = 2
LIGHTGBM = """
import sys, lightgbm
path, two_round, trees, threads, model = sys.argv[1:]
parameters = {
    "objective": "lambdarank", "lambdarank_truncation_level": 10, "num_leaves": 31,
    "learning_rate": 0.1, "min_data_in_leaf": 20, "max_bin": 255, "num_threads": int(threads),
    "two_round": two_round == "True", "verbose": -1,
}
data = lightgbm.Dataset(path, params=parameters)
lightgbm.train(parameters, data, int(trees)).save_model(model)
"""


def run(words: list[str]) -> tuple[float, float]:
    """Run a command; (seconds, peak resident set in MB)."""
    started = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, high_water_mark(process.pid))
        time.sleep(0.01)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(words)} failed")
    return time.perf_counter() - started, peak


def high_water_mark(pid: int) -> float:
    """The largest resident set of a process so far, in MB.

    Not what wait4 tells: that is at least what this process had itself when it started the other.
    """
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1e3
    return 0.0


def train_words(data: Path, model: Path, trees: int) -> list[str]:
    """The command that trains by rankinite."""
    options = ["--n-estimators", str(trees), "--threads", str(THREADS), "--quiet", "--force"]
    main = "from rankinite.cli import main; main()"
    return [sys.executable, "-c", main, "train", str(data), "--model", str(model), *options]


def check_equal_models(folder: Path, n_queries: int, trees: int) -> None:
    """Train from a file in pieces, and from its values in memory: the models must be equal."""
    data, _ = web_text.write(folder, n_queries)
    from_file, from_memory = folder / "file.rk", folder / "memory.rk"
    run(train_words(data, from_file, trees))
    rk.LambdaMART(n_estimators=trees, n_threads=THREADS).fit(rk.read(data)).save(from_memory)
    assert from_file.read_bytes() == from_memory.read_bytes()


def compare(folder: Path, n_queries: int, trees: int) -> None:
    """Run all on one file, and print the table."""
    check_equal_models(folder, max(1, n_queries // 10), trees)
    ours, theirs = web_text.write(folder, n_queries)
    n_rows = n_queries * web_text.N_DOCS
    bins = -(-web_like.N_FEATURES // BLOCK) * BLOCK * n_rows / 1e6
    bar = 1.2 * bins + 400
    print(
        f"{n_rows:,} rows × {web_like.N_FEATURES}, text {ours.stat().st_size / 1e6:,.0f} MB, "
        f"{trees} trees, {THREADS} threads; bins {bins:.0f} MB, bar {bar:.0f} MB"
    )
    model = folder / "model"
    commands = {"rankinite": train_words(ours, model, trees)}
    for two_round in (True, False):
        words = [sys.executable, "-c", LIGHTGBM, theirs, two_round, trees, THREADS, model]
        commands[f"LightGBM two_round={two_round}"] = list(map(str, words))
    test = web_like.dataset(200, seed=10**9)
    print(f"{'':28}{'seconds':>9}{'peak MB':>9}{'ratio':>8}{'ndcg@10':>10}")
    peaks = {}
    for name, words in commands.items():
        seconds, peak = run(words)
        peaks[name] = peak
        scores = _scores(name, model, test)
        ndcg = rk.evaluate(scores, test)["ndcg@10"]
        print(
            f"{name:28}{seconds:9.1f}{peak:9.0f}{peak / peaks['rankinite']:8.2f}{ndcg:10.4f}",
            flush=True,
        )
    peer = min(peak for name, peak in peaks.items() if name != "rankinite")
    report(
        [
            Line(
                f"peak memory, {n_rows:,} rows from a file",
                f"{peaks['rankinite']:.0f} MB",
                f"{peer:.0f} MB (LightGBM)",
                f"{peer / peaks['rankinite']:.2f}",
                f"below {bar:.0f} MB",
            )
        ]
    )


def _scores(name: str, model: Path, test: rk.Dataset) -> np.ndarray:
    if name == "rankinite":
        return rk.load(model).predict(test)
    # LightGBM counts the columns of its text from 0: feature 1 is its second.
    booster = lightgbm.Booster(model_file=str(model))
    return booster.predict(np.hstack([np.zeros((test.n_rows, 1)), test.X]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=16_667)
    parser.add_argument("--trees", type=int, default=10)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    if arguments.folder is not None:
        compare(arguments.folder, arguments.queries, arguments.trees)
        return
    with tempfile.TemporaryDirectory() as folder:
        compare(Path(folder), arguments.queries, arguments.trees)


if __name__ == "__main__":
    main()
