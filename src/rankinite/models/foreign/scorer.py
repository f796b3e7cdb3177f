"""Models of LightGBM, XGBoost and CatBoost: as rankers of ours, or scored by their library."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Self

import numpy as np

from rankinite.errors import ModelFileError
from rankinite.exchange.faults import UnsupportedModelError
from rankinite.exchange.plain import PlainForest, PlainLinear
from rankinite.exchange.readers import format_of, read
from rankinite.models.checked_state import saved_text
from rankinite.models.file import Arrays, State
from rankinite.models.foreign import libraries
from rankinite.models.foreign.apart import Apart
from rankinite.models.foreign.common import check_width, n_threads_for, probes, real_names, using
from rankinite.models.foreign.forks import one_thread_if_forked
from rankinite.models.imported import Imported


def scorer_of(model: Any, library: libraries.Library) -> Imported | LibraryScorer:
    """The ranker of a library's object, or what lets the library score if it can be none."""
    name = type(model).__name__
    with using(name), calling(library.package):
        return _as_ours(library.of(model), name)


def scorer_of_content(library: str, content: bytes, where: str) -> Imported | LibraryScorer:
    """The same of a model in a format of the library.

    What our readers cannot say is read by the library in a process of its own.
    """
    origin = f"model of {library}"
    form = format_of(content)
    if form is not None:
        try:
            return Imported(form.read(content, where), origin)
        except UnsupportedModelError as error:
            if form.instead:
                raise UnsupportedModelError(
                    f"{error}; or save it as {form.instead}, and {library} itself scores it"
                ) from None
    return _as_ours(Apart(library, content, where), origin)


def _as_ours(engine: libraries.Model | Apart, origin: str) -> Imported | LibraryScorer:
    """The ranker of whatever a library holds, if it gives the library's scores."""
    try:
        plain = read(engine.readable(), "the model")
    except UnsupportedModelError:
        plain = None
    if plain is not None and _agrees(plain, engine):
        return Imported(plain, origin)
    return LibraryScorer(engine, origin)


def _agrees(plain: PlainForest | PlainLinear, engine: libraries.Model | Apart) -> bool:
    """Whether a library gives the scores of its model as we have read it."""
    thresholds = plain.forest.threshold if isinstance(plain, PlainForest) else np.empty(0)
    X = probes(plain.n_features, thresholds)
    X[::2, :] = np.where(np.random.default_rng(1).random(X[::2].shape) < 0.2, np.nan, X[::2])
    scores = np.asarray(engine.raw_scores(X, 1), np.float64)
    ours = plain.scores(X)
    if scores.shape != ours.shape:
        return False
    # An ulp of single precision, in which some libraries add.
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.abs(scores - ours) <= np.spacing(np.abs(ours).astype(np.float32))
    return bool((near | (scores == ours)).all())


class LibraryScorer:
    """A model that its library scores: it splits by categories, say.

    Parameters
    ----------
    engine : Model or Apart
        The library's own object in this process, or the model in a process of its own.
    origin : str
        What it was, for people.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : list of str or None
    """

    def __init__(self, engine: libraries.Model | Apart, origin: str) -> None:
        self.engine = engine
        self.origin = origin
        self.library = engine.library
        self.n_features_in_ = engine.n_features
        self.feature_names_in_ = real_names(engine.names, engine.stand_in)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Raw scores, shape (n_rows,); (n_rows, n_classes) if the model has several."""
        check_width(self.origin, X, self.n_features_in_)
        if isinstance(self.engine, Apart):
            return self.engine.raw_scores(X, n_threads_for(X))
        with using(self.origin, X), calling(self.engine.package):
            return self.engine.raw_scores(X, n_threads_for(X))

    def to_state(self) -> tuple[State, Arrays]:
        """What `from_state` takes: the state as JSON has it, and the arrays."""
        with calling(self.engine.package):
            content = np.frombuffer(self.engine.content(), np.uint8)
        return {"library": self.library, "origin": self.origin}, {"content": content}

    @classmethod
    def from_state(cls, state: State, arrays: Arrays) -> Imported | Self:
        """What was saved by `to_state`, read by our readers or in a process of its own."""
        library = saved_text(state, "library")
        if library not in libraries.LIBRARIES:
            raise ModelFileError(
                f"the model file has a model of {library[:40]!a}, which this release does not know"
            )
        content = arrays["content"]
        if content.dtype != np.uint8:
            raise ModelFileError("the base model in the model file is damaged: save it again")
        scorer = scorer_of_content(library, content.tobytes(), "the model file")
        scorer.origin = saved_text(state, "origin")
        return scorer  # type: ignore[return-value]


def calling(package: str) -> AbstractContextManager[None]:
    """What must hold while a library is called in this process."""
    if package == "lightgbm":
        from lightgbm import basic

        return one_thread_if_forked(getattr(basic, "_LIB", None))
    if package == "xgboost":
        from xgboost import core

        return one_thread_if_forked(getattr(core, "_LIB", None))
    return nullcontext()
