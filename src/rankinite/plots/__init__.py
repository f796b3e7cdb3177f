"""What all plots share: figures, their panels and their files."""

from rankinite.plots.figures import check_plot, new_figure, write_figure

__all__ = ["check_plot", "new_figure", "write_figure"]
