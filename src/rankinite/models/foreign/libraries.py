"""What is asked of LightGBM, XGBoost and CatBoost: reading and writing models, and raw scores.

Nothing of this package is imported here, so that a process which has only a library to call
(`apart`) starts with this file alone: ``python libraries.py`` answers requests on its pipes.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np

_LENGTH = struct.Struct(">Q")
# Bytes of addresses that a library may take to read a model: some, and so many a byte of the model.
_SPACE, _SPACE_A_BYTE = 4 << 30, 100


class LightGBM:
    """A LightGBM Booster."""

    library, package = "LightGBM", "lightgbm"
    stand_in = "Column_"

    def __init__(self, booster: Any) -> None:
        self.booster = booster
        self.n_features: int = booster.num_feature()
        self.names: list[str] | None = list(booster.feature_name())
        # Raw scores of a random forest are the sum of its trees, and its predictions their mean.
        averages = "\naverage_output\n" in booster.model_to_string(num_iteration=1)
        self._n_averaged = booster.current_iteration() if averages else 1

    @classmethod
    def of(cls, model: Any) -> LightGBM:
        """Of a Booster, or of an LGBMModel."""
        return cls(model if hasattr(model, "model_to_string") else model.booster_)

    @classmethod
    def of_content(cls, content: bytes) -> LightGBM:
        """Of LightGBM's text."""
        import lightgbm

        return cls(lightgbm.Booster(model_str=content.decode()))

    def raw_scores(self, X: np.ndarray, n_threads: int) -> np.ndarray:
        """Scores before any link function, shape (n_rows,), or (n_rows, n_classes)."""
        scores = self.booster.predict(X, raw_score=True, num_threads=n_threads)
        return scores / self._n_averaged

    def content(self) -> bytes:
        """LightGBM's text, up to the best iteration."""
        text: str = self.booster.model_to_string()
        # No score depends on what follows, such as the paths of the files of the training.
        trees, end, _ = text.partition("\nend of trees\n")
        return (trees + end).encode()

    readable = content


class XGBoost:
    """An XGBoost Booster."""

    library, package = "XGBoost", "xgboost"
    stand_in = "f"

    def __init__(self, booster: Any) -> None:
        self.booster = booster
        self.n_features: int = booster.num_features()
        self.names: list[str] | None = booster.feature_names

    @classmethod
    def of(cls, model: Any) -> XGBoost:
        """Of a Booster, or of an XGBModel; of this up to the best iteration."""
        if hasattr(model, "save_raw"):
            return cls(model)
        booster = model.get_booster()
        best = booster.attr("best_iteration")
        return cls(booster if best is None else booster[: int(best) + 1])

    @classmethod
    def of_content(cls, content: bytes) -> XGBoost:
        """Of XGBoost's JSON or UBJSON."""
        import xgboost

        booster = xgboost.Booster()
        booster.load_model(bytearray(content))
        return cls(booster)

    def raw_scores(self, X: np.ndarray, n_threads: int) -> np.ndarray:
        """Scores before any link function, shape (n_rows,), or (n_rows, n_classes)."""
        from xgboost import DMatrix, config_context, get_config

        booster = self.booster
        types = booster.feature_types
        # XGBoost below 3 decides on the threads by itself, and may wait for ever after a fork.
        with config_context(nthread=n_threads) if "nthread" in get_config() else nullcontext():
            rows = DMatrix(
                X,
                feature_names=booster.feature_names,
                feature_types=types,
                enable_categorical=types is not None and "c" in types,
                nthread=n_threads,
            )
            return booster.predict(rows, output_margin=True)

    def content(self) -> bytes:
        """XGBoost's JSON."""
        return bytes(self.booster.save_raw("json"))

    readable = content


