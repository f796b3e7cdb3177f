import numpy as np
import pytest

import rankinite as rk
from rankinite.models import LinearScorer, NotFittedError, save
from rankinite.training import Checkpoint
from tests.boosting.small import QUICK, qid_of, train_and_valid

WEIGHTS = np.linspace(-1, 1, 8)


def linear(X):
    return X.astype(np.float64) @ WEIGHTS


def bases():
    from sklearn.linear_model import LinearRegression

    train, _ = train_and_valid()
    return {
        "ranker": rk.MART(**QUICK).fit(train),
        "weights": WEIGHTS,
        "list": WEIGHTS.tolist(),
        "function": linear,
        "scikit-learn": LinearRegression().fit(train.X, train.y),
        "column": LinearRegression().fit(train.X, train.y[:, np.newaxis]),
    }


def scores_of_base(base, X):
    if isinstance(base, (np.ndarray, list)):
        return linear(X)
    return np.ravel(base.predict(X) if hasattr(base, "predict") else base(X))


@pytest.mark.parametrize("kind", bases())
@pytest.mark.parametrize("make", [rk.LambdaMART, rk.MART])
def test_trees_are_added_to_the_scores_of_the_base(kind, make):
    train, valid = train_and_valid()
    base = bases()[kind]
    model = make(base_model=base, **QUICK).fit(train, valid=valid)
    for X in (train.X, valid.X):
        expected = scores_of_base(base, X)
        assert np.allclose(model.predict(X, n_rounds=0), expected, rtol=0, atol=1e-6)
        # What the trees add is what the leaves say.
        added = model.predict(X) - model.predict(X, n_rounds=0)
        assert np.ptp(added) > 0
    for rows in (train, valid):
        assert np.array_equal(model.predict(rows), model.predict(rows.X))
    values = model.history_["valid"]["ndcg@10"]
    assert values[-1] == rk.evaluate(model, valid, "ndcg@10")["ndcg@10"]
    # The first tree sees the scores of the base: another base gives another tree.
    other = make(base_model=np.zeros(8), **QUICK).fit(train)
    assert not np.array_equal(model.forest_.value, other.forest_.value)


def test_a_base_of_zeros_is_no_base():
    train, _ = train_and_valid()
    plain = rk.LambdaMART(**QUICK).fit(train)
    zeros = rk.LambdaMART(base_model=[0.0] * 8, **QUICK).fit(train)
    assert np.array_equal(zeros.predict(train), plain.predict(train))


def test_boosting_goes_on_from_a_base():
    train, _ = train_and_valid()
    base = rk.MART(n_estimators=3, max_leaf_nodes=6, min_samples_leaf=5).fit(train)
    more = rk.MART(base_model=base, n_estimators=3, max_leaf_nodes=6, min_samples_leaf=5).fit(train)
    whole = rk.MART(n_estimators=6, max_leaf_nodes=6, min_samples_leaf=5).fit(train)
    assert np.array_equal(more.predict(train), whole.predict(train))


def test_models_inside_models_are_saved(tmp_path):
    train, valid = train_and_valid()
    inner = rk.LambdaMART(base_model=WEIGHTS, **QUICK).fit(train)
    middle = rk.MART(base_model=inner, **QUICK).fit(train)
    outer = rk.LambdaMART(base_model=middle, measure="map", **QUICK).fit(train)
    for depth, model in enumerate((inner, middle, outer)):
        model.save(tmp_path / "a.rk")
        copy = rk.load(tmp_path / "a.rk")
        assert np.array_equal(copy.predict(valid), model.predict(valid))
        copy.save(tmp_path / "b.rk")
        assert (tmp_path / "a.rk").read_bytes() == (tmp_path / "b.rk").read_bytes()
        for _ in range(depth + 1):
            copy = copy.base_model
        assert isinstance(copy, LinearScorer) and np.array_equal(copy.weights, WEIGHTS)


def test_weights_are_saved_and_loaded_on_their_own(tmp_path):
    _, valid = train_and_valid()
    save(LinearScorer(WEIGHTS), tmp_path / "linear.rk")
    copy = rk.load(tmp_path / "linear.rk")
    assert np.array_equal(copy.predict(valid.X), LinearScorer(WEIGHTS).predict(valid.X))


class Unknown:
    """What no library knows: it can score, and no more."""

    def predict(self, X):
        return linear(X)


@pytest.mark.parametrize(
    ("base", "name"), [(linear, "function"), (Unknown(), "Unknown")], ids=["function", "object"]
)
def test_bases_that_cannot_be_saved(base, name, tmp_path):
    train, _ = train_and_valid()
    expected = f"^a {name} cannot be kept in a model file: use"
    model = rk.LambdaMART(base_model=base, **QUICK).fit(train)
    with pytest.raises(rk.ModelFileError, match=expected):
        model.save(tmp_path / "x.rk")
    # Whoever wants checkpoints is told before the training, not at the first of them.
    rounds = Counting()
    outer = rk.MART(base_model=model, **QUICK)
    for learner in (rk.LambdaMART(base_model=base, **QUICK), outer):
        with pytest.raises(rk.ModelFileError, match=expected):
            learner.fit(train, callbacks=[Checkpoint(tmp_path / "x.rk"), rounds])
    assert rounds.n == 0
    assert list(tmp_path.iterdir()) == []


class Counting:
    n = 0

    def after_round(self, run):
        self.n += 1
        return False

    def finish(self, run):
        pass


