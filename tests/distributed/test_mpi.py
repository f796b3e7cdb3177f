"""The same in processes of an MPI job, and what becomes of errors there."""

import json
import sys

import numpy as np
import pytest

import rankinite as rk
from tests.distributed.cases import CASES, file_of, trained
from tests.distributed.jobs import ROOT, needs_mpi, run, run_script
from tests.distributed.test_rows import on_workers

pytestmark = needs_mpi

VERBS = """
import json, sys
import numpy as np
import rankinite as rk

comm = rk.mpi()
rank, size = comm.rank, comm.size
found = {
    "sum": comm.sum(np.arange(3) + rank).tolist(),
    "large": comm.sum(np.array([2**61 // size, 2**63 - 1], np.uint64)).tolist(),
    "max": comm.max(np.array([float(rank), -float(rank)])).tolist(),
    "root": comm.broadcast(np.full((2, 2), 7.5) if rank == size - 1 else None, size - 1).tolist(),
    "all": [part.tolist() for part in comm.gather(np.arange(rank))],
    "one": [part.tolist() for part in comm.gather(np.arange(rank, dtype=np.uint8), size - 1)],
}
blocks = np.arange(5 * 4).reshape(5, 4) * (rank + 1)
first, last = rank * 5 // size, (rank + 1) * 5 // size
own = comm.reduce_scatter(blocks, np.empty((last - first, 4), np.int64))
found["own"] = own.tolist()
found["calls"] = {verb: count.calls for verb, count in comm.traffic.by_verb.items()}
found["bytes"] = comm.traffic.by_verb["sum"].bytes
with open(f"{sys.argv[1]}/{rank}.json", "w") as file:
    json.dump(found, file)
"""


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_verbs(size, tmp_path):
    code, _, err = run_script(size, VERBS, tmp_path, tmp_path)
    assert code == 0, err
    found = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(size)]
    ranks = sum(range(size))
    everything = [row for each in found for row in each["own"]]
    assert everything == (np.arange(20).reshape(5, 4) * (ranks + size)).tolist()
    for rank, each in enumerate(found):
        assert each["sum"] == [size * k + ranks for k in range(3)]
        # Unsigned sums wrap around, as those of hashes must.
        assert each["large"] == [2**61 // size * size, (2**63 - 1) * size % 2**64]
        assert each["max"] == [size - 1, 0]
        assert each["root"] == [[7.5, 7.5], [7.5, 7.5]]
        assert each["all"] == [list(range(k)) for k in range(size)]
        assert each["one"] == ([list(range(k)) for k in range(size)] if rank == size - 1 else [])
        verbs = {"sum": 2, "max": 1, "broadcast": 1, "gather": 2, "reduce_scatter": 1}
        assert each["calls"] == verbs and each["bytes"] == 40


TRAIN = """
import sys
import rankinite as rk
from tests.distributed.cases import CASES, file_of, trained

comm = rk.mpi()
for name in CASES:
    model = trained(name, comm, sys.argv[2])
    model.save(f"{sys.argv[1]}/{name} {comm.rank}.rk")
"""


@pytest.mark.parametrize(
    ("distribute", "size"),
    [*(("rows", size) for size in (2, 3, 4, 8)), *(("features", size) for size in (2, 3))],
)
def test_the_file_is_that_of_one_process(distribute, size, tmp_path):
    code, _, err = run_script(size, TRAIN, tmp_path, tmp_path, distribute)
    assert code == 0, err
    for name in CASES:
        expected = file_of(trained(name), tmp_path)
        for rank in range(size):
            assert (tmp_path / f"{name} {rank}.rk").read_bytes() == expected, (name, rank)


TRAIN_TREES = """
import sys
import rankinite as rk
from tests.distributed.cases import trained

comm = rk.mpi()
for name in sys.argv[4:]:
    options = {"select": sys.argv[2], "overlap": int(sys.argv[3])}
    trained(name, comm, "trees", **options).save(f"{sys.argv[1]}/{name} {comm.rank}.rk")
"""


@pytest.mark.parametrize(
    ("size", "select", "overlap"),
    [(2, "sample", 0), (2, "full", 0), (3, "sample", 2), (3, "full", 1), (4, "full", 0)],
)
@pytest.mark.filterwarnings("ignore:worker . is to have")
def test_trees_of_single_processes_are_those_of_threads(size, select, overlap, tmp_path):
    names = ["early stopping", "lambdasmart", "weights", "preferences", "mart", "mcrank"]
    code, _, err = run_script(size, TRAIN_TREES, tmp_path, tmp_path, select, overlap, *names)
    assert code == 0, err
    options = {"select": select, "overlap": overlap}
    for name in names:
        model = on_workers(size, lambda c: trained(name, c, "trees", **options))[0]  # noqa: B023
        expected = file_of(model, tmp_path)
        for rank in range(size):
            assert (tmp_path / f"{name} {rank}.rk").read_bytes() == expected, (name, rank)


def test_the_example_gives_the_same_model_on_any_number_of_processes(tmp_path):
    files, told = [], []
    for size in (1, 2):
        code, out, err = run(size, sys.executable, ROOT / "examples/on_workers.py", cwd=tmp_path)
        assert code == 0, err
        files.append((tmp_path / "ranker.rk").read_bytes())
        told.append(out.splitlines()[1:])
    assert files[0] == files[1] and told[0] == told[1] and "ndcg@10" in told[0][1]


def test_mpi_is_asked_for_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(rk.ParameterError, match=r"pip install 'rankinite\[mpi\]'"):
        rk.mpi()
