"""λ-gradients for any measure, from labels."""

from rankinite.lambdas.gradients import LambdaGradients

__all__ = ["LambdaGradients"]
