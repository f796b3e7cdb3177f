"""From models to files and back: which class a state belongs to, and models inside models."""

from __future__ import annotations

import importlib
import os
from typing import Any

from rankinite.errors import ModelFileError, ParameterError
from rankinite.models.file import Arrays, State, read_model, write_model

# Where the class of a state lives. Named, not imported: rankers stand above this package.
_HOMES = {
    "LambdaBoost": "rankinite.boosting",
    "LambdaMART": "rankinite.boosting",
    "MART": "rankinite.boosting",
    "McRank": "rankinite.boosting",
    "RankNet": "rankinite.nets",
    "LambdaRank": "rankinite.nets",
    "Perceptron": "rankinite.torch",
    "Combination": "rankinite.combination",
    "Narrowed": "rankinite.ensemble.narrowed",
    "Rescaled": "rankinite.ensemble",
    "Bagging": "rankinite.ensemble",
    "Stacked": "rankinite.ensemble",
    "LinearScorer": "rankinite.models.linear",
    "LinearEstimator": "rankinite.models.foreign.estimators",
    "Imported": "rankinite.models.imported",
    "LibraryScorer": "rankinite.models.foreign.scorer",
    # Of earlier releases.
    "Probabilities": "rankinite.ensemble.rescaled",
    "TreeEstimator": "rankinite.models.foreign.earlier",
    "LightGBMScorer": "rankinite.models.foreign.earlier",
    "XGBoostScorer": "rankinite.models.foreign.earlier",
    "CatBoostScorer": "rankinite.models.foreign.earlier",
}
# Models whose file is not enough: a part of them is the user's own code. How to load them.
_WITH_OWN_CODE = {"TorchRanker": "rankinite.torch.load(path, module)"}
# What a file whose content is wrong may raise; a RecursionError: models in models in models.
FAULTS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a trained model, with all that is inside it, to one file."""
    write_model(path, *to_state(model))


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that ``save`` wrote. Its predictions are those of the saved one, bit for bit."""
    state, arrays = read_model(path)
    return from_state(state, arrays)


def to_state(model: Any) -> tuple[State, Arrays]:
    """The state of a model (JSON) and its arrays."""
    kind = type(model).__name__
    if kind not in _HOMES or not hasattr(model, "to_state"):
        raise ModelFileError(
            f"a {getattr(model, 'origin', kind)} cannot be kept in a model file: use a ranker of "
            "rankinite, a LightGBM, XGBoost or CatBoost model, a linear model or trees of "
            "scikit-learn, or a weight vector as base_model, or add the scores yourself"
        )
    state, arrays = model.to_state()
    return {"kind": kind, **state}, arrays


def from_state(state: State, arrays: Arrays) -> Any:
    """The model of a state."""
    kind = state.get("kind") if isinstance(state, dict) else None
    if not isinstance(kind, str):
        raise ModelFileError(
            "the model file does not say what kind of model it holds: save the model again"
        )
    if kind in _WITH_OWN_CODE:
        raise ModelFileError(
            f"the model file holds a {kind}, whose net is code of your own: load it by "
            f"{_WITH_OWN_CODE[kind]}"
        )
    if kind not in _HOMES:
        raise ModelFileError(
            f"the model file holds a {kind}, which this release does not know: "
            "use the release that wrote it, or a newer one"
        )
    try:
        return class_of(kind).from_state(state, arrays)
    except ModelFileError:
        raise
    except MissingLibraryError as error:
        raise ModelFileError(f"the model file cannot be used here: {error}") from None
    except FAULTS as error:
        raise ModelFileError(
            f"the model file's {kind} is incomplete or damaged ({error!r}): save the model again"
        ) from error


class MissingLibraryError(ParameterError):
    """A ranker was asked for whose library is not installed."""


def class_of(kind: str) -> Any:
    """The class of a model, by the name that files and declarations have for it."""
    try:
        home = importlib.import_module(_HOMES[kind])
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingLibraryError(
            f"a {kind} needs PyTorch, which is not installed: pip install 'rankinite[torch]'"
        ) from None
    return getattr(home, kind)


def nested(prefix: str, arrays: Arrays) -> Arrays:
    """Arrays of a model inside another, named apart."""
    return {f"{prefix}/{name}": array for name, array in arrays.items()}


def unnested(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays that `nested` named."""
    start = f"{prefix}/"
    return {
        name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)
    }
