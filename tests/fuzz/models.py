"""Model files and checkpoints whose checksum is right and whose content is not."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import rankinite as rk
from rankinite.models import Ranker
from rankinite.models.file import read_model, write_model
from tests import damage
from tests.fuzz.engine import in_file, target
from tests.fuzz.structures import change_value, one_of

_NUMBERS = (0, 1, -1, 2, 3, 127, 255, 2**31 - 1, -(2**31), 2**62, -(2**63), 0.5, 1e-320, 1e308)
_FLOATS = (*_NUMBERS, np.nan, np.inf, -np.inf)
_TYPES = ("f8", "f4", "f2", "i8", "i4", "i2", "u8", "u1", "?")


@cache
def data() -> rk.Dataset:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 3))
    labels = np.clip(np.rint(X[:, 0] + 1), 0, 2)
    return rk.Dataset(X, labels, qid=np.repeat(np.arange(6), 4), feature_names=["a", "ü", "c"])


TREES = {"n_estimators": 2, "max_leaf_nodes": 3, "min_samples_leaf": 2}


@cache
def learners() -> dict[str, Any]:
    """One of each kind, not trained; the names are those of the files."""
    return {
        "lambdamart": rk.LambdaMART(**TREES, base_model=[0.1, 0.2, 0.3]),
        "seed": rk.LambdaMART(**TREES, random_state=None, valid_measure=["mrr", "ndcg@3"]),
        "backfit": rk.LambdaMART(**TREES, backfit=1),
        "mart": rk.MART("graded", **TREES),
        "mcrank": rk.McRank(**TREES, class_values="gain"),
        "ordinal": rk.McRank("ordinal", [0, 1, 5], **TREES),
        "lambdaboost": rk.LambdaBoost(n_estimators=3),
        "ranknet": rk.RankNet(2, 3),
        "lambdarank": rk.LambdaRank(n_hidden=0, n_epochs=3, n_restarts=1, patience=1),
    }


@cache
def fitted() -> dict[str, Any]:
    made = {name: each.fit(data(), valid=data()) for name, each in learners().items()}
    three = {name: made[name] for name in ("lambdamart", "mcrank", "lambdarank")}
    for method in ("average", "net", "pair_tree", "linear"):
        made[method] = rk.Combination(three, method=method).fit(data())
    made["query"] = rk.Combination(three, normalize="query").fit(data())
    mart = rk.MART("graded", **TREES)
    made["bag"] = rk.Bagging(mart, n_folds=2, augment={"times": 1}).fit(data())
    chances = rk.Rescaled(mart, probabilities=True, normalize="query_max")
    made["rescaled"] = chances.fit(data())
    if find_spec("torch"):
        from rankinite.torch import Perceptron

        net = Perceptron((3, 2), n_epochs=1, layer_norm=True, dropout=0.1)
        made["perceptron"] = net.fit(data(), valid=data())
    made["stacked"] = rk.Stacked(mart, {"mart": mart, "p": chances}, n_folds=2).fit(data())
    return made


@cache
def model_files() -> list[bytes]:
    return list(_contents(fitted()))


@cache
def checkpoint_files() -> list[bytes]:
    return list(_contents({name: fitted()[name] for name in learners()}))


def _contents(models: dict[str, Any]) -> Iterator[bytes]:
    for model in models.values():
        path = in_file(b"", ".whole.rk")
        model.save(path)
        yield path.read_bytes()


def mutate(whole: bytes, rng: np.random.Generator) -> bytes:
    """The file with other values in its state or its arrays, signed again; or damaged as it is."""
    if rng.random() < 0.1:
        return damage.one_damage(whole, rng)
    state, arrays = read_model(in_file(whole, ".mutate.rk"))
    for _ in range(rng.geometric(0.7)):
        if rng.random() < 0.55:
            change_value(state, rng)
        else:
            _change_arrays(arrays, rng)
    path = Path(tempfile.gettempdir()) / "case.signed.rk"
    write_model(path, state, arrays)
    return path.read_bytes()


def _change_arrays(arrays: dict[str, np.ndarray], rng: np.random.Generator) -> None:
    if not arrays:
        return
    name = one_of(sorted(arrays), rng)
    array = arrays[name].copy()
    match rng.integers(9):
        case 0:
            del arrays[name]
            return
        case 1:
            array = array[: rng.integers(len(array) + 1)]
        case 2:
            array = np.concatenate([array, array])
        case 3:
            with np.errstate(all="ignore"):
                array = array.astype(one_of(_TYPES, rng))
        case 4:
            array = array.reshape(one_of(((1, -1), (-1, 1)), rng)) if array.size else array
        case 5:
            array = arrays[one_of(sorted(arrays), rng)]
        case _ if array.size:
            values = _FLOATS if array.dtype.kind == "f" else _NUMBERS
            with np.errstate(all="ignore"):
                value = np.array(one_of(values, rng)).astype(array.dtype)
            array.reshape(-1)[rng.integers(array.size)] = value
    arrays[name] = array


def use(model: Any) -> None:
    """Whatever one does with a model that was loaded."""
    rows = data()
    if not isinstance(model, Ranker):  # a base model, in a file of its own
        assert model.predict(rows.X[:5]).shape == (5,)
        return
    with np.errstate(all="ignore"):
        if not getattr(model, "needs_queries", False):
            assert model.predict(rows.X[:5]).shape == (5,)
        assert model.score_dataset(rows).shape == (rows.n_rows,)
        for name in ("in_words", "__repr__", "get_params"):
            getattr(model, name, lambda: None)()
        for name in ("coef_", "intercept_", "weights_", "shares_", "feature_importances_"):
            getattr(model, name, None)
        scores = model.score_dataset(rows)
    path = Path(tempfile.gettempdir()) / "case.again.rk"
    model.save(path)
    try:
        again = rk.load(path)
    except rk.ModelFileError as error:
        raise AssertionError("what was read cannot be read again") from error
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(again.score_dataset(rows), scores)


@target("model", model_files, mutate)
def model_file(content: bytes) -> None:
    use(rk.load(in_file(content, ".rk")))


@target("checkpoint", checkpoint_files, mutate)
def checkpoint(content: bytes) -> None:
    path = in_file(content, ".rk")
    kind = type(rk.load(path)).__name__
    for learner in learners().values():
        if type(learner).__name__ == kind:
            _resume(learner, path)


def _resume(learner: Any, path: Path) -> None:
    fresh: Callable[..., Any] = type(learner)
    most = "n_epochs" if learner.unit == "epoch" else "n_estimators"
    params = learner.get_params(deep=False)
    params[most] += 1
    try:
        with np.errstate(all="ignore"):  # leaves of 1e308 overflow, and may
            resumed = fresh(**params).fit(data(), valid=data(), resume=path)
    except rk.RankiniteError as error:
        assert "\n" not in str(error)
        return
    use(resumed)
