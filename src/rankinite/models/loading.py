"""Models from files: those of this package, and those of other engines by their content."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from rankinite.errors import ModelFileError
from rankinite.exchange.readers import format_of
from rankinite.models import storage
from rankinite.models.foreign.libraries import LIBRARIES
from rankinite.models.foreign.scorer import scorer_of_content
from rankinite.models.imported import Imported

# How pickles and XGBoost's old files begin.
_NOT_READ = (b"\x80", b"binf")
_CATBOOST_BINARY = b"CBM1"


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model, whatever the file is called.

    Parameters
    ----------
    path : path
        What ``save`` wrote, whose predictions are then those of the saved model, bit for bit. Or a
        model of LightGBM (text, JSON), XGBoost (JSON, UBJSON), CatBoost (cbm, JSON), RankLib
        (LambdaMART, MART, linear) or QuickRank (XML).

    Returns
    -------
    Ranker
        An `Imported` of another engine's file. One that only its library can score, as it splits
        by categories, say, is scored by it in a process of its own.
    """
    try:
        with Path(path).open("rb") as file:
            start = file.read(9)
            content = b"" if _is_own(start) else start + file.read()
    except OSError:
        return storage.load(path)  # which says why
    if not content:
        return storage.load(path)
    if content.startswith(_CATBOOST_BINARY):
        return scorer_of_content("CatBoost", content, str(path))
    if content.startswith(_NOT_READ):
        raise ModelFileError(
            f"{path} is a pickle or in XGBoost's old binary format, which are not read: save the "
            "model by save_model of its library, as .txt, .json, .ubj or .cbm"
        )
    form = format_of(content)
    if form is None:
        if content.lstrip()[:1] == b"{":
            raise ModelFileError(
                f"{path} is JSON, but no whole model of LightGBM, XGBoost or CatBoost"
            )
        return storage.load(path)
    if form.origin in LIBRARIES:
        return scorer_of_content(form.origin, content, str(path))
    return Imported(form.read(content, str(path)), f"model of {form.origin}")


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a model, of this package or another engine, and not text or a table.

    Data in its binned form counts as one, as it is in the same container; reading tells them apart.
    """
    with Path(path).open("rb") as file:
        start = file.read(1000)
    if _is_own(start) or start.startswith((_CATBOOST_BINARY, b"{", *_NOT_READ)):
        return True
    return format_of(start) is not None


def _is_own(content: bytes) -> bool:
    """Whether a file is in our container: the length of a header in eight bytes, then JSON.

    No header is so long that the last of these bytes is not 0, and text has no such bytes. The
    first may be any, also one by which formats of others are known.
    """
    return content[7:9] == b"\0{"
