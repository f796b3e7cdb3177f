"""RankNet from preference pairs instead of labels."""

import numpy as np
import pytest

import rankinite as rk
from rankinite.nets._epoch_kernels import preference_epoch
from rankinite.order.canonical import canonical
from tests.boosting.small import StopAfter, qid_of, train_and_valid
from tests.boosting.test_preferences import data_of, from_labels, some_pairs
from tests.naive import nets as naive
from tests.naive import preferences as naive_preferences
from tests.nets.cases import Case
from tests.subjects import saved


def make(**params):
    return rk.RankNet(**{"n_hidden": 3, "n_epochs": 4, **params})


def pairs_of(case, seed=0):
    """Pairs of each query that contradict each other, as lists and as arrays of rows."""
    rng = np.random.default_rng(seed)
    lists, rows, offsets = [], [], [0]
    for first, last in zip(case.offsets[:-1], case.offsets[1:], strict=True):
        n = last - first
        own = [
            (i, j, rng.uniform(), rng.uniform(0, 2))
            for i, j in rng.integers(0, n, (3 * n, 2)).tolist()
            if i != j
        ]
        lists.append(own)
        rows += [(first + i, first + j, p, w) for i, j, p, w in own]
        offsets.append(len(rows))
    i, j, p, w = map(np.array, zip(*rows, strict=True))
    return lists, (i.astype(np.int64), j.astype(np.int64), p, w, np.array(offsets, np.int64))


@pytest.mark.parametrize("n_hidden", [0, 6])
def test_epoch_against_twin(n_hidden):
    case = Case(n_hidden)
    lists, arrays = pairs_of(case)
    weights, costs, expected = case.weights.copy(), np.zeros(5), np.zeros(5)
    arguments = (0.05, weights, case.width, *arrays, 0.8, costs)
    assert preference_epoch(*case.arguments, *arguments)
    twin = case.twin()

    def lambdas_of(query, scores):
        expected[query] = naive_preferences.cost(lists[query], scores, 0.8)
        return np.array(naive_preferences.lambdas(lists[query], scores, 0.8)[0])

    naive.epoch(twin, case.X, case.offsets, case.order, case.start, case.factor, 0.05, lambdas_of)
    case.assert_same(weights, twin, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(costs, expected, rtol=1e-10, atol=1e-12)


def test_pairs_of_labels_teach_what_labels_teach():
    train, _ = train_and_valid()
    # One query, so that there is no order of queries.
    query = train.select_queries([0])
    for n_hidden in (0, 3):
        of_labels, of_pairs = (
            make(n_hidden=n_hidden).fit(data) for data in (query, from_labels(query))
        )
        np.testing.assert_allclose(of_pairs.net_.weights, of_labels.net_.weights, rtol=0, atol=1e-9)
        np.testing.assert_allclose(
            of_pairs.history_["train"]["cost"], of_labels.history_["train"]["cost"], rtol=1e-9
        )


def test_orders_do_not_matter(tmp_path):
    X, qid, *columns = some_pairs()
    expected = saved(make().fit(data_of(X, qid, *columns)), tmp_path)
    rng = np.random.default_rng(5)
    rows, pairs = rng.permutation(len(X)), rng.permutation(len(columns[0]))
    place = np.argsort(rows)
    preferred, other, probability, weight = (column[pairs] for column in columns)
    moved = data_of(X[rows], qid[rows], place[preferred], place[other], probability, weight)
    for n_threads in (1, 2):
        assert saved(make(n_threads=n_threads).fit(moved), tmp_path) == expected
    heavier = data_of(X, qid, *columns[:3], 4 * columns[3])
    assert saved(make().fit(heavier), tmp_path) == expected


def test_labels_and_weights_of_documents_play_no_part(tmp_path):
    train, _ = train_and_valid()
    expected = saved(make().fit(from_labels(train)), tmp_path)
    assert saved(make().fit(from_labels(train, labels=True)), tmp_path) == expected
    weighed = rk.Dataset(train.X, qid=qid_of(train), weight=np.linspace(0.5, 2, train.n_rows))
    weighed = weighed.with_preferences(rk.Preferences.from_labels(train))
    assert saved(make().fit(weighed), tmp_path) == expected


def test_query_weights(tmp_path):
    X, qid, *columns = some_pairs()
    weight = (np.arange(30) % 3 > 0).astype(float)
    with_zeros = make().fit(data_of(X, qid, *columns, query_weight=weight))
    kept = np.flatnonzero(np.repeat(weight > 0, 20))
    inside = np.isin(columns[0], kept)
    place = np.full(len(X), -1)
    place[kept] = np.arange(len(kept))
    some = [place[c[inside]] for c in columns[:2]] + [c[inside] for c in columns[2:]]
    without = make().fit(data_of(X[kept], qid[kept], *some))
    assert saved(with_zeros, tmp_path) == saved(without, tmp_path)
    with pytest.raises(rk.DataError, match="every document has a weight of 0"):
        make().fit(data_of(X, qid, *columns, query_weight=0 * weight))
    *pairs, probability, _ = columns
    same = make().fit(data_of(X, qid, *pairs, probability, np.full(len(probability), 3.0)))
    none = make().fit(data_of(X, qid, *pairs, probability, np.ones(len(probability))))
    assert saved(same, tmp_path) == saved(none, tmp_path)
    nothing = make().fit(data_of(X, qid, *pairs, probability, np.zeros(len(probability))))
    assert np.ptp(nothing.predict(X)) == 0


def test_the_fingerprint_sees_the_pairs():
    X, qid, *columns = some_pairs()
    turned = [columns[1], columns[0], *columns[2:]]
    other = [*columns[:2], columns[2] ** 2, columns[3]]
    prints = {
        canonical(data_of(X, qid, *some), by_pairs=True).fingerprint
        for some in (columns, turned, other)
    }
    assert len(prints) == 3


def test_learning_watching_and_resuming(tmp_path):
    train, valid = (from_labels(data) for data in train_and_valid())
    model = make(n_epochs=12, valid_measure="pair_log_loss", learning_rate=0.5)
    model.fit(train, valid=valid)
    values = model.history_["valid"]["pair_log_loss"]
    assert model.best_iteration_ == np.argmin(values) + 1
    found = rk.evaluate(model, valid, "pair_log_loss")["pair_log_loss"]
    assert found == pytest.approx(min(values)) and found < np.log(2)
    assert rk.evaluate(model, valid, "pair_accuracy")["pair_accuracy"] > 0.7
    again = make(n_epochs=12, valid_measure="pair_log_loss", learning_rate=0.5)
    with pytest.raises(KeyboardInterrupt):
        again.fit(train, valid=valid, callbacks=[StopAfter(5)])
    again.fit(train, valid=valid, resume=again)
    assert saved(again, tmp_path) == saved(model, tmp_path)
    plain = make(early_stopping=3).fit(train, valid=valid)
    assert set(plain.history_["valid"]) == {"pair_accuracy"}


def test_what_does_not_apply():
    train, _ = train_and_valid()
    with pytest.raises(rk.ParameterError, match='mode="pairwise" does not apply'):
        make(mode="pairwise").fit(from_labels(train))
    with pytest.raises(rk.DataError, match="preferences and no labels"):
        rk.LambdaRank(n_epochs=1).fit(from_labels(train))
