"""What people look at: tests of models, in tables and plots."""

from rankinite.optimality.local_optimality import LocalOptimality, local_optimality

__all__ = ["LocalOptimality", "local_optimality"]
