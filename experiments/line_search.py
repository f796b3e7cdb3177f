"""One exact weight a tree against a Newton step a leaf (Wu et al. 2008, Figure 3).

Expected: NDCG@10 of training and test data rises faster, by number of trees, with the line search
("Optimal") than with Newton steps. Both grow trees of 10 leaves on the same λs and take whole steps
(`learning_rate` 1), as the paper does; features have variance 1 (`width` √3), as in
artificial_rankers.py. The paper says that it chose the step size on the validation queries; here
it is chosen on the training queries, which is what its section 3 describes.

Run: python experiments/line_search.py
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import rankinite as rk
from rankinite.plots.figures import check_plot, new_figure, write_figure
from table import AS_IN_PAPERS

QUERIES = (10_000, 10_000)
WIDTH = 3**0.5
TREES = 500
LEAVES = 10
SHOWN = (1, 10, 20, 50, 100, 200, 300, 500)
STEPS = {"Optimal": "line_search", "Newton": "newton"}
COLOURS = {"Optimal": "#c1272d", "Newton": "#30638e"}
LINES = {"train": "-", "test": "--"}

# The curves of a ranker by the set they were measured on.
Curves = dict[str, dict[str, list[float]]]


def train_all(train: rk.Dataset, test: rk.Dataset, settings: dict[str, Any]) -> Curves:
    """NDCG@10 after every tree, for both kinds of step."""
    curves: Curves = {}
    for name, step in STEPS.items():
        ranker = rk.LambdaMART(step=step, **settings)
        started = time.perf_counter()
        ranker.fit(train, valid={"train": train, "test": test})
        print(f"{ranker!r}: {time.perf_counter() - started:.0f} s", flush=True)
        curves[name] = {rows: values["ndcg@10"] for rows, values in ranker.history_.items()}
    return curves


def table(curves: Curves) -> str:
    """The curves at some numbers of trees, in percent, as Markdown."""
    columns = [(rows, name) for rows in LINES for name in curves]
    n_trees = len(curves["Newton"]["train"])
    lines = ["| trees | " + " | ".join(f"{name} {rows}" for rows, name in columns) + " |"]
    lines.append("|---" * (len(columns) + 1) + "|")
    for n in (n for n in SHOWN if n <= n_trees):
        cells = [f"{100 * curves[name][rows][n - 1]:.1f}" for rows, name in columns]
        lines.append(f"| {n} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw(curves: Curves, path: Path) -> None:
    """The four curves by number of trees."""
    figure = new_figure(6.0, 4.0)
    panel = figure.subplots()
    for rows, style in LINES.items():
        for name, colour in COLOURS.items():
            values = curves[name][rows]
            trees = range(1, len(values) + 1)
            panel.plot(trees, values, style, color=colour, label=f"{name}, {rows}", linewidth=1.3)
    panel.set_xlabel("trees")
    panel.set_ylabel("NDCG@10")
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(alpha=0.3)
    panel.legend(frameon=False)
    write_figure(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, nargs=2, default=QUERIES, help="to train and test")
    parser.add_argument("--width", type=float, default=WIDTH, help="of the documents")
    parser.add_argument("--trees", type=int, default=TREES)
    parser.add_argument("--leaves", type=int, default=LEAVES)
    parser.add_argument("--learning-rate", type=float, default=1.0)
    parser.add_argument("--as-it-comes", action="store_true", help="with λs and splits of today")
    parser.add_argument("--plot", type=Path, default=Path("line_search.png"), help=".png or .svg")
    arguments = parser.parse_args()
    check_plot(arguments.plot)
    train, test = rk.artificial(n_queries=arguments.queries, width=arguments.width)
    settings: dict[str, Any] = {
        "n_estimators": arguments.trees,
        "max_leaf_nodes": arguments.leaves,
        "learning_rate": arguments.learning_rate,
    }
    if not arguments.as_it_comes:
        settings |= AS_IN_PAPERS
    curves = train_all(train, test, settings)
    print(table(curves))
    draw(curves, arguments.plot)
    print(f"plot: {arguments.plot}")


if __name__ == "__main__":
    main()