class CatBoost:
    """A CatBoost model."""

    library, package = "CatBoost", "catboost"
    stand_in = ""

    def __init__(self, booster: Any) -> None:
        self.booster = booster
        self.names: list[str] | None = list(booster.feature_names_)
        self.n_features = len(self.names)

    @classmethod
    def of(cls, model: Any) -> CatBoost:
        """Of a CatBoost, CatBoostRanker, CatBoostRegressor or CatBoostClassifier."""
        return cls(model)

    @classmethod
    def of_content(cls, content: bytes) -> CatBoost:
        """Of CatBoost's binary format or JSON."""
        import catboost

        booster = catboost.CatBoost()
        if not content.startswith(b"{"):
            return cls(booster.load_model(blob=content, format="cbm"))
        # CatBoost reads JSON from files only.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            path.write_bytes(content)
            return cls(booster.load_model(str(path), format="json"))

    def raw_scores(self, X: np.ndarray, n_threads: int) -> np.ndarray:
        """Scores before any link function, shape (n_rows,), or (n_rows, n_classes)."""
        import catboost

        # The wrappers' own predict gives classes, or lacks the choice.
        return catboost.CatBoost.predict(
            self.booster, X, prediction_type="RawFormulaVal", thread_count=n_threads
        )

    def content(self) -> bytes:
        """CatBoost's binary format."""
        return self._saved("cbm")

    def readable(self) -> bytes:
        """CatBoost's JSON, which has all digits; CatBoost itself rounds when it reads it."""
        return self._saved("json")

    def _saved(self, form: str) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            self.booster.save_model(str(path), format=form)
            return path.read_bytes()


Model = LightGBM | XGBoost | CatBoost
Library = type[LightGBM] | type[XGBoost] | type[CatBoost]
LIBRARIES: dict[str, Library] = {each.library: each for each in (LightGBM, XGBoost, CatBoost)}


def send(pipe: IO[bytes], head: dict[str, Any], body: bytes = b"") -> None:
    """Write a message: a small object, and bytes."""
    start = json.dumps(head).encode() + b"\n"
    pipe.write(_LENGTH.pack(len(start) + len(body)) + start)
    pipe.write(body)
    pipe.flush()


def receive(pipe: IO[bytes]) -> tuple[dict[str, Any], bytes]:
    """Read a message that `send` wrote; an EOFError if the other end is gone."""
    length = pipe.read(_LENGTH.size)
    if len(length) < _LENGTH.size:
        raise EOFError
    (size,) = _LENGTH.unpack(length)
    content = pipe.read(size)
    if len(content) < size:
        raise EOFError
    head, _, body = content.partition(b"\n")
    return json.loads(head), body


def as_bytes(array: np.ndarray) -> bytes:
    """An array in numpy's own format."""
    file = BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def as_array(content: bytes) -> np.ndarray:
    """The array of bytes that `as_bytes` gave."""
    found: np.ndarray = np.load(BytesIO(content), allow_pickle=False)
    return found


def _serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests until there are no more."""
    model: Any = None
    while True:
        try:
            head, body = receive(requests)
        except EOFError:
            return
        _end_in(head["seconds"])
        try:
            if head["do"] == "load":
                with _limited_space(_SPACE + _SPACE_A_BYTE * len(body)):
                    model = LIBRARIES[head["library"]].of_content(body)
                names = None if model.names is None else [str(name) for name in model.names]
                send(answers, {"n_features": model.n_features, "names": names})
            elif head["do"] == "readable":
                send(answers, {}, model.readable())
            else:
                scores = model.raw_scores(as_array(body), head["n_threads"])
                send(answers, {}, as_bytes(np.asarray(scores, np.float64)))
        except Exception as error:
            send(answers, {"error": f"{error}" or type(error).__name__})
        _end_in(0)


def _end_in(seconds: float) -> None:
    """Let the system end this process after so many seconds; 0 calls it off.

    Who has asked does so too, but may be gone by then.
    """
    if hasattr(signal, "alarm"):
        signal.alarm(int(seconds) + 1 if seconds else 0)


@contextmanager
def _limited_space(n_bytes: int) -> Iterator[None]:
    """Let a wrong length in a model be an error here, before it takes all memory there is."""
    try:
        from resource import RLIMIT_AS, getpagesize, getrlimit, setrlimit

        taken = int(Path("/proc/self/statm").read_text().split()[0]) * getpagesize()
    except (ImportError, OSError):  # another system
        yield
        return
    before = getrlimit(RLIMIT_AS)
    _, most = before
    wanted = taken + n_bytes
    setrlimit(RLIMIT_AS, (wanted if most < 0 else min(wanted, most), most))
    try:
        yield
    finally:
        setrlimit(RLIMIT_AS, before)


if __name__ == "__main__":
    # Libraries print what they like: the pipe for answers is kept from them.
    kept = os.dup(1)
    os.dup2(2, 1)
    with os.fdopen(kept, "wb") as answers_pipe:
        _serve(sys.stdin.buffer, answers_pipe)
