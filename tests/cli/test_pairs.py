"""Preference pairs on the command line."""

import json

import numpy as np
import pytest

import rankinite as rk

QUICK = ("--n-estimators", 5, "--max-leaf-nodes", 5, "--quiet")


@pytest.fixture(scope="module")
def folder(files, tmp_path_factory):
    """Tables with ids and no labels, and the pairs of their labels by row, by id and to be."""
    folder = tmp_path_factory.mktemp("pairs")
    for name in ("train", "valid"):
        rows = rk.read(files / f"{name}.txt")
        pairs = rk.Preferences.from_labels(rows)
        ids = [f"d{row}" for row in range(rows.n_rows)]
        qid = np.repeat(rows.qids, rows.query_sizes)
        both = list(zip(pairs.first, pairs.other, strict=True))
        lines = ["preferred,other", *(f"{i},{j}" for i, j in both)]
        (folder / f"{name}-rows.csv").write_text("\n".join(lines) + "\n")
        lines = ["query,preferred,other,probability"]
        lines += [f"{qid[i]},{ids[i]},{ids[j]},1" for i, j in both]
        (folder / f"{name}-ids.csv").write_text("\n".join(lines) + "\n")
        header = ",".join(["qid", "doc", *(f"f{k}" for k in range(5))])
        cells = [f"{qid[r]},{ids[r]}," + ",".join(map(str, rows.X[r])) for r in range(rows.n_rows)]
        (folder / f"{name}.csv").write_text("\n".join([header, *cells]) + "\n")
    return folder


def train_by_rows(run, files, folder, model, *more):
    pairs = ("--pairs", folder / "train-rows.csv", "--valid-pairs", folder / "valid-rows.csv")
    data = (files / "train.txt", "--valid", files / "valid.txt")
    return run("train", *data, *pairs, "--model", model, *QUICK, *more)


def test_training_is_that_of_the_library(run, files, folder, tmp_path):
    result = train_by_rows(run, files, folder, tmp_path / "m.rk")
    assert result.code == 0 and "pair_accuracy" in result.out
    train = rk.read(files / "train.txt", max_bins=255)
    train = train.with_preferences(folder / "train-rows.csv")
    expected = rk.LambdaMART(n_estimators=5, max_leaf_nodes=5).fit(train)
    found = rk.load(tmp_path / "m.rk")
    assert np.array_equal(found.predict(train), expected.predict(train))
    assert list(found.history_["valid"]) == ["pair_accuracy"]


def test_tables_with_ids_and_without_labels(run, files, folder, tmp_path):
    result = run(
        *("train", folder / "train.csv", "--valid", folder / "valid.csv"),
        *("--pairs", folder / "train-ids.csv", "--valid-pairs", folder / "valid-ids.csv"),
        *("--document", "doc", "--model", tmp_path / "ids.rk", *QUICK),
    )
    assert result.code == 0, result.err
    train_by_rows(run, files, folder, tmp_path / "rows.rk")
    ids, rows = rk.load(tmp_path / "ids.rk"), rk.load(tmp_path / "rows.rk")
    assert ids.history_ == rows.history_
    X = rk.read(files / "test.txt").X
    assert np.array_equal(ids.predict(X), rows.predict(X))


def test_evaluate(run, files, folder, tmp_path):
    train_by_rows(run, files, folder, tmp_path / "m.rk", "--sigma", 2)
    model, valid = rk.load(tmp_path / "m.rk"), rk.read(files / "valid.txt")
    expected = rk.evaluate(model, valid.with_preferences(folder / "valid-rows.csv"))
    by_rows = ("evaluate", files / "valid.txt", "--pairs", folder / "valid-rows.csv")
    by_ids = ("evaluate", folder / "valid.csv", "--pairs", folder / "valid-ids.csv")
    scores = tmp_path / "scores.txt"
    scores.write_text("\n".join(map(repr, model.predict(valid).tolist())))
    assert run(*by_rows, "--model", tmp_path / "m.rk").out == f"{expected}\n"
    for words in (by_rows, (*by_ids, "--document", "doc")):
        result = json.loads(run(*words, "--scores", scores, "--json").out)
        mean = result["measures"]["pair_accuracy"]["mean"]
        assert mean == pytest.approx(expected["pair_accuracy"])
    both = run(*by_rows, "--model", tmp_path / "m.rk", "--measures", "ndcg@5,pair_accuracy")
    assert "ndcg@5" in both.out and "pair_accuracy" in both.out
    table = tmp_path / "q.csv"
    run(*by_rows, "--model", tmp_path / "m.rk", "--per-query", table)
    assert table.read_text().splitlines()[0] == "qid,pair_accuracy,pair_log_loss"


def test_early_stopping_by_the_log_loss(run, files, folder, tmp_path):
    more = ("--valid-measure", "pair_log_loss", "--early-stopping", 2, "--learning-rate", 2)
    result = train_by_rows(run, files, folder, tmp_path / "m.rk", "--n-estimators", 60, *more)
    assert result.code == 0 and "the best by pair_log_loss of" in result.out
    values = rk.load(tmp_path / "m.rk").history_["valid"]["pair_log_loss"]
    assert int(np.argmin(values)) == len(values) - 3


def test_words_for_what_was_best(run, files, folder, tmp_path):
    more = ("--valid-measure", "pair_log_loss", "--learning-rate", 4, "--n-estimators", 30)
    result = train_by_rows(run, files, folder, tmp_path / "m.rk", *more)
    assert "(pair_log_loss was lowest after" in result.out


WRONG = [
    (("--pairs", "none.csv"), "none.csv does not exist"),
    (("--pairs", "train-ids.csv"), "line 2: there is no document 'd"),
    (("--pairs", "train-rows.csv", "--document", "doc"), "--document doc names a column"),
    (("--pairs", "train-rows.csv", "--truncation", "5"), "does not apply to preference pairs"),
    (("--pairs", "train-rows.csv", "--ranker", "mart"), "MART learns from labels, not from pairs"),
    (("--pairs", "train-rows.csv", "--valid-pairs", "valid-rows.csv"), "--valid-pairs needs data"),
]


@pytest.mark.parametrize(("words", "message"), WRONG)
def test_errors(run, files, folder, tmp_path, words, message):
    words = [folder / word if word.endswith(".csv") else word for word in words]
    result = run("train", files / "train.txt", *words, "--model", tmp_path / "m.rk", *QUICK)
    assert result.code == 2 and result.err.startswith("error: ") and message in result.err
    assert result.err.count("\n") == 1


def test_labels_are_needed_without_pairs(run, folder, tmp_path):
    result = run("train", folder / "train.csv", "--document", "doc", "--model", tmp_path / "m.rk")
    assert result.code == 2 and "no column 'label'" in result.err
