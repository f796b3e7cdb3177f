"""A model that only its library can read, in a process of its own.

The libraries' own parsers end the process on some damaged files, or never return. So a file never
comes to one in this process: a child that has nothing but the library reads it and gives scores,
and a child that ends or hangs becomes a sentence.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

import numpy as np

from rankinite.errors import DataError, ModelFileError
from rankinite.models.foreign import libraries
from rankinite.models.foreign.common import first_line

# Seconds for reading a model, and for the scores of a batch.
READING, SCORING = 120.0, 600.0


class Apart:
    """A model of another library in a process of its own, which is started again where it must be.

    Parameters
    ----------
    library : str
        "LightGBM", "XGBoost" or "CatBoost".
    content : bytes
        The model in a format that the library reads.
    where : str
        Its place, for people.

    Attributes
    ----------
    n_features : int
    names : list of str or None
    """

    def __init__(self, library: str, content: bytes, where: str) -> None:
        self.library, self.where, self._content = library, where, content
        self.package = libraries.LIBRARIES[library].package
        self.stand_in = libraries.LIBRARIES[library].stand_in
        if find_spec(self.package) is None:
            raise ModelFileError(
                f"{where} has a model of {library} that only {library} itself can score: pip "
                f"install {self.package}"
            )
        self._child: _Child | None = None
        self._lock = threading.Lock()
        with self._lock:
            self._running()

    def raw_scores(self, X: np.ndarray, n_threads: int) -> np.ndarray:
        """Scores before any link function, shape (n_rows,), or (n_rows, n_classes)."""
        request = {"do": "score", "n_threads": n_threads}
        with self._lock:
            try:
                _, body = self._running().ask(request, libraries.as_bytes(X), SCORING)
            except _FailedError as failed:
                self._child = None if failed.ended else self._child
                raise DataError(
                    f"{self.library} cannot score with its model in {self.where} ({failed})"
                ) from None
        scores = libraries.as_array(body)
        if len(scores) != len(X):
            raise DataError(f"{self.library} gave {len(scores)} scores for {len(X)} rows")
        return scores

    def content(self) -> bytes:
        """The model in the library's format, as it was read."""
        return self._content

    def readable(self) -> bytes:
        """The model in the format that our own readers take."""
        with self._lock:
            try:
                return self._running().ask({"do": "readable"}, b"", READING)[1]
            except _FailedError as failed:
                self._child = None
                raise self._unreadable(failed) from None

    def _running(self) -> _Child:
        """The child with the model, started if there is none of this very process."""
        if self._child is not None and self._child.owner == os.getpid():
            return self._child
        child = _Child()
        try:
            head, _ = child.ask({"do": "load", "library": self.library}, self._content, READING)
        except _FailedError as failed:
            raise self._unreadable(failed) from None
        self.n_features: int = int(head["n_features"])
        self.names: list[str] | None = head["names"]
        self._child = child
        return child

    def _unreadable(self, failed: _FailedError) -> ModelFileError:
        return ModelFileError(
            f"{self.library} cannot read its model in {self.where} ({failed}): it is damaged, or "
            f"of a newer {self.library} than the one installed"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_child": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self._lock = threading.Lock()


class _FailedError(Exception):
    """A child has not answered, or with an error; `ended` says whether it is gone."""

    def __init__(self, why: str, ended: bool) -> None:
        super().__init__(why)
        self.ended = ended


class _Child:
    """The process, and the pipes to it."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._process = subprocess.Popen(
            # Without the file's own folder among those that modules are looked for in.
            [sys.executable, "-P", libraries.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        weakref.finalize(self, _end, self._process, self.owner)

    def ask(
        self, head: dict[str, Any], body: bytes, seconds: float
    ) -> tuple[dict[str, Any], bytes]:
        """The answer to a request, which is waited for so many seconds."""
        assert self._process.stdin is not None and self._process.stdout is not None
        late = threading.Timer(seconds, self._process.kill)
        late.daemon = True
        late.start()
        try:
            libraries.send(self._process.stdin, head, body)
            answer, content = libraries.receive(self._process.stdout)
        except (EOFError, OSError, ValueError):
            self._process.kill()
            timed_out = not late.is_alive()
            why = f"it takes over {seconds:g} seconds" if timed_out else "the process ended"
            raise _FailedError(why, ended=True) from None
        finally:
            late.cancel()
        if "error" in answer:
            raise _FailedError(first_line(str(answer["error"])), ended=False)
        return answer, content


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    """End a child; a fork of its owner leaves it alone."""
    if os.getpid() != owner:
        return
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    process.wait()
