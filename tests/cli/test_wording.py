"""Common mistakes on the command line are answered in its own words."""

from __future__ import annotations

import pytest

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
}


@pytest.mark.parametrize("said", SAID_AND_TOLD)
def test_options_stand_in_the_place_of_arguments(said):
    assert in_options(said) == SAID_AND_TOLD[said]


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
]
ARGUMENTS = ("n_", "_state", "early_stopping", "label=", "qid=", "valid=", "features=", "max_bins")


@pytest.mark.parametrize(("words", "told"), MISTAKES)
def test_a_common_mistake(run, files, tmp_path, words, told):
    known = {path.name: path for path in files.iterdir()}
    given = [known.get(word, word) for word in words]
    if words[0] == "train":
        given += ["--model", tmp_path / "m.rk"]
    result = run(*given)
    assert result.code == 2 and result.err.count("\n") == 1
    message = result.err.replace(str(files), "").replace(str(tmp_path), "")
    assert told in message
    assert not any(word in message for word in ARGUMENTS), message
