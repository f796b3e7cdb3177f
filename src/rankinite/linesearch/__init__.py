"""Combinations of rankers: the exact line search."""

from rankinite.linesearch.searching import Curve, LineSearch, LineSearcher, line_search

__all__ = ["Curve", "LineSearch", "LineSearcher", "line_search"]
