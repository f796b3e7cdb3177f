"""The one loop of all learners, on rounds that only count."""

import numpy as np
import pytest

import rankinite as rk
from rankinite.measures import measure
from rankinite.training import (
    DivergedError,
    EarlyStopping,
    Rounds,
    Run,
    Watched,
    WatchedSets,
    train,
)
from tests.boosting.small import QUICK, StopAfter, qid_of, train_and_valid


class Counting(Rounds):
    """Round t learns the number t, and scores rows by it."""

    fingerprint = "none"

    def __init__(self, diverge_at=None, cost=None):
        self.kept, self.merits, self.cost, self.diverge_at = [], [], cost, diverge_at

    def learn(self, number):
        if number == self.diverge_at:
            raise DivergedError(f"round {number} is too much")
        return number

    def training_cost(self, learned):
        return self.cost

    def scores(self, learned, watched):
        return np.full(3, float(learned))

    def keep(self, learned, merit, n_done):
        assert n_done == len(self.kept) + 1
        self.kept.append(learned)
        self.merits.append(merit)

    def take_over(self, earlier, run, sets, ends):
        self.kept = list(earlier)
        run.n_done = run.n_taken_over = len(earlier)
        return ends(run)


def a_set(name, value_of, spec="ndcg@10"):
    def evaluate(scores):
        return {spec: value_of(scores[0])}

    return Watched(name, None, [measure(spec)], evaluate)


class Note:
    def __init__(self):
        self.calls = []

    def after_round(self, run):
        self.calls.append(run.n_done)
        return False

    def finish(self, run):
        self.calls.append("end")


def test_every_round_is_learned_measured_kept_and_shown():
    rounds, note, run = Counting(cost=0.5), Note(), Run(3)
    train(run, rounds, WatchedSets([a_set("valid", lambda score: score / 10)]), [note])
    assert rounds.kept == [0, 1, 2] and rounds.merits == [0.0, 0.1, 0.2]
    assert run.history == {
        "train": {"cost": [0.5] * 3},
        "valid": {"ndcg@10": [0.0, 0.1, 0.2]},
    }
    assert note.calls == [1, 2, 3, "end"] and run.diverged == ""


def test_the_leading_set_decides():
    first, last = a_set("first", float), a_set("last", lambda score: -score)
    valid = a_set("valid", lambda score: score % 3, "pair_log_loss")
    assert WatchedSets([]).leader is None
    assert WatchedSets([first, last]).leader is last
    sets = WatchedSets([first, valid, last])
    assert sets.leader is valid
    run = Run(5)
    train(run, Counting(), sets)
    assert sets.best_round(run.history, run.n_done) == 1, "less is better, and the first of equals"
    assert sets.merit({"valid": {"pair_log_loss": 0.25}}) == -0.25
    assert WatchedSets([]).merit({}) is None and WatchedSets([]).best_round({}, 7) == 7
    with pytest.raises(
        rk.ParameterError, match=r"early_stopping=3 needs data to watch: pass valid"
    ):
        WatchedSets([]).early_stopping(3)


def test_a_round_that_diverges_is_not_kept():
    rounds, note, run = Counting(diverge_at=2), Note(), Run(5)
    train(run, rounds, WatchedSets([]), [note])
    assert run.diverged == "round 2 is too much"
    assert rounds.kept == [0, 1] and run.n_done == 2 and note.calls == [1, 2, "end"]


def test_an_interrupt_goes_on_after_the_callbacks_have_finished():
    rounds, note, run = Counting(), Note(), Run(5)
    with pytest.raises(KeyboardInterrupt):
        train(run, rounds, WatchedSets([]), [note, StopAfter(2)])
    assert rounds.kept == [0, 1] and note.calls == [1, 2, "end"]


