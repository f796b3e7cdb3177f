from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

import rankinite as rk
from rankinite.cli.compiling import NOTICE


@pytest.fixture
def expected(files) -> np.ndarray:
    return rk.load(files / "ranker.rk").predict(rk.read(files / "test.txt"))


def numbers(text: str) -> np.ndarray:
    return np.array([float(line) for line in text.splitlines()])


def test_scores_to_standard_output_are_exact(run, files, expected):
    result = run("score", files / "test.txt", "--model", files / "ranker.rk")
    assert result.code == 0
    assert np.array_equal(numbers(result.out), expected)


def test_scores_to_a_file(run, files, expected, tmp_path):
    words = ("--model", files / "ranker.rk", "--output", tmp_path / "scores.txt", "--threads", 1)
    result = run("score", files / "test.txt", *words)
    assert (result.out, result.err) == ("", "")
    assert np.array_equal(numbers((tmp_path / "scores.txt").read_text()), expected)


def test_rows_keep_the_order_of_the_file(run, files, expected, tmp_path):
    lines = (files / "test.txt").read_text().splitlines()
    order = np.random.default_rng(0).permutation(len(lines))
    path = tmp_path / "shuffled.txt"
    path.write_text("\n".join(lines[i] for i in order))
    result = run("score", path, "--model", files / "ranker.rk")
    assert np.array_equal(numbers(result.out), expected[order])


def test_the_first_trees(run, files):
    result = run("score", files / "test.txt", "--model", files / "ranker.rk", "--n-rounds", 2)
    model = rk.load(files / "ranker.rk")
    first = model.predict(rk.read(files / "test.txt"), n_rounds=2)
    assert np.array_equal(numbers(result.out), first)
    wrong = run("score", files / "test.txt", "--model", files / "ranker.rk", "--n-rounds", 7)
    assert "--n-rounds must be a whole number from 0 to 6, got 7" in wrong.err


def without_column(text: str, column: int) -> str:
    rows = (line.split(",") for line in text.splitlines())
    return "\n".join(",".join(row[:column] + row[column + 1 :]) for row in rows)


def test_tables_with_and_without_labels(run, files, expected, tmp_path):
    unlabelled = tmp_path / "unlabelled.csv"
    unlabelled.write_text(without_column((files / "test.csv").read_text(), 0))
    # This model comes from SVMlight text and knows no names: the columns count.
    for path in (files / "test.csv", unlabelled):
        result = run("score", path, "--model", files / "ranker.rk")
        assert np.array_equal(numbers(result.out), expected), result.err


def test_columns_are_found_by_name(run, files, tmp_path):
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    model = tmp_path / "named.rk"
    run("train", files / "train.csv", "--model", model, "--n-estimators", 3)
    in_order = run("score", files / "test.csv", "--model", model).out
    table = pa.csv.read_csv(files / "test.csv")
    turned = table.select(table.column_names[:0:-1]).append_column("id", [["x"] * len(table)])
    pa.parquet.write_table(turned, tmp_path / "turned.parquet")
    assert run("score", tmp_path / "turned.parquet", "--model", model).out == in_order

    pa.parquet.write_table(table.drop_columns(["f3"]), tmp_path / "short.parquet")
    result = run("score", tmp_path / "short.parquet", "--model", model)
    assert result.code == 2
    assert re.search(
        r"short.parquet has no column 'f3', which is a feature of the model .*named.rk: "
        r"its columns are label, qid, f0, f1, f2, f4",
        result.err,
    )


def test_more_features_than_the_model_has(run, files, tmp_path):
    path = tmp_path / "wide.txt"
    path.write_text("0 qid:1 1:1 5:1\n0 qid:1 6:1\n")
    result = run("score", path, "--model", files / "ranker.rk")
    assert result.code == 2
    assert result.err == (
        f"error: {path}, line 2: the feature index of '6:1' is above 5, "
        f"the number of features of the model {files / 'ranker.rk'}\n"
    )
    table = tmp_path / "wide.csv"
    table.write_text("qid,a,b,c,d,e,f\n1,1,1,1,1,1,1\n")
    result = run("score", table, "--model", files / "ranker.rk")
    assert result.code == 2
    assert f"{table} has 6 features, but the model {files / 'ranker.rk'} has 5: " in result.err


def test_text_may_leave_out_the_last_features(run, files, tmp_path):
    path = tmp_path / "narrow.txt"
    path.write_text("0 qid:1 1:0.5 3:-0.25\n")
    result = run("score", path, "--model", files / "ranker.rk")
    model = rk.load(files / "ranker.rk")
    assert numbers(result.out) == model.predict(np.array([[0.5, 0, -0.25, 0, 0]], np.float32))
    assert result.err == (
        f"warning: {path} has values for the features 1 to 3 only, and the model "
        f"{files / 'ranker.rk'} has 5: the others count as 0\n"
    )


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("none.rk", "cannot read the model file"),
        ("test.txt", "is not a whole model file of rankinite"),
    ],
)
def test_a_wrong_model_file(run, files, model, message):
    result = run("score", files / "test.txt", "--model", files / model)
    assert result.code == 2
    assert message in result.err


def test_the_output_is_checked_first(run, tmp_path):
    result = run("score", "none.txt", "--model", "none.rk", "--output", tmp_path / "no" / "s.txt")
    assert (
        f"cannot write the scores to {tmp_path / 'no' / 's.txt'}: there is no folder" in result.err
    )


def test_wrong_number_of_threads(run, files):
    words = ("--model", files / "ranker.rk", "--threads", 0)
    assert (
        "threads must be a whole number at least 1" in run("score", files / "test.txt", *words).err
    )


