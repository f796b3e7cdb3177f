"""What each method promises on the data it learns from."""

import numpy as np
import pytest

import rankinite as rk
from rankinite.measures import Measure
from tests.combination.cases import METHODS, MIX, columns, mean, scored


def normalised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def test_the_average_by_hand():
    data = scored()
    model = rk.Combination(columns()).fit(data)
    np.testing.assert_allclose(model.predict(data), normalised(data.X).mean(axis=1), atol=1e-12)
    raw = np.array(list(model.weights_.values()))
    np.testing.assert_allclose(raw, 0.25 / data.X.std(axis=0), rtol=1e-12)
    np.testing.assert_allclose(list(model.shares_.values()), 0.25)
    # Means and variances are those of the data of fit, whatever is scored.
    one = model.predict(data.X[:1])
    assert one == model.predict(data)[:1]


def test_the_average_by_given_weights():
    data = scored()
    weights = [2.0, 0.0, -1.0, 0.5]
    named = dict(zip("abcd", weights, strict=True))
    model = rk.Combination(columns(), weights=weights).fit(data)
    np.testing.assert_allclose(model.predict(data), normalised(data.X) @ weights, atol=1e-11)
    again = rk.Combination(columns(), weights=named).fit(data)
    assert (again.predict(data) == model.predict(data)).all()
    raw = rk.Combination(columns(), weights=named, normalize="none").fit(data)
    assert raw.weights_ == named
    np.testing.assert_allclose(raw.predict(data), data.X @ weights, rtol=1e-12)


def test_the_average_needs_no_labels_and_the_others_do():
    data = scored()
    unlabelled = rk.Dataset(data.X, qid=np.repeat(data.qids, data.query_sizes))
    model = rk.Combination(columns()).fit(unlabelled)
    assert model.shares_["a"] == 0.25
    for method in METHODS[1:]:
        with pytest.raises(rk.DataError, match="the data has no labels"):
            rk.Combination(columns(), method).fit(unlabelled)


@pytest.mark.parametrize("normalize", ["query", "query_max"])
def test_the_average_by_query(normalize):
    data = scored()
    X = np.abs(data.X) / np.abs(data.X).max(axis=0)
    data = rk.Dataset(X, data.y, qid=np.repeat(data.qids, data.query_sizes))
    model = rk.Combination(columns(), normalize=normalize).fit(data)
    parts = []
    for low, high in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        part, best = X[low:high], X[low:high].max(axis=0)
        by_best = best * (1 + part - best)
        parts.append(normalised(part) if normalize == "query" else by_best)
    expected = normalised(np.concatenate(parts)).mean(axis=1)
    np.testing.assert_allclose(model.predict(data), expected, atol=1e-9)
    with pytest.raises(rk.DataError, match="pass a Dataset"):
        model.predict(X)
    # A query is normalised by itself: it scores alone what it scores among others.
    alone = data.select_queries([3])
    np.testing.assert_array_equal(
        model.predict(alone), model.predict(data)[data.offsets[3] : data.offsets[4]]
    )


@pytest.mark.parametrize("method", ["linear", "powell", "exact_powell"])
def test_a_known_mix_is_found(method):
    data = scored(n_queries=200, noise=0.0)
    model = rk.Combination(columns(), method).fit(data)
    found = np.array(list(model.shares_.values()))
    expected = MIX / np.abs(MIX).sum()
    cosine = found @ expected / np.linalg.norm(found) / np.linalg.norm(expected)
    assert cosine > (0.98 if method == "powell" else 0.995)
    assert mean(model, data) > 0.97


@pytest.mark.parametrize("method", ["powell", "exact_powell"])
@pytest.mark.parametrize("measure", ["ndcg@10", "err", "map:relevant=2", "pairs"])
def test_no_ranker_is_better_on_the_data(method, measure):
    for seed in range(3):
        data = scored(seed, n_queries=15, noise=1.5)
        model = rk.Combination(columns(), method, measure).fit(data)
        value = mean(model, data, measure)
        assert all(value >= mean(each, data, measure) for each in data.X.T)
        assert value >= mean(rk.Combination(columns()).fit(data), data, measure)
        np.testing.assert_allclose(model.history_[-1], value, rtol=1e-12)
        assert (np.diff(model.history_) >= 0).all()


def test_a_net_learns_what_no_weights_can():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = np.digitize(np.abs(X[:, 0]) + 0.2 * X[:, 1], [0.5, 1.0, 1.5]).astype(float)
    data = rk.Dataset(X, y, qid=np.repeat(np.arange(100), 20))
    net = rk.Combination(columns(2), "net").fit(data)
    linear = rk.Combination(columns(2), "exact_powell").fit(data)
    assert mean(net, data) > mean(linear, data) + 0.1
    assert net.net_.n_hidden == 10
    assert len(net.history_) == 100
    with pytest.raises(AttributeError, match="weights_ is not there for a net"):
        _ = net.weights_
    with pytest.raises(AttributeError, match="net_ is there only for method='net'"):
        _ = linear.net_


def test_a_net_of_few_queries_watches_those():
    data = scored(n_queries=6)
    model = rk.Combination(columns(), "net").fit(data)
    np.testing.assert_allclose(max(model.history_), mean(model, data), rtol=1e-12)


class LowestLabelFirst(Measure):
    """Less is better: the label at the top."""

    name = "top label"
    lower_is_better = True

    def value(self, labels):
        return float(labels[0])


@pytest.mark.parametrize("method", ["powell", "exact_powell", "pair_tree"])
def test_less_may_be_better(method):
    data = scored(n_queries=8)
    X = -data.X
    turned = rk.Dataset(X, data.y, qid=np.repeat(data.qids, data.query_sizes))
    measure = LowestLabelFirst()
    model = rk.Combination(columns(), method, measure).fit(turned)
    value = rk.evaluate(model, turned, measure)[measure]
    assert value <= min(rk.evaluate(x, turned, measure)[measure] for x in X.T[:2])
    assert (np.diff(model.history_) <= 0).all()