def test_rounds_that_are_taken_over_can_end_the_run():
    sets = WatchedSets([a_set("valid", float)])
    stopping = EarlyStopping(3, "valid", "ndcg@10")
    rounds, run = Counting(), Run(9)
    # Nothing was noted in the history, so the best round is none, and lies four rounds back.
    train(run, rounds, sets, [stopping], earlier=[0, 1, 2, 3])
    assert run.n_done == 4 and rounds.kept == [0, 1, 2, 3]
    rounds, run = Counting(), Run(4)
    train(run, rounds, sets, earlier=[0, 1])
    assert run.n_done == 4 and run.n_taken_over == 2 and rounds.kept == [0, 1, 2, 3]


def test_a_run_of_its_own_saves_nothing(tmp_path):
    with pytest.raises(RuntimeError, match="trains no model"):
        Run(3).save(tmp_path / "x")


class SaveAt:
    """A callback of one's own that saves when it likes."""

    def __init__(self, rounds, path):
        self.rounds, self.path = rounds, path

    def after_round(self, run):
        if run.n_done == self.rounds:
            run.save(self.path)
        return False

    def finish(self, run):
        pass


@pytest.mark.parametrize(
    ("kind", "most", "settings"),
    [
        (rk.LambdaMART, "n_estimators", QUICK),
        (rk.McRank, "n_estimators", QUICK),
        (rk.LambdaBoost, "n_estimators", {}),
        (rk.RankNet, "n_epochs", {}),
    ],
)
def test_a_callback_saves_the_model_of_the_rounds_so_far(kind, most, settings, tmp_path):
    data, valid = train_and_valid()
    for number in (3, 6):
        kind(**{**settings, most: number}).fit(data, valid=valid).save(tmp_path / f"{number}.rk")
    whole = kind(**{**settings, most: 6})
    whole.fit(data, valid=valid, callbacks=[SaveAt(3, tmp_path / "saved.rk")])
    short, saved = rk.load(tmp_path / "3.rk"), rk.load(tmp_path / "saved.rk")
    assert saved.history_ == short.history_ and saved.best_iteration_ == short.best_iteration_
    assert saved.predict(valid).tobytes() == short.predict(valid).tobytes()
    resumed = kind(**{**settings, most: 6}).fit(data, valid=valid, resume=tmp_path / "saved.rk")
    resumed.save(tmp_path / "resumed.rk")
    assert (tmp_path / "resumed.rk").read_bytes() == (tmp_path / "6.rk").read_bytes()


def test_a_diverging_net_warns_where_fit_was_called():
    data, _ = train_and_valid()
    huge = rk.Dataset(data.X, data.y, qid=qid_of(data))
    with pytest.warns(rk.RankiniteWarning, match="use a learning_rate below 1e\\+200") as caught:
        rk.RankNet(learning_rate=1e200, n_epochs=3).fit(huge)
    assert caught[0].filename == __file__


class Fails(Note):
    def finish(self, run):
        super().finish(run)
        raise OSError("no room")


def test_every_callback_finishes_whatever_the_others_do():
    fails, after, run = Fails(), Note(), Run(2)
    with pytest.raises(OSError, match="no room"):
        train(run, Counting(), WatchedSets([]), [fails, after])
    assert fails.calls == after.calls == [1, 2, "end"] and run.n_done == 2
    # What has ended the run goes on.
    fails, after = Fails(), Note()
    with (
        pytest.warns(rk.RankiniteWarning, match="failed at the end"),
        pytest.raises(KeyboardInterrupt),
    ):
        train(Run(5), Counting(), WatchedSets([]), [fails, after, StopAfter(1)])
    assert after.calls == [1, "end"]


def test_a_model_is_kept_when_a_callback_fails_at_the_end():
    data, _ = train_and_valid()
    model = rk.LambdaMART(**QUICK)
    with pytest.raises(OSError, match="no room"):
        model.fit(data, callbacks=[Fails()])
    assert model.n_rounds_ == 6


