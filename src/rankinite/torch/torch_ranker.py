"""A ranker around a net of one's own: training, scoring, saving."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import torch
from rankinite.data import Dataset
from rankinite.data.feature_labels import feature_label
from rankinite.distributed import Communicator
from rankinite.errors import DataError, ModelFileError, ParameterError, RankiniteError
from rankinite.lambdas import LambdaGradients
from rankinite.measures import Measure, MeasuresLike, measure
from rankinite.models.base_model import base_scores
from rankinite.models.file import Arrays, State, read_model, write_model
from rankinite.models.parameters import Constraint, OneOf, Whole
from rankinite.models.standardizing import Standardizer
from rankinite.models.storage import FAULTS, nested, unnested
from rankinite.order.canonical import Canonical, canonical
from rankinite.torch.module import (
    Scorer,
    make_module,
    preparation,
    score_rows,
    weights_from_arrays,
    weights_to_arrays,
)
from rankinite.torch.rounds import TorchRounds, seed_of_weights
from rankinite.training import Learner, Watched

_KIND = "TorchRanker"


class TorchRanker(Learner):
    """A net of one's own, trained on the λ-gradients of a measure.

    In every epoch the optimiser takes a step for each `queries_per_step` queries, on the mean of
    their costs (`LambdaLoss`). With validation data the weights of the best epoch are kept.

    Documents and queries are taken in an order made of their content, so that the order of the
    rows does not matter. The net's own arithmetic is PyTorch's. Nets so small that a step takes
    about a millisecond are trained on one of its threads; larger ones on as many as PyTorch is
    set to, and then the sums may depend on their number.

    Parameters
    ----------
    module : torch.nn.Module, or function from the number of features to one
        Maps rows, shape (n, n_features), to scores, shape (n,) or (n, 1), each row by itself. A
        module is copied, and trained from the weights it has; a function (or a class) makes the
        weights anew in every `fit`, with random numbers from `random_state`. Its device and type
        of floats stay.
    measure, valid_measure, sigma, truncation, normalize
        What is learned and what is watched, as for `rankinite.LambdaMART`. Here `normalize` is
        false by default: the λs of the papers.
    n_epochs : int
    queries_per_step : int
        1 takes a step after every query, as in the papers.
    optimizer : function, optional
        From the parameters to a ``torch.optim.Optimizer``; by default Adam at `learning_rate`.
    learning_rate : float
    standardize : bool
        Give the net features of mean 0 and variance 1; missing values are 0 then.
    base_model : scorer, optional
        The net is added to its scores.
    early_stopping : int, optional
        End when the measure on the validation data has not risen for so many epochs.
    random_state : int or None
        Of the order of the queries, of ties, and of what the module draws.
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
    """

    _not_plain = "is a module of PyTorch: export the module by torch.onnx"
    constraints: ClassVar[Mapping[str, Constraint]] = {
        **Learner.constraints,
        "n_epochs": Whole(1),
        "queries_per_step": Whole(1),
        "standardize": OneOf((True, False)),
        "truncation": Whole(1, optional=True),
        "normalize": OneOf((True, False)),
    }
    _rounds: ClassVar[str] = "n_epochs"
    unit: ClassVar[str] = "epoch"
    not_in_file: ClassVar[tuple[str, ...]] = (*Learner.not_in_file, "module", "optimizer")
    # Whether one of PyTorch's threads trains it, however large the net.
    _on_one_thread: ClassVar[bool] = False
    _instead_of_resume: ClassVar[str] = "to train on from its weights pass its module_ as module"

    module_: torch.nn.Module
    _standardizer: Standardizer | None

    def __init__(
        self,
        module: Any = None,
        *,
        measure: str | Measure = "ndcg@10",
        valid_measure: MeasuresLike | None = None,
        n_epochs: int = 20,
        queries_per_step: int = 1,
        optimizer: Callable[[Any], torch.optim.Optimizer] | None = None,
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
        self.module = module
        self.measure = measure
        self.valid_measure = valid_measure
        self.n_epochs = n_epochs
        self.queries_per_step = queries_per_step
        self.optimizer = optimizer
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

    @property
    def n_rounds_(self) -> int:
        """Epochs whose result the model keeps."""
        return self.best_iteration_

    def check_params(self) -> None:
        """Refuse parameters outside their range, or that do not fit each other."""
        super().check_params()
        if not callable(self.module):
            raise ParameterError(
                "module must be a torch.nn.Module, or a function that makes one from the number "
                f"of features, got {self.module!r}"
            )
        if self.optimizer is not None and not callable(self.optimizer):
            raise ParameterError(
                "optimizer must be a function of the parameters, for instance lambda parameters: "
                f"torch.optim.SGD(parameters, lr=0.1), got {self.optimizer!r}"
            )

    def _prepare(
        self, dataset: Dataset, before: np.ndarray, communicator: Communicator
    ) -> TorchRounds:
        _ = dataset.labels  # which must be there
        X = self._feature_values(dataset)
        order = canonical(dataset, before)
        standardizer = self._standardizer_of(X, order)
        module = make_module(self.module, dataset.n_features, seed_of_weights(self._seed))
        return TorchRounds(
            module,
            self._optimizer_of(module),
            order,
            self._gradients_of(order),
            preparation(standardizer)(X[order.rows]),
            before[order.rows],
            standardizer,
            int(self.queries_per_step),
            self._seed,
            self._scorer(),
            self._on_one_thread,
        )

    def _watch(
        self, watched: Watched, before: np.ndarray, rounds: TorchRounds
    ) -> tuple[np.ndarray, np.ndarray]:
        return self._feature_values(watched.data, watched.what), before

    def _take(self, rounds: TorchRounds, n_rounds: int) -> None:
        # Whatever the number: the weights of the best epoch are all that is kept.
        self._standardizer = rounds.standardizer
        self.module_ = copy.deepcopy(rounds.module)
        self.module_.load_state_dict(rounds.best)
        self.module_.eval()

    def _checkpoint(self, resume: Any, communicator: Communicator) -> None:
        if resume is not None:
            raise ParameterError(
                f"resume does not work for a {type(self).__name__}, because the state of its "
                f"optimizer is not kept: {self._instead_of_resume}"
            )

    def _standardizer_of(self, X: np.ndarray, order: Canonical) -> Standardizer | None:
        if self.standardize:
            return Standardizer.learn(X, order.rows)
        bad = np.argwhere(~np.isfinite(X[order.rows]))
        if len(bad):
            label = feature_label(int(bad[0, 1]))
            raise DataError(
                f"{label} has NaN or infinity, which a net cannot take as it is: "
                "leave standardize=True, which makes missing values 0, or fill them"
            )
        return None

    def _gradients_of(self, order: Canonical) -> LambdaGradients:
        return LambdaGradients.on(
            measure(self.measure),
            order,
            sigma=float(self.sigma),
            truncation=self.truncation,
            normalize=bool(self.normalize),
            seed=self._seed,
        )

    def _optimizer_of(self, module: torch.nn.Module) -> torch.optim.Optimizer:
        parameters = [p for p in module.parameters() if p.requires_grad]
        if not parameters:
            raise ParameterError("module has no parameters to learn: none of them requires_grad")
        if self.optimizer is None:
            return torch.optim.Adam(parameters, lr=float(self.learning_rate))
        optimizer = self.optimizer(parameters)
        if not isinstance(optimizer, torch.optim.Optimizer):
            raise ParameterError(
                "optimizer must make a torch.optim.Optimizer from the parameters, but it made a "
                f"{type(optimizer).__name__}"
            )
        return optimizer

    def _scorer(self) -> Scorer:
        """What scores rows by the net."""
        return score_rows

    def _score_matrix(self, X: np.ndarray, n_rounds: int | None) -> np.ndarray:
        scores = self._scorer()(self.module_, X, preparation(self._standardizer))
        return scores + base_scores(self._base, X)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all but the code of the net to one file; `rankinite.torch.load` reads it."""
        self.check_fitted()
        state, arrays = self.to_state()
        write_model(path, {"kind": _KIND, **state}, arrays)

    def _own_state(self) -> tuple[State, Arrays]:
        arrays = nested("net", weights_to_arrays(self.module_))
        if self._standardizer is not None:
            arrays |= nested("standardizer", self._standardizer.to_arrays())
        return {"standardized": self._standardizer is not None}, arrays

    def _restore(self, state: State, arrays: Arrays) -> None:
        self._standardizer = None
        if state["standardized"]:
            parts = unnested("standardizer", arrays)
            self._standardizer = Standardizer.from_arrays(parts, self.n_features_in_)


def load(path: str | os.PathLike[str], module: Any) -> TorchRanker:
    """Read a `TorchRanker` that ``save`` wrote. Its code is not in the file, so you pass it.

    Parameters
    ----------
    path : path
    module : torch.nn.Module, or function from the number of features to one
        Of the class and size that was trained; it is copied, and its weights do not matter.
    """
    state, arrays = read_model(path)
    if state.get("kind") != _KIND:
        raise ModelFileError(
            f"{Path(path).name} holds a {state.get('kind')}, not a {_KIND}: use rankinite.load"
        )
    try:
        ranker = TorchRanker.from_state(state, arrays)
        ranker.module = module
        ranker.check_params()
        ranker.module_ = make_module(module, ranker.n_features_in_, 0)
        weights_from_arrays(ranker.module_, unnested("net", arrays))
    except RankiniteError:
        raise
    except FAULTS as error:
        raise ModelFileError(
            f"the model file's {_KIND} is incomplete or damaged ({error!r}): save the model again"
        ) from error
    ranker.module_.eval()
    return ranker
