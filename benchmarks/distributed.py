"""Training on K processes of MPI: time, CPU time of a process, bytes and calls of a tree.

    python benchmarks/distributed.py [--queries 1500 6000] [--workers 1 2 4 8] [--trees 20]

Rows are those of a web collection (`web_like.py`), the same on every number of processes, and
every process has one thread; "1 × 2" is one process with two threads. On a machine with fewer cores
than processes the time tells nothing about more machines. The own CPU time of the busiest process
does, without that of the verbs, in which MPI waits and burns it: it is what a tree would take at
least. All models of one size of data must be the same file.
Needs MPI: make test-distributed installs it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import rankinite as rk
import web_like
from rankinite.distributed import Traffic

MPIEXEC = Path(sys.executable).with_name("mpiexec")
SECONDS = 3600
# Trees at the start that are not counted: kernels are compiled or loaded.
WARM_UP = 3


class CpuTraffic(Traffic):
    """Counts the CPU time of verbs too."""

    cpu = 0.0

    @contextmanager
    def of(self, verb: str, n_bytes: int) -> Iterator[None]:
        started = time.process_time()
        with super().of(verb, n_bytes):
            yield
        self.cpu += time.process_time() - started


class Clock:
    """Notes time, own CPU time and traffic after every tree."""

    def __init__(self, communicator: Any) -> None:
        self.communicator = communicator
        self.notes: list[tuple[float, float, int, int]] = []

    def after_round(self, run: Any) -> bool:
        total = self.communicator.traffic.total
        cpu = time.process_time() - self.communicator.traffic.cpu
        self.notes.append((time.perf_counter(), cpu, total.calls, total.bytes))
        return False

    def finish(self, run: Any) -> None:
        pass

    def a_tree(self) -> dict[str, float]:
        steps = np.diff(np.array(self.notes[WARM_UP:]), axis=0)
        time_, cpu, calls, n_bytes = np.median(steps, axis=0).tolist()
        return {"ms": 1e3 * time_, "cpu": 1e3 * cpu, "calls": calls, "bytes": n_bytes}


def work(folder: Path, distribute: str, n_trees: int, leaves: int) -> None:
    """One process of a job; the first one prints what was found."""
    comm = rk.mpi()
    comm.traffic = CpuTraffic()
    X, y, qid = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("X", "y", "qid"))
    rows = slice(None)
    if distribute == "rows":
        n_queries = int(qid[-1]) + 1
        first, last = (n_queries * r // comm.size for r in (comm.rank, comm.rank + 1))
        rows = slice(*np.searchsorted(qid, [first, last]))
    share = rk.Dataset(np.array(X[rows]), np.array(y[rows]), qid=np.array(qid[rows]))
    clock = Clock(comm)
    model = rk.LambdaMART(n_estimators=WARM_UP + n_trees, max_leaf_nodes=leaves)
    model.set_params(n_threads=int(os.environ["NUMBA_NUM_THREADS"]))
    model.fit(share, callbacks=[clock], communicator=comm, distribute=distribute)
    found = clock.a_tree()
    found["cpu"] = float(comm.max(np.array([found["cpu"]]))[0])
    if comm.rank == 0:
        model.save(folder / "model.rk")
        found["file"] = hashlib.sha256((folder / "model.rk").read_bytes()).hexdigest()[:8]
        test = web_like.dataset(300, seed=1)
        found["ndcg"] = rk.evaluate(model, test, "ndcg@10")["ndcg@10"]
        (folder / "found.json").write_text(json.dumps(found))


def measure(folder: Path, size: int, n_threads: int, distribute: str, arguments: Any) -> dict:
    """Run a job of so many processes."""
    command = [MPIEXEC, "-n", size, sys.executable, __file__, "--work", folder]
    command += ["--distribute", distribute, "--trees", arguments.trees]
    command += ["--leaves", arguments.leaves]
    environment = {**os.environ, "NUMBA_NUM_THREADS": str(n_threads)}
    subprocess.run(list(map(str, command)), env=environment, check=True, timeout=SECONDS)
    return json.loads((folder / "found.json").read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, nargs="+", default=[1500, 6000])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--leaves", type=int, default=31)
    parser.add_argument("--distribute", default="")
    parser.add_argument("--work", type=Path)
    arguments = parser.parse_args()
    if arguments.work is not None:
        work(arguments.work, arguments.distribute, arguments.trees, arguments.leaves)
        return
    for n_queries in arguments.queries:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            data = web_like.dataset(n_queries)
            np.save(folder / "X.npy", data.X)
            np.save(folder / "y.npy", data.y)
            np.save(folder / "qid.npy", np.repeat(np.arange(n_queries), data.query_sizes))
            print(f"\n{data.n_rows:,} rows × {data.n_features}, {arguments.leaves} leaves")
            print(f"{'':16}{'ms':>8}{'own CPU':>8}{'calls':>7}{'bytes':>12}{'ndcg@10':>9}  file")
            del data
            runs = [(1, 2, "rows"), *((size, 1, "rows") for size in arguments.workers)]
            runs += [(size, 1, "features") for size in arguments.workers if size > 1]
            files = set()
            for size, n_threads, distribute in runs:
                found = measure(folder, size, n_threads, distribute, arguments)
                files.add(found["file"])
                print(
                    f"{distribute:9}{size:3} × {n_threads}{found['ms']:8.1f}{found['cpu']:8.1f}"
                    f"{found['calls']:7.0f}{found['bytes']:12,.0f}{found['ndcg']:9.4f}"
                    f"  {found['file']}",
                    flush=True,
                )
            assert len(files) == 1, "the models are not the same"


if __name__ == "__main__":
    main()
