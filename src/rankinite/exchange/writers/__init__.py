"""From plain models to the files of other libraries and engines: one file a format.

`FORMATS` says what each format holds, how exact it is, and what writes and reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from rankinite.exchange.plain import (
    Plain,
    PlainClasses,
    PlainForest,
    PlainLinear,
    PlainNet,
    Scored,
)
from rankinite.exchange.writers.names import names_from_one


@dataclass(frozen=True)
class Format:
    """A kind of file that another engine reads.

    Attributes
    ----------
    name : str
    suffixes : tuple of str
        What files are called; where a format has several forms, the suffix picks one.
    kinds : tuple of type
        The plain models it can hold.
    options : tuple of str
        Names of the options that `write` takes.
    exactness : str
        How near the engine's scores are to ours, in one line for people.
    write : callable
        ``write(plain, *, variant, **options)`` gives the bytes of a file, where `variant` is the
        suffix; it raises `ExportError` if the engine could not score as the model does.
    read : callable
        ``read(content, where)`` gives a plain model that scores as the *engine* does. Its columns
        are those that the file names, see `columns_of`.
    bound : callable
        ``bound(plain, X)``, an ndarray of shape (n_rows,), says how far the engine's scores may be
        from ours because it adds otherwise, on rows whose values it keeps as they are.
    beside : callable, optional
        ``beside(plain, **options)`` gives further files that belong to it, by their suffixes.
    beside_suffixes : tuple of str
        The suffixes of those files.
    takes_stem : bool
        Whether `write` and `beside` take ``stem``, the name of the file without its suffix.
    notes : callable, optional
        ``notes(plain)`` says what to know before the file is used.
    """

    name: str
    suffixes: tuple[str, ...]
    kinds: tuple[type, ...]
    options: tuple[str, ...]
    exactness: str
    write: Callable[..., bytes]
    read: Callable[[bytes, str], Scored]
    bound: Callable[[Plain, np.ndarray], np.ndarray]
    beside: Callable[..., dict[str, bytes]] | None = None
    beside_suffixes: tuple[str, ...] = ()
    takes_stem: bool = False
    notes: Callable[[Plain], list[str]] | None = None


def columns_of(back: Scored, plain: Plain) -> np.ndarray:
    """The columns of the model's rows that a model read back looks at, in its order.

    Some files name only the features that their trees use, and some have as many as the highest
    number that they name.

    Parameters
    ----------
    back : Scored
        What was read from a file.
    plain : Plain
        What was written to it.

    Returns
    -------
    ndarray of int64, shape (back.n_features,)
    """
    numbers = {name: j for j, name in enumerate(names_from_one(plain))}
    names = back.feature_names
    if names is None or not all(name in numbers for name in names):
        # Without names, or with names as the engine spells them, all columns are there.
        return np.arange(back.n_features)
    return np.array([numbers[name] for name in names], np.int64)


def _called(module: str, function: str, *args: Any, **kwargs: Any) -> Any:
    return getattr(import_module(f"rankinite.exchange.{module}"), function)(*args, **kwargs)


def _later(module: str, function: str) -> Callable[..., Any]:
    """A function that is imported when it is called, so that looking at `FORMATS` is cheap."""
    return partial(_called, module, function)


_SINGLE = "equal up to the engine's sums in single precision, on features rounded to it"

FORMATS: dict[str, Format] = {
    form.name: form
    for form in (
        Format(
            "lightgbm",
            (".txt",),
            (PlainForest,),
            (),
            "bit-equal",
            _later("writers.lightgbm", "write"),
            _later("readers.lightgbm_text", "read"),
            _later("writers.bounds", "double_bound"),
        ),
        Format(
            "xgboost",
            (".json", ".ubj"),
            (PlainForest,),
            (),
            _SINGLE,
            _later("writers.xgboost", "write"),
            _later("readers.xgboost", "read"),
            _later("writers.bounds", "single_bound"),
        ),
        Format(
            "ranklib",
            (".xml", ".txt"),
            (PlainForest, PlainLinear),
            ("missing",),
            f"{_SINGLE}; missing values are zeros",
            _later("writers.ranklib", "write"),
            _later("readers.ranklib", "read"),
            _later("writers.bounds", "single_bound"),
        ),
        Format(
            "quickrank",
            (".xml",),
            (PlainForest,),
            ("missing",),
            "bit-equal on features rounded to single precision; missing values are zeros",
            _later("writers.quickrank", "write"),
            _later("readers.quickrank", "read"),
            _later("writers.bounds", "double_bound"),
        ),
        Format(
            "solr",
            (".json",),
            (PlainForest, PlainLinear),
            ("name", "store", "missing", "thresholds", "constant"),
            _SINGLE,
            _later("writers.solr", "write"),
            _later("readers.solr", "read"),
            _later("writers.bounds", "single_bound"),
        ),
        *(
            Format(
                name,
                (".json",),
                (PlainForest,),
                ("form",),
                _SINGLE,
                _later("writers.elasticsearch", "write"),
                _later("readers.elasticsearch", "read"),
                _later("writers.bounds", "single_bound"),
            )
            for name in ("elasticsearch", "opensearch")
        ),
        Format(
            "vespa",
            (".json",),
            (PlainForest,),
            ("form",),
            "bit-equal as an expression of doubles",
            _later("writers.vespa", "write"),
            _later("readers.vespa", "read"),
            _later("writers.bounds", "double_bound"),
        ),
        Format(
            "onnx",
            (".onnx",),
            (PlainForest, PlainLinear, PlainNet, PlainClasses),
            ("precision",),
            f"{_SINGLE}; forests bit-equal with precision='double'",
            _later("writers.onnx", "write"),
            _later("readers.onnx", "read"),
            _later("writers.bounds", "single_bound"),
            notes=_later("writers.onnx", "notes"),
        ),
        Format(
            "c",
            (".c",),
            (PlainForest, PlainLinear, PlainNet, PlainClasses),
            ("name", "form"),
            "bit-equal for forests; for others equal up to the order of sums, exp and tanh",
            _later("writers.c_source", "write"),
            _later("readers.c_source", "read"),
            _later("writers.bounds", "same_order_bound"),
            _later("writers.c_source", "beside"),
            beside_suffixes=(".h",),
            takes_stem=True,
            notes=_later("writers.c_source", "notes"),
        ),
    )
}
