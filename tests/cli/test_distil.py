from __future__ import annotations

import json

import numpy as np
import pytest

import rankinite as rk
from tests.cli.conftest import as_csv

SMALL = ("--trees", 8, "--leaves", 5)


@pytest.fixture(scope="module")
def teacher(files, tmp_path_factory):
    path = tmp_path_factory.mktemp("teacher") / "teacher.rk"
    train = rk.read(files / "train.txt")
    mart = rk.MART(n_estimators=4, max_leaf_nodes=4).fit(train)
    rankers = {"ranker": rk.load(files / "ranker.rk"), "mart": mart}
    rk.Combination(rankers).fit(rk.read(files / "valid.txt")).save(path)
    return path


@pytest.mark.parametrize("student", ["mart", "lambdamart"])
def test_the_model_is_that_of_the_library(run, files, teacher, tmp_path, student):
    output = tmp_path / "small.rk"
    words = ("--student", student, *SMALL, "--labelled", files / "train.txt", "--model", output)
    result = run("distil", teacher, "--data", files / "train.txt", "--test", files / "test.txt",
                 *words)  # fmt: skip
    assert result.code == 0
    kind = {"mart": rk.MART, "lambdamart": rk.LambdaMART}[student]
    train, test = (rk.read(files / f"{name}.txt") for name in ("train", "test"))
    expected = rk.distil(rk.load(teacher), train, kind(n_estimators=8, max_leaf_nodes=5)).model
    loaded = rk.load(output)
    assert np.array_equal(loaded.predict(test), expected.predict(test))
    lines = result.out.splitlines()
    assert lines[0].split()[:3] == ["ndcg@10", "mean", "kept"]
    assert lines[2].split()[:2] == ["student", f"{rk.evaluate(loaded, test)['ndcg@10']:.4f}"]
    assert "times as fast as the teacher" in lines[-2] and lines[-1] == f"model: {output}"
    assert max(map(len, lines[:-1])) <= 80
    assert "480 rows, 40 queries" in result.err and f"a {kind.__name__} learns" in result.err


def test_tables_without_labels(run, files, teacher, tmp_path):
    output = tmp_path / "small.rk"
    valid = tmp_path / "valid.csv"
    named = rk.LambdaMART(n_estimators=3).fit(rk.read(files / "train.csv"))
    named.save(tmp_path / "named.rk")
    valid.write_text(as_csv(rk.read(files / "valid.txt"), label=False))
    words = ("--valid", valid, "--early-stopping", 3, "--model", output, "--quiet", "--json")
    result = run("distil", tmp_path / "named.rk", "--data", valid, *SMALL, *words)
    assert (result.code, result.err) == (0, "")
    found = json.loads(result.out)
    assert (found["documents"], found["queries"], found["rows"]) == (180, 15, [])
    assert found["costs"]["student"]["n_bytes"] == output.stat().st_size
    assert list(rk.load(output).history_["valid"]) == ["pairs"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--student", "ranknet"), "--student must be one of 'lambdamart', 'mart', got 'ranknet'"),
        (("--trees", "0"), "--trees must be a whole number at least 1, got 0"),
        (("--targets", "labels"), "--targets must be one of 'scores', 'quantiles', 'ranks'"),
        (("--documents", "all"), "--documents must be one of 'given', 'augmented'"),
        (("--early-stopping", "5"), "--early-stopping needs data to look at: add --valid"),
        (("--threads", "0"), "--threads must be a whole number at least 1"),
        (("--test", "missing.txt"), "missing.txt"),
        (("--measures", "ndgc"), "unknown measure 'ndgc'"),
        (("--model", "no/small.rk"), "there is no folder no, create it first"),
    ],
)
def test_mistakes(run, files, teacher, tmp_path, words, message, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("distil", teacher, "--data", files / "train.txt", *SMALL, *words)
    assert result.code == 2 and result.out == ""
    assert result.err.splitlines()[-1].startswith("error: ") and message in result.err
    assert "Traceback" not in result.err and not (tmp_path / "small.rk").exists()


def test_a_model_that_is_there_is_kept(run, files, teacher, tmp_path):
    output = tmp_path / "small.rk"
    output.write_text("mine")
    result = run("distil", teacher, "--data", files / "train.txt", "--model", output)
    assert result.code == 2 and "add --force" in result.err
    assert output.read_text() == "mine"
