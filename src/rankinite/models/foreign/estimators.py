"""Models of scikit-learn: linear ones and trees become numbers, the others score by themselves.

A linear model is a weight a feature and a constant, also behind scalers; trees become our own
`Forest`. Both are then kept in the model file as arrays, load where scikit-learn is not installed,
and score a row the same in every batch and on any number of threads, which a product by BLAS or a
random forest with several jobs does not. Whether the numbers say the same as the model is tried
out on a few rows, so that a model that only looks linear (a Poisson regression, say) is not taken
for one.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from rankinite.errors import DataError, ModelFileError
from rankinite.exchange.plain import PlainForest, PlainLinear
from rankinite.models.checked_state import (
    saved_names,
    saved_number,
    saved_text,
    saved_whole,
)
from rankinite.models.file import Arrays, State
from rankinite.models.foreign.common import check_width, refuse_missing, using
from rankinite.models.foreign.forks import all_on_one_thread_if_forked
from rankinite.models.foreign.sklearn_trees import Ensemble, ensemble_of
from rankinite.models.linear import weighted_sum
from rankinite.models.storage import nested, unnested
from rankinite.trees import Forest, score_features

# Scalers by where they keep what they subtract; what they then divide by is ``scale_``.
_CENTERS = {"StandardScaler": "mean_", "RobustScaler": "center_", "MaxAbsScaler": ""}
_PROBES = 64


def estimator_scorer(model: Any) -> LinearEstimator | TreeEstimator | OtherEstimator:
    """The scorer of a scikit-learn model, one that can be saved if there is one."""
    other = OtherEstimator(model)
    if other.n_features_in_ is None:
        return other
    for make in (LinearEstimator.of, TreeEstimator.of):
        scorer = make(other)
        if scorer is not None:
            return scorer
    return other


class OtherEstimator:
    """A scikit-learn model that scores by itself; it cannot be saved.

    The score is what ``predict`` gives; of a classifier of two classes it is the decision
    function, or the probability of the second class if there is none.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.origin = type(model).__name__
        n_features = getattr(model, "n_features_in_", None)
        self.n_features_in_: int | None = None if n_features is None else int(n_features)
        names = getattr(model, "feature_names_in_", None)
        self.feature_names_in_ = None if names is None else [str(name) for name in names]

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Scores, shape (n_rows,)."""
        classes = getattr(self.model, "classes_", None)
        if classes is not None and len(classes) != 2:
            raise DataError(
                f"base_model, a {self.origin}, tells {len(classes)} classes apart, and one score a "
                "row is needed: pass a function that makes one of its probabilities"
            )
        with using(self.origin, X), all_on_one_thread_if_forked():
            if classes is None:
                return np.asarray(self.model.predict(self._with_names(X)))
            if hasattr(self.model, "decision_function"):
                return self.model.decision_function(self._with_names(X))
            return self.model.predict_proba(self._with_names(X))[:, 1]

    def _with_names(self, X: np.ndarray) -> Any:
        """The rows as what the model was trained on: a frame if it knows names of columns."""
        if self.feature_names_in_ is None:
            return X
        try:
            import pandas as pd
        except ImportError:
            return X
        return pd.DataFrame(X, columns=self.feature_names_in_)


class LinearEstimator:
    """A linear model: Σ weight · feature + intercept.

    Parameters
    ----------
    origin : str
        The class of the model it was.
    weights : ndarray of float64, shape (n_features,)
    intercept : float
    feature_names : list of str or None
    """

    def __init__(
        self, origin: str, weights: np.ndarray, intercept: float, feature_names: list[str] | None
    ) -> None:
        self.origin = origin
        self.weights = weights
        self.intercept = intercept
        self.n_features_in_ = len(weights)
        self.feature_names_in_ = feature_names

    @classmethod
    def of(cls, other: OtherEstimator) -> Self | None:
        """The numbers of a linear model or of scalers and one; None if it is no such model."""
        *scalers, model = _steps(other.model)
        try:
            weights = np.array(model.coef_, np.float64).ravel()
            intercept = float(np.ravel(model.intercept_)[0])
            for scaler in reversed(scalers):
                center, scale = _center_and_scale(scaler)
                weights = weights / scale
                intercept -= float(np.sum(center * weights))
        except (AttributeError, KeyError, TypeError, ValueError, IndexError):
            return None
        found = cls(other.origin, weights, intercept, other.feature_names_in_)
        if found.n_features_in_ != other.n_features_in_:
            return None
        probes = _probes(found.n_features_in_, np.empty(0))
        # The model may hold its numbers in single precision.
        allowed = 1e-5 * (np.abs(probes) @ np.abs(weights) + abs(intercept) + 1e-30)
        return found if _agree(other, probes, found.predict(probes), allowed) else None

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Scores, shape (n_rows,)."""
        check_width(self.origin, X, self.n_features_in_)
        refuse_missing(self.origin, X)
        return self.intercept + weighted_sum(X, self.weights)

    def plain(self) -> PlainLinear:
        """The weights as a plain model."""
        return PlainLinear(self.weights, self.intercept, self.feature_names_in_)

    def to_state(self) -> tuple[State, Arrays]:
        """What `from_state` takes: the state as JSON has it, and the arrays."""
        state = {"origin": self.origin, "feature_names": self.feature_names_in_}
        return state | {"intercept": self.intercept}, {"weights": self.weights}

    @classmethod
    def from_state(cls, state: State, arrays: Arrays) -> Self:
        """What was saved by `to_state`, after a check."""
        weights, intercept = arrays["weights"], saved_number(state, "intercept")
        if weights.dtype != np.float64 or weights.ndim != 1:
            raise ModelFileError("the weights in the model file have the wrong type")
        if not np.isfinite(weights).all():
            raise ModelFileError("the weights in the model file are not finite")
        names = saved_names(state, len(weights))
        return cls(saved_text(state, "origin"), weights, intercept, names)


