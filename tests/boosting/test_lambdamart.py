import doctest

import numpy as np
import pytest

import rankinite as rk
from rankinite.boosting import auto, lambdamart, mart, mcrank
from rankinite.lambdas import LambdaGradients
from tests.boosting.small import QUICK, qid_of, train_and_valid, with_labels

MEASURES = ["ndcg@10", "dcg@5", "err@10", "map", "mrr", "p@3", "pairs", "avendcg", "ndcg"]


@pytest.mark.parametrize("module", [lambdamart, mart, mcrank])
def test_examples(module):
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0 and outcome.failed == 0


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_learns_itself(name, normalize):
    train, _ = train_and_valid()
    settings = {**QUICK, "n_estimators": 15, "max_leaf_nodes": 12}
    model = rk.LambdaMART(measure=name, normalize=normalize, **settings).fit(train)
    untrained = rk.evaluate(np.zeros(train.n_rows), train, name)[name]
    trained = rk.evaluate(model, train, name)[name]
    best = rk.evaluate(train.y, train, name)[name]
    assert trained - untrained > 0.5 * (best - untrained)


class BestInFirstThree(rk.Measure):
    name = "best3"

    def value(self, labels):
        return float(labels[:3].max())


def test_a_measure_of_ones_own_learns(tmp_path):
    train, valid = train_and_valid()
    own = BestInFirstThree()
    model = rk.LambdaMART(measure=own, early_stopping=8, **{**QUICK, "n_estimators": 10})
    model.fit(train, valid={"train": train, "valid": valid})
    values = model.history_["train"]["best3"]
    assert values[model.best_iteration_ - 1] == rk.evaluate(model, train, own)["best3"]
    assert max(values) > rk.evaluate(np.zeros(train.n_rows), train, own)["best3"] + 0.3
    model.save(tmp_path / "own.rk")
    copy = rk.load(tmp_path / "own.rk")
    assert copy.measure == "best3"
    assert copy.predict(train).tobytes() == model.predict(train).tobytes()


@pytest.mark.parametrize("split", ["least_squares", "newton"])
@pytest.mark.parametrize("normalize", [True, False])
def test_sigma_scales_the_scores_and_nothing_else(split, normalize):
    train, _ = train_and_valid()

    def fitted(sigma):
        return rk.LambdaMART(sigma=sigma, split=split, normalize=normalize, **QUICK).fit(train)

    one = fitted(1.0)
    for sigma in (0.25, 2.0, 4.0):
        other = fitted(sigma)
        for part in ("feature", "threshold", "left", "right", "missing_left", "count"):
            assert np.array_equal(getattr(other.forest_, part), getattr(one.forest_, part))
        assert (other.predict(train) * sigma).tobytes() == one.predict(train).tobytes()
    # A sigma that is no power of two rounds differently; one tree is too few for that to matter.
    three = fitted(3.0)
    assert np.allclose(
        three.predict(train, n_rounds=1) * 3, one.predict(train, n_rounds=1), atol=1e-9
    )


def test_one_tree_is_the_newton_step_of_its_leaves():
    train, _ = train_and_valid()
    settings = {**QUICK, "n_estimators": 1, "learning_rate": 0.3, "sigma": 1.5, "squares": 0}
    model = rk.LambdaMART(normalize=False, truncation=None, noise=0, **settings).fit(train)
    from rankinite.order.row_keys import row_keys

    keys = row_keys(train.binned(255), train.y, None, train.offsets)
    gradients = LambdaGradients(
        rk.measure("ndcg@10").resolve(train.y), train.y, train.offsets, keys, sigma=1.5
    )
    lam, w = gradients(np.zeros(train.n_rows), 0)
    scores = model.predict(train)
    leaves = np.unique(scores)
    assert len(leaves) == model.forest_.value.size == 6
    for value in leaves:
        rows = np.flatnonzero(scores == value)
        assert value == pytest.approx(0.3 * lam[rows].sum() / w[rows].sum(), rel=1e-9)


def test_newton_splits_differ_and_learn():
    train, _ = train_and_valid()
    least, newton = (
        rk.LambdaMART(split=s, **QUICK).fit(train) for s in ("least_squares", "newton")
    )
    assert not np.array_equal(least.predict(train), newton.predict(train))
    for model in (least, newton):
        assert rk.evaluate(model, train)["ndcg@10"] > 0.7


@pytest.mark.parametrize("fraction", ["row_fraction", "feature_fraction", "importance_fraction"])
def test_fractions_learn_and_a_fraction_of_one_is_all(fraction):
    train, _ = train_and_valid()
    settings = {**QUICK, "n_estimators": 20}
    half = rk.LambdaMART(**{**settings, fraction: 0.5}).fit(train)
    assert rk.evaluate(half, train)["ndcg@10"] > 0.75
    # A share so small that no row, or only one feature, is drawn.
    tiny = rk.LambdaMART(**{**settings, fraction: 1e-9}).fit(train)
    assert np.isfinite(tiny.predict(train)).all()
    if fraction != "feature_fraction":
        assert np.ptp(tiny.predict(train)) == 0
    whole = rk.LambdaMART(**{**settings, fraction: 1.0}).fit(train)
    almost = rk.LambdaMART(**{**settings, fraction: 1 - 1e-16}).fit(train)
    if fraction != "importance_fraction":
        # Importances have classes, and of the least one not every document is drawn.
        assert np.array_equal(whole.predict(train), almost.predict(train))


