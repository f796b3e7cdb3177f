from __future__ import annotations

import csv
import json

import pytest

import rankinite as rk

DEFAULT = ["ndcg@10", "err@10", "map", "mrr"]


@pytest.fixture
def scores(files, tmp_path):
    path = tmp_path / "scores.txt"
    values = rk.load(files / "ranker.rk").predict(rk.read(files / "test.txt"))
    path.write_text("".join(f"{value!r}\n" for value in values.tolist()))
    return path


def test_table_of_a_model(run, files):
    result = run("evaluate", files / "test.txt", "--model", files / "ranker.rk")
    expected = rk.evaluate(rk.load(files / "ranker.rk"), rk.read(files / "test.txt"), DEFAULT)
    assert (result.code, result.err) == (0, "")
    assert result.out == f"{expected}\n"


def test_scores_of_a_file_are_those_of_the_model(run, files, scores):
    by_model = run("evaluate", files / "test.txt", "--model", files / "ranker.rk")
    assert run("evaluate", files / "test.txt", "--scores", scores).out == by_model.out


def test_with_scores_a_table_needs_only_labels_and_queries(run, tmp_path):
    data, scores = tmp_path / "judged.csv", tmp_path / "scores.txt"
    data.write_text("qid,label,url\n1,0,a\n1,1,b\n2,1,c\n2,0,d\n")
    scores.write_text("1\n2\n2\n1\n")
    result = run("evaluate", data, "--scores", scores, "--measures", "mrr", "--json")
    assert json.loads(result.out)["measures"] == {"mrr": {"mean": 1.0, "blank_queries": 0}}


def test_blank_queries_and_values_of_queries(run, tmp_path):
    data, scores, values = (tmp_path / name for name in ("data.txt", "scores.txt", "values.csv"))
    data.write_text("0 qid:a 1:1\n1 qid:a 1:1\n0 qid:b 1:1\n")
    scores.write_text("2\n1\n5\n")
    words = ("evaluate", data, "--scores", scores, "--measures", "mrr,p@1", "--per-query", values)
    for blank, mean, cell in (("skip", 1 / 2, ""), ("zero", 1 / 4, "0.0"), ("one", 3 / 4, "1.0")):
        result = run(*words, "--blank", blank, "--json")
        assert json.loads(result.out) == {
            "queries": 2,
            "blank": blank,
            "measures": {
                "mrr": {"mean": mean, "blank_queries": 1},
                "p@1": {"mean": {"skip": 0.0, "zero": 0.0, "one": 0.5}[blank], "blank_queries": 1},
            },
        }
        with values.open(newline="") as file:
            rows = list(csv.reader(file))
        assert rows == [["qid", "mrr", "p@1"], ["a", "0.5", "0.0"], ["b", cell, cell]]


def test_a_mean_of_nothing_is_null(run, tmp_path):
    data, scores = tmp_path / "data.txt", tmp_path / "scores.txt"
    data.write_text("0 qid:a 1:1\n")
    scores.write_text("2\n")
    result = run("evaluate", data, "--scores", scores, "--measures", "map", "--json")
    assert json.loads(result.out)["measures"]["map"] == {"mean": None, "blank_queries": 1}


def test_the_first_trees(run, files, scores):
    words = ("--model", files / "ranker.rk", "--n-rounds", 2, "--measures", "map", "--json")
    result = run("evaluate", files / "test.txt", *words)
    test = rk.read(files / "test.txt")
    values = rk.load(files / "ranker.rk").predict(test, n_rounds=2)
    mean = json.loads(result.out)["measures"]["map"]["mean"]
    assert mean == rk.evaluate(values, test, "map")["map"]
    wrong = run("evaluate", files / "test.txt", "--scores", scores, "--n-rounds", 2)
    assert "--n-rounds needs --model" in wrong.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "pass either --model or --scores"),
        ("--model {files}/ranker.rk --scores {tmp}/scores.txt", "pass either --model or --scores"),
        ("--scores {tmp}/scores.txt --measures quality", "unknown measure 'quality'"),
        ("--scores {tmp}/scores.txt --blank none", "blank must be 'skip', 'zero' or 'one'"),
        ("--scores {tmp}/none.txt", "none.txt does not exist"),
        ("--scores {tmp}/short.txt", "short.txt has 1 scores, but {files}/test.txt has 180 rows"),
        ("--scores {tmp}/words.txt", "words.txt, line 2: 'high' is not a finite number"),
        ("--scores {tmp}/nan.txt", "nan.txt, line 1: 'nan' is not a finite number"),
        ("--scores {tmp}/scores.txt --per-query {tmp}", "cannot write the values of the queries"),
    ],
)
def test_mistakes(run, files, tmp_path, scores, words, message):
    for name, text in (("short", "1\n"), ("words", "1\nhigh\n"), ("nan", "nan\n")):
        (tmp_path / f"{name}.txt").write_text(text)
    places = {"files": files, "tmp": tmp_path}
    result = run("evaluate", files / "test.txt", *words.format(**places).split())
    assert result.code == 2
    assert result.err.startswith("error: ")
    assert message.format(**places) in result.err


@pytest.mark.parametrize("verb", ["evaluate", "compare", "train", "validate"])
@pytest.mark.parametrize("kind", ["txt", "csv"])
def test_a_wrong_label_is_named_by_query_and_line(run, files, tmp_path, verb, kind):
    path = tmp_path / f"wrong.{kind}"
    lines = (files / f"test.{kind}").read_text().splitlines()
    # A comment and an empty line do not count as rows.
    head, rows = ("# made by hand\n\n", lines) if kind == "txt" else (f"{lines[0]}\n\n", lines[1:])
    separator = " " if kind == "txt" else ","
    rows[20] = separator.join(["-1", *rows[20].split(separator)[1:]])
    path.write_text(head + "\n".join(rows) + "\n")
    model = ("--model", files / "ranker.rk")
    words = {
        "evaluate": ("evaluate", path, *model),
        "compare": ("compare", path, *model, "--model", f"b={files / 'ranker.rk'}"),
        "train": ("train", path, "--model", tmp_path / "m.rk"),
        "validate": ("train", files / f"train.{kind}", "--valid", path, "--model", tmp_path / "m"),
    }[verb]
    result = run(*words)
    assert result.code == 2
    query = rk.read(files / "test.txt").qids[1]
    assert f"{path}, line 23: a document of query {query} has the label -1" in result.err


def test_a_wrong_label_in_parquet_is_named_by_its_row(run, files, tmp_path):
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    table = pa.csv.read_csv(files / "test.csv")
    labels = table["label"].to_pylist()
    labels[3] = -1.0
    pa.parquet.write_table(table.set_column(0, "label", [labels]), tmp_path / "t.parquet")
    result = run("evaluate", tmp_path / "t.parquet", "--model", files / "ranker.rk")
    assert "t.parquet, row 3 (from 0): a document of query" in result.err
