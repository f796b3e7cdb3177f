"""The test of local optimality, on toys whose optimum is known and on trained rankers."""

import numpy as np
import pytest
from scipy import stats

import rankinite as rk
from rankinite.models import LinearScorer
from rankinite.models.weight_space import WeightSpace
from rankinite.optimality.local_optimality import confidence_in, directions_needed, rising_share

TRUE = np.array([2.0, -1.0, 0.5])


class Hill:
    """A model whose measure is a hill: the share of queries whose threshold exceeds |w − top|².

    Each query has two documents; the relevant one scores the threshold less the square, the other
    one 0.
    """

    measure = "pairs"

    def __init__(self, top, at, n_queries=2000):
        self.top, self.at = np.asarray(top, float), np.asarray(at, float)
        self.n_queries = n_queries
        self.thresholds = np.linspace(0, 1, n_queries, endpoint=False) ** 2

    def data(self):
        qid = np.repeat(np.arange(self.n_queries), 2)
        return rk.Dataset(np.zeros((len(qid), 1)), np.tile([1, 0], self.n_queries), qid=qid)

    def weight_space(self, dataset):
        def scores(weights):
            both = np.zeros((self.n_queries, 2))
            both[:, 0] = self.thresholds - ((weights - self.top) ** 2).sum()
            return both.ravel()

        names = [f"w{i}" for i in range(len(self.at))]
        return WeightSpace(self.at, names, scores)


def linear_data(n_queries=40, n_docs=15, noise=0.0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_queries * n_docs, 3))
    values = X @ TRUE + noise * rng.normal(size=len(X))
    labels = np.clip(np.floor(values + 2), 0, 4)
    return rk.Dataset(X, labels, qid=np.repeat(np.arange(n_queries), n_docs))


def test_number_of_directions():
    assert directions_needed(0.99, 0.01) == 459
    assert directions_needed(0.95, 0.05) == 59
    assert directions_needed(0.5, 0.5) == 1
    for n, confidence, fraction in ((459, 0.99, 0.01), (59, 0.95, 0.05)):
        assert (1 - fraction) ** n <= 1 - confidence < (1 - fraction) ** (n - 1)


def test_bounds_are_those_of_the_binomial_distribution():
    for k, n, confidence in ((0, 459, 0.99), (3, 100, 0.9), (50, 100, 0.99), (99, 100, 0.5)):
        share = rising_share(k, n, confidence)
        # At the bound, so few rises are just as unlikely as was asked for.
        assert stats.binom.cdf(k, n, share) == pytest.approx(1 - confidence, rel=1e-9)
        assert confidence_in(0.1, k, n) == pytest.approx(stats.binom.sf(k, n, 0.1), abs=1e-12)
    assert rising_share(7, 7, 0.99) == 1.0 and confidence_in(0.01, 7, 7) == 0.0
    assert rising_share(0, 459, 0.99) < 0.01 < rising_share(0, 458, 0.99)
    assert confidence_in(0.01, 0, 459) > 0.99 > confidence_in(0.01, 0, 458)


def test_on_top_of_a_hill_nothing_leads_up():
    hill = Hill(top=[1.0, 2.0, 2.0], at=[1.0, 2.0, 2.0])
    found = rk.local_optimality(hill, hill.data(), radius=(0.05, 0.2), curves=3)
    assert found.measure == "pairs" and found.n_weights == 3
    for moves, radius in zip(found.moves, (0.05, 0.2), strict=True):
        assert len(moves.changes) == 459
        assert (moves.n_rising, moves.n_falling, moves.largest_rise) == (0, 459, 0.0)
        # Where the weights have moved by |w|·radius, the hill is that much lower.
        np.testing.assert_allclose(moves.changes, -3 * radius, atol=2e-3)
        assert moves.share < 0.01 and moves.confidence > 0.99
    for curve, at in zip(found.curves, (2.0, 2.0, 1.0), strict=True):
        assert curve.weight == at and curve.rise == 0.0
        np.testing.assert_allclose(curve.weights[[0, 20, 40]], [at - 0.6, at, at + 0.6])
        lower = found.value - np.abs(curve.weights - at)
        np.testing.assert_allclose(curve.values, lower, atol=2e-3)


def test_beside_the_top_half_of_the_directions_lead_up():
    hill = Hill(top=[1.0, 2.0], at=[1.3, 2.0])
    found = rk.local_optimality(hill, hill.data(), radius=[0.01], curves=[0], n_directions=400)
    (moves,), (curve,) = found.moves, found.curves
    assert 160 < moves.n_rising < 240
    assert moves.largest_rise == pytest.approx(0.01 * np.hypot(1.3, 2.0), abs=2e-3)
    assert moves.share > 0.4 and moves.confidence < 1e-6
    assert curve.name == "w0" and curve.rise == pytest.approx(moves.largest_rise, abs=2e-3)
    assert curve.weights[np.argmax(curve.values)] == pytest.approx(curve.weights[0], abs=2e-3)


