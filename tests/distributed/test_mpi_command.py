"""``mpiexec -n 4 rankinite train``: each process reads its share, and one speaks and writes."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import rankinite as rk
from tests.distributed.jobs import needs_mpi, run
from tests.distributed.test_shares import table

pytestmark = needs_mpi
RANKINITE = (str(Path(sys.executable).with_name("rankinite")),)
FEW = ("--n-estimators", 4, "--max-leaf-nodes", 6, "--min-samples-leaf", 5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    train, valid = rk.artificial(n_queries=(30, 9), n_docs=12, n_features=18)
    rk.write_svmlight(train, folder / "train.txt")
    rk.write_svmlight(valid, folder / "valid.txt")
    for number, queries in enumerate(np.array_split(np.arange(30), 5)):
        rk.write_svmlight(train.select_queries(queries), folder / f"part{number}.txt")
    pq.write_table(table(train), folder / "train.parquet", row_group_size=40)
    pq.write_table(table(valid), folder / "valid.parquet")
    return folder


def alone(folder, *arguments):
    command = [*RANKINITE, "train", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def on_workers(size, folder, *arguments):
    return run(size, *RANKINITE, "train", *arguments, cwd=folder)


@pytest.mark.parametrize(
    ("size", "arguments"),
    [
        (2, ("train.txt", "--valid", "valid.txt", "--early-stopping", 3, *FEW)),
        (3, ("train.parquet", "--valid", "valid.parquet", "--train-measure", *FEW)),
        (4, ("train.txt", "--valid", "valid.txt", "--measures", "map,ndcg@5", *FEW)),
        (8, (*(f"part{k}.txt" for k in range(5)), "--ranker", "mart", *FEW)),
        (12, ("train.txt", "--valid", "valid.txt", "--ranker", "mcrank", *FEW)),
        (3, ("train.txt", "--valid", "valid.txt", "--distribute", "features", *FEW)),
    ],
    ids=["text", "parquet", "four", "files", "more workers than queries", "features"],
)
def test_model_and_report_are_those_of_one_process(size, arguments, folder, tmp_path):
    model = tmp_path / "ranker.rk"
    told = alone(folder, *arguments, "--model", model, "--quiet")
    expected = model.read_bytes()
    code, out, err = on_workers(size, folder, *arguments, "--model", model, "--force")
    assert code == 0, err
    assert out == told and model.read_bytes() == expected
    assert err.count("queries, 18 features") == (2 if "--valid" in arguments else 1)
    assert f"{30 * 12} rows, 30 queries" in err


def test_a_base_model_needs_values(folder, tmp_path):
    base = tmp_path / "base.rk"
    alone(folder, "train.txt", "--model", base, "--ranker", "mart", *FEW)
    for data in ("train.txt", "train.parquet"):
        if data == "train.parquet":  # other names of features than those of text
            alone(folder, data, "--model", base, "--force", "--ranker", "mart", *FEW)
        arguments = (data, "--base-model", base, "--model", tmp_path / "ranker.rk", *FEW)
        alone(folder, *arguments, "--force")
        expected = (tmp_path / "ranker.rk").read_bytes()
        code, _, err = on_workers(3, folder, *arguments, "--force")
        assert code == 0, err
        assert (tmp_path / "ranker.rk").read_bytes() == expected


def test_one_process_writes_log_and_checkpoint_and_others_resume(folder, tmp_path):
    model, log, checkpoint = (tmp_path / name for name in ("ranker.rk", "log.jsonl", "check.rk"))
    some = ("train.txt", "--max-leaf-nodes", 6, "--min-samples-leaf", 5, "--row-fraction", 0.7)
    alone(folder, *some, "--n-estimators", 9, "--model", model)
    expected = model.read_bytes()
    kept = ("--checkpoint", checkpoint, "--checkpoint-every", 2, "--log", log)
    code, _, err = on_workers(
        3, folder, *some, *kept, "--n-estimators", 5, "--model", tmp_path / "half.rk"
    )
    assert code == 0, err
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["event"] for line in lines] == ["start", *["round"] * 5, "end"]
    assert lines[0]["data"][0]["rows"] == 360
    rest = ("--n-estimators", 9, "--resume", checkpoint, "--model", model)
    code, _, err = on_workers(2, folder, *some, *rest)
    assert code == 0, err
    assert model.read_bytes() == expected


@pytest.mark.parametrize("select", ["sample", "full"])
def test_trees_of_single_processes(select, folder, tmp_path):
    """The file of three processes is the same each time, also if the run was broken off."""
    some = ("train.txt", "--valid", "valid.txt", "--max-leaf-nodes", 6, "--min-samples-leaf", 5)
    some += ("--distribute", "trees", "--select", select, "--overlap", 1)
    model, checkpoint = tmp_path / "ranker.rk", tmp_path / "check.rk"
    code, out, err = on_workers(3, folder, *some, "--n-estimators", 7, "--model", model)
    assert code == 0, err
    assert "LambdaMART with 7 trees" in out and "on valid.txt" in out
    expected = model.read_bytes()
    half = ("--n-estimators", 4, "--checkpoint", checkpoint, "--model", tmp_path / "half.rk")
    code, _, err = on_workers(3, folder, *some, *half)
    assert code == 0, err
    rest = ("--n-estimators", 7, "--resume", checkpoint, "--model", model)
    code, _, err = on_workers(3, folder, *some, *rest)
    assert code == 0, err
    assert model.read_bytes() == expected
    code, _, err = on_workers(4, folder, *some, *rest)
    assert code == 2 and len(errors(err)) == 1 and "or on other shares of it" in errors(err)[0]
    # One process alone has all queries: there is nothing to select, and nothing to overlap.
    alone(folder, *some[:-2], *FEW, "--model", tmp_path / "one.rk")
    alone(folder, "train.txt", "--valid", "valid.txt", *FEW, "--model", tmp_path / "none.rk")
    assert (tmp_path / "one.rk").read_bytes() == (tmp_path / "none.rk").read_bytes()


def errors(err):
    return [line for line in err.splitlines() if line.startswith("error:")]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nowhere.txt",), "nowhere.txt does not exist"),
        (("train.txt", "--learning-rate", -1), "must be a number above 0"),
        (("train.txt", "--pairs", "pairs.csv"), "--pairs needs all documents on one worker"),
        (("train.txt", "--distribute", "columns"), "--distribute must be"),
        (("train.txt", "--distribute", "trees", "--select", "any"), "--select must be"),
        (("train.txt", "--select", "full"), "--select full is about trees"),
        (("train.txt", "--distribute", "trees", "--overlap", 3), "--overlap 3 asks for the shares"),
        (("train.txt", "--ranker", "ranknet"), "cannot be trained by several workers"),
        (("bad.txt",), "bad.txt, line 359: the label 'x' is not a number"),
        (("negative.txt",), "has the label -3"),
        (("apart.txt",), "the rows of a query must lie together"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_an_error_is_told_once(arguments, sentence, folder, tmp_path):
    lines = (folder / "train.txt").read_text().splitlines()
    (folder / "bad.txt").write_text("\n".join([*lines[:-2], "x" + lines[-2][1:], lines[-1]]))
    (folder / "negative.txt").write_text("\n".join([*lines[:-1], "-3" + lines[-1][1:]]))
    (folder / "apart.txt").write_text("\n".join([*lines[1:], lines[0]]))
    few = () if "ranknet" in arguments else FEW
    code, _, err = on_workers(3, folder, *arguments, "--model", tmp_path / "model.rk", *few)
    assert code == 2, err
    assert len(errors(err)) == 1 and sentence in errors(err)[0], err
    assert "Traceback" not in err and not (tmp_path / "model.rk").exists()


def test_processes_without_mpi4py_are_refused(folder, tmp_path):
    """Otherwise each would train by itself, and write the same file."""
    (tmp_path / "mpi4py.py").write_text("raise ImportError('none here')")
    done = subprocess.run(
        [*RANKINITE, "train", "train.txt", "--model", str(tmp_path / "model.rk")],
        env={"PYTHONPATH": str(tmp_path), "PMI_SIZE": "2", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=60,
    )
    assert done.returncode == 2 and "rankinite[mpi]" in done.stderr
