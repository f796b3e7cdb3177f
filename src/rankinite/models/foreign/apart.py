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
        _ALL.add(self)
        with self._lock:
            self._running()

    def raw_scores(self, X: np.ndarray, n_threads: int) -> np.ndarray:
        """Scores before any link function, shape (n_rows,), or (n_rows, n_classes)."""
        request = {"do": "score", "n_threads": n_threads}
        with self._lock:
            try:
                _, body = self._running().ask(request, libraries.as_bytes(X), SCORING)
            except _FailedError as failed:
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
                raise self._unreadable(failed) from None

    def _running(self) -> _Child:
        """The child with the model, started if there is none of this very process."""
        if self._child is not None and self._child.usable:
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
        _ALL.add(self)


# Those of this process: in a fork of it, no other thread is there to give a lock back.
_ALL: weakref.WeakSet[Apart] = weakref.WeakSet()


def _forget_locks() -> None:
    for each in _ALL:
        each._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_locks)


class _FailedError(Exception):
    """A child has not answered, or with an error."""


class _Child:
    """The process, and the pipes to it."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        # Not while a request is under way: what is left in the pipes is the answer to another.
        self._idle = True
        self._given_up = False
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
        late = threading.Timer(seconds, self._give_up)
        late.daemon = True
        late.start()
        self._idle = False
        try:
            libraries.send(self._process.stdin, {**head, "seconds": seconds}, body)
            answer, content = libraries.receive(self._process.stdout)
            self._idle = True
        except (EOFError, OSError, ValueError):
            why = f"it takes over {seconds:g} seconds" if self._given_up else "the process ended"
            raise _FailedError(why) from None
        finally:
            late.cancel()
            if not self._idle:
                self._process.kill()
        if "error" in answer:
            raise _FailedError(first_line(str(answer["error"])))
        return answer, content

    def _give_up(self) -> None:
        self._given_up = True
        self._process.kill()

    @property
    def usable(self) -> bool:
        """Whether it can be asked, by this very process."""
        return self._idle and self.owner == os.getpid()


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
