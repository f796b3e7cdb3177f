"""Epochs of nets: RankNet by documents and by pairs, and LambdaRank beside PyTorch.

    python benchmarks/nets.py [--rows 16000] [--queries 2000] [--repeats 3]

First, an epoch of RankNet (50 features, 10 hidden units) at 25 to 800 documents a query and the
same number of rows in all: pair by pair a query's time grows with the square of its documents, by
the λs of documents nearly in proportion. Both must take the same steps.

Second, an epoch of LambdaRank (NDCG, 10 hidden units) against the same loop over queries in
PyTorch, from the same weights, in the same order, with plain gradient steps. What does not change
(pairs, differences of gains) is prepared before the clock starts. PyTorch may use float32 or
float64, one thread or two, its SGD class or a plain update of the parameters, autograd or its
tensors with the derivatives written out. A twentieth of the queries shows which of these are far
from the fastest; the others are timed, and the best counts. The costs after the epoch must agree.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from itertools import pairwise, product

import numpy as np

import rankinite as rk
from lines import Line, report
from rankinite.models.standardizing import Standardizer
from rankinite.nets.net import first_weights, score_standardized, width_of
from rankinite.nets.objectives import LambdaRankObjective, RankNetObjective, TrainingRows
from rankinite.order.canonical import canonical

N_FEATURES, N_HIDDEN = 50, 10
SIZES = (25, 50, 100, 200, 400, 800)
RATE = 1e-3


def training_rows(n_queries: int, n_docs: int) -> TrainingRows:
    data = rk.artificial(n_queries=n_queries, n_docs=n_docs, n_features=N_FEATURES)
    order = canonical(data)
    Z = Standardizer.learn(data.X, order.rows).transform(data.X, order.rows)
    return TrainingRows(order, Z, np.zeros(len(Z)), N_HIDDEN, 0)


def start_weights() -> np.ndarray:
    """Without ties between scores, which either side would break in its own way."""
    weights = first_weights(N_FEATURES, N_HIDDEN, 0, 0)
    weights[-width_of(N_HIDDEN) :][:N_HIDDEN] = np.linspace(-0.3, 0.4, N_HIDDEN)
    return weights


def ranknet(n_rows: int, repeats: int) -> Line:
    """Time an epoch of both modes at all sizes of queries."""
    seconds = {mode: [] for mode in ("pairwise", "factorised")}
    print(f"RankNet, {n_rows:,} rows; ms an epoch, µs a row")
    print(f"{'documents':>9}{'pairwise':>12}{'a row':>9}{'factorised':>12}{'a row':>9}{'ratio':>8}")
    for n_docs in SIZES:
        rows = training_rows(n_rows // n_docs, n_docs)
        epochs = {mode: RankNetObjective(rows, 1.0, mode) for mode in seconds}
        taken, ends = {mode: [] for mode in seconds}, {}
        for repeat in range(repeats + 1):
            for mode, objective in epochs.items():
                ends[mode] = start_weights()
                started = time.perf_counter()
                objective.learn(ends[mode], RATE, 0)
                if repeat or n_docs > SIZES[0]:  # the very first compiles
                    taken[mode].append(time.perf_counter() - started)
        np.testing.assert_allclose(ends["pairwise"], ends["factorised"], rtol=0, atol=1e-10)
        slow, fast = (min(taken[mode]) for mode in seconds)
        seconds["pairwise"].append(slow)
        seconds["factorised"].append(fast)
        print(
            f"{n_docs:9}{1e3 * slow:12.1f}{1e6 * slow / n_rows:9.2f}"
            f"{1e3 * fast:12.2f}{1e6 * fast / n_rows:9.3f}{slow / fast:8.0f}"
        )
    # The time of a query is that of a row times its documents.
    slow, fast = (1 + np.polyfit(np.log(SIZES), np.log(seconds[mode]), 1)[0] for mode in seconds)
    print(f"time of a query grows as documents^{slow:.2f} pairwise, ^{fast:.2f} factorised\n")
    return Line(
        "RankNet: growth of a query's time with its documents",
        f"^{fast:.2f} by documents",
        f"^{slow:.2f} by pairs",
        f"{seconds['pairwise'][-1] / seconds['factorised'][-1]:.0f}x at {SIZES[-1]}",
        "near 1, near 2",
    )


class TorchLambdaRank:
    """The per-query training loop as a user of PyTorch writes it."""

    def __init__(self, rows: TrainingRows, precision: str, update: str) -> None:
        import torch

        self.torch, self.update = torch, update
        kind = getattr(torch, precision)
        offsets = rows.order.offsets
        parts = [slice(a, b) for a, b in pairwise(offsets.tolist())]
        self.x = [torch.tensor(rows.Z[part], dtype=kind) for part in parts]
        gains = [np.exp2(rows.order.labels[part]) - 1 for part in parts]
        longest = int(np.diff(offsets).max())
        discounts = 1 / np.log2(np.arange(longest) + 2.0)
        self.discounts = torch.tensor(discounts, dtype=kind)
        # Of each pair, how much better the first is, over the best DCG of the query; 0 if worse.
        self.better = [
            torch.tensor(
                np.maximum(gain[:, None] - gain, 0.0)
                / max(np.sort(gain)[::-1] @ discounts[: len(gain)], 1e-300),
                dtype=kind,
            )
            for gain in gains
        ]
        width = width_of(N_HIDDEN)
        layer = start_weights().reshape(N_FEATURES + 2, width)[:, :N_HIDDEN]
        hidden = torch.nn.Linear(N_FEATURES, N_HIDDEN, dtype=kind)
        top = torch.nn.Linear(N_HIDDEN, 1, bias=False, dtype=kind)
        with torch.no_grad():
            hidden.weight.copy_(torch.tensor(layer[:N_FEATURES].T))
            hidden.bias.copy_(torch.tensor(layer[N_FEATURES]))
            top.weight.copy_(torch.tensor(layer[-1:]))
        self.hidden, self.top = hidden, top
        self.net = torch.nn.Sequential(hidden, torch.nn.Tanh(), top)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=RATE)

    def lambdas(self, query: int, scores):
        torch = self.torch
        n = len(scores)
        discount = torch.empty_like(scores)
        discount[torch.argsort(scores, descending=True)] = self.discounts[:n]
        deltas = self.better[query] * (discount[:, None] - discount).abs_()
        forces = deltas * torch.sigmoid(scores - scores[:, None])
        return forces.sum(1) - forces.sum(0)

    def epoch(self, queries: list[int]) -> None:
        if self.update == "derivatives written out":
            with self.torch.no_grad():
                self._by_hand(queries)
            return
        parameters = list(self.net.parameters())
        for query in queries:
            scores = self.net(self.x[query])[:, 0]
            with self.torch.no_grad():
                lam = self.lambdas(query, scores)
            if self.update == "SGD class":
                self.optimizer.zero_grad()
                scores.backward(-lam)
                self.optimizer.step()
            else:
                steps = self.torch.autograd.grad(scores, parameters, lam)
                with self.torch.no_grad():
                    for parameter, step in zip(parameters, steps, strict=True):
                        parameter.add_(step, alpha=RATE)

    def _by_hand(self, queries: list[int]) -> None:
        torch = self.torch
        W, b, v = self.hidden.weight, self.hidden.bias, self.top.weight[0]
        for query in queries:
            x = self.x[query]
            t = torch.tanh_(torch.addmm(b, x, W.T))
            lam = self.lambdas(query, t @ v)
            deltas = torch.outer(lam, v) * (1 - t * t)
            v.add_(lam @ t, alpha=RATE)
            W.addmm_(deltas.T, x, alpha=RATE)
            b.add_(deltas.sum(0), alpha=RATE)

    def weights(self) -> np.ndarray:
        layer = np.zeros((N_FEATURES + 2, width_of(N_HIDDEN)))
        parts = [self.hidden.weight.T, self.hidden.bias, self.top.weight[0]]
        W, b, v = (part.detach().numpy() for part in parts)
        layer[:N_FEATURES, :N_HIDDEN], layer[-2, :N_HIDDEN], layer[-1, :N_HIDDEN] = W, b, v
        return layer.reshape(-1)


def costs(rows: TrainingRows, weights: np.ndarray) -> np.ndarray:
    """The mean cost of a pair, and 1 − NDCG."""
    scores = score_standardized(rows.Z, weights, N_HIDDEN, rows.start)
    offsets, total, n_pairs = rows.order.offsets, 0.0, 0
    for first, last in pairwise(offsets.tolist()):
        labels, own = rows.order.labels[first:last], scores[first:last]
        better = labels[:, None] > labels
        total += np.logaddexp(0.0, own - own[:, None])[better].sum()
        n_pairs += better.sum()
    measured = rk.evaluate(scores, rows.order.judged, "ndcg")["ndcg"]
    return np.array([total / n_pairs, 1 - measured])


def timed(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def torch_epoch(
    rows: TrainingRows, queries: list[int], precision: str, n_threads: int, update: str
) -> tuple[float, np.ndarray]:
    """Seconds of an epoch in PyTorch, and the weights after it."""
    import torch

    torch.set_num_threads(n_threads)
    loop = TorchLambdaRank(rows, precision, update)
    return timed(partial(loop.epoch, queries)), loop.weights()


def lambdarank(n_queries: int, repeats: int) -> Line:
    """Time an epoch of LambdaRank here and in PyTorch."""
    rows = training_rows(n_queries, 50)
    objective = LambdaRankObjective(rows, rk.measure("ndcg"), 1.0, None, False)
    queries = rows.queries_of(0, np.arange(n_queries))
    in_order = queries.tolist()
    settings = list(
        product(
            ("float32", "float64"),
            (1, 2),
            ("SGD class", "plain update", "derivatives written out"),
        )
    )
    loops = {
        f"PyTorch, {precision}, {update}, {n_threads} threads": (precision, n_threads, update)
        for precision, n_threads, update in settings
    }
    objective.learn(start_weights(), RATE, 0)  # compiles
    warm = {name: torch_epoch(rows, in_order[: n_queries // 20], *loops[name])[0] for name in loops}
    # On a busy machine threads can wait for each other for seconds.
    close = [name for name in loops if warm[name] < 6 * min(warm.values())]
    taken: dict[str, list[float]] = {}
    for repeat in range(repeats):
        weights, again = start_weights(), start_weights()
        seconds = timed(partial(objective.epoch, queries, weights, RATE, 0))
        taken.setdefault("rankinite", []).append(seconds)
        seconds = timed(partial(objective.learn, again, RATE, 0))
        taken.setdefault("rankinite, and NDCG of all queries", []).append(seconds)
        expected = costs(rows, weights)
        for name in close:
            seconds, found = torch_epoch(rows, in_order, *loops[name])
            taken.setdefault(name, []).append(seconds)
            if repeat == 0:
                np.testing.assert_allclose(costs(rows, found), expected, rtol=0, atol=1e-4)
    medians = {name: float(np.median(values)) for name, values in taken.items()}
    ours = medians["rankinite"]
    print(f"LambdaRank, {n_queries:,} queries of 50 documents; ms an epoch, medians")
    for name, value in medians.items():
        print(f"{name:58}{1e3 * value:9.1f}{value / ours:8.1f}")
    print(f"cost of a pair {expected[0]:.5f}, 1 - NDCG {expected[1]:.5f}, to 1e-4 in all")
    best = min(value for name, value in medians.items() if name.startswith("PyTorch"))
    return Line(
        "LambdaRank: an epoch",
        f"{1e3 * ours:.1f} ms",
        f"{1e3 * best:.1f} ms (PyTorch, its fastest)",
        f"{best / ours:.1f}",
        "5",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=16_000)
    parser.add_argument("--queries", type=int, default=2_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    lines = [ranknet(arguments.rows, arguments.repeats)]
    if find_spec("torch") is None:
        print("PyTorch is not installed, so LambdaRank has no peer here: pip install torch")
    else:
        lines.append(lambdarank(arguments.queries, arguments.repeats))
    report(lines)


if __name__ == "__main__":
    main()
