"""One list of checks that every estimator passes.

A subject is an estimator with settings that make it quick. ``CHECKS`` holds functions of a subject
and a folder; a test file runs all of them over its subjects::

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    @pytest.mark.parametrize("subject", SUBJECTS, ids=str)
    def test_common(subject, check, tmp_path):
        check(subject, tmp_path)
"""

import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest

import rankinite as rk
from rankinite.models import NotFittedError
from tests.subjects import N_DOCS, N_FEATURES, N_QUERIES, quiet, same, saved

NAMES = list("abcdefgh")
CHECKS: list[Callable] = []


def check(function):
    CHECKS.append(function)
    return function


@check
def parameters_and_clone(subject, folder):
    from sklearn.base import clone

    model = subject.make()
    params = model.get_params()
    assert params | subject.params == params
    twin = clone(model)
    assert twin is not model and type(twin) is subject.kind and twin.get_params() == params
    assert model.set_params(random_state=7) is model and model.random_state == 7
    assert twin.random_state == params["random_state"]
    assert repr(subject.kind()) == f"{subject.kind.__name__}()"
    assert "random_state=7" in repr(model)
    model.fit(subject.dataset())
    assert not hasattr(clone(model), "n_features_in_")


@check
def unknown_parameter(subject, folder):
    with pytest.raises(rk.ParameterError, match=r"has no parameter 'n_leafs'; it has .*measure"):
        subject.make().set_params(n_leafs=3)
    with pytest.raises(rk.ParameterError, match=r"has no parameter 'n_leafs'; it has .*measure"):
        subject.make(n_leafs=3)


@check
def fit_returns_self_and_keeps_its_parameters(subject, folder):
    model = subject.make()
    before = model.get_params()
    assert model.fit(subject.dataset()) is model
    assert model.get_params() == before
    assert model.n_features_in_ == N_FEATURES


@check
def fit_does_not_change_its_data(subject, folder):
    X, y, qid = (part.copy() for part in subject.rows())
    weight = np.ones(len(y))
    subject.make().fit(X, y, qid=qid, sample_weight=weight).predict(X)
    for part, before in zip((X, y, qid), subject.rows(), strict=True):
        assert same(part, before)
    assert (weight == 1).all()


@check
def not_fitted(subject, folder):
    X, _, _ = subject.rows()
    for ask in (
        lambda: subject.make().predict(X),
        lambda: subject.make().predict(subject.dataset()),
        lambda: subject.make().save(folder / "x"),
    ):
        with pytest.raises(NotFittedError, match="is not trained: call fit first"):
            ask()
    assert not (folder / "x").exists()


@check
def any_container(subject, folder):
    import pandas as pd
    import polars as pl
    import scipy.sparse as sp

    X, y, qid = subject.rows()
    expected = subject.make().fit(subject.dataset()).predict(X)
    pandas = pd.DataFrame(X, columns=NAMES)
    polars = pl.DataFrame(X, schema=NAMES)
    for container in (X, np.asfortranarray(X), pandas, polars, polars.to_arrow(), sp.csr_array(X)):
        model = subject.make().fit(container, y, qid=qid)
        assert same(model.predict(container), expected)
        assert same(model.predict(X), expected)
    named = pandas.assign(label=y, query=qid)
    assert same(subject.make().fit(named, "label", qid="query").predict(pandas), expected)
    assert same(subject.make().fit(X.tolist(), y.tolist(), qid=qid.tolist()).predict(X), expected)


@check
def order_of_the_rows_does_not_matter(subject, folder):
    X, y, qid = subject.rows()
    rng = np.random.default_rng(1)
    within = np.concatenate([q * N_DOCS + rng.permutation(N_DOCS) for q in range(N_QUERIES)])
    anyhow = rng.permutation(len(y))
    # Labels and weights whose sums round differently in different orders.
    weight = rng.uniform(0.1, 3, len(y))
    model = subject.make().fit(X, y, qid=qid, sample_weight=weight)
    expected, expected_file = model.predict(X), saved(model, folder)
    for order in (within, anyhow):
        data = quiet(X[order], y[order], qid=qid[order], weight=weight[order])
        model = subject.make().fit(data)
        assert same(model.predict(X), expected)
        assert same(model.predict(X[order]), expected[order])
        assert same(model.predict(data), expected[order])
        assert saved(model, folder) == expected_file


