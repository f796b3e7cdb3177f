"""λ-gradients for any measure, from labels or from preference pairs."""

from rankinite.lambdas.gradients import LambdaGradients
from rankinite.lambdas.preference_gradients import PreferenceGradients

__all__ = ["LambdaGradients", "PreferenceGradients"]
