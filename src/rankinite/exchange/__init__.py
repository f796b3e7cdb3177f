"""Rankers as numbers with a stated arithmetic, and the files in which other engines keep them."""

from rankinite.exchange.plain import Plain, PlainClasses, PlainForest, PlainLinear, PlainNet

__all__ = ["Plain", "PlainClasses", "PlainForest", "PlainLinear", "PlainNet"]
