import math

import numpy as np
import pytest

import rankinite as rk
from rankinite.measures import Evaluator, PairAccuracy, PairLogLoss, measure
from tests.lambdas.pair_cases import bound, some_pairs
from tests.naive import preferences as naive

BOTH = ("pair_accuracy", "pair_log_loss")


def dataset(offsets, queries, order=None, **more):
    qid = np.repeat(np.arange(len(queries)), np.diff(offsets))
    data = rk.Dataset(np.zeros((offsets[-1], 1)), qid=qid, **more)
    return data.with_preferences(bound(offsets, queries, order))


@pytest.mark.parametrize("seed", range(6))
def test_as_the_twin(seed):
    offsets, queries, scores = some_pairs(seed)
    found = rk.evaluate(scores, dataset(offsets, queries), sigma=0.7)
    all_pairs, decided, right = [], 0.0, 0.0
    for query, own in enumerate(queries):
        start, stop = offsets[query], offsets[query + 1]
        mass = sum(weight for *_, weight in own)
        of_query = [found.per_query[name][query] for name in BOTH]
        expected = naive.accuracy(own, scores[start:stop].tolist())
        assert of_query[0] == pytest.approx(expected, nan_ok=True)
        if mass > 0:
            cost = naive.cost(own, scores[start:stop].tolist(), 0.7) / mass
            assert of_query[1] == pytest.approx(cost)
        else:
            assert math.isnan(of_query[1])
        all_pairs += [(i + start, j + start, p, w) for i, j, p, w in own]
        own_mass = sum(w for *_, p, w in own if p != 0.5)
        decided += own_mass
        right += own_mass * expected if own_mass else 0.0
    assert found["pair_accuracy"] == pytest.approx(right / decided)
    assert found["pair_accuracy"] == pytest.approx(naive.accuracy(all_pairs, scores.tolist()))
    mass = sum(weight for *_, weight in all_pairs)
    expected = naive.cost(all_pairs, scores.tolist(), 0.7) / mass
    assert found["pair_log_loss"] == pytest.approx(expected)


def test_a_mean_is_one_over_pairs_and_counts_query_weights():
    offsets, queries = np.array([0, 2, 5]), [[(0, 1, 1.0, 1.0)], [(0, 1, 1.0, 2.0), (2, 1, 1, 3)]]
    scores = np.array([1.0, 0.0, 0.0, 1.0, 2.0])
    plain = rk.evaluate(scores, dataset(offsets, queries), "pair_accuracy")
    assert plain.per_query["pair_accuracy"].tolist() == [1.0, 0.6]
    assert plain["pair_accuracy"] == 4 / 6
    weighed = dataset(offsets, queries, query_weight=[4.0, 1.0])
    assert rk.evaluate(scores, weighed, "pair_accuracy")["pair_accuracy"] == 7 / 9


def test_ties_turned_and_undecided_pairs():
    pairs = [(0, 1, 1.0, 1.0), (1, 2, 0.2, 1.0), (0, 2, 0.5, 9.0)]
    data = dataset(np.array([0, 3]), [pairs])
    for scores, expected in (
        ([1, 1, 1], 0.5),
        ([2, 1, 3], 1.0),
        ([0, 3, 1], 0.0),
        ([1, 1, 2], 0.75),
    ):
        assert rk.evaluate(scores, data, "pair_accuracy")["pair_accuracy"] == expected


def test_order_of_the_pairs_means_nothing():
    offsets, queries, scores = some_pairs(7, sizes=(40, 30), pairs_a_query=500)
    order = np.random.default_rng(1).permutation(sum(map(len, queries)))
    one, two = (rk.evaluate(scores, dataset(offsets, queries, o)) for o in (None, order))
    assert one.means == two.means
    for name in BOTH:
        assert one.per_query[name].tobytes() == two.per_query[name].tobytes()


def test_all_right_is_exactly_one():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=50)
    first, other = rng.integers(0, 50, (2, 400))
    kept = scores[first] > scores[other]
    first, other = first[kept], other[kept]
    data = rk.Dataset(np.zeros((50, 1)), qid=np.zeros(50))
    weight = rng.random(len(first))
    data = data.with_preferences(preferred=first, other=other, weight=weight)
    assert rk.evaluate(scores, data)["pair_accuracy"] == 1.0
    assert rk.evaluate(-scores, data)["pair_accuracy"] == 0.0


@pytest.mark.parametrize(("gap", "cost"), [(1e6, 1e6), (1e300, 1e300), (1e308, math.inf)])
def test_log_loss_of_any_gap(gap, cost):
    data = dataset(np.array([0, 2]), [[(0, 1, 1.0, 1.0)]])
    assert rk.evaluate([0, gap], data)["pair_log_loss"] == pytest.approx(gap)
    assert rk.evaluate([gap, 0], data)["pair_log_loss"] == pytest.approx(0, abs=1e-9)
    assert rk.evaluate([-gap, gap], data)["pair_log_loss"] == pytest.approx(2 * cost)


def test_sigma_is_the_scorers_own_by_default():
    data = dataset(np.array([0, 2]), [[(0, 1, 0.8, 1.0)]])

    class Scorer:
        sigma = 2.0

        def predict(self, X):
            return np.array([1.0, 0.0])

    own = rk.evaluate(Scorer(), data)["pair_log_loss"]
    assert own == rk.evaluate([1.0, 0.0], data, sigma=2.0)["pair_log_loss"]
    assert own == rk.evaluate([2.0, 0.0], data)["pair_log_loss"]


def test_names_and_directions():
    assert measure("pair_accuracy") == PairAccuracy() and str(PairAccuracy()) == "pair_accuracy"
    assert measure("Pair_Log_Loss") == PairLogLoss()
    assert PairLogLoss().lower_is_better and not measure("ndcg@10").lower_is_better
    with pytest.raises(rk.ParameterError, match="pair_accuracy has no cut-off @k"):
        measure("pair_accuracy@5")
    with pytest.raises(rk.ParameterError, match="has no value for labels"):
        PairAccuracy().value(np.ones(3))


def test_what_is_measured_by_default_and_what_is_missing():
    data = dataset(*some_pairs(0)[:2])
    assert tuple(rk.evaluate(np.zeros(data.n_rows), data).means) == BOTH
    plain = rk.Dataset(np.zeros((2, 1)), [0, 1], qid=[1, 1])
    assert tuple(rk.evaluate([0, 1], plain).means) == ("ndcg@10",)
    with pytest.raises(rk.DataError, match="no preferences, on which pair_accuracy is measured"):
        rk.evaluate([0, 1], plain, "pair_accuracy")
    with pytest.raises(rk.DataError, match="has no labels"):
        rk.evaluate(np.zeros(data.n_rows), data, "ndcg@10")
    assert Evaluator("pair_accuracy", data).blank.tolist()[0]


def test_compare_knows_that_low_is_good():
    offsets, queries, _ = some_pairs(0, sizes=(12,) * 30)
    certain = [[(min(i, j), max(i, j), 1.0, 1.0) for i, j, _, _ in own] for own in queries]
    data = dataset(offsets, certain)
    good = -(np.arange(data.n_rows) % 12).astype(float)
    rows = rk.compare({"bad": -good, "good": good}, data).rows
    assert [row.measure for row in rows] == list(BOTH)
    assert all(row.losses == 0 and row.wins >= 29 for row in rows)
    assert rows[0].difference > 0 > rows[1].difference
    means = {name: rk.evaluate(good, data)[name] for name in BOTH}
    assert [row.mean for row in rows] == list(means.values())
