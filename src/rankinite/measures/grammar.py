"""The grammar of measures: a text like ``ndcg@10:gain=label`` becomes a specification.

>>> str(measure("NDCG@10:gain=exp2"))
'ndcg@10'
>>> measure("err@5:max_label=4")
ERR(k=5, max_label=4)
"""

from __future__ import annotations

import re
from dataclasses import MISSING
from typing import Any

from rankinite.errors import ParameterError
from rankinite.measures.pair_measures import PairAccuracy, PairLogLoss, PairMeasure
from rankinite.measures.protocol import Measure
from rankinite.measures.specification import (
    AP,
    DCG,
    ERR,
    NDCG,
    RR,
    AveNDCG,
    BuiltIn,
    Pairs,
    Precision,
    defaults_of,
)

Kind = type[BuiltIn] | type[PairMeasure]

_BUILT_IN: tuple[Kind, ...] = (NDCG, DCG, ERR, AP, RR, Precision, Pairs, AveNDCG)
_KINDS: dict[str, Kind] = {kind.keyword: kind for kind in (*_BUILT_IN, PairAccuracy, PairLogLoss)}


def measure(spec: str | Measure) -> Measure:
    """Return the measure that a text like ``"ndcg@10"`` specifies.

    The grammar is ``name[@k][:key=value[,key=value]]``, in upper or lower case: ``ndcg@k``,
    ``dcg@k`` (keys ``gain=exp2|label``), ``err@k`` (``max_label``), ``map``, ``mrr``, ``p@k``
    (``relevant``, the lowest relevant label), ``pairs``, ``avendcg`` (``depth``, ``gain``).
    Without ``@k`` the whole list counts. ``pair_accuracy`` and ``pair_log_loss`` look at preference
    pairs instead of labels.

    Parameters
    ----------
    spec : str or Measure
        A Measure, built-in or your own, is returned as it is.
    """
    if isinstance(spec, Measure):
        return spec
    if not isinstance(spec, str):
        raise ParameterError(f"a measure is a text like 'ndcg@10' or a Measure, got {spec!r}")
    found = re.fullmatch(r"([a-z_]+)(?:@([^:]*))?(?::(.*))?", spec.strip().lower())
    kind = _KINDS.get(found[1]) if found else None
    if found is None or kind is None:
        known = ", ".join(sorted(_KINDS))
        raise ParameterError(f"unknown measure {spec!r}: the known ones are {known}")
    _, k, options = found.groups()
    arguments: dict[str, Any] = {} if options is None else _parse_options(spec, kind, options)
    if k is not None:
        if "k" not in defaults_of(kind):
            raise ParameterError(f"measure {spec!r}: {found[1]} has no cut-off @k")
        arguments["k"] = _parse_number(spec, "the cut-off after @", k)
    elif defaults_of(kind).get("k", None) is MISSING:
        raise ParameterError(f"measure {spec!r} needs a cut-off: write {found[1]}@10, for instance")
    try:
        return kind(**arguments)
    except ParameterError as error:
        raise ParameterError(f"measure {spec!r}: {error}") from None


def _parse_options(spec: str, kind: Kind, text: str) -> dict[str, Any]:
    known = [name for name in defaults_of(kind) if name != "k"]
    options: dict[str, Any] = {}
    for item in text.split(","):
        key, equals, value = (part.strip() for part in item.partition("="))
        if key not in known or not equals or key in options:
            keys = ", ".join(known) or "none"
            raise ParameterError(
                f"measure {spec!r}: cannot read {item!r} as key=value once a key; "
                f"the keys of {kind.keyword} are: {keys}"
            )
        options[key] = value if key == "gain" else _parse_number(spec, key, value)
    return options


def _parse_number(spec: str, what: str, text: str) -> float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"measure {spec!r}: {what} must be a number, got {text!r}") from None
