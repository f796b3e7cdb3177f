"""Models as things: the estimator protocol, scoring, and the model file."""

from rankinite.models.estimator import Estimator, NotFittedError
from rankinite.models.imported import Imported
from rankinite.models.linear import LinearScorer
from rankinite.models.loading import is_model_file, load
from rankinite.models.ranker import Ranker
from rankinite.models.storage import save

__all__ = [
    "Estimator",
    "Imported",
    "LinearScorer",
    "NotFittedError",
    "Ranker",
    "is_model_file",
    "load",
    "save",
]
