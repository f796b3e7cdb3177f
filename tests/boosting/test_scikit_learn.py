"""The tools of scikit-learn take our rankers as they take its own estimators."""

import numpy as np
import pytest

import rankinite as rk
from tests.boosting.small import QUICK, qid_of, train_and_valid

sklearn = pytest.importorskip("sklearn")


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def rows():
    train, _ = train_and_valid()
    return train.X, train.y, qid_of(train)


@pytest.mark.parametrize("make", [rk.LambdaMART, rk.MART])
def test_group_k_fold(make):
    from sklearn.base import clone
    from sklearn.model_selection import GroupKFold

    X, y, qid = rows()
    model = make(**QUICK)
    values = []
    for fit, rest in GroupKFold(3).split(X, y, groups=qid):
        assert not set(qid[fit]) & set(qid[rest])
        fold = clone(model).fit(X[fit], y[fit], qid=qid[fit])
        test = rk.Dataset(X[rest], y[rest], qid=qid[rest])
        values.append(rk.evaluate(fold, test)["ndcg@10"])
    assert min(values) > 0.5 and not hasattr(model, "forest_")


def test_cross_validate_routes_the_queries(routing):
    from sklearn.model_selection import GroupKFold, cross_validate

    X, y, qid = rows()
    model = rk.MART(**QUICK)
    folds = GroupKFold(3)
    outcome = cross_validate(
        model, X, y, cv=folds, scoring="r2", params={"qid": qid, "groups": qid}, error_score="raise"
    )
    expected = []
    for fit, rest in folds.split(X, y, groups=qid):
        fold = rk.MART(**QUICK).fit(X[fit], y[fit], qid=qid[fit])
        residual = ((y[rest] - fold.predict(X[rest])) ** 2).sum()
        expected.append(1 - residual / ((y[rest] - y[rest].mean()) ** 2).sum())
    assert np.allclose(outcome["test_score"], expected, rtol=1e-12)


def test_cross_validate_with_ones_own_scorer(routing):
    from sklearn.model_selection import GroupKFold, cross_validate

    X, y, qid = rows()
    X = np.column_stack([X, qid])  # the scorer sees the rows only, so they carry the query

    def ndcg(model, X, y):
        return rk.evaluate(model.predict(X), rk.Dataset(X, y, qid=X[:, -1]))["ndcg@10"]

    model = rk.LambdaMART(**QUICK).set_fit_request(sample_weight=True)
    outcome = cross_validate(
        model,
        X,
        y,
        cv=GroupKFold(3),
        scoring=ndcg,
        params={"qid": qid, "sample_weight": np.ones(len(y)), "groups": qid},
        error_score="raise",
    )
    assert (outcome["test_score"] > 0.5).all()


def test_grid_search(routing):
    from sklearn.model_selection import GridSearchCV, GroupKFold

    X, y, qid = rows()
    search = GridSearchCV(
        rk.MART(**QUICK),
        {"max_leaf_nodes": [2, 12], "loss": ["least_squares"]},
        scoring="neg_mean_squared_error",
        cv=GroupKFold(3),
        error_score="raise",
    ).fit(X, y, qid=qid, groups=qid)
    assert search.best_params_ == {"max_leaf_nodes": 12, "loss": "least_squares"}
    assert search.best_estimator_.max_leaf_nodes == 12
    expected = rk.MART(**{**QUICK, "max_leaf_nodes": 12}).fit(X, y, qid=qid).predict(X)
    assert np.array_equal(search.predict(X), expected)


@pytest.mark.parametrize("kind", [rk.LambdaMART, rk.RankNet])
def test_cross_val_score_by_the_measure_itself(routing, kind):
    from sklearn.model_selection import GroupKFold, cross_val_score

    X, y, qid = rows()
    settings = QUICK if kind is rk.LambdaMART else {"n_epochs": 4}
    model = kind(measure="err@5", **settings)
    folds = GroupKFold(3)
    found = cross_val_score(
        model, X, y, cv=folds, params={"qid": qid, "groups": qid}, error_score="raise"
    )
    expected = [
        rk.evaluate(
            kind(measure="err@5", **settings).fit(X[fit], y[fit], qid=qid[fit]),
            rk.Dataset(X[rest], y[rest], qid=qid[rest]),
            "err@5",
        )["err@5"]
        for fit, rest in folds.split(X, y, groups=qid)
    ]
    assert found.tolist() == expected


