"""Data that comes through pipes, and options that a format has no use for."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

import rankinite as rk

RANKINITE = [sys.executable, "-c", "from rankinite.cli import main; main()"]
SMALL = ["--n-estimators", "2", "--max-leaf-nodes", "3", "--quiet"]


def run_with(content, *words, folder):
    """Run the command line in a process of its own, with bytes as its standard input."""
    return subprocess.run(
        [*RANKINITE, *map(str, words)],
        input=content,
        cwd=folder,
        capture_output=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def expected(files, tmp_path_factory):
    path = tmp_path_factory.mktemp("expected") / "model.rk"
    done = run_with(b"", "train", files / "train.txt", "--model", path, *SMALL, folder=path.parent)
    assert done.returncode == 0, done.stderr
    return path.read_bytes()


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_training_from_standard_input(files, tmp_path, expected, name):
    content = (files / "train.txt").read_bytes()
    done = run_with(content, "train", name, "--model", "m.rk", *SMALL, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "m.rk").read_bytes() == expected


def test_training_and_scoring_from_named_pipes(files, tmp_path, expected, run):
    for name in ("train.txt", "valid.csv"):
        os.mkfifo(tmp_path / name)
        content = (files / name).read_bytes()
        threading.Thread(target=(tmp_path / name).write_bytes, args=(content,)).start()
    model = tmp_path / "m.rk"
    done = run("train", tmp_path / "train.txt", "--model", model, *SMALL)
    assert done.code == 0, done.err
    assert model.read_bytes() == expected
    scored = run("score", tmp_path / "valid.csv", "--model", model)
    assert scored.out == run("score", files / "valid.csv", "--model", model).out


def test_comparing_looks_at_standard_input_twice(files, tmp_path):
    """Models of different features read the data anew, which a pipe gives only once."""
    narrow = rk.read(files / "train.csv", features=["f1", "f2"])
    rk.LambdaMART(n_estimators=2).fit(narrow).save(tmp_path / "narrow.rk")
    wide = rk.read(files / "train.csv")
    rk.LambdaMART(n_estimators=2).fit(wide).save(tmp_path / "wide.rk")
    words = ["--model", "narrow.rk", "--model", "wide.rk", "--json"]
    content = (files / "test.csv").read_bytes()
    piped = run_with(content, "compare", "-", *words, folder=tmp_path)
    assert piped.returncode == 0, piped.stderr
    assert (
        piped.stdout == run_with(b"", "compare", files / "test.csv", *words, folder=tmp_path).stdout
    )


def test_errors_name_standard_input(tmp_path):
    done = run_with(b"1 qid:1 1:1\nx\n", "train", "-", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr == b"error: standard input, line 2: the label 'x' is not a number\n"
    assert run_with(b"", "train", "-", folder=tmp_path).stderr == (
        b"error: standard input has no data rows\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        ["--weight", "w"],
        ["--label", "rel"],
        ["--qid", "query"],
        ["--features", "a,b"],
        ["--document", "id"],
    ],
)
def test_options_of_columns_are_refused_for_text(files, tmp_path, run, words):
    done = run("train", files / "train.txt", "--model", tmp_path / "m.rk", *words)
    assert done.code == 2
    assert "names a column, and" in done.err and "is SVMlight text, which has none" in done.err


def test_other_verbs_refuse_them_too(files, run):
    model = ["--model", files / "ranker.rk"]
    for verb in ("score", "evaluate"):
        for words in (["--label", "rel"], ["--qid", "query"]):
            done = run(verb, files / "test.txt", *model, *words)
            assert (done.code, "is SVMlight text" in done.err) == (2, True)
    done = run("train", files / "train.csv", "--n-features", 5)
    assert done.code == 2 and "--n-features 5 is for SVMlight text" in done.err
    data = ["--train", files / "train.txt", "--valid", files / "valid.txt"]
    done = run("adapt", "--background", files / "ranker.rk", *data, "--n-features", 5)
    assert done.code == 2 and "is a model, which knows its features: leave it out" in done.err
