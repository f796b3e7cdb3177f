"""Rankers as ONNX: onnxruntime itself scores them as we do, in single and in double precision."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

import rankinite as rk
from rankinite.errors import ExportError, ModelFileError
from rankinite.exchange import PlainClasses, PlainForest, PlainLinear, PlainNet
from rankinite.exchange.readers.onnx import read
from rankinite.exchange.writers.bounds import double_bound, single_bound
from rankinite.exchange.writers.folding import one_leaf
from rankinite.exchange.writers.onnx import write
from tests.exchange.test_readers import LIGHTGBM, awkward_rows, data
from tests.exchange.writers.cases import awkward, rows_around, trained

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

TYPES = {"float": np.float32, "double": np.float64}
BOUNDS = {"float": single_bound, "double": double_bound}
both = pytest.mark.parametrize("precision", TYPES)


def session(content, n_threads=1):
    """What scores a file; on one thread trees are added in their order."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def scored(content, rows, n_threads=1):
    engine = session(content, n_threads)
    (value,) = engine.get_inputs()
    kind = {"tensor(float)": np.float32, "tensor(double)": np.float64}[value.type]
    with np.errstate(over="ignore"):
        (found,) = engine.run(["score"], {"features": rows.astype(kind)})
    assert found.dtype == kind and found.shape == (len(rows), 1)
    return found[:, 0].astype(np.float64)


def checked(plain, rows, precision, bound=None):
    """The scores of onnxruntime, after a check that they are within the bound of the format."""
    content = write(plain, precision=precision)
    onnx.checker.check_model(onnx.load_from_string(content), full_check=True)
    found = scored(content, rows)
    with np.errstate(over="ignore", invalid="ignore"):
        rows = rows.astype(TYPES[precision])
        allowed = BOUNDS[precision](plain, rows) if bound is None else bound
        difference = np.abs(found - plain.scores(rows))
    assert (difference <= allowed).all(), difference.max()
    return content, found


@both
@pytest.mark.parametrize("shape", ["any", "chain", "balanced"])
@pytest.mark.parametrize("seed", range(3))
def test_forests(precision, shape, seed):
    plain = awkward(seed, shape=shape, start=0.3)
    rows = rows_around(plain, 3000, dtype=TYPES[precision])
    content, found = checked(plain, rows, precision)
    assert np.array_equal(found, read(content, "model.onnx").scores(rows))
    if precision == "double":
        assert np.array_equal(found, plain.scores(rows))


@pytest.mark.parametrize(
    "settings",
    [
        {"scale": 0.37, "divisor": 7, "bias": -1.1, "start": 0.3},
        {"scale": -2.5},
        {"divisor": 3},
        {"bias": 1e-3},
    ],
)
def test_constants_and_factors(settings):
    plain = awkward(1, **settings)
    rows = rows_around(plain, 1000)
    checked(plain, rows, "float")
    _, found = checked(plain, rows, "double")
    assert np.array_equal(found, plain.scores(rows))


@both
def test_forests_of_nothing_but_a_start(precision):
    for forest in (one_leaf(0.25), awkward(sizes=(1,)).forest):
        checked(PlainForest(forest, 2, start=0.5), np.zeros((3, 2)), precision)
    none = one_leaf(0.0).first(0)
    _, found = checked(PlainForest(none, 2, start=0.5), np.zeros((3, 2)), precision)
    assert found.tolist() == [0.5] * 3


@both
def test_zeros_that_are_missing_values(precision):
    plain = awkward(2, zero_is_missing=np.array([True, False, True, False]))
    rows = rows_around(plain, 3000, dtype=TYPES[precision])
    rows[::3] = np.random.default_rng(0).choice([0.0, -0.0, 1e-36, -1e-35, 2e-35], (1000, 4))
    content, found = checked(plain, rows, precision)
    assert np.array_equal(found, read(content, "model.onnx").scores(rows))
    assert "Where" in {node.op_type for node in onnx.load_from_string(content).graph.node}
    # Where no split looks at them, nothing is added to the graph.
    elsewhere = np.zeros(4, bool)
    content = write(replace(plain, zero_is_missing=elsewhere), precision=precision)
    assert len(onnx.load_from_string(content).graph.node) == 1