def test_grid_search_by_the_measure_itself(routing):
    from sklearn.model_selection import GridSearchCV, GroupKFold

    X, y, qid = rows()
    weight = dict.fromkeys(np.unique(qid).tolist(), 1.0)
    weight[qid[0]] = 3.0
    search = GridSearchCV(
        rk.LambdaMART(**QUICK)
        .set_fit_request(query_weight=False)
        .set_score_request(query_weight=True),
        {"n_estimators": [1, 6]},
        cv=GroupKFold(3),
        error_score="raise",
    ).fit(X, y, qid=qid, groups=qid, query_weight=weight)
    assert search.best_params_ == {"n_estimators": 6}
    data = rk.Dataset(X, y, qid=qid, query_weight=weight)
    own = rk.LambdaMART(**QUICK).fit(X, y, qid=qid)
    expected = rk.evaluate(own, data)["ndcg@10"]
    assert search.score(X, y, qid=qid, query_weight=weight) == expected


def test_metadata_that_was_not_asked_for_is_refused(routing):
    from sklearn.exceptions import UnsetMetadataPassedError
    from sklearn.model_selection import GroupKFold, cross_validate

    X, y, qid = rows()
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        cross_validate(
            rk.MART(**QUICK),
            X,
            y,
            cv=GroupKFold(3),
            scoring="r2",
            params={"qid": qid, "groups": qid, "sample_weight": np.ones(len(y))},
        )


def test_requests_survive_a_clone_and_belong_to_one_model():
    from sklearn.base import clone

    model = rk.LambdaMART().set_fit_request(query_weight=True)
    model.set_fit_request(sample_weight="importance").set_score_request(qid="query")
    for each in (model, clone(model)):
        routing = each.get_metadata_routing()
        assert routing.fit.requests == {
            "qid": True,
            "sample_weight": "importance",
            "query_weight": True,
        }
        assert routing.score.requests == {
            "qid": "query",
            "sample_weight": None,
            "query_weight": None,
        }
    clone(model).set_fit_request(qid=False)
    assert model.get_metadata_routing().fit.requests["qid"] is True
    assert rk.LambdaMART().get_metadata_routing().fit.requests["sample_weight"] is None
    with pytest.raises(rk.ParameterError, match="fit takes qid, sample_weight, query_weight, not"):
        model.set_fit_request(group=True)
    with pytest.raises(rk.ParameterError, match="score takes qid, sample_weight, query_weight, n"):
        model.set_score_request(group=True)


def test_pipelines(routing):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y, qid = rows()
    pipeline = make_pipeline(StandardScaler(), rk.LambdaMART(**QUICK)).fit(X, y, qid=qid)
    expected = rk.evaluate(pipeline.predict(X), rk.Dataset(X, y, qid=qid))["ndcg@10"]
    assert pipeline.score(X, y, qid=qid) == expected


def test_tags_and_fitted():
    from sklearn.utils import get_tags
    from sklearn.utils.validation import check_is_fitted

    train, _ = train_and_valid()
    model = rk.LambdaMART(**QUICK)
    tags = get_tags(model)
    assert tags.estimator_type == "regressor" and tags.target_tags.required
    assert tags.input_tags.allow_nan and tags.input_tags.sparse
    assert sklearn.base.is_regressor(model)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        check_is_fitted(model)
    check_is_fitted(model.fit(train))


def test_parameters_of_the_base_model():
    train, _ = train_and_valid()
    base = rk.MART(**QUICK).fit(train)
    model = rk.LambdaMART(base_model=base)
    deep = model.get_params()
    assert deep["base_model"] is base and deep["base_model__loss"] == "least_squares"
    assert "base_model__loss" not in model.get_params(deep=False)
    model.set_params(base_model__verbose=1, verbose=1)
    assert base.verbose == model.verbose == 1
    with pytest.raises(
        rk.ParameterError, match="base_model__loss cannot be set: base_model is None"
    ):
        rk.LambdaMART().set_params(base_model__loss="graded")
    with pytest.raises(rk.ParameterError, match="MART has no parameter 'depth'"):
        model.set_params(base_model__depth=3)
