"""Data: the dataset and its binned form, readers and writers, the artificial ranking problem."""

from rankinite.data.artificial import artificial
from rankinite.data.dataset import Dataset
from rankinite.data.expansion import Expansion, expand
from rankinite.data.preferences import Preferences
from rankinite.data.reading import read
from rankinite.data.svmlight_writer import write_svmlight

__all__ = ["Dataset", "Expansion", "Preferences", "artificial", "expand", "read", "write_svmlight"]
