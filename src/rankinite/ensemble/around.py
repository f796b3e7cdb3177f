"""Rankers around a trained one: it sees a part of the features, or its scores are put otherwise."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from rankinite.boosting.objectives import probability
from rankinite.combination.members import on_threads
from rankinite.combination.normalising import by_query, needs_queries
from rankinite.data import Dataset, FeatureValues
from rankinite.errors import ModelFileError, ParameterError
from rankinite.exchange.plain import Plain
from rankinite.exchange.sums import in_columns
from rankinite.models.checked_state import saved_names, saved_whole
from rankinite.models.file import Arrays, State
from rankinite.models.parameters import Constraint, OneOf, Real, Whole
from rankinite.models.plain_scorers import plain_of
from rankinite.models.ranker import Ranker, feature_names_of
from rankinite.models.storage import from_state, nested, to_state, unnested


class Around(Ranker):
    """A ranker that asks another one, which is trained already.

    A subclass says in `_own_state` what it is beside the ranker inside.
    """

    ranker: Any

    @property
    def needs_queries(self) -> bool:
        """Whether only a Dataset can be scored."""
        return bool(getattr(self.ranker, "needs_queries", False))

    def in_words(self) -> str:
        """The ranker inside in a few words, for people."""
        return self.ranker.in_words()

    @abstractmethod
    def _own_state(self) -> State:
        """What `from_state` needs beside the ranker inside: parameters by name."""

    def to_state(self) -> tuple[State, Arrays]:
        """What `from_state` takes: the state as JSON has it, and the arrays."""
        inner, arrays = to_state(self.ranker)
        own = {
            "params": self._own_state(),
            "n_features": self.n_features_in_,
            "feature_names": self._feature_names,
            "ranker": inner,
        }
        return own, nested("ranker", arrays)

    @classmethod
    def from_state(cls, state: State, arrays: Arrays) -> Self:
        """What was saved by `to_state`, after a check."""
        model = cls(from_state(state["ranker"], unnested("ranker", arrays)), **state["params"])
        model.check_params()
        model.n_features_in_ = saved_whole(state, "n_features", low=1)
        model._feature_names = saved_names(state, model.n_features_in_)
        model._check_inside()
        return model

    @abstractmethod
    def _check_inside(self) -> None:
        """Raise a ModelFileError if the ranker inside has not the features that it must have."""


class Narrowed(Around):
    """A ranker that was trained on some of the features, for data that has them all.

    Parameters
    ----------
    ranker : Ranker
        Trained.
    columns : sequence of int
        Which features it sees, from 0, in its order.
    n_threads : int, optional
    """

    constraints: ClassVar[Mapping[str, Constraint]] = {"n_threads": Whole(1, optional=True)}

    def __init__(self, ranker: Any, columns: Sequence[int], n_threads: int | None = None) -> None:
        self.ranker = ranker
        self.columns = columns
        self.n_threads = n_threads

    @classmethod
    def of(cls, ranker: Ranker, columns: Sequence[int], whole: Dataset) -> Self:
        """Around a ranker that was trained on some columns of the data `whole`."""
        model = cls(ranker, [int(column) for column in columns])
        model.n_features_in_, model._feature_names = whole.n_features, whole.feature_names
        return model

    def _score_rows(self, dataset: Dataset, n_rounds: int | None) -> np.ndarray:
        part = narrowed(dataset, self.columns, self._feature_values(dataset))
        return on_threads(self.ranker, self.n_threads).score_dataset(part)

    def _score_matrix(self, X: np.ndarray, n_rounds: int | None) -> np.ndarray:
        return on_threads(self.ranker, self.n_threads).predict(X[:, list(self.columns)])

    def plain(self) -> Plain:
        """The ranker inside, with the numbers that its features have in the whole data."""
        self.check_fitted()
        inside = plain_of(self.ranker, "the ranker inside")
        return in_columns(inside, self.columns, self.n_features_in_, self._feature_names)

    def _own_state(self) -> State:
        return {"columns": list(self.columns)}

    def _check_inside(self) -> None:
        whole = all(type(column) is int for column in self.columns)
        distinct = whole and len(set(self.columns)) == len(self.columns)
        if not distinct or not all(0 <= c < self.n_features_in_ for c in self.columns):
            raise ModelFileError(
                "the model file does not say which features a ranker sees: save it again"
            )
        if self.ranker.n_features_in_ != len(self.columns):
            raise ModelFileError(
                f"the model file has a ranker of {self.ranker.n_features_in_} features that sees "
                f"{len(self.columns)}: save the model again"
            )


class Rescaled(Around):
    """A ranker whose scores are put otherwise: as probabilities, or query by query.

    Parameters
    ----------
    ranker : Ranker
        Trained.
    normalize : {"none", "query", "query_max"}
        What is done with the scores of each query; see `rankinite.Combination`.
    sigma : float, optional
        Take the probability 1 / (1 + e^{−2σF}) for the score F first, as `MART.predict_proba`
        does; None leaves scores as they are.
    n_threads : int, optional
    """

    _not_plain = (
        "scores by probabilities, or normalises each query: export the ranker inside, or distil it"
    )
    constraints: ClassVar[Mapping[str, Constraint]] = {
        "normalize": OneOf(("none", "query", "query_max")),
        "n_threads": Whole(1, optional=True),
    }

    def __init__(
        self,
        ranker: Any,
        normalize: str = "query",
        sigma: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.ranker = ranker
        self.normalize = normalize
        self.sigma = sigma
        self.n_threads = n_threads

    @classmethod
    def of(cls, ranker: Ranker, normalize: str, sigma: float | None) -> Self:
        """Around a trained ranker."""
        model = cls(ranker, normalize, sigma)
        model.n_features_in_ = ranker.n_features_in_
        model._feature_names = feature_names_of(ranker)
        return model

    @property
    def needs_queries(self) -> bool:
        """Whether only a Dataset can be scored, because queries are normalised by themselves."""
        return needs_queries(self.normalize) or super().needs_queries

    def check_params(self) -> None:
        """Refuse parameters outside their range."""
        super().check_params()
        if self.sigma is not None:
            Real(0.0).check("sigma", self.sigma)

    def rescaled(self, scores: np.ndarray, offsets: np.ndarray | None) -> np.ndarray:
        """Scores of the ranker inside, shape (n_rows,), as this one gives them."""
        return rescaled(scores, offsets, self.normalize, self.sigma)

    def _score_rows(self, dataset: Dataset, n_rounds: int | None) -> np.ndarray:
        scores = on_threads(self.ranker, self.n_threads).score_dataset(dataset)
        return self.rescaled(scores, dataset.offsets)

    def _score_matrix(self, X: np.ndarray, n_rounds: int | None) -> np.ndarray:
        return self.rescaled(on_threads(self.ranker, self.n_threads).predict(X), None)

    def plain(self) -> Plain:
        """The ranker inside, if its scores stay as they are."""
        if self.sigma is not None or self.normalize != "none":
            return super().plain()
        return plain_of(self.ranker, "the ranker inside")

    def _own_state(self) -> State:
        return {"normalize": self.normalize, "sigma": self.sigma}

    def _check_inside(self) -> None:
        if self.ranker.n_features_in_ != self.n_features_in_:
            raise ModelFileError(
                f"the model file has a ranker of {self.ranker.n_features_in_} features in one of "
                f"{self.n_features_in_}: save the model again"
            )


def rescaled(
    scores: np.ndarray, offsets: np.ndarray | None, normalize: str, sigma: float | None
) -> np.ndarray:
    """Scores as probabilities, if there is a `sigma`, and then normalised in each query."""
    if sigma is not None:
        scores = probability(scores, float(sigma))
    return by_query(normalize, ["inside"], scores[:, np.newaxis], offsets)[:, 0]


def narrowed(data: Dataset, columns: Sequence[int], values: np.ndarray | None = None) -> Dataset:
    """The data with some of its features only."""
    values = data.X if values is None else values
    names = data.feature_names
    chosen = None if names is None else [names[column] for column in columns]
    matrix = np.ascontiguousarray(values[:, list(columns)])
    return Dataset.of(data, FeatureValues(matrix, chosen))


def columns_of(
    features: Sequence[int | str], n_features: int, names: list[str] | None
) -> list[int]:
    """The columns, from 0 and ascending, that names, numbers from 1 and ranges of them stand for.

    A text is a name if there is a feature of this name, and else a number or a range.
    """
    places = {name: j for j, name in enumerate(names or [])}
    found: set[int] = set()
    for each in features:
        if isinstance(each, str) and each in places:
            found.add(places[each])
            continue
        span = re.fullmatch(r"(\d+)(?:-(\d+))?", str(each))
        if span is None:
            raise ParameterError(f"features names {each!r}, and there is no such feature")
        numbers = range(int(span[1]), int(span[2] or span[1]) + 1)
        if not numbers or numbers[0] < 1 or numbers[-1] > n_features:
            raise ParameterError(
                f"features has {each!r}, and the data has the features 1 to {n_features}"
            )
        found.update(number - 1 for number in numbers)
    return sorted(found)