def test_steps_are_seen_at_their_scale():
    """Moves that trade no ranks change nothing."""
    hill = Hill(top=[1.0, 2.0], at=[1.13, 2.0], n_queries=20)
    found = rk.local_optimality(hill, hill.data(), radius=(1e-6, 0.1), curves=0)
    assert found.moves[0].n_rising == found.moves[0].n_falling == 0
    assert found.moves[1].n_rising > 0
    assert found.curves == []


def test_linear_weights():
    data = linear_data()
    best = rk.local_optimality(LinearScorer(TRUE), data, "ndcg")
    assert best.value == 1.0
    assert [moves.n_rising for moves in best.moves] == [0, 0]
    away = rk.local_optimality(LinearScorer([2.0, 0.0, -0.5]), data, "ndcg")
    assert away.value < 0.99
    assert all(moves.n_rising > 100 for moves in away.moves)
    assert away.moves[1].largest_rise > away.moves[0].largest_rise
    assert {curve.name for curve in away.curves} == {"feature 1", "feature 2", "feature 3"}


def test_moving_the_trained_weights_away_finds_the_way_back():
    data = linear_data(n_queries=150, noise=0.5)
    model = rk.LambdaBoost(n_estimators=60).fit(data)
    trained = rk.local_optimality(model, data, radius=0.3, curves=0)
    model._steps = np.where(model.features_ == 1, -model._steps, model._steps)
    moved = rk.local_optimality(model, data, radius=0.3, curves=0)
    assert moved.value < trained.value - 0.01
    assert trained.moves[0].n_rising < 60 < 150 < moved.moves[0].n_rising
    assert moved.moves[0].largest_rise > 10 * trained.moves[0].largest_rise


RANKERS = {
    "LambdaBoost": lambda **options: rk.LambdaBoost(n_estimators=10, **options),
    "linear net": lambda **options: rk.LambdaRank(n_hidden=0, n_epochs=2, **options),
    "net": lambda **options: rk.LambdaRank(n_hidden=3, n_epochs=2, **options),
    "RankNet": lambda **options: rk.RankNet(n_hidden=5, n_epochs=2, **options),
}


@pytest.mark.parametrize(
    "base", [None, np.array([1.0, 0.0, 5.0, -1.0])], ids=["alone", "on a base"]
)
@pytest.mark.parametrize("kind", RANKERS)
def test_the_space_of_a_ranker(kind, base):
    rng = np.random.default_rng(1)
    plain = linear_data()
    # A feature that never varies has no weight to move.
    X = np.column_stack([plain.X[:, :2], np.full(len(plain.X), 3.0), plain.X[:, 2]])
    qid = np.repeat(plain.qids, plain.query_sizes)
    data = rk.Dataset(X, plain.y, qid=qid, feature_names=["a", "b", "same", "c"])
    model = RANKERS[kind](base_model=base).fit(data)
    space = model.weight_space(data)
    n_hidden = getattr(model, "n_hidden", 0)
    assert len(space.weights) == len(space.names) == (3 if n_hidden == 0 else 5 * n_hidden)
    assert len(set(space.names)) == len(space.names)
    assert not any("same" in name for name in space.names)
    np.testing.assert_allclose(space.scores(space.weights), model.score_dataset(data), rtol=1e-12)
    for i in range(len(space.weights)):
        moved = space.weights.copy()
        moved[i] += 0.5
        assert not np.array_equal(space.scores(moved), space.scores(space.weights)), space.names[i]
    # The order of the rows is the dataset's own.
    order = rng.permutation(len(X))
    with pytest.warns(rk.RankiniteWarning, match="did not lie together"):
        shuffled = rk.Dataset(
            X[order], plain.y[order], qid=qid[order], feature_names=data.feature_names
        )
    other = model.weight_space(shuffled)
    np.testing.assert_allclose(other.scores(other.weights), model.score_dataset(shuffled))


def test_the_same_seed_and_any_number_of_threads_give_the_same():
    data = linear_data(noise=1.0)
    found = []
    for n_threads in (1, 2):
        model = rk.LambdaBoost(n_estimators=10, n_threads=n_threads).fit(data)
        found.append(rk.local_optimality(model, data, n_directions=40))
    other = rk.local_optimality(model, data, n_directions=40, random_state=1)
    for one, two, three in zip(*(result.moves for result in (*found, other)), strict=True):
        np.testing.assert_array_equal(one.changes, two.changes)
        assert not np.array_equal(one.changes, three.changes)


