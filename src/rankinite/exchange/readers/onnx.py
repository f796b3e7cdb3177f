"""Graphs of ONNX, scored node by node in the precision that they name.

Those operators are known that `writers.onnx` writes. Trees are scored by our kernels with the sums
of onnxruntime on one thread; products are added in a fixed order, which onnxruntime does not
promise.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankinite.exchange.checked import names_of, sequence, whole
from rankinite.exchange.faults import BeyondError, DamagedError, reader
from rankinite.exchange.onnx_library import import_onnx
from rankinite.exchange.plain import PlainForest
from rankinite.exchange.readers._onnx_trees import of_ensemble, of_regressor
from rankinite.exchange.writers.onnx_graph import INPUT, OUTPUT

Operation = Callable[..., np.ndarray]


@dataclass(frozen=True, eq=False)
class Step:
    """A node: what is done to which values, and what the outcome is called."""

    operation: Operation
    inputs: tuple[str, ...]
    output: str


@dataclass(frozen=True, eq=False)
class Graph:
    """A model of ONNX that gives one score a row.

    Attributes
    ----------
    steps : list of Step
        Each after those whose outcomes it takes.
    constants : dict of ndarray
    dtype : dtype
        Of features and scores, float32 or float64.
    n_features : int
    feature_names : list of str or None
    """

    steps: list[Step]
    constants: dict[str, np.ndarray]
    dtype: np.dtype
    n_features: int
    feature_names: list[str] | None = None

    @property
    def single_features(self) -> bool:
        """Whether features are rounded to float32."""
        return self.dtype == np.float32

    single_sums = single_features

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Scores of float64, shape (n_rows,)."""
        with np.errstate(all="ignore"):
            values = {**self.constants, INPUT: X.astype(self.dtype)}
            for step in self.steps:
                values[step.output] = step.operation(*(values[name] for name in step.inputs))
        return values[OUTPUT][:, 0].astype(np.float64)


@reader("ONNX")
def read(content: bytes) -> Graph:
    """The graph of a file that `writers.onnx` has written."""
    onnx = import_onnx()
    model = _parsed(onnx, content)
    graph = model.graph
    inputs, outputs = ([value.name for value in values] for values in (graph.input, graph.output))
    if (inputs, outputs) != ([INPUT], [OUTPUT]):
        raise BeyondError(f"it does not lead from one input {INPUT!r} to one output {OUTPUT!r}")
    tensor = graph.input[0].type.tensor_type
    kinds = {onnx.TensorProto.FLOAT: np.float32, onnx.TensorProto.DOUBLE: np.float64}
    if tensor.elem_type not in kinds or len(tensor.shape.dim) != 2:
        raise BeyondError("its input is no matrix of float or double")
    n_features = whole(tensor.shape.dim[1].dim_value, "the number of features", 1)
    properties = {prop.key: prop.value for prop in model.metadata_props}
    names = sequence(json.loads(properties.get("feature_names", "[]")), "feature_names")
    found = Graph(
        [_step(onnx, node, n_features) for node in graph.node],
        {each.name: onnx.numpy_helper.to_array(each) for each in graph.initializer},
        np.dtype(kinds[tensor.elem_type]),
        n_features,
        names_of(names, "", n_features),
    )
    if found.scores(np.zeros((2, n_features))).shape != (2,):
        raise DamagedError("it does not give a score a row")
    return found


def _parsed(onnx: Any, content: bytes) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return onnx.ModelProto.FromString(content)
    except DecodeError:
        raise DamagedError("it is not whole") from None


def _step(onnx: Any, node: Any, n_features: int) -> Step:
    attributes = {each.name: _value(onnx, each) for each in node.attribute}
    name = node.op_type
    if len(node.output) != 1:
        raise BeyondError(f"its node {name[:40]!a} has several outcomes")
    if name in _PLAIN and not attributes:
        operation = _PLAIN[name]
    elif name in _WITH_ATTRIBUTES:
        operation = _WITH_ATTRIBUTES[name](attributes)
    elif name in _TREES:
        operation = _columns(_TREES[name](attributes, n_features))
    else:
        raise BeyondError(f"it has a node {name[:40]!a} as no model of ours has")
    return Step(_of_one_type(operation), tuple(node.input), node.output[0])


def _value(onnx: Any, attribute: Any) -> Any:
    found = onnx.helper.get_attribute_value(attribute)
    if isinstance(found, onnx.TensorProto):
        return onnx.numpy_helper.to_array(found)
    return found if isinstance(found, int | float | bytes) else list(found)


def _of_one_type(operation: Operation) -> Operation:
    """An operation that takes floats of one type only, as ONNX demands, and keeps it."""

    def checked(*values: np.ndarray) -> np.ndarray:
        kinds = {value.dtype for value in values if value.dtype.kind == "f"}
        if len(kinds) > 1:
            raise DamagedError("it mixes single and double precision")
        return operation(*values)

    return checked


def _matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("ij,jk->ik", a, b)


def _reduce_sum(values: np.ndarray, axes: np.ndarray) -> np.ndarray:
    return values.sum(axis=tuple(axes.tolist()), keepdims=True)


def _reduce_max(attributes: dict[str, Any]) -> Operation:
    axes = tuple(attributes["axes"])
    return lambda values: values.max(axis=axes, keepdims=True)


def _concat(attributes: dict[str, Any]) -> Operation:
    return lambda *values: np.concatenate(values, axis=attributes["axis"])


def _gather(attributes: dict[str, Any]) -> Operation:
    return lambda values, numbers: np.take(values, numbers, axis=attributes["axis"])


def _columns(forests: Iterable[PlainForest]) -> Operation:
    """Sums of trees side by side, in the precision of the features."""
    return lambda X: np.column_stack([each.scores(X) for each in forests]).astype(X.dtype)


_PLAIN: dict[str, Operation] = {
    "Abs": np.abs,
    "Add": np.add,
    "And": np.logical_and,
    "Clip": np.clip,
    "Div": np.divide,
    "Exp": np.exp,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "IsInf": np.isinf,
    "IsNaN": np.isnan,
    "LessOrEqual": np.less_equal,
    "MatMul": _matmul,
    "Min": np.minimum,
    "Mul": np.multiply,
    "Neg": np.negative,
    "ReduceSum": _reduce_sum,
    "Sub": np.subtract,
    "Tanh": np.tanh,
    "Where": np.where,
}
_WITH_ATTRIBUTES: dict[str, Callable[[dict[str, Any]], Operation]] = {
    "Concat": _concat,
    "Gather": _gather,
    "ReduceMax": _reduce_max,
}
_TREES: dict[str, Callable[[dict[str, Any], int], list[PlainForest]]] = {
    "TreeEnsemble": of_ensemble,
    "TreeEnsembleRegressor": of_regressor,
}
