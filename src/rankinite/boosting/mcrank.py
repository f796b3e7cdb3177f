"""McRank: boosted classification into grades, ranked by the expected relevance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from rankinite.boosting.boosted_trees import BoostedTrees
from rankinite.boosting.classes import ExpectedRelevance, Multinomial, Ordinal
from rankinite.boosting.objectives import document_weights
from rankinite.data import Dataset
from rankinite.data.frames import features_of
from rankinite.distributed import Communicator, everywhere
from rankinite.errors import DataError, ModelFileError, ParameterError
from rankinite.exchange.plain import Plain, PlainClasses, PlainForest
from rankinite.measures import Measure, MeasuresLike
from rankinite.measures.resolving import different_labels
from rankinite.models.file import Arrays, State
from rankinite.models.parameters import Constraint, OneOf
from rankinite.trees import Forest, Tree

# Every class costs a tree a round; labels of more values than this are not grades.
MOST_CLASSES = 64

_FORMS: dict[str, type[Multinomial] | type[Ordinal]] = {
    "multinomial": Multinomial,
    "ordinal": Ordinal,
}


class McRank(BoostedTrees):
    """Boosted trees that classify documents into their grades (Li, Burges and Wu 2007).

    A round grows one tree for each class (of the multinomial form) or for each class above the
    lowest (of the ordinal form). The score is the expected relevance Σ_k value_k P(y = k).

    Parameters
    ----------
    form : {"multinomial", "ordinal"}
        ``multinomial`` learns P(y = k) of all classes together, ``ordinal`` learns P(y ≥ k) of
        every class above the lowest by itself.
    class_values : {"label", "gain"} or sequence of float
        What a class counts in the score: its label, the gain 2^label − 1 of NDCG, or values of
        your own, one for each label that the training data has, from the lowest label on.
    measure : str or Measure
        What is watched on validation data; it does not change the loss.
    n_estimators : int
        Number of rounds.
    max_leaf_nodes, max_depth, learning_rate, min_samples_leaf, max_bins, growth, split
        As in `LambdaMART`, and so are min_curvature_leaf and l2_regularization (in units of the
        documents' weights), row_fraction, feature_fraction, query_fraction, importance_fraction,
        early_stopping, valid_measure, random_state, n_threads and verbose. Wu et al. (2008) used
        10 leaves and a rate of 0.05.
    base_model : ranker, model, function or weights, optional
        A score s that the classes begin with: P(y = k) grows like e^{ks}, so that the ranking is
        that of the base model before the first round.

    Examples
    --------
    >>> import rankinite as rk
    >>> train, test = rk.artificial(n_queries=(40, 20), n_docs=20, n_features=5)
    >>> model = rk.McRank(n_estimators=10, max_leaf_nodes=7).fit(train)
    >>> model.predict_proba(test).shape
    (400, 5)
    """

    constraints: ClassVar[Mapping[str, Constraint]] = {
        **{name: each for name, each in BoostedTrees.constraints.items() if name != "sigma"},
        "form": OneOf(tuple(_FORMS)),
    }
    unit = "round"
    learns_from_pairs = False

    _link: ExpectedRelevance

    def __init__(
        self,
        form: str = "multinomial",
        class_values: str | Sequence[float] = "label",
        measure: str | Measure = "ndcg@10",
        n_estimators: int = 500,
        max_leaf_nodes: int = 31,
        max_depth: int | None = None,
        learning_rate: float = 0.1,
        min_samples_leaf: int = 20,
        min_curvature_leaf: float = 0.0,
        l2_regularization: float = 0.0,
        max_bins: int = 255,
        growth: str = "best_first",
        split: str = "least_squares",
        row_fraction: float = 1.0,
        feature_fraction: float = 1.0,
        query_fraction: float = 1.0,
        importance_fraction: float | str = 1.0,
        base_model: Any = None,
        early_stopping: int | None = None,
        valid_measure: MeasuresLike | None = None,
        random_state: int | None = 0,
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.form = form
        self.class_values = class_values
        self.measure = measure
        self.n_estimators = n_estimators
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.min_samples_leaf = min_samples_leaf
        self.min_curvature_leaf = min_curvature_leaf
        self.l2_regularization = l2_regularization
        self.max_bins = max_bins
        self.growth = growth
        self.split = split
        self.row_fraction = row_fraction
        self.feature_fraction = feature_fraction
        self.query_fraction = query_fraction
        self.importance_fraction = importance_fraction
        self.base_model = base_model
        self.early_stopping = early_stopping
        self.valid_measure = valid_measure
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def predict_proba(self, X: Any, *, n_rounds: int | None = None) -> np.ndarray:
        """P(y = k) of every row, shape (n_rows, n_classes), in the order of `classes_`.

        `n_rounds` is as for `predict`.
        """
        self.check_fitted()
        self._check_rounds(n_rounds)
        if isinstance(X, Dataset):
            X = self._with_known_features(X)
            outputs = self._outputs(X, n_rounds)
            return X.in_caller_order(self._link.probabilities(outputs).T)
        matrix, names = features_of(X, self._feature_names)
        self._check_features(matrix.shape[1], names)
        return self._link.probabilities(self._outputs(matrix, n_rounds)).T

    @property
    def classes_(self) -> np.ndarray:
        """The labels of the training data, ascending, shape (n_classes,)."""
        self.check_fitted()
        return self._link.classes

    @property
    def class_values_(self) -> np.ndarray:
        """What each class counts in the score, shape (n_classes,)."""
        self.check_fitted()
        return self._link.values

    def in_words(self) -> str:
        """The trained model in a few words, for people."""
        self.check_fitted()
        return f"McRank with {self.n_rounds_} rounds of {len(self._start)} trees ({self.form})"

    def check_params(self) -> None:
        """Refuse parameters outside their range, or that do not fit each other."""
        super().check_params()
        if isinstance(self.class_values, str):
            OneOf(("label", "gain")).check("class_values", self.class_values)
        else:
            _given_values(self.class_values)

    def _objective(
        self,
        dataset: Dataset,
        keys: np.ndarray,
        communicator: Communicator,
        together: Communicator,
    ) -> Multinomial | Ordinal:
        labels = different_labels(dataset.labels, communicator)
        classes = np.searchsorted(labels, dataset.labels)
        if len(labels) > MOST_CLASSES:
            raise everywhere(
                DataError(
                    f"McRank needs graded labels, but there are {len(labels)} different ones (at "
                    f"most {MOST_CLASSES}): round them to grades, or use MART"
                )
            )
        link = ExpectedRelevance(self.form, labels, values_of(self.class_values, labels))
        weight = document_weights(dataset)
        return _FORMS[self.form](classes, len(labels), weight, link, communicator)

    def _plain_of_outputs(self, outputs: list[PlainForest]) -> Plain:
        values = self._link.values
        if len(values) == 1:
            # There is nothing to tell apart: the score is the value of the one grade.
            leaf = Tree.of_one_leaf(float(values[0]))
            return replace(outputs[0], forest=Forest.from_trees([leaf]), start=0.0)
        return PlainClasses(outputs, self.form, values)

    def _own_state(self) -> tuple[State, Arrays]:
        state, arrays = super()._own_state()
        arrays |= {"classes": self._link.classes, "class_values": self._link.values}
        return state, arrays

    def _saved_link(self, state: State, arrays: Arrays) -> ExpectedRelevance:
        classes, values = arrays["classes"], arrays["class_values"]
        right = classes.dtype == values.dtype == np.float64 and classes.ndim == 1
        right = right and 1 <= len(classes) <= MOST_CLASSES and classes.shape == values.shape
        if not right or not np.isfinite([classes, values]).all():
            raise ModelFileError(
                f"the model file has classes of shape {classes.shape} with values of shape "
                f"{values.shape} that are not all numbers: save the model again"
            )
        return ExpectedRelevance(self.form, classes, values)


def values_of(class_values: str | Sequence[float], labels: np.ndarray) -> np.ndarray:
    """What each class, with its label, counts in the score."""
    if isinstance(class_values, str):
        return labels.copy() if class_values == "label" else np.exp2(labels) - 1.0
    values = _given_values(class_values)
    if len(values) != len(labels):
        shown = ", ".join(f"{label:g}" for label in labels[:8])
        raise ParameterError(
            f"class_values has {len(values)} values, but the training data has {len(labels)} "
            f"labels ({shown}{', …' if len(labels) > 8 else ''}): give one for each"
        )
    return values


def _given_values(class_values: Sequence[float]) -> np.ndarray:
    """Numbers that a user gave, whether or not they fit the labels."""
    try:
        values = np.array(class_values, np.float64)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ParameterError(
            'class_values must be "label", "gain" or a list of finite numbers, one for each label, '
            f"got {class_values!r}"
        )
    return values
