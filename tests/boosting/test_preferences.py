"""LambdaMART from preference pairs instead of labels."""

import numpy as np
import pytest

import rankinite as rk
from rankinite.training import Checkpoint
from tests.boosting.small import QUICK, StopAfter, qid_of, train_and_valid
from tests.subjects import plain_rows, quiet, saved


def from_labels(data, labels=False):
    """The data with all pairs of its labels, and without labels."""
    pairs = rk.Preferences.from_labels(data)
    y = data.y if labels else None
    return rk.Dataset(data.X, y, qid=qid_of(data)).with_preferences(pairs)


def some_pairs(seed=0, n_pairs=900):
    """X, qid and pairs (by row numbers) with cycles, duplicates and documents of equal features."""
    X, y, qid = plain_rows()
    rng = np.random.default_rng(seed)
    X = X.copy()
    X[1::4] = X[::4]  # pairs of twins, with pairs of their own
    first = rng.integers(0, len(y), n_pairs)
    start = first // 20 * 20
    other = start + (first - start + rng.integers(1, 20, n_pairs)) % 20
    gap = y[first] - y[other] + rng.normal(size=n_pairs)
    preferred, other = np.where(gap > 0, first, other), np.where(gap > 0, other, first)
    return X, qid, preferred, other, rng.uniform(0.3, 1, n_pairs), rng.uniform(0, 2, n_pairs)


def data_of(X, qid, preferred, other, probability, weight, **more):
    rows = quiet(X, qid=qid, **more)
    return rows.with_preferences(
        preferred=preferred, other=other, probability=probability, weight=weight
    )


def make(**params):
    return rk.LambdaMART(**{**QUICK, **params})


def test_pairs_of_labels_teach_what_the_measure_pairs_teaches():
    train, valid = train_and_valid()
    alone = {"normalize": False, "squares": 0, "noise": 0}
    of_labels = make(measure="pairs", n_estimators=15, **alone).fit(train)
    of_pairs = make(n_estimators=15).fit(from_labels(train))
    np.testing.assert_allclose(of_pairs.predict(valid), of_labels.predict(valid), atol=1e-5)
    ours, theirs = (model.forest_.to_arrays() for model in (of_pairs, of_labels))
    for name in ("feature", "threshold"):
        assert np.array_equal(ours[name], theirs[name])


def test_labels_and_weights_of_documents_play_no_part(tmp_path):
    train, _ = train_and_valid()
    plain = make().fit(from_labels(train))
    labelled = make(measure="err@5", normalize=False).fit(from_labels(train, labels=True))
    weight = np.linspace(0.1, 2, train.n_rows)
    weighed = rk.Dataset(train.X, qid=qid_of(train), weight=weight)
    weighed = make().fit(weighed.with_preferences(rk.Preferences.from_labels(train)))
    for model in (labelled, weighed):
        assert np.array_equal(model.predict(train), plain.predict(train))


@pytest.mark.parametrize(
    "params",
    [{}, {"row_fraction": 0.5, "feature_fraction": 0.6}, {"split": "newton", "sigma": 0.3}],
    ids=str,
)
def test_order_of_rows_and_pairs_means_nothing(params, tmp_path):
    X, qid, *pairs = some_pairs()
    valid = data_of(*some_pairs(1))
    params = {**params, "valid_measure": "pair_log_loss"}
    expected = saved(make(**params).fit(data_of(X, qid, *pairs), valid=valid), tmp_path)
    rng = np.random.default_rng(2)
    for _ in range(2):
        rows, order = rng.permutation(len(X)), rng.permutation(len(pairs[0]))
        place = np.argsort(rows)
        first, other, probability, weight = (array[order] for array in pairs)
        moved = data_of(X[rows], qid[rows], place[first], place[other], probability, weight)
        X_valid, qid_valid, *valid_pairs = some_pairs(1)
        order = rng.permutation(len(valid_pairs[0]))
        valid = data_of(X_valid, qid_valid, *(array[order] for array in valid_pairs))
        assert saved(make(**params).fit(moved, valid=valid), tmp_path) == expected


def test_threads_do_not_matter(tmp_path):
    train, valid = data_of(*some_pairs()), data_of(*some_pairs(1))
    files = {saved(make(n_threads=n).fit(train, valid=valid), tmp_path) for n in (1, 2, None)}
    assert len(files) == 1


