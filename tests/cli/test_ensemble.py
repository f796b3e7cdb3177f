from __future__ import annotations

import subprocess
import sys
import tomllib

import numpy as np
import pytest

import rankinite as rk
from rankinite.ensemble.declaration import example

TEXT = """\
[data]
folds = 3

[defaults.MART]
n_estimators = 3
max_leaf_nodes = 4

[member.graded]
ranker = "MART"
bag = true
parameters = { loss = "graded" }

[member.squares]
ranker = "MART"

[combine]
methods = ["average"]
"""


@pytest.fixture
def declaration(tmp_path):
    path = tmp_path / "ensemble.toml"
    path.write_text(TEXT)
    return path


def test_the_example(run):
    result = run("ensemble", "--example")
    assert (result.code, result.out, result.err) == (0, example(), "")
    assert len(tomllib.loads(result.out)["member"]) == 12


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_model_is_that_of_the_library(run, files, declaration, tmp_path, jobs):
    model = tmp_path / "ranker.rk"
    words = ("--train", files / "train.txt", "--test", files / "test.txt", "--model", model)
    result = run("ensemble", declaration, *words, "--jobs", jobs)
    assert result.code == 0, result.err
    train, test = (rk.read(files / f"{name}.txt") for name in ("train", "test"))
    expected = rk.assemble(declaration, train, test=test)
    expected.save(tmp_path / "expected.rk")
    assert model.read_bytes() == (tmp_path / "expected.rk").read_bytes()
    assert result.out == f"{expected}\nmodel: {model}\n"
    told = result.err.splitlines()
    assert told[0] == f"{files / 'train.txt'}: 480 rows, 40 queries"
    assert told[-1].startswith("combination by average: ") and "10 of 10 steps" in told[-1]
    assert (tmp_path / "ranker.rk.run" / "members" / "graded" / "fold-01.log").exists()
    # Started again it has nothing to do.
    again = run("ensemble", declaration, *words, "--force")
    assert again.out == result.out and "steps" not in again.err
    scored = run("score", files / "test.txt", "--model", model)
    assert [float(line) for line in scored.out.splitlines()] == expected.model.predict(
        test
    ).tolist()


def test_files_can_be_declared(run, files, tmp_path):
    path = tmp_path / "ensemble.toml"
    named = f'[data]\ntrain = "{files / "train.csv"}"\nvalid = ["{files / "valid.csv"}"]\n'
    path.write_text(TEXT.replace("[data]\n", named))
    model, folder = tmp_path / "ranker.rk", tmp_path / "kept"
    result = run("ensemble", path, "--model", model, "--run", folder, "--quiet")
    assert (result.code, result.err) == (0, "")
    expected = rk.assemble(TEXT_DICT, rk.read(files / "train.csv"), rk.read(files / "valid.csv"))
    valid = rk.read(files / "valid.csv")
    assert np.array_equal(rk.load(model).predict(valid), expected.model.predict(valid))
    assert (folder / "report.txt").read_text() == f"{expected}\n"


TEXT_DICT = tomllib.loads(TEXT)


@pytest.mark.parametrize(
    ("before", "after", "words", "message"),
    [
        ("", "", "", "ensemble.toml, line 1: there is no training data: pass --train"),
        ("", "", "--train none.txt", "none.txt does not exist"),
        ("", "", "--train {train} --model nowhere/x.rk", "cannot write the model"),
        ("", "", "--train {train} --run nowhere/x", "there is no folder nowhere"),
        ("", "", "--train {train} --run ensemble.toml", "it is a file, pass a folder"),
        ("", "", "--train {train} --jobs 0", "jobs must be a whole number"),
        ("n_estimators = 3", "n_estimators = 0", "--train {train}",
         "ensemble.toml, line 5: n_estimators must be a whole number at least 1"),
        ("bag = true", 'extra = ["sqares"]', "--train {train}",
         "ensemble.toml, line 10: there is no member 'sqares': there are graded, squares"),
        ("folds = 3", "folds = 41", "--train {train}", "ensemble.toml, line 2: n_folds=41 needs"),
        ("folds = 3", 'valid = "no.txt"', "--train {train}", "line 2: no.txt does not exist"),
        ("bag = true", "features = [6]", "--train {train}",
         "ensemble.toml, line 10: features has 6, and the data has the features 1 to 5"),
    ],
)  # fmt: skip
def test_mistakes(run, files, declaration, monkeypatch, before, after, words, message):
    monkeypatch.chdir(declaration.parent)
    declaration.write_text(TEXT.replace(before, after, 1))
    result = run("ensemble", "ensemble.toml", *words.format(train=files / "train.txt").split())
    assert result.code == 2
    last = result.err.splitlines()[-1]
    assert last.startswith("error: ") and message in last
    assert not list(declaration.parent.rglob("*.rk"))


def test_no_declaration(run):
    result = run("ensemble", "--train", "x")
    assert result.code == 2 and "there is no declaration" in result.err


def test_a_member_that_fails(run, files, tmp_path):
    path = tmp_path / "ensemble.toml"
    path.write_text(TEXT.replace('graded" }', 'logistic" }'))
    model = tmp_path / "ranker.rk"
    words = (path, "--train", files / "train.txt", "--model", model, "--jobs", 2)
    result = run("ensemble", *words)
    assert result.code == 2 and not model.exists()
    assert result.err.splitlines()[-1].startswith("error: graded, fold ")
    result = run("ensemble", *words, "--keep-going")
    assert result.code == 0 and "warning: the member graded is not in the ensemble" in result.err
    assert list(rk.load(model).rankers) == ["squares"]


def test_interrupted_it_goes_on(files, declaration, tmp_path):
    """SIGTERM ends the processes too, and what is done stays done."""
    text = TEXT.replace("n_estimators = 3", "n_estimators = 200")
    declaration.write_text(text)
    code = "from rankinite.cli import main; main()"
    words = ["ensemble", declaration, "--train", files / "train.txt", "--jobs", 2]
    words += ["--model", tmp_path / "ranker.rk"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)], stderr=subprocess.PIPE, text=True
    )
    try:
        while "steps" not in (line := process.stderr.readline()):
            assert line, "it has ended by itself"
        process.terminate()
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + 15 and "interrupted" in err and "Traceback" not in err
    records = list((tmp_path / "ranker.rk.run").rglob("*.done.json"))
    assert 1 <= len(records) < 9 and not (tmp_path / "ranker.rk").exists()