@check
def order_of_the_validation_rows_does_not_matter(subject, folder):
    valid, train = subject.valid(), subject.dataset()
    order = np.random.default_rng(1).permutation(valid.n_rows)
    qid = np.repeat(valid.qids, valid.query_sizes)
    shuffled = quiet(valid.X[order], valid.y[order], qid=qid[order])
    histories = [subject.make().fit(train, valid=rows).history_ for rows in (valid, shuffled)]
    assert histories[0] == histories[1]


@check
def threads_do_not_matter(subject, folder):
    files = []
    for n_threads in (1, 2, np.int64(2), None):
        model = subject.make(n_threads=n_threads).fit(subject.dataset(), valid=subject.valid())
        files.append(saved(model, folder))
    assert len(set(files)) == 1


@check
def batches_do_not_matter(subject, folder):
    X, _, _ = subject.rows()
    model = subject.make().fit(subject.dataset())
    whole = model.predict(X)
    assert same(np.concatenate([model.predict(X[i : i + 7]) for i in range(0, len(X), 7)]), whole)
    assert model.predict(X[:0]).shape == (0,)
    assert same(model.predict(X.astype(np.float32)), whole)  # quarters are exact in both


@check
def weights_that_are_all_the_same_are_no_weights(subject, folder):
    X, y, qid = subject.rows()
    expected = saved(subject.make().fit(X, y, qid=qid), folder)
    ones = np.ones(len(y))
    for weights in (
        {"sample_weight": ones},
        {"query_weight": ones[:N_QUERIES]},
        {"sample_weight": 3 * ones, "query_weight": 0.1 * ones[:N_QUERIES]},
        {"sample_weight": 1e-308 * ones, "query_weight": 1e308 * ones[:N_QUERIES]},
    ):
        assert saved(subject.make().fit(X, y, qid=qid, **weights), folder) == expected


