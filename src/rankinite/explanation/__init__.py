"""Why documents rank as they do: importance by measures, dependence on values, pairs in words."""

from rankinite.explanation.dependence import PartialDependence, partial_dependence
from rankinite.explanation.pairs import Explanation, explain
from rankinite.explanation.permutation import PermutationImportance, permutation_importance

__all__ = [
    "Explanation",
    "PartialDependence",
    "PermutationImportance",
    "explain",
    "partial_dependence",
    "permutation_importance",
]