def test_binned_data_is_enough(tmp_path):
    train = data_of(*some_pairs())
    train.save(tmp_path / "bins")
    expected = saved(make().fit(train), tmp_path)
    assert saved(make().fit(rk.read(tmp_path / "bins")), tmp_path) == expected


def test_saving_and_loading(tmp_path):
    train, valid = data_of(*some_pairs()), data_of(*some_pairs(1))
    model = make(valid_measure="pair_log_loss").fit(train, valid=valid)
    first = saved(model, tmp_path)
    copy = rk.load(tmp_path / "model.rk")
    assert copy.get_params() == model.get_params() and copy.history_ == model.history_
    assert np.array_equal(copy.predict(train), model.predict(train))
    assert saved(copy, tmp_path) == first


@pytest.mark.parametrize("params", [{}, {"row_fraction": 0.5, "early_stopping": 2}], ids=str)
def test_resumed_is_uninterrupted(params, tmp_path):
    params = {**params, "valid_measure": "pair_log_loss", "learning_rate": 1.0}
    train, valid = data_of(*some_pairs()), data_of(*some_pairs(1))
    expected = saved(make(**params).fit(train, valid=valid), tmp_path)
    path = tmp_path / "run.rk"
    with pytest.raises(KeyboardInterrupt):
        make(**params).fit(train, valid=valid, callbacks=[Checkpoint(path), StopAfter(2)])
    again = make(**params).fit(train, valid=valid, resume=path)
    assert saved(again, tmp_path) == expected
    other = data_of(*some_pairs(5))
    with pytest.raises(rk.DataError, match="the checkpoint was trained on other data"):
        make(**params).fit(other, valid=valid, resume=path)


def test_cycles_and_even_odds_teach_nothing():
    X, _, qid = plain_rows()
    first = np.arange(len(X))
    # Each document beats the next one of its query, and the last one the first.
    other = first // 20 * 20 + (first + 1) % 20
    same = np.repeat(X[::20], 20, axis=0)
    cycle = rk.Dataset(same, qid=qid).with_preferences(preferred=first, other=other)
    assert np.ptp(make().fit(cycle).predict(X)) == 0
    even = rk.Dataset(X, qid=qid).with_preferences(
        preferred=first, other=other, probability=np.full(len(X), 0.5)
    )
    assert np.ptp(make().fit(even).predict(X)) == 0


def test_probabilities_are_learned():
    # Two kinds of documents, of which one wins three times out of four.
    X, qid = np.tile([[1.0], [0.0]], (50, 1)), np.repeat(np.arange(50), 2)
    rows = np.arange(0, 100, 2)
    data = rk.Dataset(X, qid=qid)
    settings = {"n_estimators": 100, "learning_rate": 0.3, "min_samples_leaf": 1, "sigma": 2.0}
    surely = data.with_preferences(
        preferred=rows, other=rows + 1, probability=np.full(50, 0.75), weight=np.full(50, 3.0)
    )
    often = data.with_preferences(
        preferred=np.concatenate([rows, rows, rows, rows + 1]),
        other=np.concatenate([rows + 1, rows + 1, rows + 1, rows]),
    )
    turned = data.with_preferences(preferred=rows + 1, other=rows, probability=np.full(50, 0.25))
    for each in (surely, often, turned):
        model = make(**settings).fit(each)
        above, below = model.predict([[1.0], [0.0]])
        assert above - below == pytest.approx(np.log(3) / 2, abs=1e-6)


