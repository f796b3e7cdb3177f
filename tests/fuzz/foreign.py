"""Models of other libraries and engines, nearly right, by our own readers and by those libraries.

What is read is used in all ways: it scores, explains, is saved, exported and trained upon. Some
files are for a library in a process of its own, whose end must be a sentence here.
"""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import rankinite as rk
from rankinite.exchange.plain import PlainForest
from rankinite.exchange.writers import FORMATS
from rankinite.models import save
from rankinite.models.file import read_model, write_model
from rankinite.models.foreign import apart
from rankinite.models.imported import Imported
from tests.fuzz.engine import Load, Mutate, in_file, target
from tests.fuzz.mutations import mutate_bytes, mutate_text
from tests.fuzz.originals import wholes
from tests.fuzz.structures import mutate_json, mutate_ubjson, mutate_xml

N_QUERIES, N_DOCS = 4, 6
# Seconds for a library to start and read, and to score: it may be asked several times in a case.
LIBRARY_SECONDS = 20.0
_LIMIT = 100.0
# One in so many is a base model of a training, which takes a while.
TRAINED = 8
_EXPORTS: dict[str, dict[str, Any]] = {
    "lightgbm": {},
    "xgboost": {},
    "ranklib": {"missing": "zero"},
    "quickrank": {"missing": "zero"},
    "solr": {"thresholds": "nearest"},
    "elasticsearch": {"form": "raw"},
    "opensearch": {"form": "dump"},
    "vespa": {},
}


def matrix(model: Any) -> np.ndarray:
    """Rows of float32 values: at and around thresholds, missing, infinite."""
    n_features = model.n_features_in_
    n_rows = N_QUERIES * N_DOCS if n_features < 10**5 else N_QUERIES
    rng = np.random.default_rng(n_features)
    pool = [rng.normal(size=50), [0.0, -0.0, 1e-36, -1e-36, 1e30, np.nan, np.nan, np.inf, -np.inf]]
    if hasattr(model, "forest_"):
        pool.append(model.forest_.threshold[:100])
    with np.errstate(over="ignore"):
        return rng.choice(np.concatenate(pool), (n_rows, n_features)).astype(np.float32)


def use(model: Any, content: bytes) -> None:
    """Whatever one does with a model of another library that was loaded."""
    X = matrix(model)
    chosen = zlib.crc32(content)
    with np.errstate(all="ignore"):
        scores = model.predict(X)
        np.testing.assert_array_equal(model.predict(X.astype(np.float64)), scores)
        if isinstance(model, Imported):
            assert scores.shape == (len(X),)
            _describe(model, X, scores)
        _save_and_load(model, X, scores)
        if isinstance(model, Imported):
            _export(model, chosen)
        if chosen % TRAINED == 0:
            _train_upon(model, X)


def _describe(model: Imported, X: np.ndarray, scores: np.ndarray) -> None:
    for name in ("in_words", "__repr__", "get_params"):
        assert getattr(model, name)()
    names = getattr(model, "feature_names_in_", None)
    assert names is None or len(names) == model.n_features_in_
    plain = model.plain()
    near = np.where(np.isfinite(X) & (np.abs(X) < 1e6), X, np.float32(0))
    if not isinstance(plain, PlainForest):
        assert model.contributions(near).shape == (len(X), model.n_features_in_ + 1)
        return
    assert model.feature_importances_.shape == (model.n_features_in_,)
    contributions = _contributions(model, near)
    leaves, forest = model.leaves(X), plain.forest
    assert len(model.to_frame()) == len(forest.value) + len(forest.feature)
    assert (forest.count >= 0).all()
    # The leaves of the rows, added up, are the scores: both kernels see the same trees.
    values = forest.value[leaves + forest.leaf_offsets[:-1]]
    sums = (plain.start + values.sum(axis=1)) * plain.scale / plain.divisor + plain.bias
    size = np.abs(values).sum(axis=1) + abs(plain.start)
    if size.max() < 1e30:
        allowed = 1e-5 * (size * abs(plain.scale) / plain.divisor + abs(plain.bias)) + 1e-30
        assert (np.abs(sums - scores) <= allowed).all()
        assert contributions.shape == (len(X), model.n_features_in_ + 1)
        assert np.isfinite(contributions).all()


def _contributions(model: Imported, X: np.ndarray) -> np.ndarray:
    try:
        return model.contributions(X)
    except rk.ParameterError as error:
        assert "background" in str(error)
        return model.contributions(X, background=X)


def _save_and_load(model: Any, X: np.ndarray, scores: np.ndarray) -> None:
    path = Path(tempfile.gettempdir()) / "case.again.rk"
    save(model, path)
    try:
        again = rk.load(path)
    except rk.ModelFileError as error:
        raise AssertionError("what was read cannot be read again") from error
    np.testing.assert_array_equal(again.predict(X), scores)


