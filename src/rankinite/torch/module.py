"""A module of PyTorch as a scorer of rows: making it, its scores, its weights as arrays."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np

import torch
from rankinite.errors import ModelFileError, ParameterError
from rankinite.models.standardizing import Standardizer

# From raw rows to what a net is given.
Preparation = Callable[[np.ndarray], np.ndarray]
# What gives the scores of raw rows: `score_rows`, or another way for nets whose layers are known.
Scorer = Callable[[torch.nn.Module, np.ndarray, Preparation], np.ndarray]

# Rows are scored so many at a time, the last ones filled up with zeros: how a product of matrices
# is added up may depend on its shape, and a row must have the same score in every batch.
BLOCK_ROWS = 1024

# Random numbers of PyTorch come from one generator for the whole process: nets that are made at
# the same time must not take each other's.
_generator = Lock()


def _after_a_fork() -> None:
    global _generator
    _generator = Lock()  # the old one may have been held


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_a_fork)


def make_module(given: Any, n_features: int, seed: int) -> torch.nn.Module:
    """A module to train: a copy of the one that was given, or what a function makes.

    Parameters
    ----------
    given : Module or function of the number of features
    seed : int
        Of the random numbers with which the function, or a lazy module, makes its weights.
    """
    with _generator, torch.random.fork_rng():
        torch.manual_seed(seed)
        module = copy.deepcopy(given) if isinstance(given, torch.nn.Module) else given(n_features)
        if not isinstance(module, torch.nn.Module):
            raise ParameterError(
                f"module must make a torch.nn.Module from the number of features, but it made a "
                f"{type(module).__name__}"
            )
        module.eval()
        device, dtype = place_of(module)
        try:
            with torch.no_grad():
                outputs_of(module, torch.zeros((2, n_features), device=device, dtype=dtype))
        except RuntimeError as error:
            raise ParameterError(f"module cannot score {n_features} features: {error}") from error
    return module


def place_of(module: torch.nn.Module) -> tuple[torch.device, torch.dtype]:
    """Where the module's weights are, and of which type of floats."""
    for tensor in (*module.parameters(), *module.buffers()):
        if tensor.is_floating_point():
            return tensor.device, tensor.dtype
    return torch.device("cpu"), torch.get_default_dtype()


def outputs_of(module: torch.nn.Module, X: torch.Tensor) -> torch.Tensor:
    """The scores of rows, shape (n_rows,)."""
    scores = module(X)
    if scores.shape == (len(X), 1):
        scores = scores[:, 0]
    if scores.shape != (len(X),):
        raise ParameterError(
            f"module must give one score a row, but for {len(X)} rows it gave the shape "
            f"{tuple(scores.shape)}"
        )
    return scores


def preparation(standardizer: Standardizer | None) -> Preparation:
    """From raw rows to what the net is given."""
    return np.ascontiguousarray if standardizer is None else standardizer.transform


def score_rows(module: torch.nn.Module, X: np.ndarray, prepare: Preparation) -> np.ndarray:
    """Scores of rows by a module in evaluation mode, float64 of shape (n_rows,).

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
    prepare : function
    """
    device, dtype = place_of(module)
    scores = np.empty(len(X))
    block = torch.zeros((BLOCK_ROWS, X.shape[1]), dtype=dtype)
    with torch.inference_mode():
        for first in range(0, len(X), BLOCK_ROWS):
            rows = torch.from_numpy(prepare(X[first : first + BLOCK_ROWS]))
            block[: len(rows)] = rows
            block[len(rows) :] = 0.0
            outputs = outputs_of(module, block.to(device))[: len(rows)]
            scores[first : first + len(rows)] = outputs.cpu().double().numpy()
    return scores


def weights_to_arrays(module: torch.nn.Module) -> dict[str, np.ndarray]:
    """All that ``state_dict`` has, by name."""
    arrays = {}
    for name, tensor in module.state_dict().items():
        if not isinstance(tensor, torch.Tensor):
            raise ModelFileError(
                f"the module keeps {name!r}, which is not a tensor, so it cannot be kept in a "
                "model file: save its state_dict by torch.save"
            )
        # numpy has no bfloat16, and every number of it is one of float32.
        exact = tensor.float() if tensor.dtype is torch.bfloat16 else tensor
        arrays[name] = exact.detach().cpu().numpy()
    return arrays


def weights_from_arrays(module: torch.nn.Module, arrays: dict[str, np.ndarray]) -> None:
    """Put weights into a module, whose own must have the same names and shapes."""
    own = module.state_dict()
    if set(own) != set(arrays):
        name = sorted(set(own) ^ set(arrays))[0]
        where = "the model file has" if name in arrays else "the module has"
        raise ModelFileError(
            f"only {where} weights {name!r}: pass a module of the class that was trained"
        )
    for name, tensor in own.items():
        # A file has no arrays without a dimension.
        shape = tuple(tensor.shape) or (1,)
        if arrays[name].shape != shape:
            raise ModelFileError(
                f"the weights {name!r} have shape {arrays[name].shape} in the model file, but "
                f"{tuple(tensor.shape)} in the module: pass a module of the size that was trained"
            )
    module.load_state_dict(
        {name: torch.from_numpy(arrays[name]).reshape(own[name].shape) for name in own}
    )
