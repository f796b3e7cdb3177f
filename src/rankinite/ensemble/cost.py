"""What a model costs those who serve it: time to score, and room on disk."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankinite._numba import threads
from rankinite.data import Dataset, Queries
from rankinite.errors import ModelFileError
from rankinite.models.scores import scores_of
from rankinite.models.storage import save

BATCH, QUERY = 1000, 10
"""Documents of a batch, and of a query."""

CALLS, SECONDS = 30, 1.0
"""The most calls that are timed, and after how long it is enough."""


@dataclass(frozen=True)
class Cost:
    """What it takes to have the scores of a model.

    Attributes
    ----------
    batch, query : float
        Milliseconds for 1,000 documents, and for a query of 10, on one thread; medians.
    n_bytes : int or None
        Size of the model's file; None for what no file can keep.
    """

    batch: float
    query: float
    n_bytes: int | None

    @classmethod
    def of(cls, model: Any, data: Dataset) -> Cost:
        """Measure it on documents of some data, over and over again if there are few."""
        with threads(1):
            batch, query = (_milliseconds(model, _documents(data, n)) for n in (BATCH, QUERY))
        return cls(batch, query, _size(model))

    def in_cells(self) -> tuple[str, str, str]:
        """For a table: batch, query and size."""
        size = "–" if self.n_bytes is None else f"{self.n_bytes / 1e6:.2f} MB"
        return f"{self.batch:.2f} ms", f"{self.query:.3f} ms", size


def _documents(data: Dataset, n_rows: int) -> Dataset:
    """A query of so many documents."""
    query = Queries(offsets=np.array([0, n_rows]), qids=np.zeros(1))
    return Dataset.of(query, data.features.select_rows(np.arange(n_rows) % data.n_rows))


def _milliseconds(model: Any, documents: Dataset) -> float:
    """The median of some calls; the first one compiles and lays out, and does not count."""
    scores_of(model, documents)
    times: list[float] = []
    while (len(times) < CALLS and sum(times) < SECONDS) or len(times) < 2:
        started = time.perf_counter()
        scores_of(model, documents)
        times.append(time.perf_counter() - started)
    return 1e3 * float(np.median(times))


def _size(model: Any) -> int | None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        try:
            save(model, path)
        except ModelFileError:
            return None
        return path.stat().st_size