def test_auto_says_what_it_chose(tmp_path, monkeypatch):
    train, _ = train_and_valid()
    few = rk.LambdaMART(n_estimators=2).fit(train)
    told = {"importance_fraction": auto.LARGEST_SHARE, "truncation": 60, "noise": 0.5}
    assert few.chosen_ == told
    same = rk.LambdaMART(n_estimators=2, **told).fit(train)
    assert same.chosen_ == {}
    assert np.array_equal(few.predict(train), same.predict(train))
    few.save(tmp_path / "few.rk")
    assert rk.load(tmp_path / "few.rk").chosen_ == few.chosen_
    monkeypatch.setattr(auto, "MANY_ROWS", train.n_rows)
    monkeypatch.setattr(auto, "ROWS_OF_SHARE", train.n_rows / 2)
    many = rk.LambdaMART("map", n_estimators=2).fit(train)
    assert many.chosen_ == {"importance_fraction": 0.5, "noise": 0.0}
    for kind in (rk.MART, rk.McRank):
        assert kind(n_estimators=2).fit(train).chosen_ == {}
        found = kind(n_estimators=2, importance_fraction="auto").fit(train)
        assert found.chosen_ == {"importance_fraction": 0.5}
        same = kind(n_estimators=2, importance_fraction=0.5).fit(train)
        assert np.array_equal(found.predict(train), same.predict(train))


@pytest.mark.parametrize(
    ("spec", "few", "many"),
    [
        *(("ndcg@3", 60, 30), ("ndcg@20", 120, 60), ("err@10", 60, 30), ("map@100", 600, 300)),
        *(("ndcg", None, None), ("map", None, None), ("p@3", None, None), ("avendcg", None, None)),
    ],
)
def test_how_deep_auto_goes(spec, few, many):
    sizes = (auto.MANY_ROWS - 1, auto.MANY_ROWS)
    found = [auto.auto_values(n, rk.measure(spec))["truncation"] for n in sizes]
    assert found == [few, many]


def test_how_many_documents_auto_draws():
    """So many of them, as long as that is neither too large a share nor too small a one."""
    wanted, most, least = auto.ROWS_OF_SHARE, auto.LARGEST_SHARE, auto.SMALLEST_SHARE
    assert 0 < least < 0.5 < most < 1
    for n_rows, expected in (
        *((1, most), (wanted // 2, most), (wanted, most)),
        *((2 * wanted, 0.5), (1000 * wanted, least)),
    ):
        for learned in (rk.measure("ndcg@10"), None):
            assert auto.auto_values(n_rows, learned)["importance_fraction"] == expected


def test_the_history_is_what_evaluate_says():
    train, valid = train_and_valid()
    model = rk.LambdaMART(measure="map", valid_measure="err@5", **QUICK)
    model.fit(train, valid={"train": train, "late": valid})
    assert set(model.history_) == {"train", "late"}
    for name, rows in (("train", train), ("late", valid)):
        values = model.history_[name]["err@5"]
        expected = [
            rk.evaluate(model.predict(rows, n_rounds=k + 1), rows, "err@5")["err@5"]
            for k in range(QUICK["n_estimators"])
        ]
        assert values == expected
    assert model.best_iteration_ == np.argmax(model.history_["late"]["err@5"]) + 1


def test_importances():
    train, _ = train_and_valid()
    model = rk.LambdaMART(**QUICK).fit(train)
    assert model.feature_importances_.sum() == pytest.approx(1)
    counts = model.feature_importance("count")
    assert counts.tolist() == [(model.forest_.feature == f).sum() for f in range(8)]
    gains = model.feature_importance()
    assert gains[0] == pytest.approx(model.forest_.gain[model.forest_.feature == 0].sum())
    with pytest.raises(
        rk.ParameterError, match="kind must be one of 'gain', 'count', 'permutation', got 'cover'"
    ):
        model.feature_importance("cover")
    flat = rk.LambdaMART(**QUICK).fit(with_labels(train, np.zeros(train.n_rows)))
    assert (flat.feature_importances_ == 0).all()


def test_labels_that_the_measure_cannot_use_are_named():
    train, _ = train_and_valid()
    X, qid = train.X, qid_of(train)
    for labels, message in (
        (train.y - 1, "a document of query 0 has the label -1, .* labels of 0 or more .ndcg@10."),
        (train.y + 0.5, "has the label 0.5, .* whole numbers: use gain=label or the measure pairs"),
        (train.y * 2000, "has the label .*allows labels up to 1000"),
    ):
        with pytest.raises(rk.DataError, match=message):
            rk.LambdaMART(**QUICK).fit(X, labels, qid=qid)
    for spec in ("ndcg@10:gain=label", "pairs"):
        scores = rk.LambdaMART(measure=spec, **QUICK).fit(X, train.y + 0.5, qid=qid).predict(X)
        assert np.ptp(scores) > 0


def test_truncation_limits_the_pairs():
    train, _ = train_and_valid()
    few, all_pairs, more = (
        rk.LambdaMART(measure="pairs", truncation=t, **QUICK).fit(train).predict(train)
        for t in (2, None, 1000)
    )
    assert not np.array_equal(few, all_pairs)
    assert np.array_equal(more, all_pairs)
