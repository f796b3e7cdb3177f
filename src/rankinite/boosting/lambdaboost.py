"""LambdaBoost: boosted features on the λ-gradients of a ranking measure."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from rankinite.boosting.feature_blocks import FeatureBlocks, linear_scores, standard_scores
from rankinite.boosting.feature_stage import FeatureStage, Lambdas, Member, weights_of
from rankinite.boosting.objectives import LONGEST_STEP
from rankinite.boosting.rounds import BoostingRounds
from rankinite.data import Dataset
from rankinite.data.feature_labels import feature_labels
from rankinite.distributed import Communicator
from rankinite.errors import DataError, ModelFileError
from rankinite.exchange.plain import PlainNet
from rankinite.formats.files import replacing
from rankinite.lambdas import LambdaGradients
from rankinite.measures import Measure, MeasuresLike, measure
from rankinite.measures.resolving import resolved
from rankinite.models.base_model import base_scores
from rankinite.models.file import Arrays, State
from rankinite.models.parameters import Constraint, OneOf, Whole
from rankinite.models.plain_scorers import plain_net
from rankinite.models.standardizing import Standardizer
from rankinite.models.storage import nested, unnested
from rankinite.models.weight_space import WeightSpace
from rankinite.order.canonical import Canonical, canonical
from rankinite.training import Learner, Run, Watched

FeatureRounds = BoostingRounds[FeatureStage, Member]


class LambdaBoost(Learner):
    """A linear ranker that learns a ranking measure feature by feature (Gao et al. 2009).

    Each round takes the one standardised feature z that fits the λ-gradients of the measure best
    by least squares, and adds it to the scores with a coefficient. With a `base_model` it adapts
    that ranker: the result is its scores plus weighted features, robust where there is little data.

    Parameters
    ----------
    measure : str or Measure
        What to learn; see `LambdaMART`.
    n_estimators : int
        Number of rounds. A feature may be chosen in many of them.
    learning_rate : float
        Factor of every coefficient (the paper's shrinkage ν).
    step : {"newton", "least_squares"}
        The coefficient of the chosen feature: the Newton step Σλz / Σwz², or the paper's Σλz / Σz².
        The latter is as large as the λs are, so the learning rate that fits depends on the measure
        and on `sigma`: 0.5 is slow for NDCG, and far too much for "pairs".
    base_model : ranker, model, function or weights, optional
        Anything that scores; features are added to its scores, and it is saved inside the model.
    early_stopping : int, optional
        Stop when the validation measure has not risen for so many rounds, and keep the best ones.
    valid_measure : str, Measure or sequence of them, optional
        What to watch on validation data; `measure` by default. Of several the first one decides
        when to stop and what was best.
    sigma : float
        Slope of the pair probability.
    truncation : int, optional
        How deep the λs go; see `LambdaMART`.
    normalize : bool
        Weigh pairs and queries that are still open more; see `LambdaMART`.
    random_state : int or None
        Of the order of documents with equal scores.
    n_threads : int, optional
        All cores by default. The model does not depend on it, and its file does not keep it.
    verbose : int
        1 shows progress.

    Attributes
    ----------
    features_ : ndarray of int64, shape (n_rounds_,)
        The feature that each round chose; −1 where none would have helped.
    coef_ : ndarray of float64, shape (n_features,)
        Weights of the raw features.
    intercept_ : float

    Notes
    -----
    Features are standardised by the training data: a missing value counts as the mean, an infinite
    one as the lowest or highest finite value, and a feature that never varies is never chosen.
    Weights of documents and queries multiply the λs and the squared errors.

    Examples
    --------
    >>> import rankinite as rk
    >>> train, test = rk.artificial(n_queries=(60, 20), n_docs=20, n_features=10)
    >>> model = rk.LambdaBoost(n_estimators=50).fit(train)
    >>> rk.evaluate(model, test, "ndcg@10")["ndcg@10"] > 0.5
    True
    """

    constraints: ClassVar[Mapping[str, Constraint]] = {
        **Learner.constraints,
        "n_estimators": Whole(1),
        "step": OneOf(("newton", "least_squares")),
        "truncation": Whole(1, optional=True),
        "normalize": OneOf((True, False)),
    }
    unit = "round"
    sums_rounds = True

    features_: np.ndarray

    def __init__(
        self,
        measure: str | Measure = "ndcg@10",
        n_estimators: int = 500,
        learning_rate: float = 0.5,
        step: str = "newton",
        base_model: Any = None,
        early_stopping: int | None = None,
        valid_measure: MeasuresLike | None = None,
        sigma: float = 1.0,
        truncation: int | None = None,
        normalize: bool = False,
        random_state: int | None = 0,
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.step = step
        self.base_model = base_model
        self.early_stopping = early_stopping
        self.valid_measure = valid_measure
        self.sigma = sigma
        self.truncation = truncation
        self.normalize = normalize
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def _prepare(
        self, dataset: Dataset, before: np.ndarray, communicator: Communicator
    ) -> FeatureRounds:
        X, numbers = self._feature_source(dataset)
        labels = dataset.labels  # an error if there are none
        order = canonical(dataset, before)
        picked = order.rows if numbers is None else numbers[order.rows]
        standardizer = Standardizer.learn(X, picked)
        stage = FeatureStage(
            self._lambdas(resolved(measure(self.measure), labels), order),
            FeatureBlocks(X, picked, standardizer),
            standardizer,
            order.weight * np.repeat(order.query_weight, np.diff(order.offsets)),
            before[order.rows],
            float(self.learning_rate),
            self.step == "newton",
            LONGEST_STEP / float(self.sigma),
        )
        return BoostingRounds(stage, order.fingerprint)

    def _watch(
        self, watched: Watched, before: np.ndarray, rounds: FeatureRounds
    ) -> tuple[np.ndarray, np.ndarray]:
        X = self._feature_values(watched.data, watched.what)
        return X, before[np.newaxis]

    def _take(self, rounds: FeatureRounds, n_rounds: int) -> None:
        members = rounds.members[:n_rounds]
        self._standardizer = rounds.stage.standardizer
        self.features_ = np.array([member.feature for member in members], np.int64)
        self._steps = np.array([member.step for member in members], np.float64)

    def _earlier(self, other: Self, rounds: FeatureRounds, run: Run) -> list[Member]:
        return other._members()

    def _lambdas(self, learned: Measure, order: Canonical) -> Lambdas:
        return LambdaGradients.on(
            learned,
            order,
            sigma=float(self.sigma),
            truncation=self.truncation,
            normalize=bool(self.normalize),
            seed=self._seed,
        )

    def _members(self) -> list[Member]:
        pairs = zip(self.features_.tolist(), self._steps.tolist(), strict=True)
        return [Member(feature, step) for feature, step in pairs]

    @property
    def n_rounds_(self) -> int:
        """Rounds whose features the model keeps."""
        return len(self.features_)

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the raw features, shape (n_features,), without the base model."""
        self.check_fitted()
        return self._weights() * self._standardizer.scale

    @property
    def intercept_(self) -> float:
        """What is added to the weighted sum of the raw features."""
        return -math.fsum(self.coef_ * self._standardizer.mean)

    def export_weights(self, path: str | os.PathLike[str]) -> None:
        """Write the linear model as JSON for other systems: an intercept, and weights by name.

        The weights are those of `coef_` that are not 0, of raw features; a feature without a name
        goes by its number, from 1 as in LETOR files: ``"feature 3"``. ``base_model`` says to which
        kind of model's scores the sum is to be added; null if there is none.
        """
        coef = self.coef_
        names = feature_labels(self._feature_names, self.n_features_in_)
        content = {
            "base_model": None if self._base is None else type(self._base).__name__,
            "intercept": self.intercept_,
            "weights": {names[j]: float(coef[j]) for j in np.flatnonzero(coef)},
        }
        with replacing(Path(path), DataError) as temporary:
            text = json.dumps(content, indent=2, ensure_ascii=False)
            temporary.write_text(text + "\n", encoding="utf-8")

    def _weights(self, n_rounds: int | None = None) -> np.ndarray:
        """Weights of the standardised features, shape (n_features,)."""
        return weights_of(self._members()[:n_rounds], self.n_features_in_)

    def _score_matrix(self, X: np.ndarray, n_rounds: int | None) -> np.ndarray:
        weights = self._weights(n_rounds)
        return base_scores(self._base, X) + linear_scores(X, self._standardizer, weights)

    def plain(self) -> PlainNet:
        """The trained ranker as weights of standardised features."""
        self.check_fitted()
        return plain_net(self, self._standardizer, self._weights())

    def weight_space(self, dataset: Dataset) -> WeightSpace:
        """The weights as a point that can be moved about, on one dataset."""
        self.check_fitted()
        dataset = self._with_known_features(dataset)
        X = self._feature_values(dataset)
        free = np.flatnonzero(self._standardizer.scale)
        Z = np.ascontiguousarray(self._standardizer.transform(X)[:, free])
        before = base_scores(self._base, dataset)
        names = feature_labels(self._feature_names, self.n_features_in_)
        return WeightSpace(
            self._weights()[free],
            [names[j] for j in free],
            lambda weights: before + standard_scores(Z, weights),
        )

    def _own_state(self) -> tuple[State, Arrays]:
        arrays = {"features": self.features_, "steps": self._steps}
        return {}, arrays | nested("standardizer", self._standardizer.to_arrays())

    def _restore(self, state: State, arrays: Arrays) -> None:
        n_features = self.n_features_in_
        self._standardizer = Standardizer.from_arrays(unnested("standardizer", arrays), n_features)
        features, steps = arrays["features"], arrays["steps"]
        alike = features.dtype == np.int64 and steps.dtype == np.float64
        alike = alike and features.ndim == 1 and features.shape == steps.shape
        known = (features >= -1) & (features < n_features)
        if not alike or not known.all() or not np.isfinite(steps).all():
            raise ModelFileError(
                f"the model file's rounds do not name one of {n_features} features with a finite "
                "step each: save the model again"
            )
        self.features_, self._steps = features, steps
