"""What all plots share: matplotlib if it is there, and files that are written whole."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rankinite.errors import ParameterError, RankiniteError
from rankinite.formats.files import replacing

_FORMATS = {".png": "png", ".svg": "svg"}


def check_plot(path: str | os.PathLike[str]) -> str:
    """The format of a plot's file, by its name; an error if it could not be drawn."""
    suffix = Path(path).suffix.lower()
    if suffix not in _FORMATS:
        raise ParameterError(f"a plot goes to a .png or .svg file, not to {os.fspath(path)!r}")
    if find_spec("matplotlib") is None:
        raise RankiniteError(
            "plots need matplotlib, which is not installed: pip install 'rankinite[plots]'"
        )
    return _FORMATS[suffix]


def new_figure(width: float, height: float) -> Any:
    """An empty figure of matplotlib's, of so many inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def write_figure(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a figure; the same figure gives the same file."""
    from matplotlib import rc_context

    kind = check_plot(path)
    # Text stays text, and neither the date nor random ids get in.
    options = {"svg.fonttype": "none", "svg.hashsalt": "rankinite"}
    metadata = {"Date": None} if kind == "svg" else {}
    with replacing(Path(path)) as temporary, rc_context(options):
        figure.savefig(temporary, format=kind, dpi=150, metadata=metadata)
