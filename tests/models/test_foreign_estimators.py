"""scikit-learn models as base models: those that become numbers, and those that stay themselves."""

import json
from functools import cache

import numpy as np
import pytest
from sklearn import ensemble, linear_model, svm, tree
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, PolynomialFeatures, RobustScaler, StandardScaler

import rankinite as rk
from rankinite.models import NotFittedError
from rankinite.models.base_model import as_scorer
from rankinite.models.foreign.estimators import LinearEstimator, OtherEstimator
from rankinite.models.storage import from_state, to_state
from tests.models.foreign_models import N_FEATURES, QUICK, frame_of, qid_of, train_and_valid

LINEAR = [
    linear_model.LinearRegression(),
    linear_model.Ridge(),
    linear_model.Lasso(0.01),
    linear_model.ElasticNet(0.01, fit_intercept=False),
    linear_model.SGDRegressor(random_state=0),
    linear_model.HuberRegressor(),
    svm.LinearSVR(),
    svm.SVR(kernel="linear"),
    make_pipeline(StandardScaler(), linear_model.Ridge()),
    make_pipeline(StandardScaler(with_mean=False), linear_model.Ridge()),
    make_pipeline(StandardScaler(with_std=False), "passthrough", linear_model.Ridge()),
    make_pipeline(RobustScaler(), MaxAbsScaler(), StandardScaler(), linear_model.Lasso(0.01)),
]
LINEAR_CLASSIFIERS = [
    linear_model.LogisticRegression(),
    make_pipeline(StandardScaler(), svm.LinearSVC()),
]
TREES = [
    tree.DecisionTreeRegressor(random_state=0),
    tree.ExtraTreeRegressor(random_state=0),
    ensemble.RandomForestRegressor(7, random_state=0),
    ensemble.ExtraTreesRegressor(7, max_leaf_nodes=9, random_state=0),
    ensemble.HistGradientBoostingRegressor(max_iter=3),
]
# Those that take no missing values.
DENSE_TREES = [
    ensemble.GradientBoostingRegressor(n_estimators=7, random_state=0),
    ensemble.GradientBoostingRegressor(n_estimators=7, init="zero", loss="huber", random_state=0),
]
OTHERS = [
    linear_model.PoissonRegressor(),
    make_pipeline(PolynomialFeatures(), linear_model.Ridge()),
    KNeighborsRegressor(),
    svm.SVR(),
    ensemble.GradientBoostingRegressor(n_estimators=3, init=linear_model.Ridge()),
    ensemble.HistGradientBoostingRegressor(max_iter=3, loss="poisson"),
    ensemble.HistGradientBoostingRegressor(max_iter=3, categorical_features=[0]),
]


@cache
def rows():
    """Features without missing values, the first of few values; labels; query ids."""
    train, _ = train_and_valid()
    X = np.nan_to_num(train.X)
    X[:, 0] = np.arange(len(X)) % 5
    return X, train.y + (X[:, 0] == 3), qid_of(train)


def round_trip(scorer):
    state, arrays = to_state(scorer)
    return from_state(json.loads(json.dumps(state)), arrays)


