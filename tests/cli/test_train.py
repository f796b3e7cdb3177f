from __future__ import annotations

import json
import shlex

import numpy as np
import pytest

import rankinite as rk
from rankinite.boosting.auto import LARGEST_SHARE
from rankinite.training import Progress

SMALL = ("--n-estimators", 6, "--max-leaf-nodes", 5)


def test_the_model_is_that_of_the_library(run, files, tmp_path):
    path = tmp_path / "model.rk"
    result = run(
        "train", files / "train.txt", "--valid", files / "valid.txt", "--model", path, *SMALL
    )
    assert result.code == 0
    assert f"model: {path}" in result.out
    assert "LambdaMART with 6 trees" in result.out
    assert f"{files / 'train.txt'}: 480 rows, 40 queries, 5 features" in result.err
    assert "tree 6/6  valid ndcg@10" in result.err
    test = rk.read(files / "test.txt")
    expected = rk.load(files / "ranker.rk")
    assert np.array_equal(rk.load(path).predict(test), expected.predict(test))


def test_all_options_reach_the_ranker(run, files, tmp_path):
    path = tmp_path / "model.rk"
    words = shlex.split(
        "--measure err@5 --learning-rate 0.3 --min-samples-leaf 7 --max-bins 31 --split newton "
        "--row-fraction 0.9 --feature-fraction 0.8 --early-stopping 4 --valid-measure map "
        "--sigma 2.0 --truncation 5 --no-normalize --seed 11 --threads 1 --quiet "
        "--step line_search --backfit 2 --max-depth 4 --min-curvature-leaf 0.01 "
        "--l2-regularization 0.5 --query-fraction 0.75 --noise 0.2 --n-draws 3 "
        "--importance-fraction 0.6 --no-confirm-steps --squares 2.5 --growth best_first"
    )
    valid = ("--valid", files / "valid.txt")
    assert run("train", files / "train.txt", *valid, "--model", path, *SMALL, *words).code == 0
    assert rk.load(path).get_params() == {
        **{"measure": "err@5", "n_estimators": 6, "max_leaf_nodes": 5, "learning_rate": 0.3},
        **{"min_samples_leaf": 7, "max_bins": 31, "split": "newton", "row_fraction": 0.9},
        **{"feature_fraction": 0.8, "base_model": None, "early_stopping": 4},
        **{"valid_measure": "map", "sigma": 2.0, "truncation": 5, "normalize": False},
        # The file is the same whatever the number of threads.
        **{"random_state": 11, "n_threads": None, "verbose": 0},
        **{"step": "line_search", "backfit": 2, "max_depth": 4, "min_curvature_leaf": 0.01},
        **{"l2_regularization": 0.5, "query_fraction": 0.75, "noise": 0.2, "n_draws": 3},
        **{"importance_fraction": 0.6, "confirm_steps": False, "squares": 2.5},
        "growth": "best_first",
    }
    assert run("train", files / "train.txt", "--model", path, *SMALL, "--force").code == 0
    params = rk.load(path).get_params()
    autos = ("truncation", "importance_fraction", "noise")
    assert [params[name] for name in autos] == ["auto"] * 3
    none = ("--truncation", "none", "--importance-fraction", "1", "--noise", "0")
    assert run("train", files / "train.txt", "--model", path, *SMALL, *none, "--force").code == 0
    assert rk.load(path).get_params()["truncation"] is None
    assert rk.load(path).chosen_ == {}


def test_mart(run, files, tmp_path):
    words = ("--ranker", "mart", "--loss", "graded", "--model", tmp_path / "m.rk", "--quiet")
    result = run("train", files / "train.txt", *words, *SMALL)
    assert result.out.startswith("MART with 6 trees\n")
    assert rk.load(tmp_path / "m.rk").loss == "graded"


def test_back_fitting_is_told(run, files, tmp_path):
    words = ("--step", "line_search", "--backfit", 1, "--model", tmp_path / "m.rk", "--quiet")
    result = run("train", files / "train.txt", *words, *SMALL)
    assert result.out.startswith("LambdaMART with 6 back-fitted trees\n")
    assert len(rk.load(tmp_path / "m.rk").backfit_history_) == 2


