"""ONNX, which onnxruntime scores, and all that is built on it.

The one input is ``features``, of shape (N, n_features), the one output ``score``, of shape (N, 1).
In the precision ``float`` both are float32, and so is all between them: trees are a
``TreeEnsembleRegressor``, which adds leaves in single precision. In ``double`` trees are a
``TreeEnsemble``, which came with version 5 of the operators for trees and adds doubles in the order
of the trees, as we do; the older operator gives float32 whatever it is told. Missing values are
NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rankinite.errors import ExportError
from rankinite.exchange.plain import (
    FARTHEST,
    ZERO,
    Plain,
    PlainClasses,
    PlainForest,
    PlainLinear,
    PlainNet,
)
from rankinite.exchange.writers.folding import check_single, check_zeros, in_leaves
from rankinite.exchange.writers.onnx_graph import INPUT, OUTPUT, OnnxGraph
from rankinite.exchange.writers.onnx_trees import ensemble, regressor, with_splits
from rankinite.exchange.writers.texts import check_depth
from rankinite.exchange.writers.thresholds import for_doubles, single_at_most

PRECISIONS = {"float": np.float32, "double": np.float64}
# Where standardised values are cut in single precision, which has no such number as `FARTHEST`.
_FARTHEST_SINGLE = 1e30
# onnxruntime calls itself for every split on the way down when it loads a model: with a stack of
# 512 KB, as some threads have, 600 splits pass and 1,000 end the process.
_DEEPEST = 500
_ORDER = "on several threads onnxruntime adds trees in another order, which changes last places"


def write(plain: Plain, *, variant: str = ".onnx", precision: str = "float") -> bytes:
    """The bytes of a model of ONNX.

    Parameters
    ----------
    precision : str
        ``"float"`` or ``"double"``: of the features, of all that is computed, and of the score.
    """
    if precision not in PRECISIONS:
        raise ExportError(f"precision must be 'float' or 'double', got {precision!r}")
    graph = OnnxGraph(PRECISIONS[precision], plain.n_features)
    if isinstance(plain, PlainForest):
        _forest(graph, plain)
    elif isinstance(plain, PlainClasses):
        _classes(graph, plain)
    elif isinstance(plain, PlainLinear):
        _linear(graph, plain)
    else:
        _net(graph, plain)
    return graph.content(plain.feature_names)


def notes(plain: Plain) -> list[str]:
    """What to know before the file is used."""
    return [_ORDER] if isinstance(plain, PlainForest | PlainClasses) else []


def _forest(graph: OnnxGraph, plain: PlainForest) -> None:
    x = _with_zeros_missing(graph, plain)
    if graph.dtype is np.float32:
        _trees(graph, [plain], x, OUTPUT)
        return
    # What comes after the sum stays there, so that every score keeps its bits.
    after = [
        (operator, name, value)
        for operator, name, value, neutral in (
            ("Mul", "scale", plain.scale, 1.0),
            ("Div", "divisor", float(plain.divisor), 1.0),
            ("Add", "bias", plain.bias, 0.0),
        )
        if value != neutral
    ]
    sums = replace(plain, scale=1.0, divisor=1, bias=0.0)
    score = _trees(graph, [sums], x, "trees" if after else OUTPUT)
    for number, (operator, name, value) in enumerate(after, 1):
        to = OUTPUT if number == len(after) else f"after_{name}"
        score = graph.add(operator, score, graph.constant(name, value), to=to)


def _trees(graph: OnnxGraph, plains: Sequence[PlainForest], x: str, to: str) -> str:
    """A column for each of some forests."""
    whole = [in_leaves(plain) for plain in plains]
    for plain in whole:
        check_depth(plain.forest, "onnxruntime", _DEEPEST)
    if graph.dtype is np.float64:
        whole = [replace(plain, forest=with_splits(plain.forest)) for plain in whole]
        thresholds = [for_doubles(plain) for plain in whole]
        attributes = ensemble([plain.forest for plain in whole], thresholds)
        return graph.add("TreeEnsemble", x, to=to, **attributes)
    for plain in whole:
        check_single(plain, "onnxruntime")
    forests = [plain.forest for plain in whole]
    thresholds = [single_at_most(forest.threshold) for forest in forests]
    return graph.add("TreeEnsembleRegressor", x, to=to, **regressor(forests, thresholds))


def _with_zeros_missing(graph: OnnxGraph, plain: PlainForest) -> str:
    """The features, where zeros are missing values of those for which they are."""
    zeros = plain.zero_is_missing
    if zeros is None or not zeros[plain.forest.feature].any():
        return INPUT
    if plain.single_features and graph.dtype is np.float64:
        # A double may round to what counts as zero.
        check_zeros(plain, "ONNX in double precision")
    size = graph.add("Abs", INPUT, to="size")
    tiny = graph.add("LessOrEqual", size, graph.constant("zero", ZERO), to="is_zero")
    gone = graph.add("And", tiny, graph.constant("zero_is_missing", zeros), to="is_missing")
    return graph.add("Where", gone, graph.constant("missing", np.nan), INPUT, to="present")


def _linear(graph: OnnxGraph, plain: PlainLinear) -> None:
    if plain.single_features and graph.dtype is np.float64:
        raise ExportError(
            "the model rounds features to single precision before it weighs them: export it with "
            "precision='float'"
        )
    present = _or_zero(graph, INPUT, "present")
    _weighted_sum(graph, present, plain.weights, plain.intercept)


def _net(graph: OnnxGraph, plain: PlainNet) -> None:
    constant, add = graph.constant, graph.add
    single = graph.dtype is np.float32
    farthest = _FARTHEST_SINGLE if single else FARTHEST
    is_high = add("Greater", INPUT, constant("zero", 0.0), to="is_high")
    end = add("Where", is_high, constant("high", plain.high), constant("low", plain.low), to="end")
    is_infinite = add("IsInf", INPUT, to="is_infinite")
    finite = add("Where", is_infinite, end, INPUT, to="finite")
    distance = add("Sub", finite, constant("mean", plain.mean), to="distance")
    scaled = add("Mul", distance, constant("scale", plain.scale), to="scaled")
    present = _or_zero(graph, scaled, "present")
    ends = constant("lowest", -farthest), constant("highest", farthest)
    z = add("Clip", present, *ends, to="standardised")
    if plain.hidden is not None:
        sums = add("MatMul", z, constant("hidden", plain.hidden), to="hidden_sums")
        shifted = add("Add", sums, constant("hidden_bias", plain.hidden_bias), to="hidden_input")
        z = add("Tanh", shifted, to="hidden_output")
    _weighted_sum(graph, z, plain.output, plain.output_bias)


def _classes(graph: OnnxGraph, plain: PlainClasses) -> None:
    """The sums of every grade as columns, and the expected value of the grade of them."""
    for output in plain.outputs:
        check_zeros(output, "the format onnx for classifications")
    sums = _trees(graph, plain.outputs, INPUT, "trees")
    if plain.form == "multinomial":
        chances = _softmax(graph, sums)
        _weighted_sum(graph, chances, plain.values)
        return
    # Σ v_k (P(≥ k) − P(≥ k + 1)) = v_0 + Σ (v_k − v_{k−1}) P(≥ k)
    at_least = _at_least(graph, sums, len(plain.outputs))
    _weighted_sum(graph, at_least, np.diff(plain.values), float(plain.values[0]))


def _softmax(graph: OnnxGraph, sums: str) -> str:
    add = graph.add
    top = add("ReduceMax", sums, to="top", axes=np.array([1]))
    odds = add("Exp", add("Sub", sums, top, to="below_top"), to="odds")
    whole = add("ReduceSum", odds, graph.constant("columns", np.array([1])), to="whole")
    return add("Div", odds, whole, to="chances")


def _at_least(graph: OnnxGraph, sums: str, n_cuts: int) -> str:
    """Chances of at least each grade above the lowest; the lowest so far is taken."""
    add, one = graph.add, graph.constant("one", 1.0)
    small = add("Exp", add("Neg", add("Abs", sums, to="size"), to="minus_size"), to="small")
    likely = add("GreaterOrEqual", sums, graph.constant("none", 0.0), to="is_likely")
    over = add("Where", likely, one, small, to="over")
    chances = add("Div", over, add("Add", one, small, to="under"), to="cuts")
    lowest: list[str] = []
    for k in range(n_cuts):
        number = graph.constant(f"number_{k}", np.array([k]))
        own = add("Gather", chances, number, to=f"cut_{k}", axis=1)
        lowest.append(add("Min", lowest[-1], own, to=f"lowest_{k}") if lowest else own)
    return add("Concat", *lowest, to="at_least", axis=1)


def _or_zero(graph: OnnxGraph, x: str, to: str) -> str:
    """Values, and zeros where there is none."""
    missing = graph.add("IsNaN", x, to="is_missing")
    return graph.add("Where", missing, graph.constant("nothing", 0.0), x, to=to)


def _weighted_sum(graph: OnnxGraph, x: str, weights: np.ndarray, constant: float = 0.0) -> None:
    """The score, of the columns of x."""
    column = graph.constant("weights", np.asarray(weights, np.float64)[:, None])
    total = graph.add("MatMul", x, column, to="weighted" if constant else OUTPUT)
    if constant:
        graph.add("Add", total, graph.constant("constant", constant), to=OUTPUT)
