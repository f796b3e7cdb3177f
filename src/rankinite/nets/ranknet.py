"""RankNet: a net on the cross-entropy of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from rankinite.data import Dataset
from rankinite.errors import ParameterError
from rankinite.measures import Measure, MeasuresLike
from rankinite.models.parameters import Constraint, OneOf
from rankinite.nets.net_ranker import NetRanker
from rankinite.nets.objectives import RankNetObjective, TrainingRows


class RankNet(NetRanker):
    """A net that learns which of two documents is better (Burges 2010, section 2).

    P(i ▷ j) = 1 / (1 + e^{−σ(s_i − s_j)}), and the cost is the cross-entropy of all pairs of
    different labels in a query. The weights make a step after each query.

    Data with preferences (`Dataset.with_preferences`) is learned from its pairs, whether it has
    labels or not, by the cross-entropy with their probabilities.

    Parameters
    ----------
    n_hidden : int
        Number of tanh units in the hidden layer; 0 for a linear net.
    n_epochs : int
        Most passes over the training queries.
    learning_rate : float
        Factor of a query's gradient, which is divided by the mean number of pairs of a query.
    decay : float
        Factor of the learning rate after an epoch whose training cost rose; 1 keeps the rate.
    mode : {"factorised", "pairwise"}
        Add up the λs of each document and go back once, or go back for every pair, as the first
        RankNet did. The gradients are the same to rounding, the time is not. Preferences are
        learned "factorised" only.
    measure : str or Measure
        What is watched on validation data; it does not change the cost.
    base_model : ranker, model, function or weights, optional
        Anything that scores; the net is added to its scores, and it is saved inside the model.
    early_stopping : int, optional
        Stop when the validation measure has not risen for so many epochs. The best weights are
        kept in any case when there is validation data.
    n_restarts : int
        How often to start anew from other random weights when progress slows; the best of all is
        kept. Needs validation data.
    patience : int
        Epochs in which the validation measure must rise by 0.0001; if it does not, the net
        starts anew. Choose `early_stopping` larger.
    valid_measure : str, Measure or sequence of them, optional
        What to watch instead of `measure`, or of "pair_accuracy" on data with preferences.
        "pair_log_loss" is watched for its lowest value. Of several the first one decides when to
        stop and what was best.
    sigma : float
        Slope of the pair probability.
    random_state : int or None
    n_threads : int, optional
        All cores by default; training queries come one after the other, so it matters only to
        what stands around. The model does not depend on it, and its file does not keep it.
    verbose : int
        1 shows progress.

    Examples
    --------
    >>> import rankinite as rk
    >>> train, valid, test = rk.artificial(n_queries=(60, 20, 20), n_docs=20, n_features=10)
    >>> model = rk.RankNet(n_epochs=20).fit(train, valid=valid)
    >>> rk.evaluate(model, test, "ndcg@10")["ndcg@10"] > 0.5
    True
    """

    constraints: ClassVar[Mapping[str, Constraint]] = {
        **NetRanker.constraints,
        "mode": OneOf(("factorised", "pairwise")),
    }
    learns_preferences = True

    def __init__(
        self,
        n_hidden: int = 10,
        n_epochs: int = 100,
        learning_rate: float = 0.02,
        decay: float = 0.85,
        mode: str = "factorised",
        measure: str | Measure = "ndcg@10",
        base_model: Any = None,
        early_stopping: int | None = None,
        n_restarts: int = 0,
        patience: int = 20,
        valid_measure: MeasuresLike | None = None,
        sigma: float = 1.0,
        random_state: int | None = 0,
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_hidden = n_hidden
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.decay = decay
        self.mode = mode
        self.measure = measure
        self.base_model = base_model
        self.early_stopping = early_stopping
        self.n_restarts = n_restarts
        self.patience = patience
        self.valid_measure = valid_measure
        self.sigma = sigma
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def _objective(self, rows: TrainingRows, dataset: Dataset) -> RankNetObjective:
        if self.mode == "pairwise" and dataset.preferences is not None:
            raise ParameterError('mode="pairwise" does not apply to preference pairs: leave it out')
        return RankNetObjective(rows, float(self.sigma), self.mode)
