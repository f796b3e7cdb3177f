"""Kernels of classification: probabilities of classes, and the pulls on their outputs."""

import math

import numpy as np

from rankinite._numba import kernel


@kernel()
def softmax(first, last, outputs, probabilities):
    """P_k = e^{F_k} / Σ e^{F_j} of the rows from `first` to `last`.

    `outputs` and `probabilities` have the shape (n_classes, n_rows).
    """
    n_classes = outputs.shape[0]
    for i in range(first, last):
        highest = -np.inf
        for k in range(n_classes):
            highest = max(highest, outputs[k, i])
        total = 0.0
        for k in range(n_classes):
            e = math.exp(outputs[k, i] - highest)
            probabilities[k, i] = e
            total += e
        for k in range(n_classes):
            probabilities[k, i] /= total


@kernel()
def at_least(first, last, outputs, probabilities):
    """From the log-odds of y ≥ k, k = 1 … K − 1, the probabilities of the K classes.

    The K − 1 models are learned apart, so their probabilities need not fall with k; the lowest so
    far is taken, which leaves no class with less than nothing.
    """
    n_cuts = outputs.shape[0]
    for i in range(first, last):
        above = 1.0
        for k in range(n_cuts):
            # Without overflow for any output.
            small = math.exp(-abs(outputs[k, i]))
            p = (1.0 if outputs[k, i] >= 0 else small) / (1.0 + small)
            p = min(p, above)
            probabilities[k, i] = above - p
            above = p
        probabilities[n_cuts, i] = above


@kernel()
def class_pull(first, last, k, probabilities, classes, weight, factor, lam, w):
    """Write λ = weight (1[y = k] − P_k) and w = weight · factor · P_k (1 − P_k)."""
    for i in range(first, last):
        p = probabilities[k, i]
        lam[i] = weight[i] * ((1.0 if classes[i] == k else 0.0) - p)
        w[i] = weight[i] * factor * p * (1.0 - p)