def test_quiet_prints_the_result_only(run, files, tmp_path):
    result = run("train", files / "train.txt", "--model", tmp_path / "m.rk", *SMALL, "--quiet")
    assert result.err == ""
    auto = f"auto: --importance-fraction {LARGEST_SHARE:g}, --truncation 60, --noise 0.5"
    auto += f", {rk.load(tmp_path / 'm.rk').n_symmetric_} trees symmetric"
    assert result.out == f"LambdaMART with 6 trees\n{auto}\nmodel: {tmp_path / 'm.rk'}\n"


def test_measures_at_the_end_and_early_stopping(run, files, tmp_path):
    words = ("--valid", files / "valid.txt", "--model", tmp_path / "m.rk", "--quiet")
    many = ("--n-estimators", 60, "--max-leaf-nodes", 5, "--early-stopping", 3)
    measures = ("--measures", "ndcg@3,avendcg:depth=5,gain=label,map")
    result = run("train", files / "train.txt", *words, *many, *measures)
    model = rk.load(tmp_path / "m.rk")
    kept = model.forest_.n_trees
    assert kept == model.best_iteration_
    assert f"LambdaMART with {kept} trees, the best by ndcg@10 of {kept + 3}" in result.out
    valid = rk.read(files / "valid.txt")
    expected = rk.evaluate(model, valid, ["ndcg@3", "avendcg:depth=5,gain=label", "map"])
    assert str(expected) in result.out


def test_without_early_stopping_the_best_number_of_trees_is_told(run, files, tmp_path):
    words = ("--valid", files / "valid.txt", "--model", tmp_path / "m.rk", "--quiet")
    hasty = ("--n-estimators", 60, "--learning-rate", 1, "--no-confirm-steps")
    result = run("train", files / "train.txt", *words, *hasty)
    best = rk.load(tmp_path / "m.rk").best_iteration_
    assert best < 60
    assert f"60 trees (ndcg@10 was highest after {best} of them)" in result.out


def test_log(run, files, tmp_path):
    log = tmp_path / "log.jsonl"
    words = ("--valid", files / "valid.txt", "--train-measure", "--log", log, "--quiet")
    run("train", files / "train.txt", *words, "--model", tmp_path / "m.rk", *SMALL)
    start, *rounds, end = [json.loads(line) for line in log.read_text().splitlines()]
    assert start["event"] == "start"
    assert start["version"] == rk.__version__
    assert start["parameters"]["max_leaf_nodes"] == 5
    shape = {"rows": 480, "queries": 40, "features": 5}
    assert start["data"][0] == {"file": str(files / "train.txt"), **shape}
    assert [r["trees"] for r in rounds] == [1, 2, 3, 4, 5, 6]
    assert all(0 < r["train ndcg@10"] <= 1 and 0 < r["valid ndcg@10"] <= 1 for r in rounds)
    model = rk.load(tmp_path / "m.rk")
    assert end["event"] == "end"
    assert end["best_iteration"] == model.best_iteration_
    assert end["measures"] == {"ndcg@10": rounds[-1]["valid ndcg@10"]}
    assert end["seconds"] > 0
    assert not end["interrupted"]


def test_checkpoint_and_resume(run, files, tmp_path):
    whole, part, resumed = (tmp_path / f"{name}.rk" for name in ("whole", "part", "resumed"))
    train = ("train", files / "train.txt", "--quiet", "--max-leaf-nodes", 5)
    run(*train, "--n-estimators", 9, "--model", whole)
    checkpoint = ("--checkpoint", part, "--checkpoint-every", 2)
    run(*train, "--n-estimators", 4, "--model", tmp_path / "other.rk", *checkpoint)
    assert rk.load(part).forest_.n_trees == 4
    assert run(*train, "--n-estimators", 9, "--resume", part, "--model", resumed).code == 0
    assert resumed.read_bytes() == whole.read_bytes()
    other = run(*train, "--n-estimators", 9, "--resume", part, "--max-bins", 9)
    assert other.code == 2
    assert "the checkpoint was trained with --max-bins 255, not 9" in other.err


def test_the_model_file_does_not_depend_on_the_threads(run, files, tmp_path):
    for n in (1, 2):
        run("train", files / "train.txt", "--model", tmp_path / f"{n}.rk", "--threads", n, *SMALL)
    assert (tmp_path / "1.rk").read_bytes() == (tmp_path / "2.rk").read_bytes()


def test_base_model(run, files, tmp_path):
    words = ("--base-model", files / "ranker.rk", "--model", tmp_path / "m.rk", "--quiet")
    assert run("train", files / "train.txt", *words, *SMALL).code == 0
    test = rk.read(files / "test.txt")
    model = rk.load(tmp_path / "m.rk")
    base = rk.load(files / "ranker.rk").predict(test)
    assert np.array_equal(model.predict(test, n_rounds=0), base)
    assert not np.array_equal(model.predict(test), base)


