"""Compiling the kernels, which the first run on a machine has to do: told, and on several cores.

numba compiles one kernel at a time in a process, and keeps the result on disk for every other. So
kernels are compiled in groups, by several processes at once: all groups by ``rankinite compile``,
and those of training by its first run, which in the meantime reads the data. Whoever comes first
to a kernel compiles it; at worst both do.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from functools import partial
from typing import IO, Any, NamedTuple

from rankinite.cli.reporting import tell

NOTICE = "compiling the kernels, once per installation"


@contextmanager
def announced_compiling() -> Iterator[None]:
    """Say in the block that there is compiling, at the first kernel that nobody compiled before."""
    from rankinite._kernel_cache import before_compiling

    def say_once(kernel: str) -> None:
        with suppress(ValueError):
            before_compiling.remove(say_once)
            tell(NOTICE)

    before_compiling.append(say_once)
    try:
        yield
    finally:
        with suppress(ValueError):
            before_compiling.remove(say_once)


def be_silent_about_compiling() -> None:
    """Take back what `announced_compiling` promised to say."""
    from rankinite._kernel_cache import before_compiling

    before_compiling.clear()


class CompilingAhead:
    """The kernels of a training of trees, while the data is read.

    Parameters
    ----------
    by_lambdas : bool
        Whether a ranking measure is learned, which takes the λs.
    measure : str
        What is watched.
    quiet : bool
        Say nothing.
    growth : str
        That of the trees.
    """

    def __init__(
        self,
        by_lambdas: bool = True,
        measure: str = "ndcg@10",
        quiet: bool = False,
        growth: str = "auto",
    ) -> None:
        self._measure, self._quiet = measure, quiet
        self._processes: list[subprocess.Popen[str]] = []
        ways = {"symmetric trees": "symmetric", "trees": "best_first"}
        trees = [name for name, way in ways.items() if growth in (way, "auto")]
        names = [*(["gradients"] if by_lambdas else []), *trees, "measures"]
        self._names = [name for name in names if not is_compiled(name)]
        self._n_groups, self._n_done = len(self._names), 0
        if not self._names:
            return
        be_silent_about_compiling()  # here it is told in more words, or not at all
        if not quiet:
            tell(f"{NOTICE}: {', '.join(self._names)}")
        # This process reads the data and takes what is left; on two cores the gradients too.
        n_cores = os.cpu_count() or 1
        shares = [trees, ["gradients"]] if n_cores > 2 else [trees]
        for share in shares if n_cores > 1 else []:
            wanted = [name for name in share if name in self._names]
            if wanted:
                process = _start(wanted, measure, subprocess.PIPE)
                atexit.register(_end, process)
                self._processes.append(process)
                self._names = [name for name in self._names if name not in wanted]

    def finish(self) -> None:
        """Compile what nobody has begun, and wait for the others: so training starts at once."""
        for name in self._names:
            GROUPS[name].compile(self._measure)
            self._done(name)
        for process in self._processes:
            assert process.stdout is not None
            for line in process.stdout:
                self._done(line.strip())
            process.stdout.close()
            process.wait()
        self._names, self._processes = [], []

    def _done(self, name: str) -> None:
        self._n_done += 1
        if not self._quiet:
            tell(f"compiled {self._n_done} of {self._n_groups}: {name}")


def compile_all(names: Iterable[str], say: Callable[[str], None]) -> list[str]:
    """Compile groups on all cores; the names of those that failed."""
    names = list(names)
    failed = []
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        runs = {pool.submit(_run, name): name for name in names}
        for n_done, run in enumerate(as_completed(runs), start=1):
            name = runs[run]
            if run.result() != 0:
                failed.append(name)
            say(f"{n_done} of {len(names)}: {name}")
    return failed


def compile_groups(names: Iterable[str], measure: str) -> None:
    """What a second process does: compile groups, and print the name of each that is done."""
    for name in names:
        GROUPS[name].compile(measure)
        print(name, flush=True)


def is_compiled(name: str) -> bool:
    """Whether a group is on disk: the kernels are there by which it is known."""
    from importlib import import_module

    from rankinite._kernel_cache import is_kept

    return all(
        is_kept(getattr(import_module(f"rankinite.{module}"), kernel))
        for module, kernel in GROUPS[name].known_by
    )


def _run(name: str) -> int:
    process = _start([name], "ndcg@10", subprocess.DEVNULL)
    atexit.register(_end, process)
    return process.wait()


def _start(names: list[str], measure: str, stdout: int | IO) -> subprocess.Popen[str]:
    work = f"from {__name__} import compile_groups; compile_groups({names!r}, {measure!r})"
    return subprocess.Popen(
        # -P: a numba.py in the working folder is not numba.
        [sys.executable, "-P", "-c", work],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _end(process: subprocess.Popen) -> None:
    process.terminate()
    process.wait()


def read_a_file(measure: str) -> None:
    """Read SVMlight text as training does, and bin it."""
    import tempfile
    from pathlib import Path

    from rankinite.formats import read

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.txt"
        path.write_text("".join(f"{i % 3} qid:{i // 4} 1:{i} 2:0.5\n" for i in range(8)))
        read(path)
        read(path, like=read(path, max_bins=255))


def take_gradients(measure: str) -> None:
    """Take the λs of a small query, and the keys that break its ties."""
    import numpy as np

    from rankinite.boosting.objectives import RankingObjective
    from rankinite.data import Dataset
    from rankinite.distributed import Serial
    from rankinite.measures import NDCG
    from rankinite.order.row_keys import row_keys

    y = np.array([0.0, 1.0])
    data = Dataset(y[:, None], y, qid=np.zeros(2))
    keys = row_keys(_two_bins(2), data.labels, data.weight, data.offsets)
    learned = NDCG(10).resolve(data.labels)
    objective = RankingObjective(learned, data, keys, 1.0, 1.0, Serial(), normalize=True)
    for _ in objective.gradients(np.zeros((1, 2)), 0):
        pass


def grow_a_tree(measure: str, growth: str = "best_first") -> None:
    """Grow a small tree as training does, which compiles all that it takes."""
    import numpy as np

    from rankinite.boosting.query_sample import QuerySample
    from rankinite.boosting.row_sample import RowSample
    from rankinite.distributed import Serial
    from rankinite.trees import (
        Grower,
        GrowthParameters,
        add_grown_tree,
        add_tree,
        gradients,
        pack_least_squares,
        pack_newton,
        sums_over_leaves,
    )
    from rankinite.trees.node import Node

    n_rows, serial = 100, Serial()
    values = np.arange(n_rows, dtype=np.float64)
    binned = _two_bins(n_rows)
    lam, w = gradients(values - n_rows / 2, serial), gradients(values + 1, serial)
    keys, scores = np.arange(n_rows, dtype=np.uint64), np.zeros(n_rows)
    pack_least_squares(lam, n_rows)
    queries = QuerySample(keys, np.array([0, 50, n_rows]), 1.0, serial)
    drawn = RowSample(keys, serial, 0.5, queries).draw(lam, w, 0, 0)
    parameters = GrowthParameters(growth, max_leaf_nodes=4, min_samples_leaf=1, split="newton")
    grower = Grower(binned, parameters, keys, n_rows, serial)
    grower.grow(pack_newton(drawn.lam, drawn.w, n_rows), np.uint64(0), drawn.rows)
    grown = grower.grow(pack_newton(lam, w, n_rows), np.uint64(0))
    # Symmetric trees divide small nodes by another kernel.
    grower.divide(Node(0, 0, n_rows), np.arange(n_rows, dtype=np.uint32))
    place = (grown.leaf_of, grown.tree.n_leaves, n_rows, serial)
    sums_over_leaves(lam, *place)
    sums_over_leaves(lam, *place, queries.held_out(np.uint64(0)))
    add_grown_tree(grown, grown.tree.value, scores)
    add_tree(grown.tree, binned, scores)


def _two_bins(n_rows: int) -> Any:
    """A feature of two bins, written by hand: the process that trains compiles the binning."""
    import numpy as np

    from rankinite.binning import BinMapper, BinnedMatrix

    blocks = np.zeros((1, n_rows, 16), np.uint8)
    blocks[0, n_rows // 2 :, 0] = 1
    return BinnedMatrix(blocks, 1, BinMapper(np.zeros(1), np.array([0, 1]), 255))


def evaluate_a_ranking(measure: str) -> None:
    """Take the value of a measure, as for the validation data."""
    import numpy as np

    from rankinite.data import Dataset
    from rankinite.measures import evaluate

    y = np.array([0.0, 1.0])
    data = Dataset(y[:, None], y, qid=np.zeros(2)).with_preferences(preferred=[1], other=[0])
    evaluate(y, data, measure)


def take_all_measures(measure: str) -> None:
    """Take the values of all measures, and of pairs."""
    for each in ("ndcg@10", "err@10", "map", "mrr", "p@10", "pairs", "avendcg"):
        evaluate_a_ranking(each)
    for each in ("pair_accuracy", "pair_log_loss"):
        evaluate_a_ranking(each)


def score_documents(measure: str) -> None:
    """Score a few documents and many, by their values and by their bins."""
    import rankinite as rk
    from rankinite.trees import scoring

    train = rk.artificial(n_queries=20, n_docs=20, n_features=5)
    model = rk.LambdaMART(n_estimators=2, verbose=0).fit(train)
    for X in (train.X.astype("float32"), train.X.astype("float64")):
        model.predict(X)
    scoring.WALKED_TREES = 0
    scoring.score_binned(model.forest_, train.binned())


def _train(*rankers: tuple[str, dict[str, Any]]) -> Callable[[str], None]:
    """What trains rankers on small data, with a validation set."""

    def compile_rankers(measure: str) -> None:
        import warnings

        import rankinite as rk

        warnings.simplefilter("ignore")
        train, valid = rk.artificial(n_queries=(10, 5), n_docs=20, n_features=5)
        for name, parameters in rankers:
            model = getattr(rk, name)(**parameters).fit(train, valid=valid)
            model.predict(valid.X)

    return compile_rankers


def combine_rankers(measure: str) -> None:
    """Combine two rankers in every way."""
    import warnings

    import numpy as np

    import rankinite as rk
    from rankinite.models import LinearScorer

    warnings.simplefilter("ignore")
    train = rk.artificial(n_queries=10, n_docs=20, n_features=5)
    rankers = {"a": LinearScorer(np.arange(5.0)), "b": LinearScorer(np.ones(5))}
    for method in ("linear", "net", "powell", "exact_powell", "pair_tree"):
        rk.Combination(rankers, method).fit(train)


class Group(NamedTuple):
    """Kernels that are compiled together: by what, and modules and names of those that tell it.

    Of these one is the last to be compiled.
    """

    compile: Callable[[str], None]
    known_by: tuple[tuple[str, str], ...] = ()


_FEW = {"n_estimators": 2, "min_samples_leaf": 1}
GROUPS = {
    "trees": Group(
        grow_a_tree,
        (("trees._split_kernels", "best_splits"), ("trees._predict_kernels", "walk_bins")),
    ),
    "symmetric trees": Group(
        partial(grow_a_tree, growth="symmetric"),
        (("trees._level_kernels", "common_gains"), ("trees._predict_kernels", "walk_bins")),
    ),
    "gradients": Group(take_gradients, (("lambdas._lambda_kernels", "all_lambdas"),)),
    "reading": Group(read_a_file),
    "measures": Group(evaluate_a_ranking, (("measures._value_kernels", "rank_queries"),)),
    "scoring": Group(score_documents),
    "all measures": Group(take_all_measures),
    "line search": Group(
        _train(("LambdaMART", {**_FEW, "step": "line_search", "backfit": 1})),
    ),
    "MART, McRank": Group(
        _train(("MART", _FEW), ("MART", {**_FEW, "loss": "graded"}), ("McRank", _FEW))
    ),
    "LambdaBoost": Group(_train(("LambdaBoost", {"n_estimators": 2}))),
    "RankNet": Group(_train(("RankNet", {"n_epochs": 2}))),
    "LambdaRank": Group(_train(("LambdaRank", {"n_epochs": 2}))),
    "combinations": Group(combine_rankers),
}
