"""Models of LightGBM, XGBoost and CatBoost: scored by their library, kept in its own format.

A scorer gives the raw scores, before any link function. What it keeps in the model file gives
these scores back bit for bit: the text of LightGBM and the JSON of XGBoost have digits enough. The
JSON of CatBoost has not (it is off by an ulp), so its binary format is taken. None of them can hold
code.
"""

from __future__ import annotations

import importlib
import tempfile
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from rankinite.errors import ModelFileError
from rankinite.models.checked_state import saved_text
from rankinite.models.file import Arrays, State
from rankinite.models.foreign.common import (
    check_width,
    first_line,
    n_threads_for,
    not_fitted,
    real_names,
    using,
)
from rankinite.models.foreign.forks import one_thread_if_forked
from rankinite.models.foreign.integrity import (
    check_catboost,
    check_lightgbm,
    check_xgboost,
    lightgbm_trees,
)


class BoosterScorer(ABC):
    """A trained model of another boosting library.

    Parameters
    ----------
    booster
        The library's own object, which is not changed.
    origin : str
        The class of the model that it came from.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : list of str or None
    """

    library: ClassVar[str]
    package: ClassVar[str]

    n_features_in_: int
    feature_names_in_: list[str] | None

    def __init__(self, booster: Any, origin: str) -> None:
        self.booster = booster
        self.origin = origin
        # What the model file had: CatBoost writes a model that it has read in other bytes.
        self._saved: np.ndarray | None = None

    @classmethod
    @abstractmethod
    def of(cls, model: Any) -> Self:
        """The scorer of the library's object, or of its scikit-learn wrapper."""

    @abstractmethod
    def content(self) -> bytes:
        """The model in the library's format."""

    @classmethod
    @abstractmethod
    def from_content(cls, content: bytes) -> Self:
        """The model of `content`; whatever the library raises means that it is damaged."""

    @abstractmethod
    def _raw_scores(self, X: np.ndarray) -> np.ndarray: ...

    @classmethod
    def _calling(cls) -> AbstractContextManager[None]:
        """What must hold while the library is called, also to read, write or look at a model."""
        return nullcontext()

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Raw scores, shape (n_rows,); (n_rows, n_classes) if the model has several."""
        check_width(self.origin, X, self.n_features_in_)
        with using(self.origin, X), self._calling():
            return self._raw_scores(X)

    @classmethod
    def read(cls, content: bytes, where: str) -> Self:
        """The model of `content`, which may be damaged; `where` names its place for people."""
        try:
            importlib.import_module(cls.package)
        except ImportError:
            raise ModelFileError(
                f"{where} has a {cls.library} model inside: pip install {cls.package}"
            ) from None
        try:
            with cls._calling():
                return cls.from_content(content)
        except Exception as error:
            raise ModelFileError(
                f"{cls.library} cannot read its model in {where} ({first_line(error)}): "
                f"it is damaged, or of a newer {cls.library} than the one installed"
            ) from error

    def to_state(self) -> tuple[State, Arrays]:
        """What `from_state` takes: the state as JSON has it, and the arrays."""
        content = self._saved
        if content is None:
            with self._calling():
                content = np.frombuffer(self.content(), np.uint8)
        return {"origin": self.origin}, {"content": content}

    @classmethod
    def from_state(cls, state: State, arrays: Arrays) -> Self:
        """What was saved by `to_state`, after a check."""
        content = arrays["content"]
        if content.dtype != np.uint8:
            raise ModelFileError("the base model in the model file is damaged: save it again")
        scorer = cls.read(content.tobytes(), "the model file")
        scorer.origin = saved_text(state, "origin")
        scorer._saved = content
        return scorer


class LightGBMScorer(BoosterScorer):
    """A LightGBM model."""

    library, package = "LightGBM", "lightgbm"

    @classmethod
    def _calling(cls) -> AbstractContextManager[None]:
        from lightgbm import basic

        return one_thread_if_forked(getattr(basic, "_LIB", None))

    def __init__(self, booster: Any, origin: str = "Booster") -> None:
        super().__init__(booster, origin)
        self.n_features_in_ = booster.num_feature()
        self.feature_names_in_ = real_names(booster.feature_name(), "Column_")
        # Raw scores of a random forest are the sum of its trees, and its predictions their mean.
        averages = "\naverage_output\n" in booster.model_to_string(num_iteration=1)
        self._n_averaged = booster.current_iteration() if averages else 1

    @classmethod
    def of(cls, model: Any) -> Self:
        """The scorer of a Booster, or of an LGBMModel."""
        name = type(model).__name__
        with using(name), cls._calling():
            return cls(model if hasattr(model, "model_to_string") else model.booster_, name)

    def _raw_scores(self, X: np.ndarray) -> np.ndarray:
        scores = self.booster.predict(X, raw_score=True, num_threads=n_threads_for(X))
        return scores / self._n_averaged

    def content(self) -> bytes:
        """LightGBM's text, up to the best iteration."""
        return lightgbm_trees(self.booster.model_to_string()).encode()

    @classmethod
    def from_content(cls, content: bytes) -> Self:
        """The model of LightGBM's text, which is checked first: a damaged one ends the process."""
        import lightgbm

        text = lightgbm_trees(content.decode())
        check_lightgbm(text)
        return cls(lightgbm.Booster(model_str=text))


