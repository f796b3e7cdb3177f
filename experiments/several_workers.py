"""Trees that single workers grow on their own queries (Svore and Burges 2012, section 1.5).

LambdaMART is trained by K workers, of whose trees one joins the model in every round: that of a
drawn worker ("sample"), or the one that is best for the queries of the others ("full"); with
"overlap 1" a worker also has the queries of the next one. "Central" is one worker with all queries.
Three settings, as in the paper's sections 1.5.4 and 1.5.5 (figures 1.4 to 1.6):

- every worker has 100 queries, so that the data grows with K; and the same with overlap;
- all workers together have 1,600 queries, so that the shares shrink; "central, a share" is one
  worker with one share of them;
- four workers with three of four shares each, drawn.

Labels are those of `rankinite.artificial`, of which 40 percent are one off. The number of trees is
chosen on validation queries. The workers are threads of one process: what they learn is what
processes of MPI would. What was expected is declared below, tested by a paired t-test over the
test queries (p < 0.05), and told as OK or as what came out.

Run: python experiments/several_workers.py
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import rankinite as rk
from rankinite.distributed.threads import on_threads
from rankinite.measures.significance import paired_t_test
from rankinite.plots.figures import check_plot, new_figure, write_figure

SHARE, WORKERS = 100, (1, 2, 4, 8, 16)
SHAPE: dict[str, Any] = {"n_docs": 20, "n_features": 20, "n_terms": 40, "label_noise": 0.4}
N_VALID, N_TEST = 400, 2000
TREES, RATE, LEAVES, PATIENCE = 150, 0.3, 20, 30
SAMPLE: dict[str, Any] = {"distribute": "trees", "select": "sample"}
FULL: dict[str, Any] = {"distribute": "trees", "select": "full"}
LEVEL = 0.05

# NDCG@10 of every test query, by the name of a row and the number of workers.
Found = dict[str, dict[int, np.ndarray]]


class Laboratory:
    """Trains and evaluates on one set of data."""

    def __init__(self, n_queries: int, seed: int, n_trees: int, rate: float) -> None:
        self.settings: dict[str, Any] = {
            "n_estimators": n_trees,
            "learning_rate": rate,
            "max_leaf_nodes": LEAVES,
            "early_stopping": PATIENCE,
            "n_threads": 1,
        }
        sizes = (n_queries, N_VALID, N_TEST)
        self.train, self.valid, self.test = rk.artificial(sizes, random_state=seed, **SHAPE)

    def values(self, n_queries: int, n_workers: int, **options: Any) -> np.ndarray:
        """NDCG@10 of the test queries, trained on the first queries by so many workers."""
        return self.evaluated(self.model(n_queries, n_workers, **options))

    def evaluated(self, model: Any) -> np.ndarray:
        return rk.evaluate(model, self.test, "ndcg@10").per_query["ndcg@10"]

    def model(self, n_queries: int, n_workers: int, **options: Any) -> Any:
        def work(communicator: Any) -> Any:
            mine = np.arange(communicator.rank, n_queries, n_workers)
            watched = np.arange(communicator.rank, N_VALID, n_workers)
            return rk.LambdaMART(**self.settings).fit(
                self.train.select_queries(mine),
                valid=self.valid.select_queries(watched),
                communicator=communicator,
                **options,
            )

        return on_threads(n_workers, work)[0]


def growing(lab: Laboratory, workers: list[int], told: Callable[[str], None]) -> Found:
    """Every worker has a share of the same size (figures 1.4 and 1.5)."""
    found: Found = {}
    for n_workers in workers:
        n_queries = SHARE * n_workers
        runs: dict[str, dict[str, Any]] = {"full": FULL, "sample": SAMPLE}
        if n_workers > 2:  # with two, an overlap is all data
            runs |= {f"{name}, overlap 1": {**each, "overlap": 1} for name, each in runs.items()}
        central = lab.values(n_queries, 1)
        found.setdefault("central", {})[n_workers] = central
        for name, options in runs.items():
            one = central if n_workers == 1 else lab.values(n_queries, n_workers, **options)
            found.setdefault(name, {})[n_workers] = one
        told(f"{n_workers} × {SHARE} queries")
    return found


def shrinking(
    lab: Laboratory, workers: list[int], grown: Found, told: Callable[[str], None]
) -> Found:
    """All workers together have the same queries (figure 1.6).

    Most workers with all queries, and one with them, were there before, as the data had grown.
    """
    most = max(workers)
    n_queries = SHARE * most
    found: Found = {"central, a share": {}, "full": {}, "sample": {}}
    for n_workers in workers:
        of_share = n_queries // n_workers
        known = grown["central"].get(of_share // SHARE) if of_share % SHARE == 0 else None
        values = lab.values(of_share, 1) if known is None else known
        found["central, a share"][n_workers] = values
        for name, options in {"full": FULL, "sample": SAMPLE}.items():
            if n_workers == most:
                values = grown[name][most]
            elif n_workers > 1:
                values = lab.values(n_queries, n_workers, **options)
            found[name][n_workers] = values
        told(f"{n_queries} queries on {n_workers}")
    return found


def table(title: str, found: Found) -> str:
    """Means in percent, as Markdown."""
    workers = list(next(iter(found.values())))
    lines = [f"| {title} | " + " | ".join(f"K = {k}" for k in workers) + " |"]
    lines.append("|---" * (len(workers) + 1) + "|")
    for name, values in found.items():
        cells = [f"{100 * np.nanmean(values[k]):.2f}" if k in values else "" for k in workers]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def compared(one: np.ndarray, other: np.ndarray) -> str:
    """Whether the first is significantly above the second, below it, or neither."""
    change = (one - other)[~np.isnan(one)]
    p_value, *_ = paired_t_test(change, np.ones(len(change)))
    if p_value >= LEVEL:
        return "similar"
    return "above" if change.mean() > 0 else "below"


def judge(expected: str, wanted: str, pairs: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    """Print an expectation of the paper, and OK or what came out; nothing without pairs."""
    if not pairs:
        return
    came = {place: compared(*pair) for place, pair in pairs.items()}
    if all(each == wanted for each in came.values()):
        verdict = "OK"
    else:
        verdict = "came out: " + ", ".join(f"{place} {each}" for place, each in came.items())
    print(f"- {expected}: {verdict}")


def judge_growing(found: Found) -> None:
    central, full, sample = found["central"], found["full"], found["sample"]
    many = [k for k in central if k >= 8]
    judge(
        "more workers rank better than one with a share (K = 8, 16)",
        "above",
        {f"{name} {k}": (found[name][k], central[1]) for name in ("full", "sample") for k in many},
    )
    judge(
        "full and sample are alike",
        "similar",
        {f"{k}": (full[k], sample[k]) for k in sample if k > 1},
    )
    judge(
        "central on all queries is better than both (K >= 4)",
        "above",
        {
            f"over {name} {k}": (central[k], found[name][k])
            for name in ("full", "sample")
            for k in central
            if k >= 4
        },
    )
    judge(
        "overlapping shares are better than shares (K >= 4)",
        "above",
        {
            f"{name} {k}": (found[f"{name}, overlap 1"][k], found[name][k])
            for name in ("full", "sample")
            for k in found[f"{name}, overlap 1"]
        },
    )


def judge_shrinking(found: Found) -> None:
    central = found["central, a share"]
    many = [k for k in central if k >= 4]
    both = ("full", "sample")
    judge(
        "trees of many workers are better than one worker's on a share (K = 16)",
        "above",
        {f"{name} {k}": (found[name][k], central[k]) for name in both for k in central if k >= 16},
    )
    judge(
        "and worse than central on all queries (K >= 4)",
        "below",
        {f"{name} {k}": (found[name][k], central[1]) for name in both for k in many},
    )
    judge(
        "full and sample are alike",
        "similar",
        {f"{k}": (found["full"][k], found["sample"][k]) for k in central if k > 1},
    )


def draw(panels: dict[str, Found], path: Path) -> None:
    """NDCG@10 by number of workers, a panel a setting."""
    figure = new_figure(9.0, 4.0)
    styles = {"central": ":", "full": "-", "sample": "--"}
    for panel, (title, found) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
        for name, values in found.items():
            means = [np.nanmean(each) for each in values.values()]
            colour = "#c1272d" if "overlap" in name else "#30638e"
            style = styles[name.split(",")[0]]
            panel.plot(list(values), means, style, color=colour, label=name, marker=".")
        panel.set_xscale("log", base=2)
        panel.set_xlabel("workers")
        panel.set_ylabel("NDCG@10")
        panel.set_title(title, fontsize=10)
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(alpha=0.3)
        panel.legend(frameon=False, fontsize=8)
    write_figure(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, nargs="+", default=list(WORKERS))
    parser.add_argument("--trees", type=int, default=TREES, help="at most")
    parser.add_argument("--learning-rate", type=float, default=RATE)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", type=Path, default=Path("several_workers.png"))
    arguments = parser.parse_args()
    check_plot(arguments.plot)
    started = time.perf_counter()

    def told(what: str) -> None:
        print(f"{what}: {time.perf_counter() - started:.0f} s", flush=True)

    workers = arguments.workers
    n_queries = SHARE * max(workers)
    lab = Laboratory(n_queries, arguments.seed, arguments.trees, arguments.learning_rate)
    grown = growing(lab, workers, told)
    shrunk = shrinking(lab, workers, grown, told)
    print(f"\n{table(f'{SHARE} queries a worker', grown)}\n")
    judge_growing(grown)
    print(f"\n{table(f'{n_queries:,} queries in all', shrunk)}\n")
    judge_shrinking(shrunk)
    most = lab.values(n_queries, 4, **SAMPLE, overlap=2)
    central = shrunk["central, a share"][1]
    pair = {f"{100 * np.nanmean(most):.2f}": (most, central)}
    judge("sample of four workers with three quarters each is like central", "similar", pair)
    by_rows = lab.evaluated(lab.model(n_queries, 2))
    same = "OK" if np.array_equal(by_rows, central, equal_nan=True) else "came out otherwise"
    print(f"- by rows two workers have the model of one: {same}")
    draw(
        {f"{SHARE} queries a worker": grown, f"{n_queries:,} queries in all": shrunk},
        arguments.plot,
    )
    told(f"plot: {arguments.plot}")


if __name__ == "__main__":
    main()
