"""A tree in the branches of a C function as we write them."""

from __future__ import annotations

import re

import numpy as np

from rankinite.exchange.faults import DamagedError
from rankinite.exchange.nodes import Nodes
from rankinite.exchange.writers.c_text import number_of

_NUMBER = r"-?(?:[\d.]+(?:e[-+]\d+)?|INFINITY)"
_TOKEN = re.compile(
    rf"\s*(?:if \((?:x\[(?P<right>\d+)\] <= (?P<most>{_NUMBER})(?: && !(?P<right_zero>\w+)"
    rf"\(x\[(?P=right)\]\))?|!\(x\[(?P<left>\d+)\] > (?P<above>{_NUMBER})\)"
    rf"(?: \|\| (?P<left_zero>\w+)\(x\[(?P=left)\]\))?)\) {{|return (?P<value>{_NUMBER});"
    r"|(?P<close>}))"
)
_NOTHING_TO_SEE = "    (void)x;\n"


def branches(text: str, place: int, name: str) -> tuple[Nodes, list[int], int]:
    """The tree of a function whose body begins at a place of a text.

    Parameters
    ----------
    name : str
        What names of functions begin with.

    Returns
    -------
    nodes : Nodes
    by_zero : list of int
        Features whose zeros are missing values.
    place : int
        After the closing brace, and the end of its line.
    """
    if text.startswith(_NOTHING_TO_SEE, place):
        place += len(_NOTHING_TO_SEE)
    rows: list[tuple[int, float, bool, float]] = []
    children: list[list[int]] = []
    by_zero: list[int] = []
    # Splits whose left child is being read, and then those whose right one is.
    in_left: list[int] = []
    parent, done = -1, False
    while True:
        token = _TOKEN.match(text, place)
        if token is None:
            raise DamagedError("a tree has something else than branches")
        place = token.end()
        if token["close"]:
            if not done:
                raise DamagedError("a branch of a tree returns nothing")
            if not in_left:
                break
            parent, done = in_left.pop(), False
            continue
        if done:
            raise DamagedError("a branch of a tree goes on after its end")
        here = len(rows)
        if parent >= 0:
            children[parent].append(here)
        children.append([])
        if token["value"]:
            rows.append((0, 0.0, False, number_of(token["value"])))
            done = True
            continue
        to_left = token["left"] is not None
        feature = int(token["left"] if to_left else token["right"])
        threshold = number_of(token["above"] if to_left else token["most"])
        zero = token["left_zero"] if to_left else token["right_zero"]
        if zero:
            if zero != f"{name}_zero":
                raise DamagedError("a tree asks a function that is not ours")
            by_zero.append(feature)
        rows.append((feature, threshold, to_left, 0.0))
        in_left.append(here)
        parent = here
    if not text.startswith("\n", place):
        raise DamagedError("something comes after the end of a tree")
    features, thresholds, missing_left, values = zip(*rows, strict=True)
    left = np.array([own[0] if own else -1 for own in children])
    right = np.array([own[1] if own else -1 for own in children])
    zeros = np.zeros(len(rows))
    nodes = Nodes(
        left,
        right,
        np.array(features, np.int64),
        np.array(thresholds),
        np.array(missing_left, bool),
        zeros,
        np.array(values),
        zeros,
    )
    return nodes, by_zero, place + 1
