"""Nets that a few numbers and words declare: layers of units, one after the other.

What they draw is a function of a seed. PyTorch's own random numbers come from one generator for the
whole process, from which whatever trains beside them draws too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

import torch
from rankinite._hash_kernels import keys_from_seed
from rankinite.errors import ModelFileError, ParameterError
from rankinite.order.seeds import derive_seed

ACTIVATIONS: Mapping[str, type[torch.nn.Module]] = {
    "relu": torch.nn.ReLU,
    "tanh": torch.nn.Tanh,
    "gelu": torch.nn.GELU,
    "silu": torch.nn.SiLU,
}
MOST_LAYERS, MOST_UNITS = 16, 8192


@dataclass(frozen=True)
class DeclaredNet:
    """A multi-layer perceptron: what is between the features and the score.

    Attributes
    ----------
    n_features : int
    hidden : tuple of int
        Units of the hidden layers; none of them is a linear net.
    activation : str
        One of `ACTIVATIONS`.
    dropout : float
        The share of a hidden layer's units that are left out in a step of training.
    layer_norm : bool
        Whether the units of a document have mean 0 and variance 1 before the activation.
    """

    n_features: int
    hidden: tuple[int, ...]
    activation: str
    dropout: float
    layer_norm: bool

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the weights, by their names."""
        sizes = (self.n_features, *self.hidden, 1)
        found: dict[str, tuple[int, ...]] = {}
        for number, (n_inputs, n_units) in enumerate(pairwise(sizes), start=1):
            found |= {f"linear{number}.weight": (n_units, n_inputs)}
            found |= {f"linear{number}.bias": (n_units,)}
            if self.layer_norm and number <= len(self.hidden):
                found |= {f"norm{number}.{name}": (n_units,) for name in ("weight", "bias")}
        return found

    def module(self, seed: int) -> torch.nn.Module:
        """The net with weights to start from.

        Those to hidden units are uniform within ±1/√(number of inputs), and those to the score are
        0, so that the net starts at the scores of its base model.
        """
        layers = torch.nn.Sequential()
        sizes = (self.n_features, *self.hidden)
        for number, (n_inputs, n_units) in enumerate(pairwise(sizes), start=1):
            layers.add_module(f"linear{number}", _linear(n_inputs, n_units, seed, number))
            if self.layer_norm:
                layers.add_module(f"norm{number}", torch.nn.LayerNorm(n_units))
            layers.add_module(f"activation{number}", ACTIVATIONS[self.activation]())
            if self.dropout > 0:
                own = int(derive_seed(seed, number, "units"))
                layers.add_module(f"dropout{number}", Dropout(self.dropout, own))
        layers.add_module(f"linear{len(sizes)}", _linear(sizes[-1], 1))
        return layers

    def check_weights(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Refuse weights of a model file that are not those of this net."""
        shapes = self.shapes()
        if {name: array.shape for name, array in arrays.items()} != shapes:
            raise ModelFileError(
                f"the model file has other weights than those of a net of {self.n_features} "
                f"features with the hidden layers {list(self.hidden)}: save the model again"
            )
        for array in arrays.values():
            if array.dtype != np.float32 or not np.isfinite(array).all():
                raise ModelFileError(
                    "the model file has a weight that is no number of 32 bits: save the model again"
                )


class Dropout(torch.nn.Module):
    """Units left out at random in training; which, is a function of the seed and of how often.

    Parameters
    ----------
    share : float
        Of the units that are left out; the others count as much more.
    seed : int
    """

    def __init__(self, share: float, seed: int) -> None:
        super().__init__()
        self.share, self.seed, self.n_drawn = share, seed, 0

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """What is left, shaped as `X`."""
        if not self.training:
            return X
        seed = int(derive_seed(self.seed, self.n_drawn)) >> 1
        self.n_drawn += 1
        drawn = torch.rand(X.shape, generator=torch.Generator().manual_seed(seed))
        return X * (drawn >= self.share) / (1.0 - self.share)

    def extra_repr(self) -> str:
        """The parameters, as PyTorch prints them."""
        return f"{self.share}"


def check_hidden(hidden: Any) -> None:
    """Refuse anything but sizes of hidden layers."""
    listed = isinstance(hidden, (list, tuple)) and len(hidden) <= MOST_LAYERS
    if not listed or not all(_is_size(each) for each in hidden):
        raise ParameterError(
            f"hidden must be a list of at most {MOST_LAYERS} sizes of layers from 1 to "
            f"{MOST_UNITS}, such as [64, 32], got {hidden!r}"
        )


def _is_size(value: Any) -> bool:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return whole and 1 <= value <= MOST_UNITS


def _linear(n_inputs: int, n_units: int, seed: int | None = None, number: int = 0) -> Any:
    """A layer whose weights and biases are drawn, or 0 without a seed."""
    layer = torch.nn.utils.skip_init(torch.nn.Linear, n_inputs, n_units)
    with torch.no_grad():
        for place, weights in enumerate((layer.weight, layer.bias)):
            if seed is None:
                weights.zero_()
                continue
            own = derive_seed(seed, number, place, "weights")
            words = keys_from_seed(weights.numel(), own) >> np.uint64(40)  # 24 bits, as a float has
            drawn = words.astype(np.float32) * np.float32(2.0**-23) - np.float32(1.0)
            drawn /= np.float32(math.sqrt(n_inputs))
            weights.copy_(torch.from_numpy(drawn).reshape(weights.shape))
    return layer