def test_base_model_of_another_library(run, files, tmp_path):
    lgb = pytest.importorskip("lightgbm")
    train, test = rk.read(files / "train.txt"), rk.read(files / "test.txt")
    base = lgb.train({"verbose": -1, "num_leaves": 4}, lgb.Dataset(train.X, train.y), 3)
    base.save_model(tmp_path / "base.txt")
    words = ("--base-model", tmp_path / "base.txt", "--model", tmp_path / "m.rk", "--quiet")
    assert run("train", files / "train.txt", *words, *SMALL).code == 0
    model = rk.load(tmp_path / "m.rk")
    assert np.array_equal(model.predict(test, n_rounds=0), base.predict(test.X))
    narrow = lgb.train({"verbose": -1}, lgb.Dataset(train.X[:, :3], train.y), 1)
    narrow.save_model(tmp_path / "base.txt")
    result = run("train", files / "train.txt", *words, *SMALL, "--force")
    assert result.code == 2
    assert "--base-model has 3 features, but the data has 5" in result.err
    (tmp_path / "base.txt").write_text("tree\nversion=v4\n")
    result = run("train", files / "train.txt", *words, *SMALL, "--force")
    assert result.code == 2
    assert "is no whole model of LightGBM" in result.err


def test_columns_of_a_table(run, files, tmp_path):
    text = (files / "train.csv").read_text().splitlines()
    head, *rows = (line.split(",") for line in text)
    renamed = ["rel", "query", *head[2:], "w", "note"]
    table = [renamed, *([*row, str(1 + i % 3), "x"] for i, row in enumerate(rows))]
    path = tmp_path / "train.csv"
    path.write_text("\n".join(",".join(row) for row in table))
    words = shlex.split("--label rel --qid query --weight w --features f4,f0,f2 --quiet")
    result = run("train", path, *words, "--model", tmp_path / "m.rk", *SMALL)
    assert result.code == 0, result.err
    assert rk.load(tmp_path / "m.rk").feature_names_in_.tolist() == ["f4", "f0", "f2"]


def test_ctrl_c_keeps_what_was_learned(run, files, tmp_path, monkeypatch):
    def interrupt_the_fourth(self, training):
        if training.n_done == 4:
            raise KeyboardInterrupt
        return False

    monkeypatch.setattr(Progress, "after_round", interrupt_the_fourth)
    path, log = tmp_path / "m.rk", tmp_path / "log.jsonl"
    words = ("--model", path, "--log", log)
    result = run("train", files / "train.txt", *words, *SMALL)
    assert result.code == 130
    assert f"interrupted: {path} holds what was learned; add --resume {path} to go on" in result.err
    assert rk.load(path).forest_.n_trees == 4
    assert json.loads(log.read_text().splitlines()[-1])["interrupted"]

    monkeypatch.undo()
    resumed, whole = tmp_path / "resumed.rk", tmp_path / "whole.rk"
    run("train", files / "train.txt", "--model", resumed, "--resume", path, *SMALL)
    run("train", files / "train.txt", "--model", whole, *SMALL)
    assert resumed.read_bytes() == whole.read_bytes()


