"""Kinds of models that earlier releases wrote into model files, as what they are today."""

from __future__ import annotations

from typing import ClassVar

from rankinite.exchange.plain import PlainForest
from rankinite.models.checked_state import saved_names, saved_number, saved_text, saved_whole
from rankinite.models.file import Arrays, State
from rankinite.models.foreign.scorer import LibraryScorer
from rankinite.models.imported import Imported
from rankinite.models.storage import unnested
from rankinite.trees import Forest


class TreeEstimator:
    """Trees of scikit-learn."""

    @staticmethod
    def from_state(state: State, arrays: Arrays) -> Imported:
        """The same trees as an imported model."""
        n_features = saved_whole(state, "n_features")
        model = PlainForest(
            Forest.from_arrays(unnested("forest", arrays), n_features),
            n_features,
            saved_names(state, n_features),
            start=saved_number(state, "start"),
            divisor=saved_whole(state, "divisor", 1),
            single_features=bool(state["single"]),
            takes_missing=bool(state["takes_missing"]),
        )
        return Imported(model, saved_text(state, "origin"))


class _OfLibrary:
    library: ClassVar[str]

    @classmethod
    def from_state(cls, state: State, arrays: Arrays) -> Imported | LibraryScorer:
        """The model of what is kept in the library's format."""
        return LibraryScorer.from_state({**state, "library": cls.library}, arrays)


class LightGBMScorer(_OfLibrary):
    """A model of LightGBM, in its text."""

    library = "LightGBM"


class XGBoostScorer(_OfLibrary):
    """A model of XGBoost, in its JSON."""

    library = "XGBoost"


class CatBoostScorer(_OfLibrary):
    """A model of CatBoost, in its binary format."""

    library = "CatBoost"
