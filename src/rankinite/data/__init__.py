"""Data: the dataset with its queries, labels, preferences and features; artificial data."""

from rankinite.data.artificial import artificial
from rankinite.data.dataset import Dataset
from rankinite.data.preferences import Preferences

__all__ = ["Dataset", "Preferences", "artificial"]