def test_the_measure_is_the_learned_one_unless_said():
    data = linear_data()
    model = rk.LambdaBoost(measure="map", n_estimators=5).fit(data)
    few = {"n_directions": 3, "curves": 0}
    assert rk.local_optimality(model, data, **few).measure == "map"
    found = rk.local_optimality(model, data, "err@5", **few)
    assert found.measure == "err@5"
    assert found.value == rk.evaluate(model, data, "err@5")["err@5"]
    assert rk.local_optimality(LinearScorer(TRUE), data, **few).measure == "ndcg@10"


def test_preferences():
    labelled = linear_data()
    data = rk.Dataset(labelled.X, qid=np.repeat(labelled.qids, labelled.query_sizes))
    values = labelled.X @ TRUE
    worse, better = np.arange(0, len(values), 2), np.arange(1, len(values), 2)
    together = worse // 15 == better // 15
    worse, better = worse[together], better[together]
    turned = values[worse] > values[better]
    pairs = data.with_preferences(
        preferred=np.where(turned, worse, better), other=np.where(turned, better, worse)
    )
    found = rk.local_optimality(LinearScorer(TRUE), pairs, "pair_accuracy", curves=0)
    assert found.value == 1.0 and found.moves[1].n_rising == 0 < found.moves[1].n_falling


def test_tables():
    hill = Hill(top=[1.0, 2.0], at=[1.0, 2.0])
    text = str(rk.local_optimality(hill, hill.data(), curves=[1], radius=0.2))
    lines = text.splitlines()
    assert lines[0] == "pairs 0.9998 at the 2 learned weights, moved along 459 random directions"
    assert "rising at most (99 %)" in lines[2] and "confidence in 1 %" in lines[2]
    assert lines[3].split()[:5] == ["0.2", "0", "0", "459", "0.000000"]
    assert lines[3].split()[-4:] == ["0.998", "%", "99.008", "%"]
    assert lines[-1].split() == ["w1", "2", "here", "0.000000"]
    bare = str(rk.local_optimality(hill, hill.data(), curves=0, n_directions=2))
    assert "One weight" not in bare


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 1.0}, "confidence must be a number above 0 and below 1, got 1.0"),
        ({"fraction": 0}, "fraction must be a number above 0 and below 1, got 0"),
        ({"fraction": "x", "n_directions": 5}, "fraction must be a number"),
        ({"n_directions": 0}, "n_directions must be a whole number at least 1"),
        ({"radius": 0.0}, "radius must be a number above 0, or several, got 0.0"),
        ({"radius": []}, "radius must be a number above 0"),
        ({"radius": [0.1, np.nan]}, "radius must be a number above 0"),
        ({"radius": "wide"}, "radius must be a number above 0"),
        ({"curves": -1}, "curves must be a whole number at least 0"),
        ({"curves": [0, 3]}, "a weight in curves must be a whole number from 0 to 2, got 3"),
        ({"random_state": -1}, "random_state must be a whole number"),
        ({"measure": "quality"}, "unknown measure 'quality'"),
        ({"measure": "pair_log_loss"}, "less of pair_log_loss is better, and this is about maxima"),
    ],
)
def test_mistakes(options, message):
    with pytest.raises(rk.ParameterError, match=message):
        rk.local_optimality(LinearScorer(TRUE), linear_data(), **options)


def test_models_and_data_that_do_not_fit(tmp_path):
    data = linear_data()
    with pytest.raises(rk.ParameterError, match="a MART has no vector of weights that could be"):
        rk.local_optimality(rk.MART(), data)
    with pytest.raises(rk.ParameterError, match="the weights of the model are all 0"):
        rk.local_optimality(LinearScorer(np.zeros(3)), data)
    with pytest.raises(rk.RankiniteError, match="is not trained"):
        rk.local_optimality(rk.LambdaBoost(), data)
    with pytest.raises(rk.DataError, match="4 weights need as many features, and this dataset has"):
        rk.local_optimality(LinearScorer(np.ones(4)), data)
    blank = rk.Dataset(data.X, data.y * 0, qid=np.repeat(data.qids, data.query_sizes))
    with pytest.raises(rk.DataError, match="ndcg@10 has no value on this data"):
        rk.local_optimality(LinearScorer(TRUE), blank)
    data.save(tmp_path / "bins")
    bins = rk.read(tmp_path / "bins")
    model = rk.LambdaBoost(n_estimators=2).fit(data)
    for each in (model, LinearScorer(TRUE)):
        with pytest.raises(rk.DataError, match="only bins"):
            rk.local_optimality(each, bins)
