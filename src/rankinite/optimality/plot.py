"""The plot of a test of local optimality: changes along directions, and a curve for each weight."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from rankinite.plots.figures import check_plot, new_figure, write_figure

if TYPE_CHECKING:
    from rankinite.optimality.local_optimality import LocalOptimality, Moves, WeightCurve

_COLUMNS = 4
_LONGEST_NAME = 26
_BARS = 30
_BLUE, _RED, _GREY = "#30638e", "#c1272d", "#777777"


def draw(result: LocalOptimality, path: str | os.PathLike[str]) -> None:
    """Draw a result to a file."""
    check_plot(path)
    n_panels = len(result.moves) + len(result.curves)
    n_columns = min(_COLUMNS, n_panels)
    n_rows = -(-n_panels // n_columns)
    figure = new_figure(3.1 * n_columns, 2.4 * n_rows + 0.5)
    figure.suptitle(f"{result.measure} {result.value:.4f} at {result.n_weights} learned weights")
    panels = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for panel in panels[n_panels:]:
        panel.set_axis_off()
    for panel, moves in zip(panels, result.moves, strict=False):
        _draw_moves(panel, moves, result.measure)
    for panel, curve in zip(panels[len(result.moves) :], result.curves, strict=False):
        _draw_curve(panel, curve, result.measure)
    for panel in panels[:n_panels]:
        panel.tick_params(labelsize=7)
        panel.spines[["top", "right"]].set_visible(False)
    write_figure(figure, path)


def _draw_moves(panel: Any, moves: Moves, measure: str) -> None:
    """How many directions change the measure by how much, falls and rises apart."""
    falls, rises = moves.changes[moves.falling], moves.changes[moves.rising]
    low, high = falls.min(initial=0.0), rises.max(initial=0.0)
    # With an edge at 0 no bar holds both.
    width = (high - low) / _BARS or 1.0
    edges = np.arange(np.floor(low / width), np.ceil(high / width) + 1) * width
    for changes, colour in ((falls, _BLUE), (rises, _RED)):
        if len(changes):
            panel.hist(changes, edges, color=colour)
    panel.axvline(0.0, color=_GREY, linewidth=0.8)
    n = len(moves.changes)
    panel.set_title(f"radius {moves.radius:g}: {moves.n_rising} of {n} rise", fontsize=9)
    panel.set_xlabel(f"change of {measure}", fontsize=8)
    panel.set_ylabel("directions", fontsize=8)
    panel.locator_params(axis="x", nbins=4)


def _draw_curve(panel: Any, curve: WeightCurve, measure: str) -> None:
    """The measure over one weight, with a mark at the learned one."""
    panel.plot(curve.weights, curve.values, color=_BLUE, linewidth=1.2)
    panel.axvline(curve.weight, color=_GREY, linewidth=0.8, linestyle=":")
    middle = curve.values[len(curve.values) // 2]
    panel.plot([curve.weight], [middle], "o", color=_RED, markersize=4)
    name = curve.name
    if len(name) > _LONGEST_NAME:
        name = f"{name[: _LONGEST_NAME - 1]}…"
    # Names may hold what matplotlib would take for formulas.
    panel.set_title(name, fontsize=9, parse_math=False)
    panel.set_xlabel("weight", fontsize=8)
    panel.set_ylabel(measure, fontsize=8)
    panel.locator_params(axis="x", nbins=4)
    panel.locator_params(axis="y", nbins=4)
    # The whole values, not a constant in a corner that is to be added.
    panel.ticklabel_format(useOffset=False)
