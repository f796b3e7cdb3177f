"""The same in processes of an MPI job, and what becomes of errors there."""

import sys

import pytest

import rankinite as rk
from tests.distributed import verbs
from tests.distributed.cases import CASES, file_of, trained
from tests.distributed.jobs import ROOT, needs_mpi, run, run_script
from tests.distributed.test_rows import on_workers

pytestmark = needs_mpi


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_verbs(size, tmp_path):
    code, _, err = run_script(size, verbs.script("rk.mpi()"), tmp_path, tmp_path)
    assert code == 0, err
    verbs.check(size, tmp_path)


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
