"""Ensembles: what they are made of, how they are declared, and how one call trains them."""

from rankinite.ensemble.assembling import Ensemble, assemble
from rankinite.ensemble.augmentation import augmented
from rankinite.ensemble.bagging import Bagging
from rankinite.ensemble.distillation import Distillation, distil
from rankinite.ensemble.folds import fold_numbers
from rankinite.ensemble.query_features import (
    out_of_fold,
    query_features,
    with_features,
    with_query_features,
)
from rankinite.ensemble.rescaled import Rescaled
from rankinite.ensemble.stacked import Stacked

__all__ = [
    "Bagging",
    "Distillation",
    "Ensemble",
    "Rescaled",
    "Stacked",
    "assemble",
    "augmented",
    "distil",
    "fold_numbers",
    "out_of_fold",
    "query_features",
    "with_features",
    "with_query_features",
]
