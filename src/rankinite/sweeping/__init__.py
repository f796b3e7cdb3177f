"""Sweeps: parameters of a ranker tried in a declared space, cross-validated by query."""

from rankinite.sweeping.result import Sweep
from rankinite.sweeping.space import Choices, Space, Span
from rankinite.sweeping.sweep import sweep
from rankinite.sweeping.trial import Trial

__all__ = ["Choices", "Space", "Span", "Sweep", "Trial", "sweep"]
