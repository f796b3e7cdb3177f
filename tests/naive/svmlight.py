"""SVMlight text, parsed with str.split and float."""

from __future__ import annotations

import numpy as np


def parse(text: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """X (float64), y and the query ids as strings."""
    rows, labels, qids = [], [], []
    for raw in text.split("\n"):
        tokens = raw.partition("#")[0].split()
        if not tokens:
            continue
        labels.append(float(tokens[0]))
        qids.append(tokens[1].removeprefix("qid:"))
        pairs = [token.split(":") for token in tokens[2:]]
        rows.append({int(index): float(value) for index, value in pairs})
    X = np.zeros((len(rows), max(max(row, default=0) for row in rows)))
    for i, row in enumerate(rows):
        for index, value in row.items():
            X[i, index - 1] = value
    return X, np.array(labels), qids
