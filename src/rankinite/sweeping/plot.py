"""The plot of a sweep: each parameter's values against the measure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from rankinite.plots.figures import check_plot, new_figure, write_figure
from rankinite.sweeping.space import Dimension, Span

if TYPE_CHECKING:
    from rankinite.sweeping.result import Sweep

_COLUMNS = 4
_BLUE, _RED, _GREY = "#30638e", "#c1272d", "#aaaaaa"


def draw(found: Sweep, path: str | os.PathLike[str]) -> None:
    """Draw the trials to a file, a panel for each parameter."""
    check_plot(path)
    best = found.best
    names = found.space.names
    n_columns = min(_COLUMNS, len(names))
    n_rows = -(-len(names) // n_columns)
    figure = new_figure(3.1 * n_columns, 2.4 * n_rows + 0.5)
    figure.suptitle(
        f"{found.measure} {best.value:.4f}, the best of {len(found.trials)} trials",
        parse_math=False,
    )
    panels = figure.subplots(n_rows, n_columns, squeeze=False, sharey=True).ravel()
    for panel in panels[len(names) :]:
        panel.set_axis_off()
    for panel, name in zip(panels, names, strict=False):
        _draw_parameter(panel, name, found)
    for panel in panels[::n_columns][:n_rows]:
        panel.set_ylabel(str(found.measure), fontsize=8)
    write_figure(figure, path)


def _draw_parameter(panel: Any, name: str, found: Sweep) -> None:
    """All trials at their values of one parameter; those that were pruned where they ended."""
    dimension = found.space.dimensions[name]
    pruned = [each for each in found.trials if not each.is_complete and each.curve]
    places = [_place(dimension, each.params[name]) for each in pruned]
    panel.plot(places, [each.curve[-1].value for each in pruned], "x", color=_GREY, markersize=4)
    complete = found.ranking
    places = [_place(dimension, each.params[name]) for each in complete]
    values = [each.value for each in complete]
    panel.plot(places, values, "o", color=_BLUE, markersize=4)
    panel.plot(places[:1], values[:1], "o", color=_RED, markersize=6)
    if isinstance(dimension, Span):
        if dimension.log:
            _by_logarithm(panel, dimension)
    else:
        words = [str(value).lower() for value in dimension.values]
        panel.set_xticks(range(len(words)), words, parse_math=False)
        panel.set_xlim(-0.5, len(words) - 0.5)
    panel.set_title(name, fontsize=9, parse_math=False)
    panel.tick_params(labelsize=7)
    panel.spines[["top", "right"]].set_visible(False)
    panel.ticklabel_format(axis="y", useOffset=False)


def _by_logarithm(panel: Any, span: Span) -> None:
    panel.set_xscale("log")
    panel.minorticks_off()
    marks = [span.low, (span.low * span.high) ** 0.5, span.high]
    panel.set_xticks(marks, [f"{mark:.2g}" for mark in marks])


def _place(dimension: Dimension, value: Any) -> float:
    """Where a value stands: itself, or its place among the choices."""
    return value if isinstance(dimension, Span) else dimension.values.index(value)