class TreeEstimator:
    """A tree, a random forest or boosted trees, as our own forest.

    Parameters
    ----------
    origin : str
        The class of the model it was.
    ensemble : Ensemble
    feature_names : list of str or None
    """

    def __init__(
        self, origin: str, ensemble: Ensemble, n_features: int, feature_names: list[str] | None
    ) -> None:
        self.origin = origin
        self.ensemble = ensemble
        self.n_features_in_ = n_features
        self.feature_names_in_ = feature_names

    @classmethod
    def of(cls, other: OtherEstimator) -> Self | None:
        """The trees of a model; None if it has none, or says something else than their sum."""
        ensemble = ensemble_of(other.model)
        if ensemble is None or other.n_features_in_ is None:
            return None
        found = cls(other.origin, ensemble, other.n_features_in_, other.feature_names_in_)
        probes = _probes(found.n_features_in_, ensemble.forest.threshold)
        scores = found.predict(probes)
        # A forest with several jobs adds its trees in the order in which they are ready.
        return found if _agree(other, probes, scores, 1e-9 * np.abs(scores).max()) else None

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Scores, shape (n_rows,), bit for bit those of the model on one thread."""
        check_width(self.origin, X, self.n_features_in_)
        trees = self.ensemble
        if not trees.takes_missing:
            refuse_missing(self.origin, X)
        rows = X.astype(np.float32, copy=False) if trees.single else X
        return score_features(trees.forest, rows, trees.start) / trees.divisor

    def plain(self) -> PlainForest:
        """The trees as a plain model."""
        trees = self.ensemble
        return PlainForest(
            trees.forest,
            self.n_features_in_,
            self.feature_names_in_,
            start=trees.start,
            divisor=trees.divisor,
            single_features=trees.single,
            takes_missing=trees.takes_missing,
        )

    def to_state(self) -> tuple[State, Arrays]:
        """What `from_state` takes: the state as JSON has it, and the arrays."""
        trees = self.ensemble
        state = {
            "origin": self.origin,
            "n_features": self.n_features_in_,
            "feature_names": self.feature_names_in_,
            "start": trees.start,
            "divisor": trees.divisor,
            "single": trees.single,
            "takes_missing": trees.takes_missing,
        }
        return state, nested("forest", trees.forest.to_arrays())

    @classmethod
    def from_state(cls, state: State, arrays: Arrays) -> Self:
        """What was saved by `to_state`, after a check."""
        n_features = saved_whole(state, "n_features")
        ensemble = Ensemble(
            Forest.from_arrays(unnested("forest", arrays), n_features),
            saved_number(state, "start"),
            saved_whole(state, "divisor", 1),
            bool(state["single"]),
            bool(state["takes_missing"]),
        )
        names = saved_names(state, n_features)
        return cls(saved_text(state, "origin"), ensemble, n_features, names)


def _steps(model: Any) -> list[Any]:
    """The steps of a pipeline, or the model alone."""
    if type(model).__name__ != "Pipeline":
        return [model]
    return [step for _, step in model.steps if step is not None and step != "passthrough"]


def _center_and_scale(scaler: Any) -> tuple[Any, Any]:
    """What a scaler subtracts, and what it then divides by."""
    if getattr(scaler, "clip", False):
        # Not linear, and the probes may all lie where it does not show.
        raise ValueError("the scaler cuts values off")
    if type(scaler).__name__ == "MinMaxScaler":
        # It multiplies by ``scale_``, which is never 0, and then adds ``min_``.
        return -scaler.min_ / scaler.scale_, 1.0 / scaler.scale_
    name = _CENTERS[type(scaler).__name__]
    # A StandardScaler that does not use the mean has it nevertheless.
    center = getattr(scaler, name) if name and getattr(scaler, "with_mean", True) else None
    scale = scaler.scale_
    return 0.0 if center is None else center, 1.0 if scale is None else scale


def _probes(n_features: int, thresholds: np.ndarray) -> np.ndarray:
    """Rows to try a model on, with values around and at the thresholds of its trees."""
    rng = np.random.default_rng(0)
    pool = np.append(rng.normal(size=100), thresholds[np.abs(thresholds) < 1e30])
    return rng.choice(pool, (_PROBES, n_features)).astype(np.float32)


def _agree(other: OtherEstimator, X: np.ndarray, scores: np.ndarray, allowed: Any) -> bool:
    """Whether the model itself gives these scores."""
    try:
        own = np.asarray(other.predict(X), np.float64)
    except (DataError, TypeError, ValueError):
        return False
    own = own[:, 0] if own.shape == (len(X), 1) else own
    return own.shape == scores.shape and bool((np.abs(own - scores) <= allowed).all())
