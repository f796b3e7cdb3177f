from __future__ import annotations

import json

import pytest

import rankinite as rk


@pytest.fixture
def weak(files, tmp_path):
    path = tmp_path / "weak.rk"
    train = rk.read(files / "train.txt")
    rk.LambdaMART(n_estimators=1, max_leaf_nodes=2).fit(train).save(path)
    return path


def test_rows_are_those_of_the_library(run, files, weak):
    words = ("--model", weak, "--model", files / "ranker.rk", "--measures", "ndcg@10,map")
    result = run("compare", files / "test.txt", *words, "--json")
    models = {"weak": rk.load(weak), "ranker": rk.load(files / "ranker.rk")}
    expected = rk.compare(models, rk.read(files / "test.txt"), ["ndcg@10", "map"])
    found = json.loads(result.out)
    assert found["baseline"] == "weak"
    assert found["rows"] == [vars(row) for row in expected.rows]


def test_tables_are_narrow(run, files, weak):
    result = run("compare", files / "test.txt", "--model", weak, "--model", files / "ranker.rk")
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert max(map(len, lines)) <= 80
    head = ["ndcg@10", "mean", "change", "(95", "%)", "p", "wins", "losses", "ties"]
    assert lines[0].split() == head
    assert lines[1].startswith("weak (baseline)  0.")
    row = rk.compare(
        {"weak": rk.load(weak), "ranker": rk.load(files / "ranker.rk")},
        rk.read(files / "test.txt"),
        "ndcg@10",
    ).rows[0]
    half = (row.high - row.low) / 2
    assert f"{row.mean:.4f}  {row.difference:+.4f} ± {half:.4f}" in lines[2]
    assert lines[2].split()[-3:] == [str(row.wins), str(row.losses), str(row.ties)]


def test_models_with_scores_and_names(run, files, weak, tmp_path):
    scores = tmp_path / "scores.txt"
    run("score", files / "test.txt", "--model", files / "ranker.rk", "--output", scores)
    words = ("--model", f"old={weak}", "--model", f"new={files / 'ranker.rk'}")
    words += ("--scores", f"file={scores}", "--baseline", "new", "--measures", "ndcg@10")
    rows = json.loads(run("compare", files / "test.txt", *words, "--json").out)["rows"]
    assert [(row["scorer"], row["baseline"]) for row in rows] == [("old", "new"), ("file", "new")]
    assert (rows[1]["difference"], rows[1]["p_value"], rows[1]["ties"]) == (0.0, 1.0, 15)


def test_scores_alone(run, files, tmp_path):
    for name, values in (("up", range(180)), ("down", range(180, 0, -1))):
        (tmp_path / f"{name}.txt").write_text("".join(f"{value}\n" for value in values))
    words = ("--scores", tmp_path / "up.txt", "--scores", tmp_path / "down.txt")
    result = run("compare", files / "test.csv", *words)
    assert "up (baseline)" in result.out


def test_files_of_one_name_are_told_apart_by_their_paths(run, files, tmp_path):
    other = tmp_path / "ranker.rk"
    other.write_bytes((files / "ranker.rk").read_bytes())
    words = ("--model", files / "ranker.rk", "--model", other, "--measures", "map", "--json")
    rows = json.loads(run("compare", files / "test.txt", *words).out)["rows"]
    assert (rows[0]["baseline"], rows[0]["scorer"]) == ("ranker", str(other))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--model {ranker}", "name two or more rankers to compare, by --model or --scores"),
        ("", "got none"),
        ("--model a={ranker} --scores a=x", "two rankers have the same name in a="),
        ("--model a={ranker} --model a={ranker}", "two rankers have the same name in a="),
        (
            "--model a={ranker} --model b={ranker} --baseline c",
            "--baseline 'c' is not one of a, b",
        ),
        ("--model a={ranker} --model b=none.rk", "cannot read the model file none.rk"),
        ("--model a={ranker} --model b={ranker} --measures x", "unknown measure 'x'"),
        ("--model a={ranker} --model b={ranker} --blank x", "blank must be 'skip'"),
    ],
)
def test_mistakes(run, files, words, message):
    given = words.format(ranker=files / "ranker.rk").split()
    result = run("compare", files / "test.txt", *given)
    assert result.code == 2
    assert result.err.startswith("error: ")
    assert message in result.err
