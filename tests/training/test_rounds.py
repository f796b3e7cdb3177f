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

    return Watched(name, None, measure(spec), evaluate)


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
