"""Base models from files: those of this package, and those of other libraries by their content."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rankinite.errors import ModelFileError
from rankinite.models.foreign.boosters import (
    BoosterScorer,
    CatBoostScorer,
    LightGBMScorer,
    XGBoostScorer,
)
from rankinite.models.foreign.integrity import is_ubjson
from rankinite.models.storage import load


def load_base_model(path: str | os.PathLike[str]) -> Any:
    """Read a model to start from.

    Parameters
    ----------
    path : path
        A model that ``save`` wrote, a LightGBM text, an XGBoost model (JSON or UBJSON), or a
        CatBoost model (cbm or JSON), whatever the file is called.
    """
    try:
        content = Path(path).read_bytes()
    except OSError:
        return load(path)  # which says why
    scorer = _library_of(content, path)
    return load(path) if scorer is None else scorer.read(content, str(path))


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a model, of this package or another library, and not text or a table.

    Data in its binned form counts as one, as it is in the same container; reading tells them apart.
    """
    with Path(path).open("rb") as file:
        start = file.read(9)
    of_others = start.startswith((b"tree\n", b"tree\r\n", b"CBM1", b"{", b"\x80", b"binf"))
    return of_others or _is_own(start)


def _is_own(content: bytes) -> bool:
    """Whether a file is in our container: the length of a header in eight bytes, then JSON.

    No header is so long that the last of these bytes is not 0, and text has no such bytes. The
    first may be any, also one by which formats of others are known.
    """
    return content[7:9] == b"\0{"


def _library_of(content: bytes, path: str | os.PathLike[str]) -> type[BoosterScorer] | None:
    """The library whose model this is; None for a model of this package."""
    if _is_own(content):
        return None
    if content.startswith((b"tree\n", b"tree\r\n")):
        return LightGBMScorer
    if content.startswith(b"CBM1"):
        return CatBoostScorer
    if is_ubjson(content):
        return XGBoostScorer
    if content.startswith(b"{"):
        return _library_of_json(content, path)
    if content.startswith((b"\x80", b"binf")):
        raise ModelFileError(
            f"{path} is a pickle or in XGBoost's old binary format, which are not read: save the "
            "model by save_model of its library, as .txt, .json, .ubj or .cbm"
        )
    return None


def _library_of_json(content: bytes, path: str | os.PathLike[str]) -> type[BoosterScorer]:
    try:
        keys = set(json.loads(content))
    except (ValueError, RecursionError):
        raise ModelFileError(f"{path} is not whole JSON: save the model again") from None
    for key, scorer in (("learner", XGBoostScorer), ("features_info", CatBoostScorer)):
        if key in keys:
            return scorer
    raise ModelFileError(f"{path} is JSON, but no model of XGBoost or CatBoost")
