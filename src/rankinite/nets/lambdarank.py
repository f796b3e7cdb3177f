"""LambdaRank: a net on the λ-gradients of a ranking measure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from rankinite.data import Dataset
from rankinite.measures import Measure, MeasuresLike, measure
from rankinite.measures.evaluation import Evaluator
from rankinite.models.parameters import Constraint, OneOf, Whole
from rankinite.nets.net_ranker import NetRanker
from rankinite.nets.objectives import LambdaRankObjective, TrainingRows


class LambdaRank(NetRanker):
    """A net that learns a ranking measure (Burges 2010, section 4).

    The weights make a step after each query, along the λ-gradients of the measure at the scores
    that the query then has.

    Parameters
    ----------
    measure : str or Measure
        What to learn: "ndcg@10", "err@10", "map", "mrr", "p@5", "pairs", "avendcg", or a measure
        of your own (a subclass of `rankinite.Measure`).
    n_hidden, n_epochs, base_model, early_stopping, n_restarts, patience
        As in `RankNet`, and so are random_state, n_threads and verbose.
    learning_rate : float
        Factor of a query's gradient.
    decay : float
        Factor of the learning rate after an epoch that left the measure on the training data
        lower than it was; 1 keeps the rate.
    valid_measure : str, Measure or sequence of them, optional
        What to watch on validation data; `measure` by default. Of several the first one decides
        when to stop and what was best.
    sigma : float
        Slope of the pair probability.
    truncation : int, optional
        How deep the λs go; see `LambdaMART`.
    normalize : bool
        Weigh a pair by 1 / (0.01 + σ·gap) of its scores and compress the sum of each query, as
        in `LambdaMART`. False gives the λs of the papers as they stand.

    Examples
    --------
    >>> import rankinite as rk
    >>> train, valid, test = rk.artificial(n_queries=(60, 20, 20), n_docs=20, n_features=10)
    >>> model = rk.LambdaRank("ndcg@10", n_epochs=20).fit(train, valid=valid)
    >>> rk.evaluate(model, test, "ndcg@10")["ndcg@10"] > 0.5
    True
    """

    constraints: ClassVar[Mapping[str, Constraint]] = {
        **NetRanker.constraints,
        "truncation": Whole(1, optional=True),
        "normalize": OneOf((True, False)),
    }

    def __init__(
        self,
        measure: str | Measure = "ndcg@10",
        n_hidden: int = 10,
        n_epochs: int = 100,
        learning_rate: float = 0.005,
        decay: float = 0.85,
        base_model: Any = None,
        early_stopping: int | None = None,
        n_restarts: int = 0,
        patience: int = 20,
        valid_measure: MeasuresLike | None = None,
        sigma: float = 1.0,
        truncation: int | None = None,
        normalize: bool = False,
        random_state: int | None = 0,
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.n_hidden = n_hidden
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.decay = decay
        self.base_model = base_model
        self.early_stopping = early_stopping
        self.n_restarts = n_restarts
        self.patience = patience
        self.valid_measure = valid_measure
        self.sigma = sigma
        self.truncation = truncation
        self.normalize = normalize
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def _objective(self, rows: TrainingRows, dataset: Dataset) -> LambdaRankObjective:
        own = measure(self.measure)
        # Labels that the measure cannot take are found where their queries have their own numbers.
        Evaluator(own, dataset)
        return LambdaRankObjective(
            rows, own, float(self.sigma), self.truncation, bool(self.normalize)
        )
