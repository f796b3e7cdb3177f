"""Run the short benchmarks one after the other, and print one table at the end.

    python benchmarks/all.py

Each is a process of its own, so that no learner's threads stand in another's way. What takes long
or much memory or disk is left out: memory.py, scale.py, accuracy.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import lines

SHORT = (
    "training.py --repeats 3",
    "time_to_accuracy.py --repeats 1",
    "lambdas.py",
    "line_search.py",
    "expansion.py --rows 200000",
    "nets.py",
    "scoring.py",
    "combined_scoring.py",
    "imported_scoring.py --libraries LightGBM",
    "contributions.py --trees 100",
    "reading.py",
    "binning.py",
    "cold_start.py",
)


def main() -> None:
    here = Path(__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        left = Path(folder) / "lines"
        for script in SHORT:
            name, *options = script.split()
            print(f"\n=== {script}", flush=True)
            command = [sys.executable, str(here / name), *options]
            subprocess.run(command, check=True, env={**os.environ, lines.FILE: str(left)})
        print("\n" + lines.as_table(lines.read(left)))


if __name__ == "__main__":
    main()
