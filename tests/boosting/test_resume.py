"""An interrupted run that is resumed gives the very file of a run that was not interrupted."""

import os

import numpy as np
import pytest

import rankinite as rk
from rankinite.boosting import tree_stage
from rankinite.training import Checkpoint
from tests.boosting.small import QUICK, StopAfter, qid_of, train_and_valid

ROUNDS = 9
SETTINGS = {
    "plain": {},
    "fractions": {"row_fraction": 0.6, "feature_fraction": 0.5, "random_state": 3},
    "newton": {"split": "newton", "sigma": 2.0},
    "by importance": {"importance_fraction": 0.5, "query_fraction": 0.8},
    "early stopping": {"early_stopping": 3, "learning_rate": 1.0},
    "base": {"base_model": np.linspace(-1, 1, 8)},
    "MART": {"loss": "graded", "row_fraction": 0.6},
    "McRank": {"form": "multinomial", "row_fraction": 0.6},
    "McRank, early stopping": {"form": "ordinal", "early_stopping": 3, "learning_rate": 1.0},
}
KINDS = {"loss": rk.MART, "form": rk.McRank}


def make(kind="plain", **params):
    settings = {**QUICK, "n_estimators": ROUNDS, **SETTINGS[kind], **params}
    ranker = next((ranker for name, ranker in KINDS.items() if name in settings), rk.LambdaMART)
    return ranker(**settings)


def file_of(model, folder):
    model.save(folder / "model.rk")
    return (folder / "model.rk").read_bytes()


def interrupted(model, train, valid, rounds, *callbacks):
    with pytest.raises(KeyboardInterrupt):
        model.fit(train, valid=valid, callbacks=[*callbacks, StopAfter(rounds)])
    return model


@pytest.mark.parametrize("rounds", [1, 4, 6])
@pytest.mark.parametrize("kind", SETTINGS)
def test_resumed_is_uninterrupted(kind, rounds, tmp_path):
    train, valid = train_and_valid()
    expected = file_of(make(kind).fit(train, valid=valid), tmp_path)
    path = tmp_path / "checkpoint.rk"
    model = interrupted(make(kind), train, valid, rounds, Checkpoint(path, every=2))
    for resume in (path, str(path), model):
        again = make(kind).fit(train, valid=valid, resume=resume)
        assert file_of(again, tmp_path) == expected
    assert file_of(model.fit(train, valid=valid, resume=model), tmp_path) == expected


def test_an_interrupt_keeps_the_trees(tmp_path):
    train, valid = train_and_valid()
    model = interrupted(make(), train, valid, 4)
    whole = make().fit(train, valid=valid)
    assert model.forest_.n_trees == 4 and len(model.history_["valid"]["ndcg@10"]) == 4
    assert np.array_equal(model.predict(train), whole.predict(train, n_rounds=4))


def test_an_interrupt_before_the_first_tree_leaves_the_model_as_it_was():
    train, _ = train_and_valid()

    class Broken(rk.Measure):
        name = "broken"

        def value(self, labels):
            raise KeyboardInterrupt

    model = make(measure=Broken())
    with pytest.raises(KeyboardInterrupt):
        model.fit(train)
    assert not hasattr(model, "forest_")
    model.set_params(measure="ndcg@10").fit(train)
    expected = model.predict(train)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(measure=Broken()).fit(train)
    assert np.array_equal(model.predict(train), expected)


@pytest.mark.parametrize("rounds", [5, 12, 40])
def test_n_estimators_may_change(rounds, tmp_path):
    train, valid = train_and_valid()
    short = make().fit(train, valid=valid)
    resumed = make(n_estimators=rounds).fit(train, valid=valid, resume=short)
    expected = make(n_estimators=rounds).fit(train, valid=valid)
    assert file_of(resumed, tmp_path) == file_of(expected, tmp_path)


def test_a_run_that_has_stopped_early_stays_stopped(tmp_path):
    train, valid = train_and_valid()
    path = tmp_path / "checkpoint.rk"
    settings = {"n_estimators": 60}
    whole = make("early stopping", **settings).fit(train, valid=valid, callbacks=[Checkpoint(path)])
    assert len(whole.history_["valid"]["ndcg@10"]) < 60
    # The last checkpoint holds the rounds after the best one, too.
    assert rk.load(path).forest_.n_trees == whole.forest_.n_trees + 3
    again = make("early stopping", **settings).fit(train, valid=valid, resume=path)
    assert file_of(again, tmp_path) == file_of(whole, tmp_path)


@pytest.mark.parametrize("patience", [1, 2, 5])
def test_early_stopping_may_change(patience, tmp_path):
    train, valid = train_and_valid()
    settings = {"n_estimators": 12, "learning_rate": 1.0}
    never = make(**settings).fit(train, valid=valid)
    resumed = make(early_stopping=patience, **settings).fit(train, valid=valid, resume=never)
    expected = make(early_stopping=patience, **settings).fit(train, valid=valid)
    assert file_of(resumed, tmp_path) == file_of(expected, tmp_path)


def test_other_sets_may_be_watched(tmp_path):
    train, valid = train_and_valid()
    expected = {
        "none": make().fit(train),
        "valid": make().fit(train, valid=valid),
        "both": make().fit(train, valid={"valid": valid, "train": train}),
    }
    sets = {"none": None, "valid": valid, "both": {"valid": valid, "train": train}}
    for before in sets:
        model = interrupted(make(), train, sets[before], 4)
        for after in sets:
            again = make().fit(train, valid=sets[after], resume=model)
            assert again.history_ == expected[after].history_
            assert again.best_iteration_ == expected[after].best_iteration_


