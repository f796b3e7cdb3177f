"""Rankers in the formats of other engines: real engines score them as we do, or it is refused."""

from __future__ import annotations

import numpy as np
import pytest

import rankinite as rk
from rankinite.errors import ExportError
from rankinite.exchange.writers import FORMATS
from tests.exchange.writers.cases import awkward, rows_around, trained
from tests.exchange.writers.clients import engine_scores, needs_clients, vespa_scores

# Largest difference of float32 sums of a few trees, beside the largest score.
SINGLE = 1e-5


def written(plain, kind, /, **options):
    form = FORMATS[kind]
    return form.write(plain, variant=form.suffixes[0], **options)


def close(found, expected):
    return np.abs(found - expected).max() <= SINGLE * max(1.0, np.abs(expected).max())


def test_lightgbm_itself(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    model, X = trained()
    told = model.export(tmp_path / "model.txt", "lightgbm")
    assert told.largest_difference == 0.0 and "bit for bit" in told.in_words()
    booster = lightgbm.Booster(model_file=tmp_path / "model.txt")
    rows = rows_around(model.plain(), 10_000)
    assert np.array_equal(booster.predict(rows), model.predict(rows))
    assert np.allclose(booster.predict(X, pred_contrib=True).sum(axis=1), model.predict(X))
    assert booster.num_trees() == model.n_rounds_ or booster.num_trees() == model.n_rounds_ + 1


@pytest.mark.parametrize("suffix", [".json", ".ubj"])
def test_xgboost_itself(suffix, tmp_path):
    xgboost = pytest.importorskip("xgboost")
    model, X = trained()
    path = tmp_path / f"model{suffix}"
    model.export(path, "xgboost")
    booster = xgboost.Booster(model_file=path)
    rows = rows_around(model.plain(), 10_000, infinite=False)
    found = booster.predict(xgboost.DMatrix(rows))
    assert close(found, model.predict(rows))
    # Bit for bit what our own reader of the file says.
    assert np.array_equal(rk.load(path).predict(rows).astype(np.float32), found)
    labels = np.arange(len(X)) % 3
    more = xgboost.train(
        {"objective": "rank:ndcg"},
        xgboost.DMatrix(X, labels, group=[len(X)]),
        2,
        xgb_model=booster,
    )
    assert more.num_boosted_rounds() == booster.num_boosted_rounds() + 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_large_forests(name, tmp_path):
    library = pytest.importorskip(name)
    plain = awkward(3, np.random.default_rng(0).normal(size=2000), (255,) * 500, 20)
    form = FORMATS[name]
    path = tmp_path / f"model{form.suffixes[0]}"
    path.write_bytes(form.write(plain, variant=form.suffixes[0]))
    rows = rows_around(plain, 10_000, infinite=name == "lightgbm")
    if name == "lightgbm":
        found = library.Booster(model_file=path).predict(rows, num_threads=2)
        assert np.array_equal(found, plain.scores(rows))
    else:
        found = library.Booster(model_file=path).predict(library.DMatrix(rows))
        assert np.array_equal(found, rk.load(path).predict(rows).astype(np.float32))
        assert close(found, plain.scores(rows))


@needs_clients
def test_the_readers_of_the_engines(tmp_path):
    model, _ = trained(missing=False)
    plain = model.plain()
    rows = rows_around(plain, 300, missing=False, infinite=False)
    expected = model.predict(rows)
    found = engine_scores("ranklib", written(plain, "ranklib", missing="zero"), rows, tmp_path)
    assert close(found, expected)
    names = [f"f{j + 1}" for j in range(plain.n_features)]
    for form in ("dump", "raw"):
        content = written(plain, "opensearch", form=form)
        assert close(engine_scores(f"opensearch-{form}", content, rows, tmp_path), expected)
    for form, prefix in (("lightgbm", "lgb:"), ("xgboost", "")):
        content = written(plain, "vespa", form=form)
        assert close(vespa_scores(content, rows, names, tmp_path, prefix), expected)


@needs_clients
def test_solr_itself(tmp_path):
    model, _ = trained()
    content = written(model.plain(), "solr", name="m", store="s", thresholds="nearest")
    rows = rows_around(model.plain(), 300, infinite=False)
    found = engine_scores("solr", content, rows, tmp_path, nan=True)
    read = FORMATS["solr"].read(content, "model.json")
    columns = [int(name.removeprefix("f")) - 1 for name in read.feature_names]
    assert np.allclose(found, read.scores(np.ascontiguousarray(rows[:, columns])), rtol=1e-6)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_writes_what_it_reads(name, tmp_path):
    model, X = trained(missing=False)
    form = FORMATS[name]
    options = {"missing": "zero"} if "missing" in form.options else {}
    options |= {"thresholds": "nearest"} if "thresholds" in form.options else {}
    path = tmp_path / f"model{form.suffixes[0]}"
    told = model.export(path, name, sample=X, **options)
    assert path.stat().st_size <= told.n_bytes and told.n_rows == len(X)
    assert told.largest_difference <= SINGLE * np.abs(model.predict(X)).max()
    assert form.exactness and told.format == name


def several():
    model, X = trained()
    y = np.arange(len(X)) % 3
    whole = rk.Dataset(X, y, qid=np.repeat(np.arange(30), 20))
    few = {"n_estimators": 4, "max_leaf_nodes": 7}
    other = rk.MART(**few).fit(whole)
    return whole, {
        "mart": other,
        "logistic": rk.MART("graded", **few).fit(whole),
        "smart": rk.LambdaMART(base_model=other, **few).fit(whole),
        "sum": rk.Combination({"a": model, "b": other}, weights=[2.0, 0.5]).fit(whole),
        "bag": rk.Bagging(rk.MART(**few), n_folds=3).fit(whole),
    }


@pytest.mark.parametrize("name", ["mart", "logistic", "smart", "sum", "bag"])
def test_rankers_that_are_one_forest(name, tmp_path):
    whole, rankers = several()
    ranker = rankers[name]
    ranker.export(tmp_path / "model.txt", "lightgbm")
    imported = rk.load(tmp_path / "model.txt")
    expected = ranker.predict(whole.X)
    assert np.allclose(imported.predict(whole.X), expected, rtol=1e-12, atol=1e-12)


def test_linear_rankers(tmp_path):
    whole, _ = several()
    filled = rk.Dataset(np.nan_to_num(whole.X), whole.y, qid=np.repeat(np.arange(30), 20))
    ranker = rk.LambdaBoost(n_estimators=5).fit(filled)
    for name, options in (("solr", {"constant": "drop"}), ("ranklib", {})):
        path = tmp_path / f"{name}{FORMATS[name].suffixes[0]}"
        told = ranker.export(path, name, sample=filled.X, **options)
        assert path.exists() and told.largest_difference < 1e-4
        told = ranker.export(path, name, **options)
        assert told.largest_difference < 1e-4 and "missing value counts as 0" in told.in_words()
    with pytest.raises(ExportError, match="constant"):
        ranker.export(tmp_path / "constant.json", "solr", sample=filled.X)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda rows: rk.LambdaRank(n_hidden=4, n_epochs=2), "holds forests.*nets|nets"),
        (lambda rows: rk.McRank(n_estimators=2), "grades"),
        (lambda rows: rk.LambdaMART(n_estimators=2, base_model=lambda X: X[:, 0]), "function"),
    ],
)
def test_what_a_format_cannot_say(make, told, tmp_path):
    whole, _ = several()
    filled = rk.Dataset(np.nan_to_num(whole.X), whole.y, qid=np.repeat(np.arange(30), 20))
    ranker = make(filled).fit(filled)
    with pytest.raises(ExportError, match=told) as caught:
        ranker.export(tmp_path / "model.txt", "lightgbm")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "model.txt").exists()


def test_query_by_query_is_refused(tmp_path):
    whole, rankers = several()
    both = rk.Combination([rankers["mart"], rankers["smart"]], normalize="query").fit(whole)
    with pytest.raises(ExportError, match="quer"):
        both.export(tmp_path / "model.txt", "lightgbm")
    assert not list(tmp_path.iterdir())


def test_learned_directions_that_ranklib_has_not(tmp_path):
    model, _ = trained(missing=True)
    with pytest.raises(ExportError, match="missing"):
        model.export(tmp_path / "model.xml", "ranklib")
    assert not list(tmp_path.iterdir())
    model.export(tmp_path / "model.xml", "ranklib", missing="zero")
    assert (tmp_path / "model.xml").exists()


def test_wrong_requests(tmp_path):
    model, _ = trained()
    for path, options, told in (
        ("model.json", {}, "may be any of"),
        ("model.abc", {}, "says nothing about the format"),
        ("model.txt", {"format": "pmml"}, "there is no format 'pmml'"),
        ("model.txt", {"format": "lightgbm", "store": "x"}, "has no option 'store'"),
    ):
        with pytest.raises(rk.ParameterError, match=told):
            model.export(tmp_path / path, **options)
    assert not list(tmp_path.iterdir())
