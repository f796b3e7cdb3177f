"""The rules of training: learning rate, best weights, restarts, divergence."""

import math

import numpy as np
import pytest

import rankinite as rk
from rankinite.nets.net import first_weights, width_of
from rankinite.nets.rounds import ENOUGH, Schedule
from tests.boosting.small import StopAfter, train_and_valid


def settings(**changes):
    own = {
        "n_features": 3,
        "n_hidden": 2,
        "learning_rate": 0.1,
        "decay": 0.5,
        "n_restarts": 1,
        "patience": 2,
        "seed": 0,
    }
    return Schedule(**own | changes)


def states(rules, costs, values):
    """The states after epochs of these costs and validation values."""
    state, found = rules.first_state(), []
    for epoch, (cost, value) in enumerate(zip(costs, values, strict=True)):
        state = rules.next_state(state, np.full(20, float(epoch)), cost, value, epoch + 1)
        found.append(state)
    return found


def test_the_rate_falls_when_the_cost_rises():
    found = states(settings(), [5.0, 4.0, 4.5, 4.5, 4.6], [None] * 5)
    assert [state.rate for state in found] == [0.1, 0.1, 0.05, 0.05, 0.025]
    kept = states(settings(decay=1.0), [1.0, 2.0, 3.0], [None] * 3)
    assert {state.rate for state in kept} == {0.1}


def test_the_best_weights():
    found = states(settings(n_restarts=0), [1.0] * 4, [0.3, 0.5, 0.5, 0.4])
    assert [state.best[0] for state in found] == [0, 1, 1, 1]
    assert [state.weights[0] for state in found] == [0, 1, 2, 3]
    unwatched = states(settings(), [1.0] * 3, [None] * 3)
    assert [state.best[0] for state in unwatched] == [0, 1, 2]
    without_value = states(settings(), [1.0] * 3, [math.nan] * 3)
    assert [state.best[0] for state in without_value] == [0, 1, 2]


def test_restarts():
    rules = settings()
    values = [0.3, 0.5, 0.5 + ENOUGH / 2, 0.5, 0.1, 0.6, 0.6, 0.6, 0.6]
    found = states(rules, [1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], values)
    assert [state.attempt for state in found] == [0, 0, 0, 1, 1, 1, 1, 1, 1]
    fresh = found[3]
    np.testing.assert_array_equal(fresh.weights, first_weights(3, 2, 0, 1))
    assert fresh.rate == 0.1 and fresh.cost == math.inf and found[2].rate == 0.05
    # The best of all attempts: of the first while it leads, and only one restart is allowed.
    assert fresh.best[0] == 2 and found[4].best[0] == 2 and found[-1].best[0] == 5


def test_first_weights():
    first, second = (first_weights(6, 5, 0, attempt) for attempt in range(2))
    assert width_of(5) == 8 and len(first) == 8 * 8
    layer = first.reshape(8, 8)
    assert (layer[-1] == 0).all() and (layer[:, 5:] == 0).all()
    assert (layer[:7, :5] != 0).all() and np.abs(layer).max() < 7**-0.5
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, first_weights(6, 5, 1, 0))
    assert (first_weights(6, 0, 0, 0) == 0).all() and (first_weights(6, 0, 0, 1) != 0).all()
    many = first_weights(2000, 4, 0, 0)[: 2001 * 4] * math.sqrt(2001)
    assert abs(many.mean()) < 0.02 and abs(many.std() - 3**-0.5) < 0.02


@pytest.mark.parametrize("kind", [rk.RankNet, rk.LambdaRank])
def test_restarts_in_a_run(kind):
    train, valid = train_and_valid()
    params = {"n_hidden": 3, "n_epochs": 30, "learning_rate": 0.3}
    once = kind(**params).fit(train, valid=valid)
    model = kind(n_restarts=3, patience=3, **params).fit(train, valid=valid)
    values = model.history_["valid"]["ndcg@10"]
    assert len(values) == 30 and model._last.attempt >= 2
    assert values != once.history_["valid"]["ndcg@10"]
    assert model.best_iteration_ == np.argmax(values) + 1
    assert rk.evaluate(model, valid)["ndcg@10"] == max(values)
    with pytest.raises(rk.ParameterError, match="n_restarts=3 needs data to watch"):
        kind(n_restarts=3).fit(train)


def test_history():
    train, valid = train_and_valid()
    ranknet = rk.RankNet(n_epochs=3).fit(train, valid={"train": train, "valid": valid})
    assert set(ranknet.history_) == {"train", "valid"}
    assert set(ranknet.history_["train"]) == {"cost", "ndcg@10"}
    costs = ranknet.history_["train"]["cost"]
    # The first query meets a net that knows nothing: a pair costs log 2.
    assert len(costs) == 3 and costs[-1] < costs[0] < math.log(2)
    lambdarank = rk.LambdaRank("ndcg@10", n_epochs=3).fit(train, valid={"train": train})
    history = lambdarank.history_["train"]
    np.testing.assert_allclose(history["cost"], 1 - np.array(history["ndcg@10"]), atol=1e-15)
    alone = rk.RankNet(n_epochs=3).fit(train)
    assert set(alone.history_) == {"train"} and alone.best_iteration_ == 3


@pytest.mark.parametrize("kind", [rk.RankNet, rk.LambdaRank])
@pytest.mark.parametrize("n_hidden", [0, 3])
def test_divergence_ends_with_the_last_good_weights(kind, n_hidden):
    train, valid = train_and_valid()
    X = train.X.astype(np.float64).copy()
    X[::7] *= 1e30
    wild = rk.Dataset(X, train.y, qid=np.repeat(train.qids, train.query_sizes))
    model = kind(n_hidden=n_hidden, n_epochs=50, learning_rate=1e200, decay=1.0)
    with pytest.warns(rk.RankiniteWarning, match=r"use a learning_rate below 1e\+200"):
        model.fit(wild, valid=valid)
    assert model.n_features_in_ == 8
    assert len(model.history_.get("train", {}).get("cost", [])) < 50
    assert np.isfinite(model.predict(train)).all() and np.isfinite(model.net_.weights).all()


def test_an_interrupt_keeps_the_epochs():
    train, valid = train_and_valid()
    model = rk.LambdaRank(n_epochs=9, n_hidden=3)
    with pytest.raises(KeyboardInterrupt):
        model.fit(train, valid=valid, callbacks=[StopAfter(4)])
    assert len(model.history_["train"]["cost"]) == 4
    whole = rk.LambdaRank(n_epochs=4, n_hidden=3).fit(train, valid=valid)
    np.testing.assert_array_equal(model.predict(valid), whole.predict(valid))