class XGBoostScorer(BoosterScorer):
    """An XGBoost model."""

    library, package = "XGBoost", "xgboost"

    @classmethod
    def _calling(cls) -> AbstractContextManager[None]:
        from xgboost import core

        return one_thread_if_forked(getattr(core, "_LIB", None))

    def __init__(self, booster: Any, origin: str = "Booster") -> None:
        super().__init__(booster, origin)
        self.n_features_in_ = booster.num_features()
        self.feature_names_in_ = real_names(booster.feature_names, "f")

    @classmethod
    def of(cls, model: Any) -> Self:
        """The scorer of a Booster, or of an XGBModel; of this up to the best iteration."""
        name = type(model).__name__
        with using(name), cls._calling():
            if hasattr(model, "save_raw"):
                return cls(model, name)
            booster = model.get_booster()
            best = booster.attr("best_iteration")
            return cls(booster if best is None else booster[: int(best) + 1], name)

    def _raw_scores(self, X: np.ndarray) -> np.ndarray:
        from xgboost import DMatrix, config_context, get_config

        booster, n_threads = self.booster, n_threads_for(X)
        types = booster.feature_types
        # XGBoost below 3 decides on the threads by itself, and may wait for ever after a fork.
        with config_context(nthread=n_threads) if "nthread" in get_config() else nullcontext():
            rows = DMatrix(
                X,
                feature_names=booster.feature_names,
                feature_types=types,
                enable_categorical=types is not None and "c" in types,
                nthread=n_threads,
            )
            return booster.predict(rows, output_margin=True)

    def content(self) -> bytes:
        """XGBoost's JSON."""
        return bytes(self.booster.save_raw("json"))

    @classmethod
    def from_content(cls, content: bytes) -> Self:
        """The model of XGBoost's JSON or UBJSON."""
        import xgboost

        check_xgboost(content)
        booster = xgboost.Booster()
        booster.load_model(bytearray(content))
        return cls(booster)


class CatBoostScorer(BoosterScorer):
    """A CatBoost model."""

    library, package = "CatBoost", "catboost"

    def __init__(self, booster: Any, origin: str = "CatBoost") -> None:
        super().__init__(booster, origin)
        names = list(booster.feature_names_)
        self.n_features_in_ = len(names)
        self.feature_names_in_ = real_names(names, "")

    @classmethod
    def of(cls, model: Any) -> Self:
        """The scorer of a CatBoost, CatBoostRanker, CatBoostRegressor or CatBoostClassifier."""
        name = type(model).__name__
        if not model.is_fitted():
            raise not_fitted(name)
        return cls(model, name)

    def _raw_scores(self, X: np.ndarray) -> np.ndarray:
        from catboost import CatBoost

        # The wrappers' own predict gives classes, or lacks the choice.
        return CatBoost.predict(
            self.booster, X, prediction_type="RawFormulaVal", thread_count=n_threads_for(X)
        )

    def content(self) -> bytes:
        """CatBoost's binary format."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.cbm"
            self.booster.save_model(str(path), format="cbm")
            return path.read_bytes()

    @classmethod
    def from_content(cls, content: bytes) -> Self:
        """The model of CatBoost's binary format or JSON."""
        from catboost import CatBoost

        booster = CatBoost()
        if not content.startswith(b"{"):
            check_catboost(content)
            return cls(booster.load_model(blob=content, format="cbm"))
        # CatBoost reads JSON from files only.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            path.write_bytes(content)
            return cls(booster.load_model(str(path), format="json"))
