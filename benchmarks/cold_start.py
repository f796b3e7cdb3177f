"""How long the first command after an installation takes, with compiling, and the next ones.

python benchmarks/cold_start.py [--repeats 3]

`rankinite train` on 5,000 rows with a validation file, 10 trees: once with an empty cache of
compiled kernels, then as often as asked with the cache it left. Beside it, `import rankinite`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import rankinite as rk
import web_like
from lines import Line, report

TRAIN = "from rankinite.cli import main; main()"


def seconds(arguments: list[str], environment: dict[str, str]) -> float:
    """Time of a new Python that runs these arguments."""
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], env=environment, check=True, capture_output=True)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--measure", default="ndcg@10")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part, n_queries, seed in (("train", 42, 0), ("valid", 10, 1)):
            rk.write_svmlight(web_like.dataset(n_queries, seed=seed), folder / f"{part}.txt")
        cache = folder / "kernels"
        # numba keeps compiled kernels there instead of beside the sources.
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
        command = ["-c", TRAIN, "train", str(folder / "train.txt"), "--valid"]
        command += [str(folder / "valid.txt"), "--model", str(folder / "ranker.rk")]
        command += ["--n-estimators", "10", "--measure", arguments.measure, "--force"]
        first = seconds(command, environment)
        model = (folder / "ranker.rk").read_bytes()
        if not list(cache.rglob("*.nbi")):
            raise SystemExit(f"the kernels were not compiled into {cache}: nothing was measured")
        later = min(seconds(command, environment) for _ in range(arguments.repeats))
        if (folder / "ranker.rk").read_bytes() != model:
            raise SystemExit("the runs gave different models")
        bare = min(seconds(["-c", "pass"], environment) for _ in range(arguments.repeats))
        imported = min(
            seconds(["-c", "import rankinite"], environment) for _ in range(arguments.repeats)
        )
    print("rankinite train, 5,040 rows × 136, 10 trees, with a validation file")
    report(
        [
            Line("first run, with compiling", f"{first:.1f} s", "", "", "below 15 s"),
            Line("later runs", f"{later:.2f} s", "", "", "below 1.5 s"),
            Line("import rankinite", f"{imported - bare:.2f} s", "", "", "below 0.3 s"),
        ]
    )


if __name__ == "__main__":
    main()
