"""Boosting: one loop, and the rankers that use it."""

from rankinite.boosting.lambdaboost import LambdaBoost
from rankinite.boosting.lambdamart import LambdaMART
from rankinite.boosting.mart import MART
from rankinite.boosting.mcrank import McRank

__all__ = ["MART", "LambdaBoost", "LambdaMART", "McRank"]
