"""A label that a measure cannot take is told by the id of its query."""

from __future__ import annotations

import numpy as np
import pytest

import rankinite as rk

SCORERS = {"a": lambda X: X[:, 0], "b": lambda X: X[:, 1]}
LEARNERS = [
    rk.LambdaMART(n_estimators=2),
    rk.LambdaMART(n_estimators=2, step="line_search"),
    rk.LambdaBoost(n_estimators=2),
    rk.LambdaRank(n_epochs=2),
    *(rk.Combination(SCORERS, method) for method in ("linear", "net", "powell", "pair_tree")),
]


def wrong_data() -> rk.Dataset:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200).astype(float)
    y[133] = -1
    return rk.Dataset(rng.normal(size=(200, 3)), y, qid=np.repeat(np.arange(20) * 7 + 500, 10))


@pytest.mark.parametrize(
    "learner",
    LEARNERS,
    ids=lambda learner: f"{type(learner).__name__} {getattr(learner, 'method', '')}",
)
def test_the_query_is_called_by_its_id(learner):
    message = r"^a document of query 591 has the label -1, but .* \(ndcg@10\)$"
    with pytest.raises(rk.DataError, match=message):
        learner.fit(wrong_data())


def test_also_in_an_evaluation_and_on_validation_data():
    wrong = wrong_data()
    right = rk.Dataset(wrong.X, np.abs(wrong.y), qid=np.repeat(wrong.qids, wrong.query_sizes))
    for fails in (
        lambda: rk.evaluate(wrong.X[:, 0], wrong),
        lambda: rk.MART(n_estimators=2).fit(right, valid=wrong),
        lambda: rk.line_search(wrong.X[:, 0], wrong.X[:, 1], wrong),
    ):
        with pytest.raises(rk.DataError, match=r"a document of query 591 has the label -1"):
            fails()


@pytest.mark.parametrize("loss", ["graded", "logistic"])
def test_losses_name_the_query_too(loss):
    message = r"^a document of query 591 has the label -1, but the .* loss needs"
    wrong = wrong_data()
    y = np.where(wrong.y < 0, -1.0, (wrong.y > 1).astype(float))
    if loss == "logistic":
        y[y < 0], message = 0.5, message.replace("-1", "0.5")
    qid = np.repeat(wrong.qids, wrong.query_sizes)
    with pytest.raises(rk.DataError, match=message):
        rk.MART(loss=loss, measure="pairs", n_estimators=2).fit(wrong.X, y, qid=qid)
