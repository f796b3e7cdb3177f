"""A model of another library or engine as a ranker of ours: its numbers, scored by our kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from rankinite.data import Dataset
from rankinite.data.feature_labels import feature_label
from rankinite.errors import DataError, ModelFileError, ParameterError
from rankinite.exchange import PlainForest, PlainLinear
from rankinite.models.checked_state import saved_names, saved_number, saved_text, saved_whole
from rankinite.models.file import Arrays, State
from rankinite.models.parameters import Constraint, Whole
from rankinite.models.ranker import Ranker, takes_width
from rankinite.models.storage import nested, unnested
from rankinite.trees import Forest

# Fields of a plain forest as a model file has them.
_NUMBERS = ("start", "scale", "bias")
_FLAGS = ("single_features", "single_sums", "takes_missing", "open_ended")
_LINEAR_FLAGS = ("single_features", "open_ended")


class Imported(Ranker):
    """A ranker that another library or engine trained: its trees or its weights.

    `rankinite.load` makes one of a file, `Imported.of` of a model in memory. It scores as its
    origin does, with the same precision and the same missing values, and needs no other library.
    It cannot be trained.

    Parameters
    ----------
    model : PlainForest or PlainLinear
        The model as arrays and a stated arithmetic.
    origin : str
        What it was, for people: "model of LightGBM", or the class of an object.
    n_threads : int, optional
        Number of threads for large batches; all by default.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of object, shape (n_features_in_,)
        Only if the model knows them.
    forest_ : Forest
        Only of a model that is made of trees.
    coef_, intercept_ : ndarray of shape (n_features_in_,), float
        Only of a linear model.
    """

    constraints: ClassVar[Mapping[str, Constraint]] = {"n_threads": Whole(1, optional=True)}

    def __init__(
        self, model: PlainForest | PlainLinear, origin: str, n_threads: int | None = None
    ) -> None:
        self.model = model
        self.origin = origin
        self.n_threads = n_threads
        self.n_features_in_ = model.n_features
        self._feature_names = model.feature_names

    @classmethod
    def of(cls, model: Any) -> Self:
        """The ranker of a trained model of LightGBM, XGBoost, CatBoost or scikit-learn.

        An error if it is none whose trees or weights can be written as ours: one that splits by
        categories, say.
        """
        from rankinite.models.foreign import as_foreign_scorer, is_foreign

        if isinstance(model, type) or not is_foreign(model):
            raise ParameterError(
                "a trained model of LightGBM, XGBoost, CatBoost or scikit-learn can be imported, "
                f"not {model!r:.60}"
            )
        found = as_foreign_scorer(model)
        if not isinstance(found, cls):
            raise ModelFileError(
                f"this {type(model).__name__} cannot become a ranker of ours: it is no sum of "
                "trees with numeric splits"
            )
        return found

    @property
    def open_ended(self) -> bool:
        """Whether rows may have more features than the model names."""
        return self.model.open_ended

    def plain(self) -> PlainForest | PlainLinear:
        """The model as arrays and a stated arithmetic."""
        return self.model

    @property
    def forest_(self) -> Forest:
        """The trees; an AttributeError if there are none."""
        if not isinstance(self.model, PlainForest):
            raise AttributeError("this model is linear and has no forest_")
        return self.model.forest

    @property
    def coef_(self) -> np.ndarray:
        """The weights of the features; an AttributeError if it is made of trees."""
        if not isinstance(self.model, PlainLinear):
            raise AttributeError("this model is made of trees and has no coef_")
        return self.model.weights

    @property
    def intercept_(self) -> float:
        """The constant of a linear model; an AttributeError if it is made of trees."""
        if not isinstance(self.model, PlainLinear):
            raise AttributeError("this model is made of trees and has no intercept_")
        return self.model.intercept

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each feature in the sum of all splits' gains, shape (n_features,).

        An AttributeError if it is linear.
        """
        if not isinstance(self.model, PlainForest):
            raise AttributeError("this model is linear and has no feature_importances_")
        gains = np.asarray(self.feature_importance("gain"))
        return gains / gains.sum() if gains.sum() > 0 else gains

    def fit(self, *data: Any, **options: Any) -> NoReturn:
        """Raise an error: what another library trained is only scored here."""
        raise ParameterError(
            f"an imported {self.origin} cannot be trained further: use it as base_model of a "
            "ranker that is trained"
        )

    def in_words(self) -> str:
        """The model in a few words, for people."""
        if isinstance(self.model, PlainLinear):
            return f"{self.origin}, linear in {self.n_features_in_:,} features"
        forest = self.forest_
        trees = "1 tree" if forest.n_trees == 1 else f"{forest.n_trees:,} trees"
        return f"{self.origin}, {trees} of up to {forest.most_leaves:,} leaves"

    def _score_matrix(self, X: np.ndarray, n_rounds: int | None) -> np.ndarray:
        if isinstance(self.model, PlainLinear):
            return self.model.scores(X)
        if not self.model.takes_missing:
            refuse_missing(f"a {self.origin}", X)
        return self.model.scores(X, n_rounds)

    def _check_rounds(self, n_rounds: int | None) -> None:
        if n_rounds is None:
            return
        if isinstance(self.model, PlainLinear) or self.model.divisor != 1:
            raise ParameterError(
                f"n_rounds={n_rounds!r} asks for the first trees of a sum, and a {self.origin} is "
                "none: leave it out"
            )
        Whole(0, self.model.forest.n_trees).check("n_rounds", n_rounds)

    def _needs_values(self, what: str) -> str:
        return (
            f"{what} holds only bins, and a {self.origin} needs feature values: pass the dataset "
            "with its features"
        )

    def _with_known_features(self, rows: Dataset) -> Dataset:
        if self.open_ended or self._has_underscores_for(rows.feature_names):
            self._check_features(rows.n_features, None)
            return rows
        return super()._with_known_features(rows)

    def _check_features(self, n_features: int, names: list[str] | None) -> None:
        if self._has_underscores_for(names):
            names = None
        if takes_width(self, n_features):
            n_features = self.n_features_in_
        super()._check_features(n_features, names)

    def _has_underscores_for(self, names: list[str] | None) -> bool:
        """Whether data has the names of the model, into which LightGBM puts underscores."""
        return names is not None and self._feature_names == [n.replace(" ", "_") for n in names]

    def to_state(self) -> tuple[State, Arrays]:
        """What `from_state` takes: the state as JSON has it, and the arrays."""
        model = self.model
        state: State = {
            "origin": self.origin,
            "n_features": model.n_features,
            "feature_names": model.feature_names,
        }
        if isinstance(model, PlainLinear):
            state |= {name: getattr(model, name) for name in ("intercept", *_LINEAR_FLAGS)}
            return state, {"weights": model.weights}
        state |= {name: getattr(model, name) for name in (*_NUMBERS, *_FLAGS, "divisor")}
        arrays = nested("forest", model.forest.to_arrays())
        for name in ("zero_is_missing", "cover"):
            if getattr(model, name) is not None:
                arrays[name] = getattr(model, name)
        return state, arrays

    @classmethod
    def from_state(cls, state: State, arrays: Arrays) -> Self:
        """What was saved by `to_state`, after a check."""
        n_features = saved_whole(state, "n_features")
        names = saved_names(state, n_features)
        origin = saved_text(state, "origin")
        if "weights" in arrays:
            weights = _checked(arrays, "weights", np.float64, n_features)
            linear = PlainLinear(
                weights,
                saved_number(state, "intercept"),
                names,
                **{name: _flag(state, name) for name in _LINEAR_FLAGS},
            )
            return cls(linear, origin)
        forest = Forest.from_arrays(unnested("forest", arrays), n_features)
        model = PlainForest(
            forest,
            n_features,
            names,
            divisor=saved_whole(state, "divisor", 1),
            zero_is_missing=_checked(arrays, "zero_is_missing", np.bool_, n_features),
            cover=_checked(arrays, "cover", np.float64, len(forest.value)),
            start=saved_number(state, "start"),
            scale=saved_number(state, "scale"),
            bias=saved_number(state, "bias"),
            **{name: _flag(state, name) for name in _FLAGS},
        )
        return cls(model, origin)


