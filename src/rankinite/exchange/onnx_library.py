"""The library that knows ONNX's messages; writing and reading ONNX needs it, and nothing else."""

from __future__ import annotations

from typing import Any

from rankinite.errors import ExportError


def import_onnx() -> Any:
    """The module, if it is installed."""
    try:
        import onnx
    except ModuleNotFoundError as error:
        if error.name != "onnx":
            raise
        raise ExportError(
            "the format onnx needs the package onnx, which is not installed: "
            "pip install 'rankinite[onnx]'"
        ) from None
    return onnx
