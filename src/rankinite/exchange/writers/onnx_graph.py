"""A graph of ONNX that grows node by node, and the bytes of the file around it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from rankinite.errors import ExportError
from rankinite.exchange.onnx_library import import_onnx
from rankinite.exchange.writers.folding import LARGEST_SINGLE

INPUT, OUTPUT = "features", "score"
TREES_DOMAIN = "ai.onnx.ml"
# Operators as of ONNX 1.8, for which every runtime of the last years has kernels; those for trees
# as they always were, or in doubles, as of ONNX 1.16.
_OPERATORS = 13
_FORMAT = 7
_TREES: dict[type, tuple[int, int]] = {np.float32: (1, _FORMAT), np.float64: (5, 10)}


class OnnxGraph:
    """Nodes and constants from the matrix `INPUT` to the column `OUTPUT`, all of one precision.

    Parameters
    ----------
    dtype : type
        np.float32 or np.float64.
    n_features : int
    """

    def __init__(self, dtype: type, n_features: int) -> None:
        self.onnx = import_onnx()
        self.dtype = dtype
        self.n_features = n_features
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}

    def constant(self, name: str, values: Any) -> str:
        """A constant of the graph's precision, or of truth or whole numbers; gives its name.

        An `ExportError` if a number is beyond single precision where that is the graph's.
        """
        array = np.asarray(values)
        if array.dtype.kind == "f":
            finite = np.abs(array[np.isfinite(array)])
            if self.dtype is np.float32 and (finite > LARGEST_SINGLE).any():
                raise ExportError(
                    f"{name} has the number {finite.max():.3g}, and single precision ends at "
                    f"{LARGEST_SINGLE:.3g}: export with precision='double'"
                )
            array = array.astype(self.dtype)
        self._constants[name] = self.onnx.numpy_helper.from_array(array, name)
        return name

    def add(self, operator: str, *inputs: str, to: str, **attributes: Any) -> str:
        """A node; gives the name of its output, which is `to`.

        Arrays of int64 and float32 become lists, arrays of other types tensors.
        """
        helper = self.onnx.helper
        domain = TREES_DOMAIN if operator.startswith("TreeEnsemble") else ""
        node = helper.make_node(operator, list(inputs), [to], name=to, domain=domain or None)
        for name, value in sorted(attributes.items()):
            if isinstance(value, np.ndarray):
                if value.dtype in (np.int64, np.float32):
                    value = value.tolist()
                else:
                    value = self.onnx.numpy_helper.from_array(value, name)
            node.attribute.append(helper.make_attribute(name, value))
        self._nodes.append(node)
        return to

    def content(self, names: list[str] | None) -> bytes:
        """The bytes of the file, the same for the same nodes and constants.

        Parameters
        ----------
        names : list of str or None
            Names of the features, as a JSON list among the properties of the model.
        """
        import rankinite

        helper = self.onnx.helper
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        graph = helper.make_graph(
            self._nodes,
            "ranker",
            [helper.make_tensor_value_info(INPUT, kind, ["N", self.n_features])],
            [helper.make_tensor_value_info(OUTPUT, kind, ["N", 1])],
            list(self._constants.values()),
        )
        operators = [helper.make_opsetid("", _OPERATORS)]
        version = _FORMAT
        if any(node.domain == TREES_DOMAIN for node in self._nodes):
            trees, version = _TREES[self.dtype]
            operators.append(helper.make_opsetid(TREES_DOMAIN, trees))
        model = helper.make_model(
            graph,
            opset_imports=operators,
            ir_version=version,
            producer_name="rankinite",
            producer_version=rankinite.__version__,
        )
        if names is not None:
            helper.set_model_props(model, {"feature_names": json.dumps(names)})
        try:
            return model.SerializeToString(deterministic=True)
        except ValueError:  # what is raised differs between the ways in which protobuf is built
            raise ExportError(
                "the model is larger than the 2 GB that a file of ONNX can have"
            ) from None