def test_a_base_for_other_features():
    train, _ = train_and_valid()
    narrow = rk.MART(**QUICK).fit(train.X[:, :5], train.y, qid=qid_of(train))
    with pytest.raises(rk.DataError, match="base_model has 5 features, but the data has 8: pass"):
        rk.LambdaMART(base_model=narrow, **QUICK).fit(train)
    with pytest.raises(rk.DataError, match="base_model has 5 features, but the data has 8: pass"):
        rk.LambdaMART(base_model=WEIGHTS[:5], **QUICK).fit(train)
    names = [f"n{j}" for j in range(8)]
    named = rk.Dataset(train.X, train.y, qid=qid_of(train), feature_names=names)
    base = rk.MART(**QUICK).fit(named)
    rk.LambdaMART(base_model=base, **QUICK).fit(named)
    rk.LambdaMART(base_model=base, **QUICK).fit(train)
    swapped = rk.Dataset(
        train.X, train.y, qid=qid_of(train), feature_names=[*names[:6], "n7", "n6"]
    )
    expected = "base_model was trained with 'n6' as feature 7, but the data has 'n7' there: pass"
    with pytest.raises(rk.DataError, match=expected):
        rk.LambdaMART(base_model=base, **QUICK).fit(swapped)


def test_bases_that_cannot_score():
    train, valid = train_and_valid()
    with pytest.raises(NotFittedError, match="this MART is not trained"):
        rk.LambdaMART(base_model=rk.MART(), **QUICK).fit(train)
    with pytest.raises(
        rk.DataError, match="the output of base_model, a function, has 8 scores a row"
    ):
        rk.LambdaMART(base_model=lambda X: X, **QUICK).fit(train)
    with pytest.raises(rk.DataError, match=r"base_model, a function, .* NaN or infinite \(row 2\)"):
        rk.LambdaMART(base_model=lambda X: np.where(np.arange(len(X)) == 2, np.nan, 0)).fit(train)
    with pytest.raises(rk.ParameterError, match=r"base_model cannot be used: .* finite numbers"):
        rk.LambdaMART(base_model=[np.inf] * 8).fit(train)
    with pytest.raises(rk.ParameterError, match=r"base_model must have predict, .* it is a dict"):
        rk.LambdaMART(base_model={"a": 1}).fit(train)
    with pytest.raises(rk.ParameterError, match=r"base_model is the path 'x.rk': pass what"):
        rk.LambdaMART(base_model="x.rk").fit(train)
    # What a base does wrong after training is noticed as well.
    model = rk.LambdaMART(base_model=lambda X: X[:, 0], **QUICK).fit(train)
    with pytest.raises(rk.DataError, match=r"base_model, a function, .* NaN or infinite \(row 1\)"):
        model.predict(np.vstack([valid.X[:1], np.full((1, 8), np.nan)]))


def test_a_base_that_is_right_or_wrong_beyond_doubt():
    train, _ = train_and_valid()
    for factor in (1e-300, 200.0, 720.0, 800.0, 1e6, 1e300, -720.0, -1e6):
        scores = factor * train.y

        def base(X, scores=scores):
            return scores

        for normalize in (True, False):
            model = rk.LambdaMART(base_model=base, normalize=normalize, **QUICK).fit(train)
            assert np.isfinite(model.predict(train)).all()


def test_a_linear_base_takes_missing_values_as_zero():
    X = np.array([[1.0, np.nan], [2.0, 3.0]], np.float32)
    assert LinearScorer([0.5, 2.0]).predict(X).tolist() == [0.5, 7.0]
    weights = np.ones(2)
    scorer = LinearScorer(weights)
    weights[:] = 9
    assert scorer.weights.tolist() == [1.0, 1.0]


def test_the_scores_of_a_linear_base_do_not_depend_on_the_batch():
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        X = rng.random((700, 50)).astype(dtype)
        scorer = LinearScorer(rng.normal(size=50))
        singles = [scorer.predict(X[i : i + 1])[0] for i in range(len(X))]
        assert scorer.predict(X).tolist() == singles


def test_random_state_does_not_matter_without_ties():
    train, _ = train_and_valid()
    first, second = (
        rk.LambdaMART(base_model=WEIGHTS, random_state=seed, noise=0, **QUICK)
        .fit(train)
        .predict(train)
        for seed in (1, 2)
    )
    assert np.array_equal(first, second)


def test_a_base_needs_features_not_bins(tmp_path):
    train, _ = train_and_valid()
    train.save(tmp_path / "train")
    with pytest.raises(rk.DataError, match="only bins, and LinearScorer needs feature values"):
        rk.LambdaMART(base_model=WEIGHTS, **QUICK).fit(rk.read(tmp_path / "train"))
    base = rk.MART(**QUICK).fit(train)
    model = rk.LambdaMART(base_model=base, **QUICK)
    raw = model.fit(train).predict(train)
    assert np.array_equal(model.fit(rk.read(tmp_path / "train")).predict(train), raw)


def test_clones_keep_a_trained_base():
    from sklearn.base import clone

    train, _ = train_and_valid()
    model = rk.LambdaMART(base_model=rk.MART(**QUICK).fit(train), **QUICK).fit(train)
    twin = clone(model)
    assert twin.base_model is model.base_model
    assert np.array_equal(twin.fit(train).predict(train), model.predict(train))
