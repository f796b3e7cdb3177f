"""Several rankers as one: normalised scores, and the weights between them."""

from rankinite.ensemble.choosing import Contender, compare_methods
from rankinite.ensemble.combination import Combination

__all__ = ["Combination", "Contender", "compare_methods"]