def test_other_parameters_are_refused():
    train, _ = train_and_valid()
    model = make().fit(train)
    for name, value in {
        "learning_rate": 0.2,
        "measure": "map",
        "max_leaf_nodes": 7,
        "min_samples_leaf": 6,
        "split": "least_squares",
        "row_fraction": 0.5,
        "feature_fraction": 0.5,
        "random_state": 1,
        "sigma": 2.0,
        "truncation": 3,
        "normalize": False,
    }.items():
        with pytest.raises(rk.ParameterError, match=f"the checkpoint was trained with {name}=.*no"):
            make(**{name: value}).fit(train, resume=model)
    make(n_threads=1, verbose=0, learning_rate=np.float64(0.1)).fit(train, resume=model)
    with pytest.raises(rk.ParameterError, match="the checkpoint is a LambdaMART, not a MART"):
        make("MART").fit(train, resume=model)
    with pytest.raises(rk.RankiniteError, match="this LambdaMART is not trained"):
        make().fit(train, resume=make())
    with pytest.raises(rk.ModelFileError, match=r"cannot read the model file nowhere\.rk: No such"):
        make().fit(train, resume="nowhere.rk")


def test_other_data_is_refused():
    train, valid = train_and_valid()
    model = make().fit(train)
    X, y, qid = train.X, train.y, qid_of(train)
    labels = y.copy()
    labels[7] = 4 - labels[7]
    values = X.copy()
    values[3, 2] *= -1
    others = {
        "another set": valid,
        "a label": rk.Dataset(X, labels, qid=qid),
        "a value": rk.Dataset(values, y, qid=qid),
        "another scale, in the same bins": rk.Dataset(2 * X, y, qid=qid),
        "weights": rk.Dataset(X, y, qid=qid, weight=1 + np.arange(len(y)) % 2),
        "query weights": rk.Dataset(X, y, qid=qid, query_weight=1 + np.arange(30) % 2),
        "other queries": rk.Dataset(X, y, qid=qid // 2),
    }
    for data in others.values():
        with pytest.raises(rk.DataError, match="the checkpoint was trained on other data"):
            make().fit(data, resume=model)
    for base in (np.ones(8), lambda X: X[:, 0]):
        with pytest.raises(rk.DataError, match="or on another base model: resume with"):
            make(base_model=base).fit(train, resume=model)
    based = make("base").fit(train)
    with pytest.raises(rk.DataError, match="or on another base model: resume with"):
        make().fit(train, resume=based)


def test_data_of_doubles_is_told_from_other_doubles():
    train, _ = train_and_valid()

    def twice(data):
        qid = qid_of(data)
        return rk.Dataset(
            np.vstack([data.X, data.X]), np.tile(data.y, 2), qid=np.concatenate([qid, qid + 100])
        )

    model = make(max_bins=2).fit(twice(train))
    flipped = rk.Dataset(train.X, 4 - train.y, qid=qid_of(train))
    with pytest.raises(rk.DataError, match="other data"):
        make(max_bins=2).fit(twice(flipped), resume=model)


def test_rows_in_another_order_are_the_same_data(tmp_path):
    train, valid = train_and_valid()
    rng = np.random.default_rng(0)
    order = np.concatenate([20 * q + rng.permutation(20) for q in rng.permutation(30)])
    shuffled = rk.Dataset(train.X[order], train.y[order], qid=qid_of(train)[order])
    expected = file_of(make("fractions").fit(train, valid=valid), tmp_path)
    model = interrupted(make("fractions"), train, valid, 4)
    assert file_of(make("fractions").fit(shuffled, valid=valid, resume=model), tmp_path) == expected


def test_checkpoints_come_in_time(tmp_path):
    train, _ = train_and_valid()
    path = tmp_path / "checkpoint.rk"
    seen = []

    class Look:
        def after_round(self, run):
            seen.append(rk.load(path).forest_.n_trees if path.exists() else 0)

        def finish(self, run):
            pass

    make().fit(train, callbacks=[Checkpoint(path, every=4), Look()])
    assert seen == [0, 0, 0, 4, 4, 4, 4, 8, 8]
    assert rk.load(path).forest_.n_trees == 9
    for every in (0, -1, 1.5, None):
        with pytest.raises(rk.ParameterError, match="every must be a whole number at least 1"):
            Checkpoint(path, every=every)


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_crash_while_writing_leaves_the_old_checkpoint_whole(step, fault, tmp_path, monkeypatch):
    train, valid = train_and_valid()
    path = tmp_path / "checkpoint.rk"
    interrupted(make(), train, valid, 4, Checkpoint(path, every=4))
    before = path.read_bytes()

    def fail(*args):
        raise fault

    full = isinstance(fault, OSError)
    warned = pytest.warns(rk.RankiniteWarning, match="No space left on device; the training goes")
    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        if step == "replace":
            patch.setattr("pathlib.Path.replace", fail)
        model = make()
        with warned if full else pytest.raises(KeyboardInterrupt):
            model.fit(train, valid=valid, resume=path, callbacks=[Checkpoint(path, every=6)])
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint.rk"]
    assert path.read_bytes() == before
    # What was learned is still there; a full disk does not end the training.
    assert model.forest_.n_trees == (9 if full else 6)


def test_an_interrupt_while_resuming_spares_the_checkpoint(tmp_path, monkeypatch):
    train, valid = train_and_valid()
    path = tmp_path / "checkpoint.rk"
    interrupted(make(), train, valid, 6, Checkpoint(path))
    before = path.read_bytes()
    calls = []

    def add_tree(*args):
        calls.append(args)
        if len(calls) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(tree_stage, "add_tree", add_tree)
    with pytest.raises(KeyboardInterrupt):
        make().fit(train, valid=valid, resume=path, callbacks=[Checkpoint(path)])
    assert path.read_bytes() == before