@pytest.mark.parametrize(
    ("callbacks", "message"),
    [
        ([print], "has a builtin_function_or_method, and a callback is an object with the methods"),
        ([lambda run: True], r"has a function, and a callback .* after_round\(run\) and finish"),
        ([Note], r"has the class Note: pass an object of it, Note\(...\)"),
        (Note(), "must be a list of callbacks, not a Note: put it in brackets"),
        (print, "must be a list of callbacks, not a builtin"),
        (3, "must be a list of callbacks, not a int"),
        ([None], "has a NoneType"),
    ],
)
def test_what_is_no_callback(callbacks, message):
    data, _ = train_and_valid()
    with pytest.raises(rk.ParameterError, match=f"callbacks {message}"):
        rk.LambdaMART(**QUICK).fit(data, callbacks=callbacks)


def test_several_measures_are_watched_and_the_first_decides(tmp_path):
    data, valid = train_and_valid()
    settings = {**QUICK, "n_estimators": 20, "learning_rate": 0.7, "early_stopping": 4}
    alone = rk.LambdaMART(valid_measure="mrr", **settings).fit(data, valid=valid)
    several = rk.LambdaMART(valid_measure=["mrr", "ndcg@10", "p@3"], **settings)
    several.fit(data, valid={"other": data, "valid": valid})
    assert several.n_rounds_ == alone.n_rounds_ and several.best_iteration_ == alone.best_iteration_
    assert list(several.history_["valid"]) == list(several.history_["other"])
    assert list(several.history_["valid"]) == ["mrr", "ndcg@10", "p@3"]
    assert several.history_["valid"]["mrr"] == alone.history_["valid"]["mrr"]
    n_done = len(alone.history_["valid"]["mrr"])
    assert {len(values) for values in several.history_["valid"].values()} == {n_done}
    several.save(tmp_path / "model.rk")
    copy = rk.load(tmp_path / "model.rk")
    assert copy.valid_measure == ["mrr", "ndcg@10", "p@3"] and copy.history_ == several.history_
    # The order says which one decides.
    turned = rk.LambdaMART(valid_measure=("ndcg@10", "mrr"), **settings).fit(data, valid=valid)
    ndcg = rk.LambdaMART(valid_measure="ndcg@10", **settings).fit(data, valid=valid)
    assert turned.best_iteration_ == ndcg.best_iteration_
    assert turned.predict(valid).tobytes() == ndcg.predict(valid).tobytes()


@pytest.mark.parametrize("kind", [rk.LambdaMART, rk.LambdaRank, rk.LambdaBoost])
def test_resuming_with_several_measures(kind, tmp_path):
    data, valid = train_and_valid()
    most = "n_epochs" if kind is rk.LambdaRank else "n_estimators"
    watched = [rk.measure("err@5"), "mrr"]
    whole = kind(valid_measure=watched, **{most: 6}).fit(data, valid=valid)
    kind(valid_measure=watched, **{most: 3}).fit(data, valid=valid).save(tmp_path / "part.rk")
    resumed = kind(valid_measure=watched, **{most: 6})
    resumed.fit(data, valid=valid, resume=tmp_path / "part.rk")
    assert resumed.history_ == whole.history_
    with pytest.raises(rk.ParameterError, match=r"trained with valid_measure=\['err@5', 'mrr'\]"):
        kind(valid_measure="mrr", **{most: 6}).fit(data, valid=valid, resume=tmp_path / "part.rk")


def test_wrong_lists_of_measures():
    data, valid = train_and_valid()
    for wrong, message in (
        ([], "valid_measure is wrong: measures is empty"),
        (["ndcg@10", "nice"], "valid_measure is wrong: .*nice"),
        ([3], "valid_measure is wrong"),
    ):
        with pytest.raises(rk.ParameterError, match=message):
            rk.LambdaMART(valid_measure=wrong).fit(data, valid=valid)
    with pytest.raises(rk.DataError, match="has no preferences, on which pair_accuracy is"):
        rk.LambdaMART(valid_measure=["mrr", "pair_accuracy"], **QUICK).fit(data, valid=valid)
