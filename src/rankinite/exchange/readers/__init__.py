"""From the files of other libraries and engines to plain models: one file a format."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rankinite.exchange.faults import Read
from rankinite.exchange.plain import PlainForest, PlainLinear
from rankinite.exchange.readers import (
    catboost,
    lightgbm_json,
    lightgbm_text,
    quickrank,
    ranklib,
    xgboost,
)
from rankinite.exchange.ubjson import is_ubjson


class Format(NamedTuple):
    """A form in which another engine keeps models.

    Attributes
    ----------
    origin, name : str
    is_it : callable
        Whether some bytes are in this form.
    read : callable
        The plain model of the bytes.
    instead : str
        If the engine itself does not read the form, though it writes it: one that it reads.
    """

    origin: str
    name: str
    is_it: Callable[[bytes], bool]
    read: Read
    instead: str = ""


def _with_key(key: bytes) -> Callable[[bytes], bool]:
    """JSON is told apart by a name that comes in one format alone."""
    return lambda content: content.lstrip()[:1] == b"{" and key in content


FORMATS = (
    Format("LightGBM", "text", lightgbm_text.is_lightgbm_text, lightgbm_text.read),
    Format("XGBoost", "UBJSON", is_ubjson, xgboost.read),
    Format("XGBoost", "JSON", _with_key(b'"learner"'), xgboost.read),
    Format("CatBoost", "JSON", _with_key(b'"features_info"'), catboost.read),
    Format("LightGBM", "JSON", _with_key(b'"tree_info"'), lightgbm_json.read, "text"),
    Format("RankLib", "text", ranklib.is_ranklib, ranklib.read),
    Format("QuickRank", "XML", quickrank.is_quickrank, quickrank.read),
)


def format_of(content: bytes) -> Format | None:
    """The format of a file by its content; None if it is none of these."""
    return next((each for each in FORMATS if each.is_it(content)), None)


def read(content: bytes, where: str) -> PlainForest | PlainLinear | None:
    """The model of a file in whatever of the formats it is; None if it is in none."""
    found = format_of(content)
    return None if found is None else found.read(content, where)
