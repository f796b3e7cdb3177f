"""A part of the features: data that has it alone, and rankers that were trained on it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from rankinite.combination.members import on_threads
from rankinite.data import Dataset, FeatureValues
from rankinite.errors import ModelFileError, ParameterError
from rankinite.exchange.plain import Plain
from rankinite.exchange.sums import in_columns
from rankinite.models.checked_state import saved_names, saved_whole
from rankinite.models.file import Arrays, State
from rankinite.models.parameters import Constraint, Whole
from rankinite.models.plain_scorers import plain_of
from rankinite.models.ranker import Ranker
from rankinite.models.storage import from_state, nested, to_state, unnested


class Narrowed(Ranker):
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

    @property
    def needs_queries(self) -> bool:
        """Whether only a Dataset can be scored."""
        return bool(getattr(self.ranker, "needs_queries", False))

    def in_words(self) -> str:
        """The ranker inside in a few words, for people."""
        return self.ranker.in_words()

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

    def to_state(self) -> tuple[State, Arrays]:
        """What `from_state` takes: the state as JSON has it, and the arrays."""
        inner, arrays = to_state(self.ranker)
        own = {
            "params": {"columns": list(self.columns)},
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
        model._check_columns()
        return model

    def _check_columns(self) -> None:
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
