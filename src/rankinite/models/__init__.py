"""Models as things: the estimator protocol, scoring, and the model file."""

from rankinite.models.estimator import Estimator, NotFittedError
from rankinite.models.foreign import load_base_model
from rankinite.models.linear import LinearScorer
from rankinite.models.ranker import Ranker
from rankinite.models.storage import load, save

__all__ = [
    "Estimator",
    "LinearScorer",
    "NotFittedError",
    "Ranker",
    "load",
    "load_base_model",
    "save",
]
