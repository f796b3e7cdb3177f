"""rankinite: learning to rank, from RankNet to the ensemble that won the Yahoo! challenge.

The public names are flat and loaded on first use, so that ``import rankinite`` stays cheap::

    import rankinite as rk

    train, valid, test = rk.artificial(n_queries=(2_000, 500, 1_000))
    model = rk.LambdaMART(measure="ndcg@10").fit(train, valid=valid)
    print(rk.evaluate(model, test, ["ndcg@10", "err@10"]))
"""

from __future__ import annotations

import importlib
from typing import Any

from rankinite._environment import check_environment

__version__ = "0.1.0"

_HOMES = {
    "Dataset": "rankinite.data",
    "Expansion": "rankinite.adaptation",
    "Preferences": "rankinite.data",
    "Queries": "rankinite.data",
    "artificial": "rankinite.data",
    "concat": "rankinite.data",
    "expand": "rankinite.adaptation",
    "read": "rankinite.formats",
    "write_svmlight": "rankinite.formats",
    "Measure": "rankinite.measures",
    "measure": "rankinite.measures",
    "evaluate": "rankinite.measures",
    "compare": "rankinite.measures",
    "cross_validate": "rankinite.training",
    "LineSearch": "rankinite.linesearch",
    "line_search": "rankinite.linesearch",
    "LambdaBoost": "rankinite.boosting",
    "LambdaMART": "rankinite.boosting",
    "MART": "rankinite.boosting",
    "McRank": "rankinite.boosting",
    "RankNet": "rankinite.nets",
    "LambdaRank": "rankinite.nets",
    "Combination": "rankinite.combination",
    "Ensemble": "rankinite.ensemble",
    "assemble": "rankinite.ensemble",
    "Bagging": "rankinite.ensemble",
    "Rescaled": "rankinite.ensemble",
    "Stacked": "rankinite.ensemble",
    "Distillation": "rankinite.ensemble",
    "augmented": "rankinite.ensemble",
    "distil": "rankinite.ensemble",
    "Adaptation": "rankinite.adaptation",
    "adapt": "rankinite.adaptation",
    "Imported": "rankinite.models",
    "load": "rankinite.models",
    "mpi": "rankinite.distributed",
    "collective": "rankinite.distributed",
    "local_optimality": "rankinite.optimality",
    "explain": "rankinite.explanation",
    "partial_dependence": "rankinite.explanation",
    "permutation_importance": "rankinite.explanation",
    "Sweep": "rankinite.sweeping",
    "sweep": "rankinite.sweeping",
    "RankiniteError": "rankinite.errors",
    "DataError": "rankinite.errors",
    "ParameterError": "rankinite.errors",
    "DeclarationError": "rankinite.errors",
    "ModelFileError": "rankinite.errors",
    "WorkerError": "rankinite.errors",
    "RankiniteWarning": "rankinite.errors",
    "NothingLearnedWarning": "rankinite.errors",
}

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rankinite' has no attribute {name!r}")
    check_environment()
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