def _export(model: Imported, chosen: int) -> None:
    """To one of the formats: what is written has our scores, and the rest is refused."""
    name = list(_EXPORTS)[chosen % len(_EXPORTS)]
    path = Path(tempfile.gettempdir()) / f"case.exported{FORMATS[name].suffixes[0]}"
    path.unlink(missing_ok=True)
    try:
        model.export(path, name, **_EXPORTS[name])
    except rk.RankiniteError as error:
        assert str(error) and "\n" not in str(error) and not path.exists()
    else:
        FORMATS[name].read(path.read_bytes(), "the export")


def _train_upon(model: Any, X: np.ndarray) -> None:
    labels = np.arange(len(X)) % 3
    qid = np.arange(len(X)) // (len(X) // N_QUERIES)
    ranker = rk.LambdaMART(n_estimators=2, min_samples_leaf=2, base_model=model)
    try:
        ranker.fit(X, labels, qid=qid)
    except rk.RankiniteError as error:
        assert str(error) and "\n" not in str(error)
        return
    _save_and_load(ranker, X, ranker.predict(X))


def loaded(content: bytes, ending: str) -> None:
    """Load and use a file; libraries have little time."""
    little = mock.patch.multiple(apart, READING=LIBRARY_SECONDS, SCORING=LIBRARY_SECONDS)
    with little:
        use(rk.load(in_file(content, f".{ending}")), content)


# What only the library scores; each takes a process, so that there is one target for them.
_BY_LIBRARY = {
    "categories.lightgbm.txt": ("LightGBM", mutate_text),
    "classes.catboost.json": ("CatBoost", mutate_json),
    ".catboost.cbm": ("CatBoost", mutate_bytes),
}


# Most of these take a process, and up to some seconds.
_SLOW = 0.05


def _target(ending: str, mutate: Mutate, share: float = 1.0) -> None:
    """A target of the files with an ending, by `rankinite.load`."""

    @cache
    def by_our_reader() -> list[bytes]:
        apart = [whole for other in _BY_LIBRARY for whole in wholes(other)]
        return [whole for whole in wholes(f".{ending}") if whole not in apart] or wholes(ending)

    def load(content: bytes) -> None:
        loaded(content, ending)

    target(ending, by_our_reader, mutate, share, _LIMIT)(load)


def _mutate_ranklib(whole: bytes, rng: np.random.Generator) -> bytes:
    return (mutate_xml if b"<" in whole and rng.random() < 0.8 else mutate_text)(whole, rng)


_target("lightgbm.txt", mutate_text)
_target("lightgbm.json", mutate_json)
_target("xgboost.json", mutate_json)
_target("xgboost.ubj", mutate_ubjson)
_target("catboost.json", mutate_json)
_target("catboost.cbm", mutate_bytes, _SLOW)
_target("ranklib.txt", _mutate_ranklib)
_target("quickrank.xml", mutate_xml)


def _engine(name: str) -> Callable[[Load], Load]:
    return target(f"{name}.json", lambda: wholes(f".{name}.json"), mutate_json)


def _read_back(name: str, content: bytes) -> None:
    """By the reader that checks an export, for a format that `rankinite.load` does not know."""
    plain = FORMATS[name].read(content, "the file")
    use(Imported(plain, f"model of {name}"), content)


@_engine("solr")
def solr(content: bytes) -> None:
    _read_back("solr", content)


@_engine("elasticsearch")
def elasticsearch(content: bytes) -> None:
    """Also those of OpenSearch, which are the same."""
    _read_back("elasticsearch", content)


@_engine("vespa")
def vespa(content: bytes) -> None:
    _read_back("vespa", content)


@cache
def base_models() -> list[bytes]:
    """Files of our own with another library's model inside."""
    files = []
    for ending, (library, _) in _BY_LIBRARY.items():
        for content in wholes(ending):
            state = {"kind": "LibraryScorer", "library": library, "origin": "model"}
            path = Path(tempfile.gettempdir()) / "case.inside.rk"
            write_model(path, state, {"content": np.frombuffer(content, np.uint8)})
            files.append(path.read_bytes())
    return files


def mutate_inside(whole: bytes, rng: np.random.Generator) -> bytes:
    """The file with another model inside, signed again."""
    state, arrays = read_model(in_file(whole, ".mutate.rk"))
    before = arrays["content"].tobytes()
    (mutate,) = (how for ending, (_, how) in _BY_LIBRARY.items() if before in wholes(ending))
    content = mutate(before, rng)
    path = Path(tempfile.gettempdir()) / "case.signed.rk"
    write_model(path, state, {"content": np.frombuffer(content, np.uint8)})
    return path.read_bytes()


@target("base model", base_models, mutate_inside, _SLOW, _LIMIT)
def base_model(content: bytes) -> None:
    loaded(content, "rk")
