"""The log of a training run as JSON lines: how it started, every round, how it ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rankinite
from rankinite.cli.data_files import DataFiles
from rankinite.cli.outputs import number_or_none
from rankinite.data.shares import Shape
from rankinite.training import Learner, Log, Run


class TrainingLog(Log):
    """A log that is told the start and the end by the command, which knows more than the loop."""

    def start(self, ranker: Learner, base_model: Path | None, data: dict[DataFiles, Shape]) -> None:
        """Log the version, the parameters and the shape of each file of data."""
        parameters = {name: _plain(v) for name, v in ranker.get_params(deep=False).items()}
        shapes = [
            {
                "file": str(path),
                "rows": rows.n_rows,
                "queries": rows.n_queries,
                "features": rows.n_features,
            }
            for path, rows in data.items()
        ]
        self.write(
            {
                "event": "start",
                "version": rankinite.__version__,
                "ranker": type(ranker).__name__,
                "parameters": parameters | {"base_model": _plain(base_model)},
                "data": shapes,
            }
        )

    def finish(self, run: Run) -> None:
        """Wait for `end`: the final measures are not known yet."""

    def end(
        self, ranker: Learner, measures: dict[str, float], seconds: float, interrupted: bool
    ) -> None:
        """Log what came out, and close the file."""
        self.write(
            {
                "event": "end",
                f"{ranker.unit}s": ranker.n_rounds_,
                "best_iteration": ranker.best_iteration_,
                "measures": {name: number_or_none(value) for name, value in measures.items()},
                "seconds": round(seconds, 4),
                "interrupted": interrupted,
            }
        )
        self.close()


def _plain(value: Any) -> Any:
    return value if isinstance(value, (int, float, str, type(None))) else str(value)