def test_ctrl_c_before_the_first_tree(run, files, tmp_path, monkeypatch):
    def interrupt(self, *args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(rk.LambdaMART, "fit", interrupt)
    result = run("train", files / "train.txt", "--model", tmp_path / "m.rk", *SMALL)
    assert result.code == 130
    assert "interrupted before the first tree" in result.err
    assert not (tmp_path / "m.rk").exists()


@pytest.fixture
def no_training(monkeypatch):
    """A run that reaches the training has noticed a mistake too late."""

    def fail(self, *args, **kwargs):
        raise AssertionError("trained")

    monkeypatch.setattr(rk.LambdaMART, "fit", fail)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--max-leaf-nodes 1", "--max-leaf-nodes must be a whole number at least 2, got 1"),
        ("--learning-rate 0", "--learning-rate must be a number above 0, got 0.0"),
        ("--measure ndgc@10", "unknown measure 'ndgc@10'"),
        ("--valid {files}/valid.txt --measures ndcg@0", "measure 'ndcg@0'"),
        ("--measures map", "--measures needs data to look at: add --valid, or leave it out"),
        ("--early-stopping 5", "--early-stopping needs data to look at: add --valid"),
        ("--model {tmp}/no/m.rk", "cannot write the model to {tmp}/no/m.rk: there is no folder"),
        ("--model {tmp}", "cannot write the model to {tmp}: it is a folder"),
        ("--model /proc/m.rk", "cannot write the model to /proc/m.rk: "),
        ("--log {tmp}/no/log", "cannot write the log to {tmp}/no/log"),
        ("--checkpoint {tmp}/no/c", "cannot write checkpoints to {tmp}/no/c"),
        ("--valid {tmp}/none.txt", "{tmp}/none.txt does not exist"),
        ("--valid {tmp}/wide.txt", "wide.txt, line 1: the feature index of '9:1' is above"),
    ],
)
def test_mistakes_are_told_before_training(run, files, tmp_path, no_training, words, message):
    (tmp_path / "wide.txt").write_text("1 qid:1 9:1\n")
    places = {"files": files, "tmp": tmp_path}
    given = words.format(**places).split()
    model = () if "--model" in given else ("--model", tmp_path / "m.rk")
    result = run("train", files / "train.txt", *model, *given)
    assert result.code == 2
    assert result.err.splitlines()[-1].startswith("error: ")
    assert message.format(**places) in result.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "data.txt does not exist"),
        ("", "data.txt has no data rows"),
        ("1 qid:1 1:0.5\n0 qid:1 1:x\n", "data.txt, line 2: the value of '1:x' is not a number"),
        ("1 qid:1 1:0.5\n0 1:0.5\n", "data.txt, line 2: expected qid:ID after the label"),
        ("a qid:1 1:0.5\n", "data.txt, line 1: the label 'a' is not a number"),
    ],
)
def test_mistakes_in_the_data(run, tmp_path, content, message):
    path = tmp_path / "data.txt"
    if content is not None:
        path.write_text(content)
    result = run("train", path, "--model", tmp_path / "m.rk")
    assert result.code == 2
    assert result.err.startswith("error: ")
    assert result.err.count("\n") == 1
    assert message in result.err


def test_a_table_without_query_ids(run, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("label,a\n1,2\n")
    result = run("train", path, "--model", tmp_path / "m.rk")
    assert result.code == 2
    assert "has no column 'qid': its columns are" in result.err


def test_a_model_is_not_replaced_unless_asked(run, files, tmp_path):
    path = tmp_path / "m.rk"
    words = ("train", files / "train.txt", "--model", path, *SMALL, "--quiet")
    assert run(*words).code == 0
    before = path.read_bytes()
    result = run(*words, "--n-estimators", 2)
    assert result.code == 2 and path.read_bytes() == before
    assert result.err == (
        f"error: {path} is there already: add --force to replace it, or choose another name for "
        "the model\n"
    )
    assert run(*words, "--resume", path).code == 0
    assert run(*words, "--force").code == 0
    for verb in ("combine", "adapt"):
        option = "--output" if verb == "combine" else "--model"
        own = (
            (files / "valid.txt", "--model", files / "ranker.rk")
            if verb == "combine"
            else ("--background", path, "--train", path, "--valid", path)
        )
        assert "is there already: add --force" in run(verb, *own, option, path).err


def test_long_silent_phases_are_told(run, files, tmp_path, monkeypatch):
    monkeypatch.setattr("rankinite.cli.reporting.LARGE_FILE", 10)
    words = ("--model", tmp_path / "m.rk", "--backfit", 1, *SMALL)
    result = run("train", files / "train.txt", *words)
    assert f"reading {files / 'train.txt'}, 0 MB\n" in result.err
    assert "back-fitting the trees, sweep 1/1: ndcg@10 0." in result.err
    quiet = run("train", files / "train.txt", *words, "--force", "--quiet")
    assert quiet.err == ""


def test_labels_that_a_loss_cannot_use_are_found_in_the_file(run, files, tmp_path):
    lines = (files / "train.csv").read_text().splitlines()
    lines[30] = "0.5," + lines[30].partition(",")[2]
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("\n".join(lines))
    result = run(
        "train", wrong, "--ranker", "mart", "--loss", "graded", "--measure", "pairs", *SMALL
    )
    assert result.code == 2
    assert f"{wrong}, line 31: a document of query" in result.err
    assert "has the label 0.5, but the graded loss needs whole labels" in result.err
