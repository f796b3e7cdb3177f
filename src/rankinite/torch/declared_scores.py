"""Scores by a declared net in arithmetic of our own, so that a document's has always the same bits.

A product of PyTorch's may add up a row otherwise where it stands elsewhere in a batch, and where
there are more threads. Here weights of float32 are multiplied and added in float64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import torch
from rankinite._numba import in_threads
from rankinite.nets._net_kernels import hidden_sums
from rankinite.nets.net import width_of
from rankinite.torch._layer_kernels import GELU, LINEAR, RELU, SILU, TANH, finish_layer
from rankinite.torch.module import BLOCK_ROWS, Preparation

_CODES = {
    torch.nn.ReLU: RELU,
    torch.nn.Tanh: TANH,
    torch.nn.GELU: GELU,
    torch.nn.SiLU: SILU,
}


class Layer(NamedTuple):
    """A layer as the kernels see it.

    Attributes
    ----------
    weights : ndarray of float64, shape ((n_inputs + 1) · width,)
        From each input to all units, the biases last; 0 for units that only fill up a vector.
    n_inputs, width, n_units : int
    norm : ndarray of float64, shape (2, n_units) or (2, 0)
    epsilon : float
    activation : int
    """

    weights: np.ndarray
    n_inputs: int
    width: int
    n_units: int
    norm: np.ndarray
    epsilon: float = 0.0
    activation: int = LINEAR


def score_declared(module: torch.nn.Module, X: np.ndarray, prepare: Preparation) -> np.ndarray:
    """Scores of rows by the net of a `DeclaredNet`, float64 of shape (n_rows,).

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
    prepare : function
    """
    layers = layers_of(module)
    scores = np.empty(len(X))
    blocks = np.append(np.arange(0, len(X), BLOCK_ROWS), len(X))

    def score_block(first: int, last: int) -> None:
        units = np.ascontiguousarray(prepare(X[first:last]), dtype=np.float64).reshape(-1)
        n = last - first
        for layer in layers:
            sums = np.empty(n * layer.width)
            hidden_sums(units, layer.n_inputs, 0, n, layer.weights, layer.width, sums)
            finish_layer(sums, n, layer.width, *layer[3:])
            units = sums
        scores[first:last] = units[:: layers[-1].width]

    in_threads(score_block, blocks)
    return scores


def layers_of(module: torch.nn.Module) -> list[Layer]:
    """The layers of the net of a `DeclaredNet`."""
    layers: list[Layer] = []
    n_inputs = 0
    for part in module.children():
        if isinstance(part, torch.nn.Linear):
            weights, bias = (p.detach().numpy() for p in (part.weight, part.bias))
            n_units, n_own = weights.shape
            width = width_of(n_units)
            flat = np.zeros((max(n_own, n_inputs) + 1, width))
            flat[:n_own, :n_units], flat[-1, :n_units] = weights.T, bias
            layers.append(Layer(flat.reshape(-1), len(flat) - 1, width, n_units, np.empty((2, 0))))
            n_inputs = width
        elif isinstance(part, torch.nn.LayerNorm):
            norm = np.stack([p.detach().numpy() for p in (part.weight, part.bias)])
            layers[-1] = layers[-1]._replace(norm=norm.astype(np.float64), epsilon=part.eps)
        elif type(part) in _CODES:
            layers[-1] = layers[-1]._replace(activation=_CODES[type(part)])
    return layers