@check
def weights_count_by_their_ratio(subject, folder):
    X, y, qid = subject.rows()
    weight = np.random.default_rng(2).integers(1, 4, N_QUERIES).astype(float)
    # The factors reach both ends of the numbers there are.
    files = {
        saved(subject.make().fit(X, y, qid=qid, query_weight=factor * weight), folder)
        for factor in (1, 8, 2.0**1021, 2.0**-1074)
    }
    assert len(files) == 1
    assert files != {saved(subject.make().fit(X, y, qid=qid), folder)}
    both = {"sample_weight": np.tile([1e308, 1e307], len(y) // 2), "query_weight": 1e307 * weight}
    large = saved(subject.make().fit(X, y, qid=qid, **both), folder)
    both = {name: np.ldexp(values, -2040) for name, values in both.items()}
    assert saved(subject.make().fit(X, y, qid=qid, **both), folder) == large


@check
def weights_too_far_apart(subject, folder):
    X, y, qid = subject.rows()
    weight = np.ones(N_QUERIES)
    weight[0] = 1e-200
    with pytest.raises(rk.DataError, match="query_weight goes from 1e-200 to 1, too far apart"):
        subject.make().fit(X, y, qid=qid, query_weight=weight)


@check
def what_weighs_nothing_is_absent(subject, folder):
    X, y, qid = subject.rows()
    rng = np.random.default_rng(4)
    # What is absent has features, labels and a size of its own.
    absent = rng.random(len(y)) < 0.2
    X = np.where(absent[:, None], rng.normal(0, 1e3, X.shape), X)
    query_weight = (np.arange(N_QUERIES) % 3 > 0) * rng.uniform(1, 2, N_QUERIES)
    weight = ~absent * rng.uniform(1, 2, len(y))
    of_rows = np.repeat(query_weight, N_DOCS)
    for own, of_query in ((weight, query_weight), (weight, None), (None, query_weight)):
        kept = (weight if own is None else own) > 0
        kept &= of_rows > 0
        zeros = {
            "sample_weight": np.where(kept, 1.0 if own is None else own, 0.0),
            "query_weight": of_query,
        }
        counted = {
            "sample_weight": None if own is None else own[kept],
            "query_weight": None if of_query is None else of_query[of_query > 0],
        }
        found = saved(subject.make().fit(X, np.where(kept, y, 9.5), qid=qid, **zeros), folder)
        expected = subject.make().fit(X[kept], y[kept], qid=qid[kept], **counted)
        assert found == saved(expected, folder)


@check
def nothing_but_zero_weights(subject, folder):
    X, y, qid = subject.rows()
    with pytest.raises(rk.DataError, match="every document has a weight of 0, its own or its que"):
        subject.make().fit(X, y, qid=qid, sample_weight=np.zeros(len(y)))


@check
def float32_and_float64_of_equal_values(subject, folder):
    X, y, qid = subject.rows()
    # Values whose middles are no float32, and which no longer fit into bins of their own.
    noise = np.random.default_rng(5).normal(size=X.shape)
    single = (X + noise).astype(np.float32)
    single[::7, 0] = np.nan
    double = single.astype(np.float64)
    files, scores = [], []
    for values in (single, double):
        model = subject.make().fit(values, y, qid=qid)
        files.append(saved(model, folder))
        scores += [model.predict(single), model.predict(double)]
    assert files[0] == files[1]
    assert all(same(each, scores[0]) for each in scores)


@check
def other_features(subject, folder):
    import pandas as pd

    X, y, qid = subject.rows()
    frame = pd.DataFrame(X, columns=NAMES)
    model = subject.make().fit(frame, y, qid=qid)
    with pytest.raises(rk.DataError, match="has 7 features, but the model was trained on 8"):
        model.predict(X[:, 1:])
    with pytest.raises(rk.DataError, match="has 7 features, but the model was trained on 8"):
        model.predict(rk.Dataset(X[:, 1:], qid=qid))
    with pytest.raises(rk.DataError, match="has no column 'a', which the model was trained on"):
        model.predict(frame.drop(columns="a"))
    wrong = rk.Dataset(X, y, qid=qid, feature_names=["z", *NAMES[1:]])
    with pytest.raises(rk.DataError, match="validation set 'late' has no feature 'a', which"):
        subject.make().fit(frame, y, qid=qid, valid={"late": wrong})
    with pytest.raises(rk.DataError, match="the data has no feature 'a', which the model"):
        model.predict(wrong)
    with pytest.raises(rk.DataError, match="validation set 'valid' has 7 features"):
        subject.make().fit(X, y, qid=qid, valid=rk.Dataset(X[:, 1:], y, qid=qid))


@check
def features_are_found_by_name(subject, folder):
    import pandas as pd
    import polars as pl

    X, y, qid = subject.rows()
    frame = pd.DataFrame(X, columns=NAMES)
    model = subject.make().fit(frame, y, qid=qid)
    expected = model.predict(frame)
    turned = frame[NAMES[::-1]].assign(more="text")
    for other in (turned, pl.from_pandas(turned), pl.from_pandas(turned).to_arrow()):
        np.testing.assert_array_equal(model.predict(other), expected)
    data = rk.Dataset(turned.drop(columns="more"), y, qid=qid)
    np.testing.assert_array_equal(model.predict(data), model.predict(rk.Dataset(frame, qid=qid)))
    if hasattr(model, "best_iteration_"):
        histories = [
            subject.make().fit(frame, y, qid=qid, valid=rows).history_
            for rows in (data, rk.Dataset(frame, y, qid=qid))
        ]
        assert histories[0] == histories[1]


@check
def missing_and_infinite_features(subject, folder):
    X, y, qid = subject.rows()
    rng = np.random.default_rng(3)
    X = X.copy()
    for value, share in ((np.nan, 0.3), (np.inf, 0.05), (-np.inf, 0.05), (-0.0, 0.05)):
        X[rng.random(X.shape) < share] = value
    X[:, 3] = np.nan
    data = rk.Dataset(X, y, qid=qid)
    data.save(folder / "binned")
    model = subject.make().fit(data)
    scores = model.predict(X)
    assert np.isfinite(scores).all() and np.ptp(scores) > 0
    if subject.trees:
        # Walking down by thresholds and by bins is the same.
        assert same(model.predict(rk.read(folder / "binned")), scores)
    assert np.isfinite(model.predict(np.full((3, N_FEATURES), np.nan))).all()


@check
def first_rounds(subject, folder):
    X, _, _ = subject.rows()
    if not subject.sums_rounds:
        with pytest.raises(rk.ParameterError, match=r"n_rounds=3 asks for the first .* leave it"):
            subject.make().fit(subject.dataset()).predict(X, n_rounds=3)
        return
    model = subject.make(n_estimators=5).fit(subject.dataset())
    for k in (1, 3, 5):
        shorter = subject.make(n_estimators=k).fit(subject.dataset())
        assert same(model.predict(X, n_rounds=k), shorter.predict(X))
    assert np.ptp(model.predict(X, n_rounds=0)) == 0
    for n_rounds in (-1, 6, 2.5):
        with pytest.raises(rk.ParameterError, match="n_rounds must be a whole number from 0 to 5"):
            model.predict(X, n_rounds=n_rounds)


@check
def options_of_predict(subject, folder):
    X, _, _ = subject.rows()
    model = subject.make().fit(subject.dataset())
    assert same(model.predict(X, n_rounds=None), model.predict(X))
    for data in (X, subject.dataset()):
        with pytest.raises(rk.ParameterError, match="'n_trees': here it is called n_rounds"):
            model.predict(data, n_trees=2)


@check
def score_is_the_mean_of_the_measure(subject, folder):
    X, y, qid = subject.rows()
    model = subject.make().fit(subject.dataset())
    weight = np.linspace(0.1, 1.0, N_QUERIES)
    for more in ({}, {"query_weight": weight}):
        expected = rk.evaluate(model, subject.dataset(**more), model.measure)
        assert model.score(X, y, qid=qid, **more) == expected[str(rk.measure(model.measure))]
    assert model.score(subject.dataset()) == model.score(X, y, qid=qid)
    # A query counts by the mean weight of its rows.
    rows = np.repeat(weight, N_DOCS) * np.tile(np.linspace(0.5, 1.5, N_DOCS), N_QUERIES)
    weighed = model.score(X, y, qid=qid, sample_weight=rows)
    assert weighed == pytest.approx(model.score(X, y, qid=qid, query_weight=weight), rel=1e-12)
    twice = model.score(X, y, qid=qid, sample_weight=rows, query_weight=weight)
    assert twice == pytest.approx(model.score(X, y, qid=qid, query_weight=weight**2), rel=1e-12)
    with pytest.raises(NotFittedError):
        subject.make().score(X, y, qid=qid)
    with pytest.raises(rk.DataError, match="qid is missing"):
        model.score(X, y)


@check
def names_of_features(subject, folder):
    import pandas as pd

    X, y, qid = subject.rows()
    assert not hasattr(subject.make(), "feature_names_in_")
    assert not hasattr(subject.make().fit(X, y, qid=qid), "feature_names_in_")
    named = subject.make().fit(pd.DataFrame(X, columns=NAMES), y, qid=qid)
    assert named.feature_names_in_.tolist() == NAMES
    assert named.feature_names_in_.dtype == object


@check
def a_seed_that_is_drawn(subject, folder):
    X, _, _ = subject.rows()
    kept = np.random.get_state()  # noqa: NPY002
    try:
        scores = []
        for seed in (1, 1, 2):
            np.random.seed(seed)  # noqa: NPY002
            scores.append(subject.make(random_state=None).fit(subject.dataset()).predict(X))
    finally:
        np.random.set_state(kept)  # noqa: NPY002
    assert same(scores[0], scores[1])
    assert not subject.random or not same(scores[0], scores[2])


@check
def saving_and_loading(subject, folder):
    X, _, _ = subject.rows()
    names = [*NAMES[:-1], "größe\n☃"]
    model = subject.make().fit(subject.dataset(feature_names=names), valid=subject.valid())
    first = saved(model, folder)
    assert saved(model, folder) == first
    copy = rk.load(folder / "model.rk")
    assert type(copy) is subject.kind
    assert copy.get_params() == model.get_params()
    assert copy.feature_names_in_.tolist() == names and copy.history_ == model.history_
    assert copy.best_iteration_ == model.best_iteration_
    assert same(copy.predict(X), model.predict(X))
    assert saved(copy, folder) == first


@check
def early_stopping(subject, folder):
    train, valid = subject.dataset(), subject.valid()
    settings = subject.hasty
    model = subject.make(early_stopping=3, **settings).fit(train, valid=valid)
    values = model.history_["valid"][str(rk.measure(model.measure))]
    best = int(np.argmax(values)) + 1
    assert len(values) == best + 3 < 40
    assert model.best_iteration_ == best == model.n_rounds_
    full = subject.make(**settings).fit(train, valid=valid)
    (all_values,) = full.history_["valid"].values()
    assert len(all_values) == 40
    assert full.best_iteration_ == np.argmax(all_values) + 1
    if subject.sums_rounds:
        assert full.n_rounds_ == 40
        assert same(full.predict(valid, n_rounds=best), model.predict(valid))
    assert values == all_values[: len(values)]
    evaluated = rk.evaluate(model, valid, model.measure)
    assert evaluated[model.measure] == values[best - 1]


@check
def early_stopping_needs_data(subject, folder):
    train = subject.dataset()
    for valid in (None, {}):
        with pytest.raises(rk.ParameterError, match="early_stopping=3 needs data to watch"):
            subject.make(early_stopping=3).fit(train, valid=valid)
    for valid in ([train], "valid.txt", (train.X, train.y)):
        with pytest.raises(rk.DataError, match="valid must be a Dataset or a dict of Datasets"):
            subject.make().fit(train, valid=valid)
    unlabelled = rk.Dataset(train.X, qid=subject.rows()[2])
    with pytest.raises(rk.DataError, match="the validation set 'x' must be a Dataset with labels"):
        subject.make().fit(train, valid={"x": unlabelled})
    blank = subject.dataset(query_weight=np.zeros(N_QUERIES))
    with pytest.raises(rk.DataError, match=r"cannot watch .* on the validation set 'valid'"):
        subject.make(early_stopping=3).fit(train, valid=blank)


OUT_OF_RANGE = {
    "n_estimators": (0, 2.5, "3", None, True, np.array([1, 2])),
    "max_leaf_nodes": (1, 7.0, None),
    "learning_rate": (0, -1, np.nan, np.inf, "0.1", None, True, np.array([0.1, 0.2])),
    "max_depth": (0, 2.5, "3"),
    "min_samples_leaf": (0, 0.1),
    "min_curvature_leaf": (-1, np.nan, np.inf, "1", None, True),
    "l2_regularization": (-0.5, np.nan, np.inf, "1", None, True),
    "query_fraction": (0, 1.01, None),
    "noise": (-1, np.nan, np.inf, "1", None, True),
    "n_draws": (0, 1.5, None),
    "max_bins": (1, 256, 10.0),
    "split": ("gini", None, 1),
    "step": ("line", None, 1),
    "backfit": (-1, 0.5, None),
    "row_fraction": (0, 1.01, "auto"),
    "importance_fraction": (0, 1.01, "all"),
    "feature_fraction": (0, 1.5, None),
    "growth": ("levels", 3, None),
    "early_stopping": (0, 1.5),
    "sigma": (0, -1, np.nan),
    "random_state": (-1, 2**63, 0.5),
    "n_threads": (0, -1, 1.5, "2"),
    "verbose": (-1, None),
    "measure": ("ndgc@10", "ndcg@0", 3, None),
    "valid_measure": ("nonsense", 10),
    "base_model": ("model.rk", [[1.0, 2.0]], [np.nan] * N_FEATURES, 3.0, object()),
    "truncation": (0, 2.5),
    "normalize": (1, "yes", None),
    "squares": (-1.0, np.nan, "auto", None),
    "confirm_steps": (1, "yes", None),
    "loss": ("hinge", None, True),
    "form": ("nominal", None),
    "module": (None, 3, "net"),
    "optimizer": ("sgd", 3),
    "queries_per_step": (0, 1.5),
    "standardize": (None, "yes"),
    "n_hidden": (-1, 2.5, None),
    "hidden": (None, 3, "64", [0], [2.5], [True], [8193], [4] * 17, [[4]]),
    "activation": ("sine", None, True),
    "dropout": (-0.1, 0.95, np.nan, None, "0.1"),
    "layer_norm": (1, None, "yes"),
    "n_epochs": (0, 2.5, None),
    "decay": (0, 1.5, None),
    "n_restarts": (-1, 0.5, None),
    "patience": (0, 1.5, None),
    "mode": ("listwise", None),
    "class_values": ("gains", None, 3.0, [1.0, np.nan], [[0.0, 1.0]], [0.0, 1.0]),
}


@check
def parameters_out_of_range(subject, folder):
    train, valid = subject.dataset(), subject.valid()
    known = subject.make().get_params(deep=False)
    assert set(known) <= set(OUT_OF_RANGE)
    for name in known:
        for value in OUT_OF_RANGE[name]:
            with pytest.raises(rk.ParameterError, match=f"^{name} "):
                subject.make(**{name: value}).fit(train, valid=valid)


@check
def wrong_labels(subject, folder):
    X, y, qid = subject.rows()
    for value in (np.nan, np.inf):
        wrong = y.copy()
        wrong[33] = value
        with pytest.raises(rk.DataError, match=f"y is {value} in row 33 .*finite label"):
            subject.make().fit(X, wrong, qid=qid)
    with pytest.raises(rk.DataError, match="has no labels: pass y"):
        subject.make().fit(X, qid=qid)
    with pytest.raises(rk.DataError, match="y has 599 values, but the data has 600 rows"):
        subject.make().fit(X, y[1:], qid=qid)


@check
def missing_qid(subject, folder):
    X, y, _ = subject.rows()
    with pytest.raises(rk.DataError, match="qid is missing: pass qid="):
        subject.make().fit(X, y)
    with pytest.raises(rk.ParameterError, match="a Dataset and also y, qid or weights"):
        subject.make().fit(subject.dataset(), y)


@check
def binned_files(subject, folder):
    X, _, _ = subject.rows()
    train, valid = subject.dataset(), subject.valid()
    train.save(folder / "train")
    valid.save(folder / "valid", like=train)
    model = subject.make().fit(train, valid=valid)
    if not subject.trees:
        bins = rk.read(folder / "train")
        needs = f"holds only bins, and a {subject.kind.__name__} needs feature values"
        with pytest.raises(rk.DataError, match=f"this dataset {needs}"):
            model.predict(bins)
        with pytest.raises(rk.DataError, match=f"this dataset {needs}"):
            subject.make().fit(bins)
        with pytest.raises(rk.DataError, match=f"the validation set 'valid' {needs}"):
            subject.make().fit(train, valid=bins)
        return
    binned = rk.read(folder / "valid")
    again = subject.make().fit(rk.read(folder / "train"), valid=binned)
    assert saved(again, folder) == saved(model, folder)
    assert same(again.predict(X), model.predict(X))
    assert same(model.predict(binned), model.predict(valid))
    assert same(model.predict(binned, n_rounds=2), model.predict(valid, n_rounds=2))
    valid.save(folder / "own")
    with pytest.raises(rk.DataError, match="save it with like=<the training data>"):
        model.predict(rk.read(folder / "own"))
    with pytest.raises(rk.DataError, match="the validation set 'valid' holds only bins"):
        subject.make().fit(train, valid=rk.read(folder / "own"))
    with pytest.raises(rk.DataError, match="binned with max_bins=255"):
        subject.make(max_bins=31).fit(rk.read(folder / "train"))


@check
def nothing_to_learn(subject, folder):
    X, y, qid = subject.rows()
    constant, missing = np.ones_like(X), np.full_like(X, np.nan)
    for features in (constant, missing):
        scores = subject.make().fit(features, y, qid=qid).predict(features)
        assert np.isfinite(scores).all() and np.ptp(scores) == 0
    alone = subject.make().fit(X, y, qid=np.arange(len(y))).predict(X)
    assert np.isfinite(alone).all()
    if "balanced" not in subject.params.values():
        for label in (0.0, 1.0):
            scores = subject.make().fit(X, np.full(len(y), label), qid=qid).predict(X)
            assert np.isfinite(scores).all() and np.ptp(scores) == 0
    one_row = subject.make().fit(X[:2], y[:2] * 0 + [0, 1], qid=[0, 0])
    assert np.isfinite(one_row.predict(X)).all()
    if subject.trees:
        huge = subject.make(min_samples_leaf=10**6, max_leaf_nodes=10**6).fit(X, y, qid=qid)
        assert np.ptp(huge.predict(X)) == 0


@check
def duplicated_rows(subject, folder):
    X, y, qid = (np.repeat(part, 2, axis=0) for part in subject.rows())
    model = subject.make().fit(X, y, qid=qid)
    scores = model.predict(X)
    assert np.isfinite(scores).all() and same(scores[::2], scores[1::2])
    # The same queries once more are more of the same, and their order is no matter either.
    other = np.random.default_rng(4).permutation(len(y))
    again = subject.make().fit(quiet(X[other], y[other], qid=qid[other]))
    assert saved(again, folder) == saved(model, folder)


@check
def seeds(subject, folder):
    X, _, _ = subject.rows()

    def predictions(**params):
        return subject.make(**params).fit(subject.dataset()).predict(X)

    assert same(predictions(random_state=5), predictions(random_state=5))
    assert same(predictions(random_state=5), predictions(random_state=6)) is not subject.random
    fractions = ("row_fraction", "feature_fraction", "importance_fraction")
    for fraction in fractions if subject.trees else ():
        drawn = predictions(random_state=5, **{fraction: 0.5})
        assert same(drawn, predictions(random_state=5, **{fraction: 0.5}))
        assert not same(drawn, predictions(random_state=6, **{fraction: 0.5}))
    largest = predictions(random_state=2**63 - 1)
    assert np.isfinite(largest).all()


@check
def many_python_threads(subject, folder):
    X, _, _ = subject.rows()
    train = subject.dataset()
    model = subject.make().fit(train)
    expected = model.predict(X)
    with ThreadPoolExecutor(10) as pool:
        fits = [pool.submit(subject.make(n_threads=n).fit, train) for n in (1, 2)]
        jobs = [pool.submit(model.predict, X if i % 2 else train) for i in range(40)]
        assert all(same(job.result(), expected) for job in jobs)
        assert all(same(job.result().predict(X), expected) for job in fits)


@check
def after_a_fork(subject, folder):
    if not hasattr(os, "fork"):
        pytest.skip("this platform cannot fork")
    X, _, _ = subject.rows()
    train = subject.dataset()
    model = subject.make(n_threads=2).fit(train)
    expected = model.predict(X)
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a child that hangs fails
        try:
            right = same(model.predict(X), expected)
            right = right and same(subject.make(n_threads=2).fit(train).predict(X), expected)
            os._exit(0 if right else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@check
def threads_are_restored(subject, folder):
    X, y, qid = subject.rows()
    before = numba.get_num_threads()

    class Interrupt:
        def after_round(self, run):
            raise RuntimeError("stop here")

        def finish(self, run):
            pass

    model = subject.make(n_threads=1)
    model.fit(X, y, qid=qid)
    assert numba.get_num_threads() == before
    model.predict(X)
    assert numba.get_num_threads() == before
    with pytest.raises(RuntimeError, match="stop here"):
        subject.make(n_threads=1).fit(X, y, qid=qid, callbacks=[Interrupt()])
    with pytest.raises((rk.ParameterError, rk.DataError)):
        model.predict(X, n_rounds=-1) if subject.trees else model.predict(X[:, 1:])
    assert numba.get_num_threads() == before


@check
def failed_fit_leaves_the_model_as_it_was(subject, folder):
    X, y, qid = subject.rows()
    model = subject.make()
    broken = y.copy()
    broken[0] = np.nan
    with pytest.raises(rk.DataError):
        model.fit(X, broken, qid=qid)
    assert not hasattr(model, "n_features_in_")
    expected = model.fit(X, y, qid=qid).predict(X)
    with pytest.raises(rk.DataError):
        model.fit(X, broken, qid=qid)
    assert same(model.predict(X), expected)