@pytest.mark.parametrize("model", LINEAR, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_linear_models(model, dtype):
    X, y, _ = rows()
    scorer = as_scorer(model.fit(X.astype(dtype), y))
    assert isinstance(scorer, LinearEstimator)
    scores = scorer.predict(X)
    allowed = 1e-5 if dtype == np.float32 else 1e-12
    assert np.allclose(scores, model.predict(X.astype(dtype)), rtol=allowed, atol=allowed)
    assert np.array_equal(round_trip(scorer).predict(X), scores)
    assert scorer.predict(X[5:6])[0] == scores[5], "a row scores the same in every batch"


@pytest.mark.parametrize("model", LINEAR_CLASSIFIERS, ids=str)
def test_linear_classifiers_score_by_their_decision(model):
    X, y, _ = rows()
    scorer = as_scorer(model.fit(X, y > 1))
    assert isinstance(scorer, LinearEstimator)
    assert np.allclose(scorer.predict(X), model.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("model", [*TREES, *DENSE_TREES], ids=str)
def test_trees(model):
    X, y, _ = rows()
    scorer = as_scorer(model.fit(X, y))
    assert isinstance(scorer, rk.Imported)
    copy = round_trip(scorer)
    at_thresholds = np.random.default_rng(0).choice(scorer.forest_.threshold, X.shape)
    for features in (X, X.astype(np.float64) + 1e-9, at_thresholds, np.nextafter(X, 9)):
        assert np.array_equal(scorer.predict(features), model.predict(features))
        assert np.array_equal(copy.predict(features), model.predict(features))


@pytest.mark.parametrize("model", TREES, ids=str)
def test_trees_with_missing_values(model):
    train, valid = train_and_valid()
    scorer = as_scorer(model.fit(train.X, train.y))
    assert isinstance(scorer, rk.Imported)
    for X in (train.X, valid.X):
        assert np.array_equal(scorer.predict(X), model.predict(X))


def test_a_forest_of_several_jobs():
    X, y, _ = rows()
    model = ensemble.RandomForestRegressor(30, n_jobs=2, random_state=0).fit(X, y)
    scorer = as_scorer(model)
    assert isinstance(scorer, rk.Imported)
    assert np.array_equal(scorer.predict(X), model.set_params(n_jobs=1).predict(X))


@pytest.mark.parametrize("model", OTHERS, ids=str)
def test_other_models_score_and_are_not_saved(model, tmp_path):
    X, y, qid = rows()
    scorer = as_scorer(model.fit(X, y))
    assert isinstance(scorer, OtherEstimator)
    assert np.array_equal(scorer.predict(X), model.predict(X))
    ranker = rk.LambdaMART(base_model=model, **QUICK).fit(X, y, qid=qid)
    assert np.array_equal(ranker.predict(X, n_rounds=0), model.predict(X))
    kind = type(model).__name__
    with pytest.raises(rk.ModelFileError, match=f"^a {kind} cannot be kept in a model file: use"):
        ranker.save(tmp_path / "model.rk")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "model", [linear_model.Ridge(), ensemble.RandomForestRegressor(5, n_jobs=2)], ids=str
)
def test_one_file_for_any_number_of_threads(model, tmp_path):
    X, y, qid = rows()
    model.fit(X, y)
    expected = None
    for n_threads in (1, 2):
        ranker = rk.LambdaMART(base_model=model, n_threads=n_threads, **QUICK).fit(X, y, qid=qid)
        ranker.save(tmp_path / "model.rk")
        expected = expected or (tmp_path / "model.rk").read_bytes()
        assert (tmp_path / "model.rk").read_bytes() == expected
    copy = rk.load(tmp_path / "model.rk")
    assert np.array_equal(copy.predict(X), ranker.predict(X))
    copy.save(tmp_path / "again.rk")
    assert (tmp_path / "again.rk").read_bytes() == expected


def test_two_classes_and_more():
    X, y, qid = rows()
    forest = ensemble.RandomForestClassifier(5, random_state=0)
    assert np.array_equal(as_scorer(forest.fit(X, y > 1)).predict(X), forest.predict_proba(X)[:, 1])
    boosted = ensemble.GradientBoostingClassifier(n_estimators=3).fit(X, y > 1)
    assert np.array_equal(as_scorer(boosted).predict(X), boosted.decision_function(X))
    for model in (forest.fit(X, y), linear_model.LogisticRegression().fit(X, y)):
        expected = f"base_model, a {type(model).__name__}, tells {len(np.unique(y))} classes apart"
        with pytest.raises(rk.DataError, match=expected):
            rk.LambdaMART(base_model=model, **QUICK).fit(X, y, qid=qid)


def test_several_outputs():
    X, y, qid = rows()
    targets = np.column_stack([y, -y, y])
    for model in (linear_model.Ridge(), tree.DecisionTreeRegressor()):
        expected = f"base_model, a {type(model).__name__}, has 3 scores a row, and one is needed"
        with pytest.raises(rk.DataError, match=expected):
            rk.LambdaMART(base_model=model.fit(X, targets), **QUICK).fit(X, y, qid=qid)


@pytest.mark.parametrize(
    "model", [linear_model.Ridge(), *DENSE_TREES[:1], svm.SVR()], ids=lambda m: type(m).__name__
)
def test_models_that_take_no_missing_values(model):
    X, y, qid = rows()
    holes = X.copy()
    holes[7, 2] = np.nan
    expected = (
        f"a {type(model).__name__},? takes no missing values, but feature 3 is missing "
        "in row 7: fill them in"
    )
    with pytest.raises(rk.DataError, match=expected):
        rk.LambdaMART(base_model=model.fit(X, y), **QUICK).fit(holes, y, qid=qid)


def test_models_that_fail():
    X, y, qid = rows()

    class Broken(linear_model.Ridge):
        def predict(self, X):
            raise ValueError("no luck\ntoday.")

    with pytest.raises(rk.DataError, match=r"^base_model, a Broken, cannot score .*: no luck$"):
        rk.LambdaMART(base_model=Broken().fit(X, y), **QUICK).fit(X, y, qid=qid)
    for model in (linear_model.Ridge(), svm.SVR(), make_pipeline(linear_model.Ridge())):
        with pytest.raises(NotFittedError, match="that is not trained: call its fit first"):
            rk.LambdaMART(base_model=model, **QUICK).fit(X, y, qid=qid)


@pytest.mark.parametrize("model", [linear_model.Ridge(), tree.DecisionTreeRegressor(), svm.SVR()])
def test_other_features(model):
    X, y, qid = rows()
    with pytest.raises(rk.DataError, match="base_model has 4 features, but the data has 6: pass"):
        rk.LambdaMART(base_model=model.fit(X[:, :4], y), **QUICK).fit(X, y, qid=qid)
    if not isinstance(model, svm.SVR):
        with pytest.raises(
            rk.DataError,
            match=r"X has the shape \(3, 5\)|the data has 5",
        ):
            as_scorer(model).predict(X[:3, :5])
    names = [f"n{j}" for j in range(N_FEATURES)]
    model.fit(frame_of(X, names), y)
    rk.LambdaMART(base_model=model, **QUICK).fit(frame_of(X, names), y, qid=qid)
    with pytest.raises(rk.DataError, match="trained with 'n0' as feature 1, but the data has 'n5'"):
        rk.LambdaMART(base_model=model, **QUICK).fit(frame_of(X, names[::-1]), y, qid=qid)


def test_damaged_numbers():
    X, y, _ = rows()
    for model, changes in (
        (
            linear_model.Ridge(),
            [("intercept", np.nan), ("intercept", "x"), ("feature_names", ["a"])],
        ),
        (
            tree.DecisionTreeRegressor(),
            [("divisor", 0), ("start", np.inf), ("n_features", 0), ("feature_names", ["a"])],
        ),
    ):
        state, arrays = to_state(as_scorer(model.fit(X, y)))
        for name, value in changes:
            with pytest.raises(rk.ModelFileError, match="model file"):
                from_state(state | {name: value}, arrays)
        for name, array in arrays.items():
            for wrong in (array[np.newaxis], array.astype(np.float16)):
                with pytest.raises(rk.ModelFileError, match="model file"):
                    from_state(state, arrays | {name: wrong})
