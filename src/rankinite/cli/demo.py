"""``rankinite demo``: the whole way from data to a saved ranker, on artificial data."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankinite.cli.compiling import CompilingAhead
from rankinite.cli.outputs import check_writable, print_result, write_lines
from rankinite.errors import DataError

if TYPE_CHECKING:
    import numpy as np

    from rankinite.boosting.boosted_trees import BoostedTrees
    from rankinite.data import Dataset

N_QUERIES = (1_000, 300, 500)  # training, validation, test
N_DOCS, N_FEATURES = 40, 25
N_TREES, PATIENCE = 200, 20
WIDTH = 80
MEASURES = ("ndcg@1", "ndcg@3", "ndcg@10", "err@10", "map", "mrr")


@dataclass(frozen=True)
class DemoData:
    """Artificial data for training, validation and test."""

    train: Dataset
    valid: Dataset
    test: Dataset


def demo(
    output: Annotated[Path, typer.Option(help="Folder for what the demo writes.")] = Path(
        "demo-output"
    ),
    seed: Annotated[int, typer.Option(help="Seed of the data and the rankers.")] = 0,
) -> None:
    """Train and test rankers on artificial data, and show what to try next.

    The first run also compiles the kernels; it takes about half a minute.
    """
    _make_folder(output)
    from rankinite.data import artificial

    print_result(
        "rankinite demo: learning to rank documents whose relevance (0 to 4) is a hidden\n"
        "polynomial of their features. The first run also compiles the kernels: allow\n"
        "half a minute. Later runs take seconds.\n"
    )
    compiling = CompilingAhead()
    parts = DemoData(
        *artificial(N_QUERIES, n_docs=N_DOCS, n_features=N_FEATURES, random_state=seed)
    )
    print_result("1. Data")
    for name, rows in vars(parts).items():
        print_result(f"   {name:5}  {rows.n_queries:>5,} queries with {N_DOCS} documents each")

    print_result(f"\n2. Training, until ndcg@10 on valid has not risen for {PATIENCE} trees")
    compiling.finish()
    rankers = _train(parts, seed)

    print_result("\n3. How well the test queries are ranked (1 is perfect)")
    print_result(_indented(_table(parts, rankers)))

    print_result("\n4. Saving, loading, scoring")
    _save_and_verify(output, parts.test, rankers)
    print_result(_what_next(output))


def _make_folder(output: Path) -> None:
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot create the folder {output}: {error.strerror}") from error
    check_writable(output / "ranker.rk", "the model")


def _train(parts: DemoData, seed: int) -> dict[str, BoostedTrees]:
    from rankinite.boosting import MART, LambdaMART
    from rankinite.training import Progress

    stop: dict[str, Any] = {
        "n_estimators": N_TREES,
        "early_stopping": PATIENCE,
        "random_state": seed,
    }
    rankers: dict[str, BoostedTrees] = {
        "MART (regression)": MART(**stop),
        # On data without noise the Newton gain learns fastest.
        "LambdaMART": LambdaMART(split="newton", **stop),
    }
    for name, ranker in rankers.items():
        print_result(f"   {name} ...")
        ranker.fit(parts.train, valid=parts.valid, callbacks=[Progress(every=100)])
        print_result(f"   {name}: {ranker.forest_.n_trees} trees kept")
    return rankers


def _table(parts: DemoData, rankers: dict[str, BoostedTrees]) -> str:
    from rankinite._text_table import aligned
    from rankinite.measures import evaluate

    scorers = _simple_baselines(parts) | rankers
    evaluations = {name: evaluate(s, parts.test, MEASURES) for name, s in scorers.items()}
    rows = [(name, *(f"{e[m]:.4f}" for m in MEASURES)) for name, e in evaluations.items()]
    return aligned(("", *MEASURES), rows)


def _simple_baselines(parts: DemoData) -> dict[str, Any]:
    """Scores of the test rows without learning to rank, or what computes them."""
    import numpy as np

    feature, sign = _best_feature(parts.valid)
    return {
        # Equal scores are evaluated by the mean over all orders: exactly a random order.
        "random order": np.zeros(parts.test.n_rows),
        "best single feature": sign * parts.test.X[:, feature],
        "linear least squares": _least_squares(parts.train),
    }


def _best_feature(valid: Dataset) -> tuple[int, float]:
    """The feature, and the direction, that alone ranks the validation queries best."""
    from rankinite.measures import evaluate

    candidates = [(feature, sign) for feature in range(valid.n_features) for sign in (1.0, -1.0)]
    values = [evaluate(s * valid.X[:, f], valid, "ndcg@10")["ndcg@10"] for f, s in candidates]
    return candidates[values.index(max(values))]


def _least_squares(train: Dataset) -> Any:
    import numpy as np

    from rankinite.models import LinearScorer

    centred = train.X - train.X.mean(axis=0)
    weights, *_ = np.linalg.lstsq(centred, train.labels - train.labels.mean(), rcond=None)
    return LinearScorer(weights)


def _save_and_verify(output: Path, test: Dataset, rankers: dict[str, BoostedTrees]) -> None:
    from rankinite.formats import write_svmlight
    from rankinite.models import load

    ranker = rankers["LambdaMART"]
    ranker.save(output / "ranker.rk")
    rankers["MART (regression)"].save(output / "mart.rk")
    scores = load(output / "ranker.rk").predict(test)
    if not _same_bits(scores, ranker.predict(test)):
        raise AssertionError("the loaded ranker scores differently from the saved one")
    write_svmlight(test, output / "test.txt")
    write_lines(map(repr, scores.tolist()), output / "scores.txt")
    written = {
        "ranker.rk": "the LambdaMART ranker",
        "mart.rk": "the MART ranker",
        "test.txt": "the test queries as SVMlight text",
        "scores.txt": "the scores of LambdaMART, one a line",
    }
    print_result(f"   Written to {output}:")
    for name, content in written.items():
        print_result(f"   {name:10}  {content}")
    print_result(
        f"   Loaded from its file, LambdaMART gave all {test.n_rows:,} test documents the same\n"
        "   scores as before, to the last bit."
    )


def _same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.tobytes() == b.tobytes()


def commands(output: Path) -> list[list[str]]:
    """Commands that work on what the demo wrote: each the arguments of ``rankinite``."""
    test, ranker, mart = (str(output / name) for name in ("test.txt", "ranker.rk", "mart.rk"))
    return [
        ["evaluate", test, "--model", ranker],
        ["compare", test, "--model", mart, "--model", ranker],
        ["score", test, "--model", ranker, "--output", "scores.txt"],
    ]


def _what_next(output: Path) -> str:
    lines = "\n".join(_folded(command) for command in commands(output))
    return (
        f"\nTry next{_where_it_is()}:\n{lines}\n"
        "and on your own data:\n"
        "   rankinite train train.txt --valid valid.txt --early-stopping 50 --model my.rk\n"
        "   rankinite evaluate test.txt --model my.rk"
    )


def _where_it_is() -> str:
    """A hint where the shell would not find the command that runs now."""
    if shutil.which("rankinite") is not None:
        return ""
    return f" (rankinite is {os.path.relpath(sys.argv[0])} here)"


def _folded(command: list[str]) -> str:
    """A command as it is typed; the options of a long one go to a second line."""
    verb, data, *options = (shlex.quote(word) for word in command)
    line = f"   rankinite {verb} {data}"
    whole = " ".join([line, *options])
    return whole if len(whole) <= WIDTH else f"{line} \\\n      {' '.join(options)}"


def _indented(text: str) -> str:
    return "\n".join(f"   {line}" for line in text.splitlines())
