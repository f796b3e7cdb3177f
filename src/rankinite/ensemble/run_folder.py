"""The folder of a run: what is done, and with which key it was made.

Every file is written beside its place and renamed, and the record of a step comes last. So a run
that is killed leaves whole files, of which the records say which ones count.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rankinite.ensemble.plan import MEMBER, TRAIN, Step
from rankinite.errors import DataError, ModelFileError
from rankinite.formats.array_file import read_arrays, write_arrays
from rankinite.formats.files import replacing
from rankinite.models import Ranker, load

try:
    import fcntl
except ImportError:  # where there are no such locks, two runs must not be started by hand
    fcntl = None  # type: ignore[assignment]


class RunFolder:
    """Where the results of steps are kept, each with the key that it was made with.

    Parameters
    ----------
    path : path
        Made if it is not there; its own folder must be.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: Any = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let no other run work in this folder inside the block."""
        try:
            self.path.mkdir(exist_ok=True)
            self._lock = (self.path / "lock").open("a")
        except OSError as error:
            raise DataError(
                f"the run folder {self.path} cannot be written: {error.strerror}"
            ) from error
        try:
            if fcntl is not None:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DataError(
                f"another run is at work in {self.path}: wait for it, or use another folder"
            ) from None
        # What a run that was killed was about to write.
        for half in self.path.rglob(".*.tmp"):
            half.unlink(missing_ok=True)
        try:
            yield
        finally:
            self.let_go()

    def let_go(self) -> None:
        """Give the folder free; a forked child does, so that it holds nothing for its parent."""
        self._lock.close()

    def is_done(self, step: Step) -> bool:
        """Whether the result of a step is there, made with its key."""
        record = self._record(step)
        try:
            told = json.loads(record.read_text(encoding="utf-8"))
            files = [record.parent / name for name in told["files"]]
            return told["key"] == step.key and all(file.is_file() for file in files)
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def begin(self, step: Step) -> None:
        """Make room for the result of a step: what was there does not count any more."""
        place = self._record(step)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink(missing_ok=True)
            self.log(step).unlink(missing_ok=True)
        except OSError as error:
            raise DataError(f"{place} cannot be written: {error.strerror}") from error

    def finish(self, step: Step, files: list[Path], seconds: float) -> None:
        """Record that a step is done, with the files of its result."""
        record = {
            "step": step.name,
            "key": step.key,
            "files": [file.name for file in files],
            "seconds": round(seconds, 3),
        }
        with replacing(self._record(step)) as temporary:
            temporary.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")

    def results(self, step: Step) -> list[Path]:
        """The files of a step that is done: those of its result, its log, and the record last."""
        record = self._record(step)
        names = json.loads(record.read_text(encoding="utf-8"))["files"]
        files = [record.parent / name for name in names]
        log = self.log(step)
        return [*files, *([log] if log.exists() else []), record]

    def take(self, step: Step, contents: Mapping[str, bytes]) -> None:
        """Keep the files of a step that was done elsewhere, by their names, the record last."""
        self.begin(step)
        folder = self._record(step).parent
        for name, content in contents.items():
            with replacing(folder / name) as temporary:
                temporary.write_bytes(content)

    def seconds(self, step: Step) -> float:
        """How long a step took that is done."""
        try:
            return float(json.loads(self._record(step).read_text(encoding="utf-8"))["seconds"])
        except (OSError, ValueError, KeyError, TypeError):
            return 0.0

    def model(self, step: Step) -> Path:
        """The file of the model that a step makes."""
        return self._base(step).with_suffix(".rk")

    def scores(self, step: Step, of: str = "held-out") -> Path:
        """The file of the scores that a step gives, of documents in the order of their content."""
        base = self._base(step)
        return base.with_name(f"{base.name}.{of}.scores")

    def log(self, step: Step) -> Path:
        """The log of a training."""
        return self._base(step).with_suffix(".log")

    def read_model(self, step: Step) -> Ranker:
        """The model that a step has made."""
        return load(self.model(step))

    def write_scores(self, step: Step, scores: np.ndarray, of: str = "held-out") -> Path:
        """Keep the scores that a step gives, shape (n_rows,)."""
        path = self.scores(step, of)
        with replacing(path) as temporary, temporary.open("wb") as file:
            write_arrays(file, {"scores": np.ascontiguousarray(scores)}, {"step": step.name})
        return path

    def read_scores(self, step: Step, n_rows: int, of: str = "held-out") -> np.ndarray:
        """What `write_scores` has kept."""
        path = self.scores(step, of)

        def damaged(why: str) -> ModelFileError:
            return ModelFileError(f"{path} is damaged ({why}): delete it, and start again")

        try:
            scores = read_arrays(path, damaged)[0]["scores"]
        except KeyError:
            raise damaged("it has no scores") from None
        except OSError as error:
            raise ModelFileError(f"{path} cannot be read: {error.strerror}") from error
        if scores.shape != (n_rows,) or scores.dtype != np.float64:
            raise damaged("it has other scores than it should")
        return scores

    def _base(self, step: Step) -> Path:
        of_member = step.kind in (TRAIN, MEMBER)
        folder = self.path / "members" / step.owner if of_member else self.path / "combination"
        if step.kind == TRAIN:
            return folder / ("all" if step.part is None else f"fold-{step.part + 1:02d}")
        return folder / ("member" if step.kind == MEMBER else step.owner.replace(" ", "-"))

    def _record(self, step: Step) -> Path:
        base = self._base(step)
        return base.with_name(f"{base.name}.done.json")
