"""Brute-force twins of classification: one document at a time, straight from the formulas."""

import math

import numpy as np


def softmax(outputs):
    """P_k = e^{F_k} / Σ e^{F_j}, one row of `outputs` (n_classes, n_rows) a class."""
    result = np.empty_like(outputs)
    for i in range(outputs.shape[1]):
        e = [math.exp(f - max(outputs[:, i])) for f in outputs[:, i]]
        result[:, i] = [each / math.fsum(e) for each in e]
    return result


def at_least(outputs):
    """Probabilities of the classes from the log-odds of y ≥ k, with falling P(y ≥ k)."""
    result = np.empty((len(outputs) + 1, outputs.shape[1]))
    for i in range(outputs.shape[1]):
        above = [1.0]
        for f in outputs[:, i]:
            above.append(min(above[-1], 1 / (1 + math.exp(-f))))
        above.append(0.0)
        result[:, i] = [above[k] - above[k + 1] for k in range(len(above) - 1)]
    return result


def multinomial_loss(outputs, classes, weight):
    p = softmax(outputs)
    return -math.fsum(weight[i] * math.log(p[c, i]) for i, c in enumerate(classes))


def ordinal_loss(outputs, classes, weight):
    total = []
    for k, row in enumerate(outputs, start=1):
        for f, c, w in zip(row, classes, weight, strict=True):
            p = 1 / (1 + math.exp(-f))
            total.append(-w * math.log(p if c >= k else 1 - p))
    return math.fsum(total)
