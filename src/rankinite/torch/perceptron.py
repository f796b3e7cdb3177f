"""A net that its parameters describe: a ranker whose file needs no code of the user's."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from rankinite.errors import ParameterError
from rankinite.measures import Measure, MeasuresLike
from rankinite.models import storage
from rankinite.models.file import Arrays, State
from rankinite.models.parameters import Constraint, OneOf, Real
from rankinite.models.storage import unnested
from rankinite.torch.declared_net import ACTIVATIONS, DeclaredNet, check_hidden
from rankinite.torch.declared_scores import score_declared
from rankinite.torch.module import Scorer, weights_from_arrays
from rankinite.torch.rounds import seed_of_weights
from rankinite.torch.torch_ranker import TorchRanker


class Perceptron(TorchRanker):
    """A multi-layer perceptron of PyTorch, trained on the λ-gradients of a measure.

    It is trained as a `TorchRanker` is, by Adam. Its layers are parameters, so that its file is
    enough for `rankinite.load`, and it can be inside other rankers and a member of an ensemble. It
    is trained on one thread of PyTorch in float32, and scores in arithmetic of our own in float64,
    so that nothing depends on the number of threads, nor a score on what is scored beside it.

    Parameters
    ----------
    hidden : sequence of int
        Units of the hidden layers, from the features on; none for a linear net. Up to 16 layers of
        up to 8,192 units.
    activation : {"relu", "tanh", "gelu", "silu"}
    dropout : float
        The share of the units of each hidden layer that are left out in a step, at most 0.9.
    layer_norm : bool
        Give the units of a layer mean 0 and variance 1 for each document, before the activation.
    measure, valid_measure, sigma, truncation, normalize
        What is learned and what is watched, as for `TorchRanker`.
    n_epochs, queries_per_step, learning_rate, standardize, base_model, early_stopping
        As for `TorchRanker`.
    random_state : int or None
        Of the first weights, the order of the queries, ties, and what dropout leaves out.
    n_threads : int, optional
        Threads of the λs and of evaluation; all by default.
    verbose : int
        1 shows progress.

    Attributes
    ----------
    module_ : torch.nn.Module
        The trained net, in evaluation mode.
    history_ : dict
        As for other rankers, and in ``history_["train"]["cost"]`` the mean cost of a query.

    Examples
    --------
    >>> import rankinite as rk
    >>> from rankinite.torch import Perceptron
    >>> train, valid = rk.artificial(n_queries=(40, 20), n_docs=10, n_features=5)
    >>> net = Perceptron(hidden=[16, 8], dropout=0.1, n_epochs=5, early_stopping=2)
    >>> net.fit(train, valid=valid).predict(valid).shape
    (200,)
    """

    constraints: ClassVar[Mapping[str, Constraint]] = {
        **TorchRanker.constraints,
        "activation": OneOf(tuple(ACTIVATIONS)),
        "dropout": Real(0.0, 0.9, or_low=True),
        "layer_norm": OneOf((True, False)),
    }
    # Of `TorchRanker`, and no parameter here: Adam.
    optimizer = None
    _on_one_thread: ClassVar[bool] = True
    _instead_of_resume: ClassVar[str] = "train it anew"

    def __init__(
        self,
        hidden: Sequence[int] = (64, 32),
        *,
        activation: str = "relu",
        dropout: float = 0.0,
        layer_norm: bool = False,
        measure: str | Measure = "ndcg@10",
        valid_measure: MeasuresLike | None = None,
        n_epochs: int = 20,
        queries_per_step: int = 1,
        learning_rate: float = 0.001,
        standardize: bool = True,
        sigma: float = 1.0,
        truncation: int | None = None,
        normalize: bool = False,
        base_model: Any = None,
        early_stopping: int | None = None,
        random_state: int | None = 0,
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.hidden = hidden
        self.activation = activation
        self.dropout = dropout
        self.layer_norm = layer_norm
        self.measure = measure
        self.valid_measure = valid_measure
        self.n_epochs = n_epochs
        self.queries_per_step = queries_per_step
        self.learning_rate = learning_rate
        self.standardize = standardize
        self.sigma = sigma
        self.truncation = truncation
        self.normalize = normalize
        self.base_model = base_model
        self.early_stopping = early_stopping
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def module(self, n_features: int) -> torch.nn.Module:
        """The net before its first epoch, which `fit` makes."""
        return self._net(n_features).module(seed_of_weights(self._seed))

    def check_params(self) -> None:
        """Refuse parameters outside their range, or that do not fit each other."""
        super().check_params()
        self._check_layers()

    def _check_layers(self) -> None:
        check_hidden(self.hidden)
        if self.layer_norm and 1 in self.hidden:
            raise ParameterError(
                "layer_norm makes the single unit of a layer a constant, and hidden is "
                f"{list(self.hidden)}: leave one of them out"
            )

    def _net(self, n_features: int) -> DeclaredNet:
        return DeclaredNet(
            n_features,
            tuple(int(size) for size in self.hidden),
            self.activation,
            float(self.dropout),
            bool(self.layer_norm),
        )

    def _scorer(self) -> Scorer:
        return score_declared

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trained net to one file; `rankinite.load` reads it."""
        self.check_fitted()
        storage.save(self, path)

    def _restore(self, state: State, arrays: Arrays) -> None:
        super()._restore(state, arrays)
        self._check_layers()
        self.hidden = tuple(self.hidden)
        # The weights are there, and of the right size, before there is a net to hold them.
        net, weights = self._net(self.n_features_in_), unnested("net", arrays)
        net.check_weights(weights)
        self.module_ = net.module(0)
        weights_from_arrays(self.module_, weights)
        self.module_.eval()
