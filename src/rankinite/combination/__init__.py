"""Several rankers as one: normalised scores, and the weights between them."""

from rankinite.combination.choosing import Contender, compare_methods
from rankinite.combination.combination import Combination

__all__ = ["Combination", "Contender", "compare_methods"]
