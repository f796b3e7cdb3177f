from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import rankinite as rk
from rankinite.cli import demo


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(demo, "N_QUERIES", (60, 20, 20))
    monkeypatch.setattr(demo, "N_DOCS", 15)
    monkeypatch.setattr(demo, "N_FEATURES", 6)
    monkeypatch.setattr(demo, "N_TREES", 25)


def row(text: str, name: str) -> list[float]:
    line = next(line for line in text.splitlines() if line.strip().startswith(name))
    return [float(cell) for cell in line.replace(name, "").split()]


@pytest.mark.usefixtures("small")
def test_demo_and_the_commands_that_it_suggests(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("demo", "--seed", 2)
    assert result.code == 0
    assert max(map(len, result.out.splitlines())) <= 80
    folder = tmp_path / "demo-output"
    assert {path.name for path in folder.iterdir()} == {
        "ranker.rk",
        "mart.rk",
        "test.txt",
        "scores.txt",
    }
    # What the demo printed is what can be had from its files.
    test = rk.read(folder / "test.txt")
    model = rk.load(folder / "ranker.rk")
    found = rk.evaluate(model, test, demo.MEASURES)
    assert row(result.out, "LambdaMART  ") == [round(found[m], 4) for m in demo.MEASURES]
    nothing = rk.evaluate(np.zeros(test.n_rows), test, demo.MEASURES)
    assert row(result.out, "random order") == [round(nothing[m], 4) for m in demo.MEASURES]
    assert row(result.out, "LambdaMART  ")[2] > row(result.out, "best single feature")[2]

    for command in demo.commands(folder.relative_to(tmp_path)):
        assert " ".join(["rankinite", *command[:2]]) in result.out
        assert run(*command).code == 0
    assert (tmp_path / "scores.txt").read_bytes() == (folder / "scores.txt").read_bytes()


def test_a_long_command_is_folded(tmp_path):
    folded = demo._folded(["compare", "a b.txt", "--model", "x" * 60])
    assert folded == f"   rankinite compare 'a b.txt' \\\n      --model {'x' * 60}"


def test_a_folder_that_cannot_be(run, tmp_path):
    (tmp_path / "file").touch()
    result = run("demo", "--output", tmp_path / "file" / "folder")
    assert result.code == 2
    assert "error: cannot create the folder" in result.err


def test_the_installed_command_runs(files):
    words = [sys.executable, "-c", "from rankinite.cli import main; main()"]
    words += ["evaluate", str(files / "test.txt"), "--model", str(files / "ranker.rk")]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    expected = rk.evaluate(rk.load(files / "ranker.rk"), rk.read(files / "test.txt"), "ndcg@10")
    assert f"ndcg@10  {expected['ndcg@10']:.4f}" in done.stdout


def test_says_where_the_command_is_if_the_shell_would_not_find_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(tmp_path / ".venv" / "bin" / "rankinite")])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "(rankinite is .venv/bin/rankinite here)" in demo._what_next(tmp_path)
    command = tmp_path / "rankinite"
    command.touch(mode=0o755)
    assert "rankinite is" not in demo._what_next(tmp_path)
