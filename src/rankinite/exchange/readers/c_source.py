"""Models in C sources as we write them, and in no others.

All of the text is compared with what the writer knows to write, up to the numbers in it: so a file
that was changed anywhere else is refused, and one that is taken scores as it would when compiled.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankinite.exchange import c_code
from rankinite.exchange.faults import DamagedError, reader
from rankinite.exchange.nodes import Nodes, forest_of
from rankinite.exchange.plain import (
    FARTHEST,
    ZERO,
    Plain,
    PlainClasses,
    PlainForest,
    PlainLinear,
    PlainNet,
)
from rankinite.exchange.readers._c_branches import branches
from rankinite.exchange.writers.c_text import name_of_text, number, number_of
from rankinite.exchange.writers.c_trees import contracts

_FIRST = re.compile(r"/\* (?P<name>\w+): a ranking model in C99")
_TEXT = re.compile(r'("(?:[^"\\\n]|\\[0-7]{3})*"), /\* \d+ \*/')
_SLOT = re.compile(r"\{(\d+), ([01]), (NAN|-INFINITY)\}")
_NODE = re.compile(r"\{([^,{}]+), (\d+), (\d+)\}")


@dataclass
class Source:
    """A text that is read from its beginning to its end.

    Attributes
    ----------
    text : str
    known : dict of str
        Fields of templates that are the same in all of the file.
    place : int
        Where the reading is.
    """

    text: str
    known: dict[str, str] = field(default_factory=dict)
    place: int = 0

    def take(self, template: str, **known: str) -> dict[str, str]:
        """The fields of a template that must come next."""
        found = self.maybe(template, **known)
        if found is None:
            line = self.text.count("\n", 0, self.place) + 1
            raise DamagedError(f"after line {line} comes something that we do not write")
        return found

    def maybe(self, template: str, **known: str) -> dict[str, str] | None:
        """The same, or None if something else comes."""
        match = c_code.pattern(template, self.known | known).match(self.text, self.place)
        if match is None:
            return None
        self.place = match.end()
        return match.groupdict()


@reader("rankinite, as C source")
def read(content: bytes) -> Any:
    """The model of a C source that was written by ``export(format="c")``."""
    source = Source(content.decode())
    first = _FIRST.match(source.text)
    if first is None:
        raise DamagedError("it is other C than we write, and only ours can be read")
    source.known = {"name": first["name"], "Name": first["name"].upper()}
    head = source.take(c_code.HEAD)
    names = [name_of_text(text) for text in _TEXT.findall(head["NAMES"])]
    n_features = int(head["n_features"])
    if len(names) != n_features or _TEXT.sub("", head["NAMES"]).strip():
        raise DamagedError(f"it has {len(names)} names for {n_features} features")
    kind, _, form = head["kind"].partition(" ")
    known_names = names if len(set(names)) == len(names) else None
    plain = _READERS[kind](source, form, n_features, known_names)
    if source.place != len(source.text):
        raise DamagedError("something comes after its end")
    return plain


def _forest(source: Source, form: str, n_features: int, names: list[str] | None) -> PlainForest:
    (plain,) = _forests(source, form, n_features, names)
    source.take(c_code.FOREST_SCORES)
    return plain


def _classes(kind: str) -> Callable[..., PlainClasses]:
    def read_classes(
        source: Source, form: str, n_features: int, names: list[str] | None
    ) -> PlainClasses:
        outputs = _forests(source, form, n_features, names)
        found = source.take(c_code.CLASSES)
        source.take(c_code.EXPECTED[kind])
        source.take(c_code.CLASS_SCORES)
        values = _numbers(found["VALUES"], int(found["n_classes"]))
        own = [f"&{source.known['name']}_forest_{k}" for k in range(int(found["n_outputs"]))]
        whole = len(outputs) == len(own) == len(values) - (kind == "ordinal")
        if not whole or [text.strip() for text in found["FORESTS"].split(",")] != own:
            raise DamagedError("its outputs are not those of its grades")
        return PlainClasses(outputs, kind, values)

    return read_classes


def _forests(
    source: Source, form: str, n_features: int, names: list[str] | None
) -> list[PlainForest]:
    guarded = source.maybe(c_code.NO_CONTRACTION) is not None
    parts, sum_type = (_tables if form == "tables" else _branches)(source, n_features)
    if not parts:
        raise DamagedError("it has no trees")
    plains = [
        PlainForest(
            part["forest"],
            n_features,
            names,
            start=number_of(part["start"]),
            scale=number_of(part["scale"]),
            bias=number_of(part["bias"]),
            divisor=_divisor(number_of(part["divisor"])),
            single_sums={"double": False, "float": True}[sum_type],
            zero_is_missing=part["zeros"] if part["zeros"].any() else None,
        )
        for part in parts
    ]
    if guarded != any(contracts(plain) for plain in plains):
        raise DamagedError("what keeps products and sums apart is not where it must be")
    return plains


def _divisor(number: float) -> int:
    if not 1.0 <= number < 2.0**53 or number != int(number):
        raise DamagedError(f"sums are divided by {number:g}")
    return int(number)


def _tables(source: Source, n_features: int) -> tuple[list[dict[str, Any]], str]:
    source.take(c_code.TABLE_TYPES)
    parts: list[dict[str, Any]] = []
    most_slots = 1
    while (found := source.maybe(c_code.TABLES, k=str(len(parts)))) is not None:
        slots = _rows(_SLOT, found["SLOTS"])
        if len(slots) != int(found["n_slots"]):
            raise DamagedError("a table has another number of slots than it says")
        if any(int(feature) >= n_features for feature, _, _ in slots[1:]):
            raise DamagedError("a row has no such feature as a slot asks for")
        most_slots = max(most_slots, len(slots))
        trees = _trees_of_tables(found, slots)
        zeros = np.zeros(n_features, bool)
        zeros[[int(feature) for feature, zero, _ in slots[1:] if zero == "1"]] = True
        parts.append({**found, "forest": forest_of(trees, n_features)[0], "zeros": zeros})
    known = {"nothing": number(ZERO)}
    functions = source.take(c_code.TABLE_FUNCTIONS, **known)
    if int(functions["most_slots"]) != most_slots:
        raise DamagedError("rows have another number of slots than the tables")
    if source.maybe(c_code.TABLE_ROWS) is None:
        source.take(c_code.TABLE_ROWS_APART)
    return parts, functions["sum"]


def _trees_of_tables(found: dict[str, str], slots: list[tuple[str, ...]]) -> list[Nodes]:
    rows = _rows(_NODE, found["NODES"])
    texts, slot_texts, left_texts = zip(*rows, strict=True)
    value = np.array([number_of(text) for text in texts])
    slot, left = np.array(slot_texts, np.int64), np.array(left_texts, np.int64)
    roots = np.array(found["ROOTS"].split(","), np.int64)
    n_trees = int(found["n_trees"])
    ends = np.append(roots[1:], len(rows))
    if len(roots) != n_trees or roots[0] != 0 or (np.diff(ends, prepend=0) <= 0).any():
        raise DamagedError("its trees do not begin one after the other")
    inner = slot > 0
    if (left[~inner] != np.flatnonzero(~inner)).any():
        raise DamagedError("a leaf leads elsewhere than to itself")
    feature = np.array([int(s[0]) for s in slots])[slot]
    missing_left = np.array([s[2] == "-INFINITY" for s in slots])[slot]
    first = np.repeat(roots, ends - roots)
    # Children before their own tree would be below 0, as leaves are.
    if (left < first).any():
        raise DamagedError("a tree leads into another one")
    child = np.where(inner, left - first, -1)
    zero = np.zeros(len(rows))
    arrays = (
        child,
        np.where(inner, child + 1, -1),
        feature,
        np.where(inner, value, 0.0),
        missing_left,
        zero,
        np.where(inner, 0.0, value),
        zero,
    )
    return [Nodes(*(a[b:e] for a in arrays)) for b, e in zip(roots, ends, strict=True)]


def _branches(source: Source, n_features: int) -> tuple[list[dict[str, Any]], str]:
    source.take(c_code.BRANCH_TYPES)
    has_zero = source.maybe(c_code.BRANCH_ZERO, nothing=number(ZERO)) is not None
    name = source.known["name"]
    parts: list[dict[str, Any]] = []
    while True:
        trees: list[Nodes] = []
        zeros = np.zeros(n_features, bool)
        k = str(len(parts))
        while source.maybe(c_code.BRANCH_TREE, k=k, t=str(len(trees))) is not None:
            nodes, by_zero, source.place = branches(source.text, source.place, name)
            zeros[by_zero] = True
            trees.append(nodes)
        if not trees:
            break
        found = source.take(c_code.BRANCHES, k=k)
        own = [f"{name}_tree_{k}_{t}" for t in range(len(trees))]
        listed = [text.strip() for text in found["TREES"].split(",")]
        if listed != own or int(found["n_trees"]) != len(trees) or (zeros.any() and not has_zero):
            raise DamagedError("its trees are not those that it adds up")
        parts.append({**found, "forest": forest_of(trees, n_features)[0], "zeros": zeros})
    return parts, source.take(c_code.BRANCH_FUNCTIONS)["sum"]


class _InOrder(PlainLinear):
    """A linear model that adds feature after feature, as the C does."""

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Scores of float64, shape (n_rows,)."""
        if self.single_features:
            with np.errstate(over="ignore"):
                X = X.astype(np.float32)
        sums = np.zeros(len(X))
        for x, weight in zip(X.astype(np.float64).T, self.weights, strict=True):
            sums += np.where(np.isnan(x), 0.0, x) * weight
        return self.intercept + sums


