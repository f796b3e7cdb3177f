"""Models as a C source and a header, which any C99 or C++ compiler takes.

Forests are scored in our own arithmetic, tree after tree, so that scores have the same bits. Other
models add in the order of the features, and take tanh and exp from the C library.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankinite.errors import ExportError
from rankinite.exchange import c_code
from rankinite.exchange.plain import (
    FARTHEST,
    Plain,
    PlainClasses,
    PlainForest,
    PlainLinear,
    PlainNet,
)
from rankinite.exchange.writers.c_text import (
    check_stem,
    checked_name,
    finite,
    lines,
    number,
    numbers,
    texts_of_names,
)
from rankinite.exchange.writers.c_trees import FORMS, forests

# Units of a hidden layer lie on the stack.
_MOST_HIDDEN = 2**14
# And so do the outputs of 64 rows.
_MOST_OUTPUTS = 2**8


def write(
    plain: Plain,
    *,
    variant: str = ".c",
    stem: str = "ranker",
    name: str | None = None,
    form: str | None = None,
) -> bytes:
    """The bytes of a C file.

    Parameters
    ----------
    stem : str
        The name of the file without its suffix, by which it includes its header.
    name : str, optional
        What all functions begin with, by default `stem`.
    form : str, optional
        ``"tables"``, the default, or ``"branches"``, how trees are written.
    """
    common = _common(plain, stem, name)
    trees = _form(plain, form)
    fields = common | {
        "kind": _kind(plain, trees),
        "NAMES": "".join(f"    {text}, /* {j} */\n" for j, text in enumerate(texts_of_names(plain)))
        + "    ",
    }
    head = c_code.filled(c_code.HEAD, fields)
    return (head + _body(plain, trees, common)).encode()


def beside(
    plain: Plain, *, stem: str = "ranker", name: str | None = None, form: str | None = None
) -> dict[str, bytes]:
    """The header."""
    texts = enumerate(texts_of_names(plain))
    fields = {"list": "\n".join(f" *     features[{j}]: {text}" for j, text in texts)}
    return {".h": c_code.filled(c_code.HEADER, _common(plain, stem, name) | fields).encode()}


def notes(plain: Plain) -> list[str]:
    """What to know of a model in C."""
    if isinstance(plain, PlainForest):
        return []
    return ["a compiler that adds in another order, or another exp or tanh, moves the last places"]


def _common(plain: Plain, stem: str, name: str | None) -> dict[str, str]:
    check_stem(stem)
    found = checked_name(name, stem)
    return {
        "name": found,
        "Name": found.upper(),
        "stem": stem,
        "n_features": str(plain.n_features),
    }


def _form(plain: Plain, form: str | None) -> str:
    if form is not None and form not in FORMS:
        raise ExportError(f"form must be 'tables' or 'branches', got {form!r}")
    if form is not None and not isinstance(plain, PlainForest | PlainClasses):
        raise ExportError(f"form={form!r} is how trees are written, and this model has none")
    return form or FORMS[0]


def _kind(plain: Plain, form: str) -> str:
    """What the reader is to look for."""
    if isinstance(plain, PlainLinear):
        return "linear"
    if isinstance(plain, PlainNet):
        return "net"
    return f"{plain.form if isinstance(plain, PlainClasses) else 'forest'} {form}"


def _body(plain: Plain, form: str, common: dict[str, str]) -> str:
    if isinstance(plain, PlainForest):
        return forests([plain], form, common) + c_code.filled(c_code.FOREST_SCORES, common)
    if isinstance(plain, PlainClasses):
        return forests(plain.outputs, form, common) + _classes(plain, common)
    if plain.n_features == 0:
        raise ExportError("the model looks at no feature, and a C file needs one")
    own = _linear(plain, common) if isinstance(plain, PlainLinear) else _net(plain, common)
    return own + c_code.filled(c_code.SCORES_ONE_BY_ONE, common)


def _classes(plain: PlainClasses, common: dict[str, str]) -> str:
    n_outputs, n_classes = len(plain.outputs), len(plain.values)
    if n_outputs > _MOST_OUTPUTS:
        raise ExportError(
            f"the model has {n_outputs:,} outputs, and a C file {_MOST_OUTPUTS:,} at most"
        )
    finite(plain.values, "a grade")
    forest_names = [f"&{common['name']}_forest_{k}" for k in range(n_outputs)]
    fields = common | {
        "n_outputs": str(n_outputs),
        "n_classes": str(n_classes),
        "VALUES": lines(numbers(plain.values)),
        "FORESTS": lines(forest_names),
    }
    parts = (c_code.CLASSES, c_code.EXPECTED[plain.form], c_code.CLASS_SCORES)
    return "".join(c_code.filled(part, fields) for part in parts)


def _linear(plain: PlainLinear, common: dict[str, str]) -> str:
    finite(plain.weights, "a weight")
    finite(plain.intercept, "a constant")
    fields = common | {
        "WEIGHTS": lines(numbers(plain.weights)),
        "cast": "(float)" if plain.single_features else "",
        "intercept": number(plain.intercept),
    }
    return c_code.filled(c_code.LINEAR, fields)


def _net(plain: PlainNet, common: dict[str, str]) -> str:
    arrays: dict[str, np.ndarray] = {
        "MEAN": plain.mean,
        "SCALE": plain.scale,
        "LOW": plain.low,
        "HIGH": plain.high,
        "OUTPUT": plain.output,
    }
    constants: dict[str, Any] = {
        "farthest": number(FARTHEST),
        "output_bias": number(plain.output_bias),
    }
    if plain.hidden is not None and plain.hidden_bias is not None:
        n_hidden = len(plain.hidden_bias)
        if n_hidden > _MOST_HIDDEN:
            raise ExportError(
                f"the net has {n_hidden:,} hidden units, and a C file {_MOST_HIDDEN:,} at most"
            )
        constants["n_hidden"] = str(n_hidden)
        arrays |= {"HIDDEN": plain.hidden.ravel(), "BIAS": plain.hidden_bias}
    for array in (*arrays.values(), np.array(plain.output_bias)):
        finite(array, "a number")
    fields = common | constants | {name: lines(numbers(a)) for name, a in arrays.items()}
    net = c_code.NET_WITHOUT_LAYER if plain.hidden is None else c_code.NET
    return c_code.filled(c_code.STANDARDISED, fields) + c_code.filled(net, fields)
