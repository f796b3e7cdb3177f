from __future__ import annotations

import json

import numpy as np
import pytest

import rankinite as rk


@pytest.fixture(scope="module")
def models(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    train = rk.read(files / "train.txt")
    rk.MART(n_estimators=4, max_leaf_nodes=4).fit(train).save(folder / "mart.rk")
    rk.LambdaRank(n_epochs=3, n_hidden=0).fit(train).save(folder / "net.rk")
    return ("--model", files / "ranker.rk", "--model", folder / "mart.rk",
            "--model", f"linear={folder / 'net.rk'}")  # fmt: skip


def rankers_of(models):
    paths = [str(word).rpartition("=")[2] for word in models[1::2]]
    return dict(zip(("ranker", "mart", "linear"), map(rk.load, paths), strict=True))


@pytest.mark.parametrize("method", ["average", "exact_powell", "net"])
def test_the_model_is_that_of_the_library(run, files, models, tmp_path, method):
    output = tmp_path / "combined.rk"
    words = (*models, "--method", method, "--output", output, "--test", files / "test.txt")
    result = run("combine", files / "valid.txt", *words)
    assert (result.code, result.err) == (0, "")
    expected = rk.Combination(rankers_of(models), method).fit(rk.read(files / "valid.txt"))
    test = rk.read(files / "test.txt")
    loaded = rk.load(output)
    assert np.array_equal(loaded.predict(test), expected.predict(test))
    lines = result.out.splitlines()
    assert lines[0].split() == ["ndcg@10", "valid.txt", "test.txt"]
    assert [line.split()[0] for line in lines[1:5]] == ["ranker", "mart", "linear", "combination"]
    assert lines[4].split()[-1] == f"{rk.evaluate(loaded, test)['ndcg@10']:.4f}"
    if method == "net":
        assert loaded.in_words() in result.out
    else:
        name, weight, share, percent = lines[7].split()
        assert (name, percent) == ("ranker", "%")
        assert float(weight) == pytest.approx(loaded.weights_["ranker"], rel=1e-5)
        assert float(share) == pytest.approx(100 * loaded.shares_["ranker"], abs=0.06)
    assert lines[-1] == f"model: {output}"
    assert max(map(len, lines[:-1])) <= 80


def test_json(run, files, models, tmp_path):
    output = tmp_path / "combined.rk"
    words = (*models, "--method", "powell", "--measure", "err@5", "--normalize", "query")
    result = run("combine", files / "valid.csv", *words, "--output", output, "--json")
    found = json.loads(result.out)
    loaded = rk.load(output)
    valid = rk.read(files / "valid.txt")
    assert found["combination"] == {"valid.csv": rk.evaluate(loaded, valid, "err@5")["err@5"]}
    assert found["weights"] == loaded.weights_ and found["shares"] == loaded.shares_
    assert (found["method"], found["normalize"]) == ("powell", "query")
    assert list(found["rankers"]) == ["ranker", "mart", "linear"] and found["tried"] == {}


@pytest.mark.parametrize("tested", [True, False])
def test_all_methods(run, files, models, tmp_path, tested):
    output = tmp_path / "combined.rk"
    more = ("--test", files / "test.txt") if tested else ("--folds", 3)
    words = (*models, "--method", "all", "--output", output, *more)
    found = json.loads(run("combine", files / "valid.txt", *words, "--json").out)
    assert len(found["tried"]) == 7
    values = list(found["tried"].values())
    assert values == sorted(values, reverse=True)
    best = next(iter(found["tried"]))
    assert best.split()[0] == found["method"] == rk.load(output).method
    valid = rk.read(files / "valid.txt")
    expected = rk.Combination(
        rankers_of(models), found["method"], normalize=found["normalize"]
    ).fit(valid)
    assert np.array_equal(rk.load(output).predict(valid), expected.predict(valid))
    if tested:
        assert found["combination"]["test.txt"] == values[0]
    table = run("combine", files / "valid.txt", *words, "--force").out.splitlines()
    assert table[0].split() == ["method", "ndcg@10,", *(["test.txt"] if tested else ["3", "folds"])]
    assert table[1].split()[0] == best.split()[0]
    assert table[9].startswith(f"the best is {best}")
    assert ("test.txt has chosen it" in table[9]) == tested


def test_the_combination_is_a_model_for_all_verbs(run, files, models, tmp_path):
    output = tmp_path / "combined.rk"
    run("combine", files / "valid.txt", *models, "--normalize", "query", "--output", output)
    scored = run("score", files / "test.txt", "--model", output)
    expected = rk.load(output).predict(rk.read(files / "test.txt"))
    assert [float(line) for line in scored.out.splitlines()] == expected.tolist()
    assert run("evaluate", files / "test.txt", "--model", output).code == 0
    words = ("--model", output, "--model", files / "ranker.rk")
    assert run("compare", files / "test.txt", *words).code == 0


def test_foreign_models(run, files, tmp_path):
    lgb = pytest.importorskip("lightgbm")
    train = rk.read(files / "train.txt")
    booster = lgb.LGBMRanker(n_estimators=3, num_leaves=4, verbose=-1)
    booster.fit(train.X, train.y, group=train.query_sizes)
    booster.booster_.save_model(tmp_path / "booster.txt")
    words = ("--model", tmp_path / "booster.txt", "--model", files / "ranker.rk")
    result = run("combine", files / "valid.txt", *words, "--output", tmp_path / "c.rk")
    assert result.code == 0
    assert list(rk.load(tmp_path / "c.rk").weights_) == ["booster", "ranker"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--model a={ranker} --model a={ranker}", "two rankers have the same name"),
        ("--model none.rk", "cannot read the model file none.rk"),
        ("--model {ranker} --method best", "method must be one of"),
        ("--model {ranker} --normalize all", "normalize must be one of"),
        ("--model {ranker} --measure x", "measure is wrong: unknown measure 'x'"),
        ("--model {ranker} --seed -1", "--seed must be a whole number"),
        ("--model {ranker} --output nowhere/x.rk", "cannot write the combination"),
        ("--model {ranker} --model {narrow}", "combine rankers of the same features"),
        ("--model {ranker} --method all --folds 1", "--folds must lie between 2"),
    ],
)
def test_mistakes(run, files, tmp_path, words, message, monkeypatch):
    monkeypatch.chdir(tmp_path)
    narrow = tmp_path / "narrow.rk"
    rk.MART(n_estimators=1).fit(rk.artificial(n_queries=5, n_docs=10, n_features=3)).save(narrow)
    given = words.format(ranker=files / "ranker.rk", narrow=narrow).split()
    result = run("combine", files / "valid.txt", *given)
    assert result.code == 2
    assert result.err.startswith("error: ") and result.err.count("\n") == 1
    assert message in result.err
    assert not (tmp_path / "combined.rk").exists()
