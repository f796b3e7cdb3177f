"""An interrupted run that is resumed gives the very file of a run that was not interrupted."""

import numpy as np
import pytest

import rankinite as rk
from rankinite.training import Checkpoint
from tests.boosting.small import StopAfter, qid_of, train_and_valid
from tests.subjects import quiet, saved

EPOCHS = 9
SETTINGS = {
    "RankNet": {},
    "linear": {"n_hidden": 0},
    "pairwise": {"mode": "pairwise"},
    "decay": {"learning_rate": 2.0, "decay": 0.3},
    "restarts": {"learning_rate": 1.0, "n_restarts": 2, "patience": 2},
    "early stopping": {"learning_rate": 2.0, "early_stopping": 3},
    "base": {"base_model": np.linspace(-1, 1, 8)},
    "LambdaRank": {"measure": "ndcg@5", "truncation": 5},
}


def make(kind="RankNet", **params):
    settings = {"n_hidden": 3, "n_epochs": EPOCHS, **SETTINGS[kind], **params}
    return (rk.LambdaRank if "truncation" in settings else rk.RankNet)(**settings)


def interrupted(model, train, valid, epochs, *callbacks):
    with pytest.raises(KeyboardInterrupt):
        model.fit(train, valid=valid, callbacks=[*callbacks, StopAfter(epochs)])
    return model


@pytest.mark.parametrize("kind", SETTINGS)
def test_resumed_is_uninterrupted(kind, tmp_path):
    train, valid = train_and_valid()
    expected = saved(make(kind).fit(train, valid=valid), tmp_path)
    path = tmp_path / "checkpoint.rk"
    for epochs in (1, 3):
        model = interrupted(make(kind), train, valid, epochs, Checkpoint(path, every=2))
        for resume in (path, str(path), model):
            again = make(kind).fit(train, valid=valid, resume=resume)
            assert saved(again, tmp_path) == expected
        assert saved(model.fit(train, valid=valid, resume=model), tmp_path) == expected


def test_more_epochs_and_other_orders(tmp_path):
    train, valid = train_and_valid()
    short = make(n_epochs=4).fit(train, valid=valid)
    order = np.random.default_rng(0).permutation(train.n_rows)
    shuffled = quiet(train.X[order], train.y[order], qid=qid_of(train)[order])
    expected = saved(make().fit(train, valid=valid), tmp_path)
    assert saved(make().fit(shuffled, valid=valid, resume=short), tmp_path) == expected
    done = make().fit(train, valid=valid)
    assert saved(make().fit(train, valid=valid, resume=done), tmp_path) == expected
    assert len(short.history_["train"]["cost"]) == 4


def test_a_stopped_run_stays_stopped():
    train, valid = train_and_valid()
    params = {"learning_rate": 2.0, "early_stopping": 2, "n_epochs": 40}
    stopped = make(**params).fit(train, valid=valid)
    again = make(**params).fit(train, valid=valid, resume=stopped)
    assert again.history_ == stopped.history_ and len(again.history_["train"]["cost"]) < 40


def test_what_is_not_the_same_run_is_refused(tmp_path):
    train, valid = train_and_valid()
    model = make(n_epochs=4).fit(train, valid=valid)
    with pytest.raises(rk.ParameterError, match=r"trained with learning_rate=0\.02, not 0\.5"):
        make(learning_rate=0.5).fit(train, valid=valid, resume=model)
    with pytest.raises(rk.ParameterError, match="is a RankNet, not a LambdaRank"):
        make("LambdaRank").fit(train, valid=valid, resume=model)
    with pytest.raises(rk.DataError, match="trained on other data"):
        make().fit(valid, valid=valid, resume=model)
    with pytest.raises(rk.DataError, match="watched other validation data"):
        make().fit(train, valid=train, resume=model)
    with pytest.raises(rk.DataError, match="watched other validation data"):
        make().fit(train, resume=model)
    with pytest.raises(rk.ParameterError, match="has 4 epochs, more than n_epochs=3"):
        make(n_epochs=3).fit(train, valid=valid, resume=model)
    assert len(model.history_["train"]["cost"]) == 4
