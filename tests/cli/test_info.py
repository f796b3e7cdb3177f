from __future__ import annotations

import json

import numpy as np
import pytest

import rankinite as rk


def facts_of(run, path, *words):
    result = run("info", path, "--json", *words)
    assert (result.code, result.err) == (0, "")
    return json.loads(result.out)


def test_a_model(run, files):
    model = rk.load(files / "ranker.rk")
    facts = facts_of(run, files / "ranker.rk", "--features", 2)
    assert facts["kind"] == "LambdaMART" and facts["rankinite"] == rk.__version__
    assert facts["parameters"] == {"n_estimators": 6, "max_leaf_nodes": 5}
    assert facts["bytes"] == (files / "ranker.rk").stat().st_size
    assert (facts["rounds"], facts["best round"]) == (6, model.best_iteration_)
    (watched,) = facts["history"]
    values = model.history_["valid"]["ndcg@10"]
    assert (watched["set"], watched["measure"]) == ("valid", "ndcg@10")
    assert [watched[key] for key in ("first", "best", "last")] == [
        values[0],
        max(values),
        values[-1],
    ]
    order = np.argsort(-model.feature_importances_)[:2]
    # Counted as in the text that it was trained on.
    assert list(facts["importance"]) == [f"feature {j + 1}" for j in order]


def test_a_model_in_words(run, files):
    text = run("info", files / "ranker.rk").out
    assert "kind: LambdaMART\n" in text and "parameters: n_estimators 6, max_leaf_nodes 5" in text
    assert "watched  measure" in text and "importance" in text


def test_names_and_weights(run, files, tmp_path):
    words = ("--ranker", "lambdaboost", "--n-estimators", 3, "--learning-rate", 0.5)
    run("train", files / "train.csv", "--model", tmp_path / "m.rk", *words, "--quiet")
    facts = facts_of(run, tmp_path / "m.rk")
    assert facts["feature names"] and set(facts["weights"]) <= {f"f{j}" for j in range(5)}
    assert facts["parameters"] == {"n_estimators": 3} and facts["history"] == []


def test_a_net_and_a_combination(run, files, tmp_path):
    words = ("--ranker", "ranknet", "--n-epochs", 2, "--quiet")
    run("train", files / "train.txt", "--model", tmp_path / "net.rk", *words)
    assert facts_of(run, tmp_path / "net.rk")["kind"] == "RankNet"
    models = ("--model", tmp_path / "net.rk", "--model", files / "ranker.rk")
    run("combine", files / "valid.txt", *models, "--output", tmp_path / "both.rk")
    facts = facts_of(run, tmp_path / "both.rk")
    assert facts["kind"] == "Combination" and sum(map(abs, facts["shares"].values())) > 0.99


def test_data(run, files, tmp_path):
    test = rk.read(files / "test.txt")
    facts = facts_of(run, files / "test.txt")
    assert (facts["rows"], facts["queries"], facts["features"]) == (180, 15, 5)
    assert sum(facts["labels"].values()) == 180 and facts["missing values"] == 0
    test.save(tmp_path / "test.rkd")
    binned = facts_of(run, tmp_path / "test.rkd")
    assert binned["kind"] == "binned data" and binned["labels"] == facts["labels"]
    table = tmp_path / "few.csv"
    table.write_text("qid,a,b\n1,1,\n1,2,3\n")
    few = facts_of(run, table)
    assert (few["labels"], few["missing values"], few["feature names"]) == (None, 1, True)
    assert "labels: no\n" in run("info", table).out


def test_a_model_of_another_library(run, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    data = rk.artificial(n_queries=10, n_docs=20, n_features=5)
    booster = lightgbm.train(
        {"verbose": -1, "num_leaves": 4}, lightgbm.Dataset(data.X, data.y), num_boost_round=3
    )
    booster.save_model(tmp_path / "m.txt")
    facts = facts_of(run, tmp_path / "m.txt")
    assert facts["features"] == 5 and "LightGBM" in str(facts)


def test_a_missing_file_is_a_sentence(run):
    assert run("info", "none.rk").err == "error: none.rk does not exist\n"