def arithmetic_of(model: PlainForest | PlainLinear) -> str:
    """How a plain model computes scores, in a few words for people."""
    single = "single" if model.single_features else "double"
    words = [f"features in {single} precision"]
    if isinstance(model, PlainForest):
        words.append(f"sums in {'single' if model.single_sums else 'double'} precision")
        if model.divisor != 1:
            words.append("the mean of the trees")
        if model.start or model.bias:
            words.append(f"the constant {model.start or model.bias:g}")
    else:
        words.append("missing values count as 0")
    return ", ".join(words)


def refuse_missing(who: str, X: np.ndarray) -> None:
    """Raise if a value is missing, for a model that cannot score such rows."""
    missing = np.isnan(X)
    if missing.any():
        row, feature = np.argwhere(missing)[0]
        raise DataError(
            f"{who} takes no missing values, but {feature_label(feature)} is missing in row "
            f"{row}: fill them in, or take a pipeline with an imputer"
        )


def _checked(arrays: Arrays, name: str, dtype: type, size: int) -> Any:
    """An array of a model file, of numbers that are finite; None if it is not there."""
    array = arrays.get(name)
    if array is None:
        return None
    if array.dtype != dtype or array.shape != (size,):
        raise ModelFileError(f"{name} in the model file has the wrong type or length")
    if array.dtype == np.float64 and not np.isfinite(array).all():
        raise ModelFileError(f"{name} in the model file is not finite")
    return array


def _flag(state: State, name: str) -> bool:
    return bool(saved_whole({name: int(state[name])}, name, 0, 1))