def test_weights_of_pairs_and_queries(tmp_path):
    X, qid, first, other, probability, weight = some_pairs()
    whole = np.ceil(weight)
    heavy = make().fit(data_of(X, qid, first, other, probability, whole))
    often = whole.astype(int)
    repeated = (np.repeat(array, often) for array in (first, other, probability))
    again = make().fit(data_of(X, qid, *repeated, None))
    np.testing.assert_allclose(again.predict(X), heavy.predict(X), atol=1e-9)
    of_query = np.arange(1.0, 31.0)
    by_query = data_of(X, qid, first, other, probability, whole, query_weight=of_query)
    by_pair = data_of(X, qid, first, other, probability, whole * of_query[first // 20])
    np.testing.assert_allclose(
        make().fit(by_query).predict(X), make().fit(by_pair).predict(X), atol=1e-9
    )


def test_what_is_watched():
    train, valid = train_and_valid()
    both = {"labels": valid, "pairs": from_labels(valid), "both": from_labels(valid, labels=True)}
    model = make().fit(from_labels(train), valid=both)
    watched = {name: list(values) for name, values in model.history_.items()}
    assert watched == {
        "labels": ["ndcg@10"],
        "pairs": ["pair_accuracy"],
        "both": ["pair_accuracy"],
    }
    last = rk.evaluate(model, both["pairs"])["pair_accuracy"]
    assert model.history_["pairs"]["pair_accuracy"][-1] == last
    of_labels = make(valid_measure="ndcg@5").fit(from_labels(train), valid=both["both"])
    assert list(of_labels.history_["valid"]) == ["ndcg@5"]


@pytest.mark.parametrize("ranker", [rk.LambdaMART, rk.MART])
def test_early_stopping_by_the_lowest_log_loss(ranker):
    train, valid = train_and_valid()
    settings = {**QUICK, "n_estimators": 60, "learning_rate": 1.0, "sigma": 2.0}
    settings["valid_measure"] = "pair_log_loss"
    data = from_labels(train) if ranker is rk.LambdaMART else train
    model = ranker(early_stopping=3, **settings).fit(data, valid=from_labels(valid))
    values = model.history_["valid"]["pair_log_loss"]
    best = int(np.argmin(values)) + 1
    assert len(values) == best + 3 < 60
    assert model.best_iteration_ == best == model.forest_.n_trees
    assert rk.evaluate(model, from_labels(valid))["pair_log_loss"] == values[best - 1]
    full = ranker(**settings).fit(data, valid=from_labels(valid))
    assert full.best_iteration_ == int(np.argmin(full.history_["valid"]["pair_log_loss"])) + 1


def test_learns(tmp_path):
    train, valid = train_and_valid()
    model = make(n_estimators=40).fit(from_labels(train), valid=from_labels(valid))
    assert model.history_["valid"]["pair_accuracy"][-1] > 0.85


def test_base_model():
    train, valid = train_and_valid()
    general = make().fit(from_labels(train))
    both = make(base_model=general).fit(from_labels(train))
    whole = make(n_estimators=2 * QUICK["n_estimators"]).fit(from_labels(train))
    np.testing.assert_allclose(both.predict(valid), whole.predict(valid), atol=1e-9)


def test_what_does_not_go_together():
    train, valid = train_and_valid()
    pairs = from_labels(train)
    with pytest.raises(rk.ParameterError, match="truncation=3 does not apply to preference pairs"):
        make(truncation=3).fit(pairs)
    with pytest.raises(rk.ParameterError, match=r"^measure is wrong: pair_accuracy can be watched"):
        make(measure="pair_accuracy").fit(pairs)
    with pytest.raises(rk.DataError, match="'valid' has no preferences, on which pair_accuracy"):
        make(valid_measure="pair_accuracy").fit(pairs, valid=valid)
    with pytest.raises(rk.DataError, match="'valid' has no labels, on which ndcg@5 is measured"):
        make(valid_measure="ndcg@5").fit(pairs, valid=from_labels(valid))
    even = pairs.with_preferences(preferred=[0], other=[1], probability=[0.5])
    with pytest.raises(rk.DataError, match="early_stopping cannot watch pair_accuracy"):
        make(early_stopping=2).fit(pairs, valid=even)


def test_folds():
    train, _ = train_and_valid()
    for part, held_out in from_labels(train).folds(3):
        model = make(n_estimators=20).fit(part)
        assert rk.evaluate(model, held_out)["pair_accuracy"] > 0.7


@pytest.mark.parametrize("kind", [rk.MART, rk.McRank, rk.LambdaBoost, rk.LambdaRank])
def test_rankers_that_need_labels_say_so(kind):
    X = np.arange(12.0).reshape(6, 2)
    data = rk.Dataset(X, qid=np.zeros(6)).with_preferences(preferred=[0, 1], other=[2, 3])
    message = f"preferences and no labels, and a {kind.__name__} learns from labels"
    with pytest.raises(rk.DataError, match=message):
        kind().fit(data)
