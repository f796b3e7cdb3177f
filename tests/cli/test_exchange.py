"""Models to other engines and back on the command line."""

import numpy as np
import pytest

import rankinite as rk


@pytest.fixture
def ranker(tmp_path):
    (train,) = rk.artificial(n_queries=(30,), n_docs=10, n_features=4)
    rk.LambdaMART(n_estimators=5).fit(train).save(tmp_path / "ranker.rk")
    rk.write_svmlight(train, tmp_path / "rows.txt")
    return tmp_path / "ranker.rk"


def test_there_and_back(run, ranker, tmp_path):
    result = run("export", ranker, "--to", "lightgbm", "--output", tmp_path / "model.txt")
    assert result.code == 0, result.err
    assert "bit for bit" in result.out and "lightgbm" in result.out
    result = run("import", tmp_path / "model.txt", "--model", tmp_path / "back.rk")
    assert result.code == 0, result.err
    assert "LightGBM" in result.out
    rows = rk.read(tmp_path / "rows.txt")
    expected = rk.load(ranker).predict(rows)
    assert np.array_equal(rk.load(tmp_path / "back.rk").predict(rows), expected)
    for model in ("model.txt", "back.rk"):
        result = run("evaluate", tmp_path / "rows.txt", "--model", tmp_path / model)
        assert result.code == 0, result.err


def test_checked_with_rows(run, ranker, tmp_path):
    words = ["--output", tmp_path / "m.json", "--data", tmp_path / "rows.txt"]
    result = run("export", ranker, "--to", "solr", *words, "--option", "store=products")
    assert result.code == 0, result.err
    assert '"store": "products"' in (tmp_path / "m.json").read_text().replace('":"', '": "')


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--to pmml --output {folder}/m.txt", "there is no format 'pmml'"),
        ("--to solr --output {folder}/m.json --option store", "--option must be NAME=VALUE"),
        ("--output {folder}/ranker.rk", "already|exists"),
        ("--to lightgbm --output {folder}/none/m.txt", "none"),
    ],
)
def test_mistakes_are_one_sentence(run, ranker, tmp_path, words, told):
    result = run("export", ranker, *words.format(folder=tmp_path).split())
    assert result.code != 0
    assert len(result.err.strip().splitlines()) == 1 and "Traceback" not in result.err


def test_a_file_that_is_no_model(run, tmp_path):
    (tmp_path / "model.txt").write_text("tree\nversion=v4\n")
    result = run("import", tmp_path / "model.txt", "--model", tmp_path / "out.rk")
    assert result.code != 0 and "is no whole model of LightGBM" in result.err
    assert not (tmp_path / "out.rk").exists()


def test_why(run, ranker, tmp_path):
    words = [tmp_path / "rows.txt", "--model", ranker, "--plot", tmp_path / "why.png"]
    result = run("explain", *words)
    assert result.code == 0, result.err
    assert "above document" in result.out and (tmp_path / "why.png").exists()
    result = run("explain", *words, "--query", "nobody")
    assert result.code != 0 and "there is no query 'nobody'" in result.err