@both
def test_features_in_single_precision(precision):
    """A model that rounds features itself keeps every double on its side."""
    plain = awkward(4, single_features=True, single_sums=precision == "float")
    plain.forest.value[:] = plain.forest.value.astype(np.float32)
    rows = rows_around(plain, 3000, dtype=np.float64)
    checked(plain, rows, precision)
    with np.errstate(over="ignore"):
        half = (rows.astype(np.float32).astype(np.float64) + rows) / 2
    _, found = checked(plain, half, precision)
    assert np.array_equal(found, plain.scores(half))


@pytest.mark.slow
@both
def test_large_forests_on_several_threads(precision):
    plain = awkward(3, np.random.default_rng(0).normal(size=2000), (255,) * 500, 20)
    rows = rows_around(plain, 10_000, dtype=TYPES[precision])
    content, found = checked(plain, rows, precision)
    own = plain if precision == "double" else read(content, "model.onnx")
    assert np.array_equal(found, own.scores(rows))
    # Another order of the trees, within what any order may give.
    order = (500 + 4) * np.finfo(TYPES[precision]).eps * np.abs(plain.forest.value).max() * 500
    for n_rows in (1, 10, 100, 10_000):
        many = scored(content, rows[:n_rows], n_threads=2)
        assert np.abs(many - found[:n_rows]).max() <= order


def test_one_leaf_has_a_split_in_double():
    """Where both sides of a split are one leaf, some releases of onnxruntime score wrongly."""
    plain = awkward(5, sizes=(1, 3, 1, 1, 7, 1))
    (node,) = onnx.load_from_string(write(plain, precision="double")).graph.node
    told = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    leaves = [
        number
        for side in ("true", "false")
        for number, is_leaf in zip(told[f"nodes_{side}nodeids"], told[f"nodes_{side}leafs"],
                                   strict=True)
        if is_leaf
    ]  # fmt: skip
    assert sorted(leaves) == list(range(len(told["leaf_targetids"])))
    rows = rows_around(plain, 500, dtype=np.float64)
    _, found = checked(plain, rows, "double")
    assert np.array_equal(found, plain.scores(rows))


