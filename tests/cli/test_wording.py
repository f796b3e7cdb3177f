"""Common mistakes on the command line are answered in its own words."""

from __future__ import annotations

import pytest

import rankinite as rk
from rankinite.cli.wording import in_options

SAID_AND_TOLD = {
    "n_estimators must be a whole number": "--n-estimators must be a whole number",
    "random_state must be a whole number": "--seed must be a whole number",
    "early_stopping needs data: pass valid=": "--early-stopping needs data: pass --valid",
    "pass label= with its name, or label=None if there are no labels": "pass --label with its name",
    "is above n_features=5, the width": "is above --n-features 5, the width",
    "the measure must be one of ndcg@10": "the measure must be one of ndcg@10",
    "measure must be a name": "--measure must be a name",
    "label 3 is too large": "label 3 is too large",
    "cannot read valid/n_features.txt": "cannot read valid/n_features.txt",
    "'max_bins' is no column": "'max_bins' is no column",
    "base_model has 3 features": "--base-model has 3 features",
    "raise max_bins.": "raise --max-bins.",
    "the data has no labels: pass y": "the data has no labels: pass data with labels",
    'map them, or use loss="graded"': "map them, or use --loss graded",
    "features=['a', 'b'] names a column": "--features a,b names a column",
    "every must be a whole number": "--checkpoint-every must be a whole number",
    "every document has a weight of 0": "every document has a weight of 0",
    "n_threads must be at least 1 or None, got 0": "--threads must be at least 1, got 0",
    "pass documents= if these are ids": "pass --document if these are ids",
    "it holds other bins than the data of like=": "it holds other bins than the training data",
}


@pytest.mark.parametrize("said", SAID_AND_TOLD)
def test_options_stand_in_the_place_of_arguments(said):
    assert in_options(said) == SAID_AND_TOLD[said]


ADAPT = ("adapt", "--background", "ranker.rk", "--train", "train.txt", "--valid", "valid.txt")
MISTAKES = [
    (("train", "train.txt", "--n-estimators", 0), "--n-estimators must be"),
    (("train", "train.txt", "--learning-rate", -1), "--learning-rate must be"),
    (("train", "train.txt", "--seed", -1), "--seed must be"),
    (("train", "train.txt", "--threads", 0), "--threads must be"),
    (("train", "train.txt", "--early-stopping", 5), "--early-stopping needs"),
    (("train", "train.txt", "--ranker", "forest"), "--ranker must be"),
    (("train", "train.txt", "--split", "best"), "--split must be"),
    (("train", "train.txt", "--max-bins", 1), "--max-bins must be"),
    (("train", "train.txt", "--n-features", 3), "--n-features 3"),
    (("train", "train.csv", "--label", "grade"), "pass --label with the name of the right one"),
    (("train", "train.csv", "--qid", "query"), "pass --qid with the name of the right one"),
    (("train", "train.csv", "--features", "f0,g"), "which --features asks for"),
    (("train", "train.txt", "--weight", "w"), "--weight"),
    (("score", "test.txt", "--model", "ranker.rk", "--n-rounds", 99), "--n-rounds must be"),
    (("score", "test.txt", "--model", "ranker.rk", "--threads", 0), "--threads must be"),
    (("evaluate", "test.txt", "--model", "ranker.rk", "--blank", "no"), "--blank must be"),
    (("evaluate", "test.csv", "--model", "ranker.rk", "--label", "x"), "pass --label with"),
    (("evaluate", "test.txt", "--model", "ranker.rk", "--measures", "pair_accuracy"), "--pairs"),
    (("score", "test.csv", "--model", "ranker.rk", "--qid", "query"), "pass --qid with"),
    (("info", "test.csv", "--label", "grade"), "pass --label with"),
    (("info", "."), "is a folder: pass the path of a file"),
    (("train", "train.txt", "--valid-measure", "mrr"), "--valid-measure needs data"),
    (("train", "train.txt", "--checkpoint", "c", "--checkpoint-every", 0), "--checkpoint-every"),
    (("train", "train.txt", "--features", "f0,f1"), "--features f0,f1 names a column"),
    (("train", "train.csv", "--label", "f0", "--qid", "f0"), "--label and --qid"),
    (("train", "train.txt", "--ranker", "mart", "--loss", "logistic"), "use --loss graded"),
    (("train", "train.txt", "--pairs", "nameless.csv"), "rename the column"),
    (("train", "train.txt", "--pairs", "absent.csv"), "pass --document if these are ids"),
    (("train", "train.bins", "--ranker", "ranknet"), "that it was made of"),
    (("optimality", "train.txt", "--model", "ranker.rk"), "LambdaRank or LambdaBoost"),
    ((*ADAPT, "--max-distance", 0.1), "--max-distance and --seed-fraction look for"),
    ((*ADAPT, "--method", "interpolation_all"), "pass --other, or choose another --method"),
]
ARGUMENTS = (" n_", "_state", "early_stopping", "=", "max_bins", "None", "with_preferences", "['")


@pytest.mark.parametrize(("words", "told"), MISTAKES)
def test_a_common_mistake(run, files, tmp_path, words, told):
    (tmp_path / "nameless.csv").write_text("a,b\n0,1\n")
    (tmp_path / "absent.csv").write_text("preferred,other\n0,9999\n")
    rk.read(files / "train.txt").save(tmp_path / "train.bins")
    known = {path.name: path for folder in (files, tmp_path) for path in folder.iterdir()}
    given = [known.get(word, word) for word in words]
    if words[0] in ("train", "adapt"):
        given += ["--model", tmp_path / "m.rk", "--quiet"]
    result = run(*given)
    assert result.code == 2 and result.err.count("\n") == 1
    message = result.err.replace(str(files), "").replace(str(tmp_path), "")
    assert told in message
    assert not any(word in message for word in ARGUMENTS), message
