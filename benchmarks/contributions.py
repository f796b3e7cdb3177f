"""Exact contributions of features beside LightGBM's pred_contrib and the shap package.

    python benchmarks/contributions.py [--leaves 31 255] [--trees 500] [--documents 10 1000]
                                       [--repeats 3]

LightGBM's forest is explained by all: by LightGBM itself, by shap's TreeExplainer on it, and by
rankinite, which has imported it; each on one thread, in turns. Their answers are first compared.
shap would leave the work to LightGBM; here it uses kernels of its own.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import lightgbm
import numpy as np
import shap

import web_like
from imported_scoring import imported, lightgbm_forest
from lines import Line, report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leaves", type=int, nargs="+", default=[31, 255])
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--documents", type=int, nargs="+", default=[10, 1000])
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    train = web_like.dataset(400)
    lines = []
    for leaves in arguments.leaves:
        theirs = lightgbm_forest(train, leaves, arguments.trees)
        for n_docs in arguments.documents:
            lines += compare(theirs, train.X[:n_docs], f"{arguments.trees} × {leaves}", arguments)
    report(lines)


def compare(
    theirs: lightgbm.Booster, X: np.ndarray, forest: str, arguments: argparse.Namespace
) -> list[Line]:
    """Time all three on the same rows, after a look at their answers."""
    ours, explainer = imported(theirs), shap.TreeExplainer(theirs)
    explainer.model.model_type = "internal"  # or else it asks LightGBM
    ways: dict[str, Callable[[], np.ndarray]] = {
        "rankinite": lambda: ours.contributions(X),
        "LightGBM": lambda: theirs.predict(X, pred_contrib=True, num_threads=1),
        "shap": lambda: explainer.shap_values(X, check_additivity=False),
    }
    answers = {name: way() for name, way in ways.items()}
    largest = np.abs(answers["LightGBM"]).max()
    for name, answer in answers.items():
        apart = np.abs(answer[:, : X.shape[1]] - answers["LightGBM"][:, : X.shape[1]]).max()
        print(f"{forest}, {len(X)} documents: {name} differs by {apart / largest:.1e}", flush=True)
        assert apart <= 1e-9 * largest, name
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(arguments.repeats):
        for name, way in ways.items():
            started = time.perf_counter()
            way()
            times[name].append(1e3 * (time.perf_counter() - started))
    medians = {name: float(np.median(own)) for name, own in times.items()}
    return [
        Line(
            f"contributions of {len(X)} documents, {forest}",
            f"{medians['rankinite']:.1f} ms",
            f"{medians[peer]:.0f} ms ({peer})",
            f"{medians[peer] / medians['rankinite']:.1f}",
            "5",
        )
        for peer in ("LightGBM", "shap")
    ]


if __name__ == "__main__":
    main()
