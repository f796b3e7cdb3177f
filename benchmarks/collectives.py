"""What a verb between two processes costs: by MPI, and by XGBoost's collective as Dask uses it.

    python benchmarks/collectives.py [--times 200]

Sums of 8 bytes, of a histogram of 136 and of 272 features (278 and 557 KB) and of 2 MB, and the
same reduced and scattered, on this machine over the loopback; the median of the slower process.
Needs MPI and XGBoost: make test-distributed installs them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import rankinite as rk
from rankinite.distributed import Communicator, Tracker

MPIEXEC = Path(sys.executable).with_name("mpiexec")
SECONDS = 600
# Rows of 8 bytes.
SIZES = {"8 B": 1, "278 KB": 34_816, "557 KB": 69_632, "2 MB": 262_144}


def milliseconds(comm: Communicator, verb: str, n: int, times: int) -> float:
    """The median time of a call on the slower of the workers."""
    array = np.ones(n, np.int64)
    first, last = (n * rank // comm.size for rank in (comm.rank, comm.rank + 1))
    own = np.empty(last - first, np.int64)
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        if verb == "sum":
            comm.sum(array)
        else:
            comm.reduce_scatter(array, own)
        taken.append(1e3 * (time.perf_counter() - started))
    return float(comm.max(np.array([np.median(taken)]))[0])


def work(times: int) -> None:
    """One of two processes; the first one prints what was found."""
    comm = rk.collective() if "DMLC_TRACKER_URI" in os.environ else rk.mpi()
    found = {
        f"{verb} {size}": milliseconds(comm, verb, n, times)
        for verb in ("sum", "reduce_scatter")
        for size, n in SIZES.items()
    }
    if comm.rank == 0:
        print(json.dumps(found))
    if hasattr(comm, "close"):
        comm.close()


def by_mpi(command: list[str]) -> str:
    """What two processes of MPI print."""
    both = [str(MPIEXEC), "-n", "2", *command]
    return subprocess.run(
        both, check=True, timeout=SECONDS, stdout=subprocess.PIPE, text=True
    ).stdout


def by_collective(command: list[str]) -> str:
    """What two processes with a tracker print."""
    tracker = Tracker(2, "127.0.0.1")
    jobs = []
    for rank in range(2):
        places = {name.upper(): str(value) for name, value in tracker.arguments(rank).items()}
        environment = {**os.environ, **places}
        jobs.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
    told = [job.communicate(timeout=SECONDS)[0] for job in jobs]
    tracker.stop()
    return "".join(told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--work", action="store_true")
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments.times)
        return
    command = [sys.executable, __file__, "--work", "--times", str(arguments.times)]
    found = []
    for run in (by_mpi, by_collective):
        lines = [line for line in run(command).splitlines() if line.startswith("{")]
        found.append(json.loads(lines[0]))
    print(f"{'ms':24}{'MPI':>8}{'collective':>12}")
    for name, value in found[0].items():
        print(f"{name:24}{value:8.3f}{found[1][name]:12.3f}")


if __name__ == "__main__":
    main()
