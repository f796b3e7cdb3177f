"""Adaptation: a ranker for a domain with little data, from one with much."""

from rankinite.adaptation.adapting import CHOICES, Adaptation, adapt
from rankinite.adaptation.expansion import Expansion, expand
from rankinite.adaptation.methods import METHODS

__all__ = ["CHOICES", "METHODS", "Adaptation", "Expansion", "adapt", "expand"]
