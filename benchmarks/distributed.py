"""Training on K processes of MPI: time, CPU time of a process, bytes and calls of a tree, NDCG.

    python benchmarks/distributed.py [--queries 1500 6000] [--workers 1 2 4 8] [--trees 20]
        [--a-worker 750] [--features 136] [--ways rows features ...]

Two tables, in the form of Svore and Burges 2012, figures 1.1 to 1.6:

- the same data on every number of processes (figures 1.1, 1.3 and 1.6), for each of `--queries`;
- data that grows with them, `--a-worker` queries each (figures 1.2, 1.4 and 1.5); "central" is one
  process with all of the data. Here the own CPU time of a process of "trees, sample" is to stay
  within 25 % of that of one process on a worker's share: OK, or what came out.

Rows are those of a web collection (`web_like.py`), and every process has one thread; "1 × 2" is one
process with two threads. On a machine with fewer cores than processes the time tells nothing about
more machines. The own CPU time of a process does, a tree on average, without that of the verbs, in
which MPI waits and burns it: the least and the most of all processes are shown. Bytes are those of
the process that tells most. By rows and by features all models of one size of data must be the same
file. Needs MPI: make test-distributed installs it.
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
from typing import Any, NamedTuple

import numpy as np

import rankinite as rk
import web_like
from rankinite.distributed import Traffic

MPIEXEC = Path(sys.executable).with_name("mpiexec")
SECONDS = 3600
# Trees at the start that are not counted: kernels are compiled or loaded.
WARM_UP = 3
TEST_QUERIES = 300
# Of the own CPU time of a process, as processes and data grow together.
BAR = 1.25


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
        # Of one worker's tree the others have little: only the mean tells what a tree costs.
        _, cpu, calls, n_bytes = steps.mean(axis=0).tolist()
        ms = 1e3 * float(np.median(steps[:, 0]))
        return {"ms": ms, "cpu": 1e3 * cpu, "calls": calls, "bytes": n_bytes}


class Way(NamedTuple):
    """A way to distribute the work."""

    distribute: str
    select: str = "sample"
    overlap: int = 0

    def options(self) -> dict[str, Any]:
        return self._asdict()


WAYS = {
    "rows": Way("rows"),
    "features": Way("features"),
    "trees, full": Way("trees", "full"),
    "trees, sample": Way("trees"),
    "trees, sample, overlap 1": Way("trees", "sample", 1),
}
EXACT = ("rows", "features")


def work(folder: Path, way: str, n_trees: int, leaves: int) -> None:
    """One process of a job; the first one writes what was found."""
    comm = rk.mpi()
    comm.traffic = CpuTraffic()
    X, y, qid = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("X", "y", "qid"))
    rows = slice(None)
    if way != "features":
        n_queries = int(qid[-1]) + 1
        first, last = (n_queries * r // comm.size for r in (comm.rank, comm.rank + 1))
        rows = slice(*np.searchsorted(qid, [first, last]))
    share = rk.Dataset(np.array(X[rows]), np.array(y[rows]), qid=np.array(qid[rows]))
    clock = Clock(comm)
    model = rk.LambdaMART(n_estimators=WARM_UP + n_trees, max_leaf_nodes=leaves)
    model.set_params(n_threads=int(os.environ["NUMBA_NUM_THREADS"]))
    model.fit(share, callbacks=[clock], communicator=comm, **WAYS[way].options())
    found = clock.a_tree()
    told = comm.gather(np.array([found["cpu"], found["bytes"]]))
    if comm.rank == 0:
        of_all = np.stack(told)
        found["cpu"], found["least cpu"] = of_all[:, 0].max(), of_all[:, 0].min()
        found["bytes"] = of_all[:, 1].max()
        model.save(folder / "model.rk")
        found["file"] = hashlib.sha256((folder / "model.rk").read_bytes()).hexdigest()[:8]
        test = web_like.dataset(TEST_QUERIES, n_features=X.shape[1], seed=1)
        found["ndcg"] = rk.evaluate(model, test, "ndcg@10")["ndcg@10"]
        (folder / "found.json").write_text(json.dumps(found))


def measure(folder: Path, size: int, n_threads: int, way: str, arguments: Any) -> dict:
    """Run a job of so many processes."""
    command = [MPIEXEC, "-n", size, sys.executable, __file__, "--work", folder, "--way", way]
    command += ["--trees", arguments.trees, "--leaves", arguments.leaves]
    environment = {**os.environ, "NUMBA_NUM_THREADS": str(n_threads)}
    subprocess.run(list(map(str, command)), env=environment, check=True, timeout=SECONDS)
    return json.loads((folder / "found.json").read_text())


def write(folder: Path, n_queries: int, n_features: int) -> int:
    """Make data for all processes; the number of its rows."""
    data = web_like.dataset(n_queries, n_features=n_features)
    np.save(folder / "X.npy", data.X)
    np.save(folder / "y.npy", data.y)
    np.save(folder / "qid.npy", np.repeat(np.arange(n_queries), data.query_sizes))
    return data.n_rows


HEAD = "| | processes × threads | rows | ms | own CPU, ms | calls | bytes | ndcg@10 | file |"


def line(name: str, size: int, n_threads: int, n_rows: int, found: dict) -> str:
    own = f"{found['least cpu']:.1f} – {found['cpu']:.1f}" if size > 1 else f"{found['cpu']:.1f}"
    return (
        f"| {name} | {size} × {n_threads} | {n_rows:,} | {found['ms']:.1f} | {own} | "
        f"{found['calls']:.0f} | {found['bytes']:,.0f} | {found['ndcg']:.4f} | {found['file']} |"
    )


def same_data(arguments: Any) -> None:
    """The same data on any number of processes."""
    for n_queries in arguments.queries:
        with tempfile.TemporaryDirectory() as name:
            folder, exact = Path(name), set()
            n_rows = write(folder, n_queries, arguments.features)
            print(f"\n{n_rows:,} rows × {arguments.features}, {arguments.leaves} leaves\n")
            print(HEAD, "|---" * HEAD.count(" | ") + "|---|", sep="\n", flush=True)
            runs = [(1, 2, "rows")]
            runs += [
                (size, 1, way)
                for way in arguments.ways
                for size in arguments.workers
                if size > WAYS[way].overlap and (size > 1 or way == "rows")
            ]
            for size, n_threads, way in runs:
                found = measure(folder, size, n_threads, way, arguments)
                if way in EXACT:
                    exact.add(found["file"])
                print(line(way, size, n_threads, n_rows, found), flush=True)
            assert len(exact) == 1, "the models are not the same"


def growing_data(arguments: Any) -> None:
    """A share of the same size for every process."""
    share = arguments.a_worker
    print(f"\n{share:,} queries a process, {arguments.features} features, ", end="")
    print(f"{arguments.leaves} leaves\n\n{HEAD}")
    print("|---" * HEAD.count(" | ") + "|---|", flush=True)
    own: dict[int, float] = {}
    for size in arguments.workers:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            n_rows = write(folder, size * share, arguments.features)
            runs = [("central", 1, "rows")]
            runs += [
                (way, size, way)
                for way in arguments.ways
                if way != "features" and max(1, WAYS[way].overlap) < size
            ]
            for shown, n_processes, way in runs:
                found = measure(folder, n_processes, 1, way, arguments)
                if way == "trees, sample" or size == 1:
                    own[size] = found["cpu"]
                print(line(shown, n_processes, 1, n_rows, found), flush=True)
    if 1 in own:
        print("\nby that of one process on one share:")
        for size, cpu in own.items():
            ratio = cpu / own[1]
            verdict = "OK" if ratio <= BAR else f"came out above {BAR:g}"
            print(f"own CPU, trees, sample, {size} × {share:,} queries: {ratio:.2f}, {verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, nargs="*", default=[1500, 6000])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--leaves", type=int, default=31)
    parser.add_argument("--features", type=int, default=web_like.N_FEATURES)
    parser.add_argument("--a-worker", type=int, default=750, help="0: no data that grows")
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--way", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work is not None:
        work(arguments.work, arguments.way, arguments.trees, arguments.leaves)
        return
    same_data(arguments)
    if arguments.a_worker:
        growing_data(arguments)


if __name__ == "__main__":
    main()
