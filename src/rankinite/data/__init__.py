"""Data: queries with labels and preferences; datasets, whose documents have features too."""

from rankinite.data.artificial import artificial
from rankinite.data.concatenation import concat
from rankinite.data.dataset import Dataset
from rankinite.data.features import FeatureBins, FeatureRows, FeatureValues
from rankinite.data.preferences import Preferences
from rankinite.data.queries import Queries

__all__ = [
    "Dataset",
    "FeatureBins",
    "FeatureRows",
    "FeatureValues",
    "Preferences",
    "Queries",
    "artificial",
    "concat",
]
