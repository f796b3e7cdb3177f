"""Ranking measures: specifications, their values and changes under swaps, evaluation, tests."""

from rankinite.measures.evaluation import (
    Evaluation,
    Evaluator,
    MeasuresLike,
    evaluate,
    mean_value,
)
from rankinite.measures.grammar import measure
from rankinite.measures.judged import Judged
from rankinite.measures.pair_measures import PairAccuracy, PairLogLoss, PairMeasure
from rankinite.measures.protocol import Measure
from rankinite.measures.significance import Comparison, ComparisonRow, compare
from rankinite.measures.specification import (
    AP,
    DCG,
    ERR,
    NDCG,
    RR,
    AveNDCG,
    BuiltIn,
    Pairs,
    Precision,
)

__all__ = [
    "AP",
    "DCG",
    "ERR",
    "NDCG",
    "RR",
    "AveNDCG",
    "BuiltIn",
    "Comparison",
    "ComparisonRow",
    "Evaluation",
    "Evaluator",
    "Judged",
    "Measure",
    "MeasuresLike",
    "PairAccuracy",
    "PairLogLoss",
    "PairMeasure",
    "Pairs",
    "Precision",
    "compare",
    "evaluate",
    "mean_value",
    "measure",
]
