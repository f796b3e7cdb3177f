"""Models to other engines and back on the command line."""

import numpy as np
import pytest

import rankinite as rk
from tests.fuzz.originals import wholes


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


def test_to_onnx(run, ranker, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    words = ["--output", tmp_path / "m.onnx", "--data", tmp_path / "rows.txt"]
    result = run("export", ranker, *words, "--option", "precision=double")
    assert result.code == 0, result.err
    assert "onnx" in result.out and "bit for bit" in result.out and "threads" in result.out
    rows = rk.read(tmp_path / "rows.txt")
    engine = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    (found,) = engine.run(None, {"features": rows.X.astype(np.float64)})
    assert np.allclose(found[:, 0], rk.load(ranker).predict(rows), rtol=1e-14, atol=1e-14)
    result = run("export", ranker, "--to", "onnx", *words[:2], "--force", "--option", "precision=x")
    assert result.code != 0 and "precision must be 'float' or 'double', got 'x'" in result.err


def test_checked_with_rows(run, ranker, tmp_path):
    words = ["--output", tmp_path / "m.json", "--data", tmp_path / "rows.txt"]
    result = run("export", ranker, "--to", "solr", *words, "--option", "store=products")
    assert result.code == 0, result.err
    assert '"store": "products"' in (tmp_path / "m.json").read_text().replace('":"', '": "')


def test_to_c(run, ranker, tmp_path):
    words = ["export", ranker, "--to", "c", "--output", tmp_path / "ranker.c"]
    result = run(*words, "--option", "form=branches", "--option", "name=best")
    assert result.code == 0, result.err
    assert "bit for bit" in result.out
    assert "best_scores" in (tmp_path / "ranker.h").read_text()
    # Neither of the two files is replaced unasked.
    (tmp_path / "ranker.c").unlink()
    result = run(*words)
    assert result.code != 0 and "ranker.h is there already" in result.err
    assert not (tmp_path / "ranker.c").exists()
    assert run(*words, "--force").code == 0
    result = run("export", ranker, "--output", tmp_path / "my-ranker.c")
    assert result.code != 0 and "name='ranker'" in result.err
    assert len(result.err.strip().splitlines()) == 1


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


BROKEN = {
    "rank.lightgbm.txt": (b"left_child=1", b"left_child=9"),
    "rank.lightgbm.json": (b'"tree_index": 1', b'"tree_index": 7'),
    "rank.xgboost.json": (b'"num_trees":"3"', b'"num_trees":"4"'),
    "rank.xgboost.ubj": (b"left_children", b"left_childreN"),
    "lossguide.catboost.json": (b'"split_index"', b'"spit_index"'),
    "rank.catboost.cbm": (b"CBM1", b"CBM1\xff\xff\xff\x7f"),
    "trees.ranklib.txt": (b"</split>", b"</spilt>"),
    "trees.quickrank.xml": (b"<output>", b"<output>&x;"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_models_are_one_sentence(run, ranker, tmp_path, name):
    """When they are imported, and when something is trained on top of them."""
    if name.endswith("cbm"):
        pytest.importorskip("catboost")
    (content,) = wholes(name)
    before, after = BROKEN[name]
    assert before in content
    broken = tmp_path / name
    broken.write_bytes(content.replace(before, after, 1))
    imported = run("import", broken, "--model", tmp_path / "out.rk")
    words = ["--base-model", broken, "--model", tmp_path / "out.rk"]
    trained = run("train", tmp_path / "rows.txt", *words)
    missing = run("import", tmp_path / "none", "--model", tmp_path / "out.rk")
    for result in (imported, trained):
        assert result.code == missing.code != 0
        assert len(result.err.strip().splitlines()) == 1 and "Traceback" not in result.err
        assert name in result.err
    assert not (tmp_path / "out.rk").exists()


def test_why(run, ranker, tmp_path):
    words = [tmp_path / "rows.txt", "--model", ranker, "--plot", tmp_path / "why.png"]
    result = run("explain", *words)
    assert result.code == 0, result.err
    assert "above document" in result.out and (tmp_path / "why.png").exists()
    result = run("explain", *words, "--query", "nobody")
    assert result.code != 0 and "there is no query 'nobody'" in result.err
