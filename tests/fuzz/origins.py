"""Files that are nearly right and are read: do their own libraries score them as we do?

``python -m tests.fuzz.origins 300`` goes through the cases of each format until so many files were
read by us and by the library. The library has a process of its own, and another one when that
ends or hangs. What only we read is counted and not compared: that the library refuses, ends or
hangs says nothing about the scores.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import count

import numpy as np

import rankinite as rk
from rankinite.exchange.plain import PlainForest, PlainLinear
from rankinite.exchange.readers import read
from rankinite.models.foreign import libraries
from rankinite.models.foreign.apart import _Child, _FailedError
from tests.fuzz.engine import all_targets

FORMATS = {
    "lightgbm.txt": "LightGBM",
    "xgboost.json": "XGBoost",
    "xgboost.ubj": "XGBoost",
    "catboost.json": "CatBoost",
}
SECONDS = 3.0
N_ROWS = 200
MOST_FEATURES = 10_000


class Origin:
    """A library in a process of its own, which is asked about one model after the other."""

    def __init__(self, library: str, whole: bytes) -> None:
        self.library, self._whole = library, whole
        self._start()

    def _start(self) -> None:
        """Start the process, and let it import the library."""
        self._child = _Child()
        self._child.ask({"do": "load", "library": self.library}, self._whole, 120)

    def scores(self, content: bytes, X: np.ndarray) -> np.ndarray | str:
        """The library's scores, or what became of it."""
        try:
            self._child.ask({"do": "load", "library": self.library}, content, SECONDS)
            request = {"do": "score", "n_threads": 1}
            _, body = self._child.ask(request, libraries.as_bytes(X), SECONDS)
        except _FailedError as failed:
            if self._child.usable:
                return f"refuses: {failed}"
            self._start()
            return f"fails: {failed}"
        return libraries.as_array(body)


def rows_for(plain: PlainForest | PlainLinear, library: str) -> np.ndarray:
    """Values at thresholds, beside them, and missing ones; infinite ones where they can be."""
    rng = np.random.default_rng(0)
    thresholds = plain.forest.threshold if isinstance(plain, PlainForest) else np.zeros(1)
    with np.errstate(all="ignore"):
        at = thresholds.astype(np.float32)
        beside = [np.nextafter(at, np.float32(end)) for end in (np.inf, -np.inf)]
        pool = np.concatenate([at, *beside, rng.normal(size=10), [0.0, np.nan]]).astype(np.float32)
    if library == "XGBoost":  # which takes no infinite values
        pool = pool[~np.isinf(pool)]
    return rng.choice(pool, (N_ROWS, plain.n_features))


def disagreement(name: str, ours: np.ndarray, theirs: np.ndarray) -> str:
    """What is different, or nothing."""
    if theirs.shape != ours.shape:
        return f"shapes {ours.shape} and {theirs.shape}"
    allowed = np.zeros(len(ours))
    if name == "catboost.json":  # whose library rounds when it reads it
        allowed = 2.0**-23 * np.abs(theirs)
    elif name.startswith("xgboost"):
        ours = ours.astype(np.float32).astype(np.float64)
    with np.errstate(all="ignore"):
        same = (np.abs(ours - theirs) <= allowed) | (ours == theirs)
    same |= np.isnan(ours) & np.isnan(theirs)
    if same.all():
        return ""
    k = int(np.flatnonzero(~same)[0])
    return f"{(~same).sum()} rows, the first {ours[k]!r} and {theirs[k]!r}"


def _without_places(content: bytes) -> bytes:
    """LightGBM's text without the lengths of its trees, which nearly every change makes wrong.

    LightGBM refuses such a file; without lengths it reads one tree after the other, as we do.
    """
    return re.sub(rb"tree_sizes=[^\n]*\n", b"", content)


def compared(name: str, first: int) -> Iterator[tuple[int, str]]:
    """For each case that we read, what the library says of it; "" if it agrees."""
    target = all_targets()[name]
    origin = Origin(FORMATS[name], target.wholes()[0])
    for number in count(first):
        content = _without_places(target.case(number))
        if content in map(_without_places, target.wholes()):
            continue
        try:
            plain = read(content, "case")
        except rk.ModelFileError:
            continue
        if plain is None or plain.n_features > MOST_FEATURES:
            continue
        X = rows_for(plain, FORMATS[name])
        theirs = origin.scores(content, X)
        with np.errstate(all="ignore"):
            ours = plain.scores(X)
        yield number, theirs if isinstance(theirs, str) else disagreement(name, ours, theirs)


def tell(name: str, n_read: int, first: int = 0) -> Counter[str]:
    """How often the library agrees, differs, refuses and fails, until it has scored so many."""
    told: Counter[str] = Counter()
    for number, what in compared(name, first):
        kind = what.partition(":")[0]
        told[kind if kind in ("refuses", "fails") else "differs" if what else "agrees"] += 1
        if what and kind not in ("refuses", "fails"):
            print(f"  --target {name} --show {number}: {what}", flush=True)
        if told["agrees"] + told["differs"] == n_read:
            break
    return told


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n_read", type=int, nargs="?", default=300, help="of each format")
    parser.add_argument("--target", action="append", choices=FORMATS)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    n_different = 0
    for name in options.target or FORMATS:
        told = tell(name, options.n_read, options.first)
        print(name, dict(told), flush=True)
        n_different += told["differs"]
    return 1 if n_different else 0


if __name__ == "__main__":
    sys.exit(main())