def test_a_reader_that_goes_away_is_no_error(files, tmp_path):
    many = tmp_path / "many.txt"
    rk.write_svmlight(rk.artificial(n_queries=400, n_docs=25, n_features=5), many)
    words = [sys.executable, "-c", "from rankinite.cli import main; main()"]
    words += ["score", str(many), "--model", str(files / "ranker.rk")]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    # Kernels may have to be compiled.
    assert process.stderr.read().replace(NOTICE.encode(), b"").strip() == b""
    process.stderr.close()
    assert process.wait(timeout=120) == 1


def read_back(path):
    import pyarrow.csv
    import pyarrow.parquet

    if path.suffix == ".tsv":
        tabs = pyarrow.csv.ParseOptions(delimiter="\t")
        return pyarrow.csv.read_csv(path, parse_options=tabs).to_pydict()
    read = pyarrow.csv.read_csv if path.suffix == ".csv" else pyarrow.parquet.read_table
    return read(path).to_pydict()


@pytest.mark.parametrize("name", ["scores.csv", "scores.tsv", "scores.parquet"])
def test_ids_and_ranks(run, files, expected, tmp_path, name):
    words = ("--model", files / "ranker.rk", "--output", tmp_path / name)
    assert run("score", files / "test.txt", *words).code == 0
    table = read_back(tmp_path / name)
    assert list(table) == ["qid", "row", "score", "rank"]
    assert table["row"] == list(range(180)) and table["score"] == expected.tolist()
    rows = rk.read(files / "test.txt")
    assert table["qid"] == np.repeat(rows.qids, rows.query_sizes).tolist()
    first = slice(rows.offsets[0], rows.offsets[1])
    by_rank = np.argsort(table["rank"][first])
    assert sorted(table["rank"][first]) == list(range(1, 13))
    assert (np.diff(expected[first][by_rank]) <= 0).all()


def test_documents_and_a_trec_run(run, files, tmp_path):
    lines = (files / "test.csv").read_text().splitlines()
    path = tmp_path / "named.csv"
    path.write_text("\n".join([f"doc,{lines[0]}", *(f"d{i},{x}" for i, x in enumerate(lines[1:]))]))
    words = ("--model", files / "ranker.rk", "--document", "doc")
    run("score", path, *words, "--output", tmp_path / "s.csv")
    table = read_back(tmp_path / "s.csv")
    assert table["document"] == [f"d{i}" for i in range(180)]
    result = run("score", path, *words, "--trec")
    run_lines = [line.split() for line in result.out.splitlines()]
    assert len(run_lines) == 180 and {line[1] for line in run_lines} == {"Q0"}
    for qid, _, document, rank, score, tag in run_lines:
        row = int(document[1:])
        assert (str(table["qid"][row]), str(table["rank"][row])) == (qid, rank)
        assert float(score) == table["score"][row] and tag == "rankinite"
    assert [int(line[3]) for line in run_lines[:12]] == list(range(1, 13))
    path.write_text("doc,qid,f0,f1,f2,f3,f4\na b,1,1,1,1,1,1\n")
    assert "the id 'a b' has blanks" in run("score", path, *words, "--trec").err


def test_a_table_needs_no_queries_unless_the_model_does(run, files, expected, tmp_path):
    path = tmp_path / "bare.csv"
    path.write_text(without_column(without_column((files / "test.csv").read_text(), 0), 0))
    result = run("score", path, "--model", files / "ranker.rk")
    assert np.array_equal(numbers(result.out), expected), result.err
    words = ("--model", files / "ranker.rk", "--output", tmp_path / "s.parquet")
    run("score", path, *words)
    assert list(read_back(tmp_path / "s.parquet")) == ["row", "score", "rank"]
    assert "has no column 'qid'" in run("score", path, "--model", files / "ranker.rk", "--trec").err
    both = tmp_path / "both.rk"
    models = ("--model", files / "ranker.rk", "--model", f"b={files / 'ranker.rk'}")
    run("combine", files / "valid.txt", *models, "--output", both, "--normalize", "query")
    assert "has no column 'qid'" in run("score", path, "--model", both).err


def test_models_of_other_libraries(run, files, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    train, test = rk.read(files / "train.txt"), rk.read(files / "test.txt")
    booster = lightgbm.train(
        {"verbose": -1, "num_leaves": 4}, lightgbm.Dataset(train.X, train.y), num_boost_round=3
    )
    model = tmp_path / "m.txt"
    booster.save_model(model)
    result = run("score", files / "test.txt", "--model", model)
    assert np.array_equal(numbers(result.out), booster.predict(test.X)), result.err
    (tmp_path / "s.txt").write_text(result.out)
    by_model = run("evaluate", files / "test.txt", "--model", model)
    assert by_model.out == run("evaluate", files / "test.txt", "--scores", tmp_path / "s.txt").out
    words = ("--model", model, "--model", files / "ranker.rk")
    assert "m (baseline)" in run("compare", files / "test.txt", *words).out
    assert (
        "a model of LightGBM has no vector" in run("optimality", files / "test.txt", *words[:2]).err
    )
    rounds = run("score", files / "test.txt", "--model", model, "--n-rounds", 2)
    assert rounds.code == 0 and len(rounds.out.split()) == rk.read(files / "test.txt").n_rows


def test_the_reading_of_a_large_file_is_told(run, files, monkeypatch):
    monkeypatch.setattr("rankinite.cli.reporting.LARGE_FILE", 10)
    model = ("--model", files / "ranker.rk")
    for verb in ("score", "evaluate", "compare"):
        result = run(
            verb,
            files / "test.txt",
            *model,
            *(("--model", "b=" + str(model[1])) * (verb == "compare")),
        )
        assert f"reading {files / 'test.txt'}, 0 MB\n" in result.err