class _NetInOrder(PlainNet):
    """A net that adds feature after feature, and unit after unit."""

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Scores of float64, shape (n_rows,)."""
        z = self.standardised(X)
        if self.hidden is not None and self.hidden_bias is not None:
            sums = np.zeros((len(X), self.hidden.shape[1]))
            for own, weights in zip(z.T, self.hidden, strict=True):
                sums += own[:, None] * weights
            z = np.tanh(sums + self.hidden_bias)
        total = np.zeros(len(X))
        for own, weight in zip(z.T, self.output, strict=True):
            total += own * weight
        return total + self.output_bias


def _linear(source: Source, _: str, n_features: int, names: list[str] | None) -> PlainLinear:
    found = source.take(c_code.LINEAR)
    source.take(c_code.SCORES_ONE_BY_ONE)
    casts = {"": False, "(float)": True}
    return _InOrder(
        _numbers(found["WEIGHTS"], n_features),
        number_of(found["intercept"]),
        names,
        single_features=casts[found["cast"]],
    )


def _net(source: Source, _: str, n_features: int, names: list[str] | None) -> PlainNet:
    first = source.take(c_code.STANDARDISED, farthest=number(FARTHEST))
    mean, scale, low, high = (
        _numbers(first[table], n_features) for table in ("MEAN", "SCALE", "LOW", "HIGH")
    )
    hidden = hidden_bias = None
    found = source.maybe(c_code.NET)
    if found is None:
        found = source.take(c_code.NET_WITHOUT_LAYER)
        output = _numbers(found["OUTPUT"], n_features)
    else:
        n_hidden = int(found["n_hidden"])
        hidden = _numbers(found["HIDDEN"], n_features * n_hidden).reshape(n_features, n_hidden)
        hidden_bias = _numbers(found["BIAS"], n_hidden)
        output = _numbers(found["OUTPUT"], n_hidden)
    source.take(c_code.SCORES_ONE_BY_ONE)
    bias = number_of(found["output_bias"])
    return _NetInOrder(mean, scale, low, high, hidden, hidden_bias, output, bias, names)


_READERS: dict[str, Callable[..., Plain]] = {
    "forest": _forest,
    "multinomial": _classes("multinomial"),
    "ordinal": _classes("ordinal"),
    "linear": _linear,
    "net": _net,
}


def _numbers(table: str, count: int) -> np.ndarray:
    found = np.array([number_of(text) for text in table.split(",")])
    if len(found) != count:
        raise DamagedError(f"a table has {len(found)} numbers, not {count}")
    return found


def _rows(row: re.Pattern[str], table: str) -> list[tuple[str, ...]]:
    """The rows of a table of structures, of which nothing may be left over."""
    found = row.findall(table)
    if not found or row.sub("", table).replace(",", "").strip():
        raise DamagedError("a table has something else than rows")
    return found