def rows_of_numbers(n_rows=1000, n_features=5, seed=3):
    """Finite, infinite and missing values, also some far out."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, n_features)) * rng.choice([1e-3, 1.0, 1e4], (n_rows, 1))
    kind = rng.random(rows.shape)
    rows[kind < 0.1] = np.nan
    rows[(kind > 0.1) & (kind < 0.13)] = np.inf
    rows[(kind > 0.13) & (kind < 0.16)] = -np.inf
    return rows


def nets(n_features=5, n_hidden=7, seed=0):
    rng = np.random.default_rng(seed)
    mean, spread = rng.normal(size=n_features) * 10, rng.random(n_features) + 0.5
    scale = 1 / spread
    scale[2] = 0.0  # a feature that was constant
    ends = {"low": mean - 3 * spread, "high": mean + 3 * spread}
    hidden, bias = rng.normal(size=(n_features, n_hidden)), rng.normal(size=n_hidden)
    return {
        "linear": PlainNet(mean, scale, **ends, hidden=None, hidden_bias=None,
                           output=rng.normal(size=n_features), output_bias=0.25),
        "hidden": PlainNet(mean, scale, **ends, hidden=hidden, hidden_bias=bias,
                           output=rng.normal(size=n_hidden)),
    }  # fmt: skip


@both
@pytest.mark.parametrize("kind", ["linear", "hidden"])
def test_nets(precision, kind):
    plain = nets()[kind]
    _, found = checked(plain, rows_of_numbers(), precision)
    assert np.isfinite(found).all() and len(np.unique(found)) > 500
    far = np.array([[1e20, -1e20, 1e30, np.inf, np.nan], [-3e38, 0, 3e38, -np.inf, 0]])
    assert np.isfinite(scored(write(plain, precision=precision), far)).all()


@both
def test_linear_models(precision):
    rng = np.random.default_rng(0)
    plain = PlainLinear(rng.normal(size=5), 0.3, single_features=precision == "float")
    rows = rows_of_numbers()
    infinite = np.isinf(rows).any(axis=1)
    checked(plain, rows[~infinite], precision)
    with np.errstate(invalid="ignore"):
        expected = plain.scores(rows[infinite])
    found = scored(write(plain, precision=precision), rows[infinite])
    assert np.array_equal(found, expected, equal_nan=True) and np.isinf(expected).any()


@both
@pytest.mark.parametrize("form", ["multinomial", "ordinal"])
def test_classes(precision, form):
    n_outputs = 4 if form == "multinomial" else 3
    outputs = [
        awkward(seed, sizes=(7, 1, 31, 3), start=0.1 * seed, scale=0.5 + seed)
        for seed in range(n_outputs)
    ]
    plain = PlainClasses(outputs, form, np.array([0.0, 1.0, 3.0, 7.0]))
    rows = rows_around(outputs[0], 2000, dtype=TYPES[precision])
    _, found = checked(plain, rows, precision)
    assert len(np.unique(found)) > 100


def judged():
    _, X = trained()
    y = np.arange(len(X)) % 3 + (np.nan_to_num(X[:, 0]) > 0)
    return rk.Dataset(X, y, qid=np.repeat(np.arange(30), 20), feature_names=list("abcde"))


FEW = {"n_estimators": 4, "max_leaf_nodes": 7}
RANKERS = {
    "lambdamart": lambda: rk.LambdaMART(**FEW),
    "mart": lambda: rk.MART(**FEW),
    "logistic": lambda: rk.MART("graded", **FEW),
    "smart": lambda: rk.LambdaMART(base_model=rk.MART(**FEW).fit(judged()), **FEW),
    "sum": lambda: rk.Combination(
        {"a": rk.MART(**FEW).fit(judged()), "b": rk.LambdaMART(**FEW).fit(judged())},
        weights=[2.0, 0.5],
    ),
    "bag": lambda: rk.Bagging(rk.MART(**FEW), n_folds=3),
    "multinomial": lambda: rk.McRank(**FEW),
    "ordinal": lambda: rk.McRank("ordinal", "gain", **FEW),
    "lambdaboost": lambda: rk.LambdaBoost(n_estimators=5),
    "ranknet": lambda: rk.RankNet(4, 3),
    "lambdarank": lambda: rk.LambdaRank(n_hidden=0, n_epochs=3),
}


@both
@pytest.mark.parametrize("name", RANKERS)
def test_rankers(name, precision, tmp_path):
    whole = judged()
    ranker = RANKERS[name]().fit(whole)
    path = tmp_path / "ranker.onnx"
    told = ranker.export(path, precision=precision)
    assert told.format == "onnx" and path.stat().st_size == told.n_bytes
    content = path.read_bytes()
    found, expected = scored(content, whole.X), ranker.predict(whole.X)
    scale = np.abs(expected).max()
    assert np.abs(found - expected).max() <= scale * (2e-6 if precision == "float" else 1e-13)
    one_forest = ("lambdamart", "mart", "logistic", "smart")
    if precision == "double" and name in one_forest:
        assert np.array_equal(found, expected) and "bit for bit" in told.in_words()
    model = onnx.load_from_string(content)
    names = session(content).get_modelmeta().custom_metadata_map["feature_names"]
    assert names == '["a", "b", "c", "d", "e"]'
    assert (model.producer_name, model.producer_version) == ("rankinite", rk.__version__)
    again = tmp_path / "again.onnx"
    ranker.export(again, precision=precision)
    assert again.read_bytes() == content


def test_an_imported_lightgbm_model(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = data()
    for number, kind in enumerate(("plain", "zero_as_missing", "random_forest")):
        params = {"verbose": -1, "num_threads": 1, "objective": "lambdarank", **LIGHTGBM[kind]}
        booster = lightgbm.train(params, lightgbm.Dataset(X, y, group=[30] * 100), 30)
        booster.save_model(tmp_path / "model.txt")
        model = rk.load(tmp_path / "model.txt")
        path = tmp_path / f"{number}.onnx"
        told = model.export(path, precision="double")
        assert told.largest_difference == 0.0
        rows = awkward_rows(X, model.forest_.threshold)
        expected = booster.predict(rows, num_threads=1)
        assert np.array_equal(scored(path.read_bytes(), rows), expected)


def test_an_imported_xgboost_model(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    X, y = data()
    rows = xgboost.DMatrix(X, y, group=[30] * 100)
    booster = xgboost.train({"objective": "rank:ndcg", "nthread": 1, "base_score": 0.3}, rows, 30)
    booster.save_model(tmp_path / "model.ubj")
    model = rk.load(tmp_path / "model.ubj")
    probes = awkward_rows(X, model.forest_.threshold, infinite=False)
    expected = booster.predict(xgboost.DMatrix(probes), output_margin=True)
    told = model.export(tmp_path / "model.onnx")
    assert told.largest_difference == 0.0
    assert np.array_equal(scored((tmp_path / "model.onnx").read_bytes(), probes), expected)
    model.export(tmp_path / "double.onnx", precision="double")
    found = scored((tmp_path / "double.onnx").read_bytes(), probes)
    assert np.abs(found - expected).max() <= 1e-5


@pytest.mark.parametrize(
    ("plain", "precision", "told"),
    [
        (awkward(), "half", "precision must be 'float' or 'double', got 'half'"),
        (awkward(sizes=(3, 600), shape="chain"), "double", "tree 2 is 599 splits deep"),
        (awkward(scale=1e39), "float", "single precision"),
        (awkward(scale=np.inf), "float", "not finite"),
        (PlainLinear(np.array([1e39])), "float", "weights.*precision='double'"),
        (PlainLinear(np.ones(1), single_features=True), "double", "precision='float'"),
        (awkward(single_features=True, zero_is_missing=np.ones(4, bool)), "double", "zeros"),
        (
            PlainClasses([awkward(zero_is_missing=np.ones(4, bool))] * 2, "multinomial",
                         np.arange(2.0)),
            "float",
            "zeros",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_said(plain, precision, told):
    with pytest.raises(ExportError, match=told) as caught:
        write(plain, precision=precision)
    assert "\n" not in str(caught.value)


def test_without_the_package(tmp_path, monkeypatch):
    model, _ = trained()
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ExportError, match=r"pip install 'rankinite\[onnx\]'"):
        model.export(tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_damaged_files_are_refused():
    """Each is read, and then scores, or is refused in a sentence."""
    contents = [
        write(awkward(sizes=(3, 1)), precision="double"),
        write(awkward(sizes=(3, 1)), precision="float"),
        write(nets()["hidden"]),
    ]
    rng = np.random.default_rng(0)
    n_refused = 0
    for content in contents:
        for _ in range(300):
            damaged = bytearray(content)
            for place in rng.integers(len(content), size=rng.integers(1, 4)):
                damaged[place] = rng.integers(256)
            try:
                read(bytes(damaged), "model.onnx").scores(np.zeros((3, 5)))
            except ModelFileError as error:
                assert "\n" not in str(error) and "model.onnx" in str(error)
                n_refused += 1
        for end in (0, 10, len(content) // 2, len(content) - 1):
            with pytest.raises(ModelFileError, match=r"model\.onnx"):
                read(content[:end], "model.onnx")
    assert n_refused > 300
