"""Models as things: the estimator protocol, scoring, and the model file."""

from rankinite.models.estimator import Estimator, NotFittedError
from rankinite.models.ranker import Ranker
from rankinite.models.scorer import LinearScorer
from rankinite.models.storage import load, save

__all__ = ["Estimator", "LinearScorer", "NotFittedError", "Ranker", "load", "save"]
