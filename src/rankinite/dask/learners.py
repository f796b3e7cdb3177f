"""The learners that train on a Dask cluster, and score its collections."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from distributed import Client, get_client

from rankinite import boosting
from rankinite.dask.job import Job
from rankinite.dask.partitions import table, tables_of_sets
from rankinite.dask.scoring import scores
from rankinite.dask.work import Plan
from rankinite.distributed import Traffic
from rankinite.distributed.collective import TIMEOUT
from rankinite.errors import DataError, ParameterError
from rankinite.models.estimator import NotFittedError
from rankinite.models.parameters import Whole
from rankinite.training import Callback, Learner
from rankinite.training.run import as_callbacks


class DaskLearner:
    """A learner that is trained by all workers of a Dask cluster.

    Parameters
    ----------
    *values, **parameters
        Those of rankinite's learner of the same name. `n_threads` is by default the number of
        threads that Dask has given each worker.
    client : distributed.Client, optional
        The one that was made last by default.

    Attributes
    ----------
    model_ : Learner
        What was trained: an ordinary model, byte for byte that of one process.
    n_moved_ : int
        Rows that were moved because their queries lay on several workers.
    traffic_ : Traffic
        What worker 0 and the others have told each other.
    """

    kind: ClassVar[type[Learner]]

    model_: Learner
    n_moved_: int
    traffic_: Traffic

    def __init__(self, *values: Any, client: Client | None = None, **parameters: Any) -> None:
        self.client = client
        self._learner = self.kind(*values, **parameters)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, and the client."""
        return {**self._learner.get_params(deep), "client": self.client}

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name and return self."""
        self.client = parameters.pop("client", self.client)
        self._learner.set_params(**parameters)
        return self

    def __repr__(self) -> str:
        return f"rankinite.dask.{self._learner!r}"

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        query_weight: Mapping[Any, float] | None = None,
        valid: Any = None,
        callbacks: Sequence[Callback] = (),
        resume: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 50,
        retries: int = 0,
        timeout: int = TIMEOUT,
    ) -> Self:
        """Train on all workers of the cluster, each on the queries that it holds.

        Rows of queries that lie on several workers are brought together; all others stay where
        Dask has computed them. One training at a time runs on a cluster.

        Parameters
        ----------
        X : Dask data frame or array
        y, qid, sample_weight : name of a column, Dask series or array
            Labels, query ids and weights of the rows. Collections have the partitions of X.
        query_weight : mapping, optional
            From query ids to weights.
        valid : Dask data frame, tuple, or dict of these by name, optional
            Sets to measure after every round: frames with the columns of X, or tuples
            ``(X, y, qid)`` or ``(X, y, qid, weight)``. Early stopping watches the one called
            "valid", or the last one.
        callbacks : sequence
            As those of any learner; they are called on the workers.
        resume : path or model, optional
            A checkpoint of an interrupted run, where worker 0 can read it.
        checkpoint : path, optional
            A file in a folder that all workers reach: the model so far is kept there.
        checkpoint_every : int
            Rounds between two checkpoints.
        retries : int
            How often to try again, from the last checkpoint, after a worker was killed or has
            stopped answering.
        timeout : int
            Seconds without a word of a worker after which it counts as lost: more than the longest
            that one may be silent, as while it bins its rows or compiles kernels.

        Returns
        -------
        self
        """
        Whole(0).check("retries", retries)
        Whole(1).check("timeout", timeout)
        Whole(1).check("checkpoint_every", checkpoint_every)
        learner = self._learner
        learner.check_params()
        learner.check_distributes()
        if query_weight is not None and not isinstance(query_weight, Mapping):
            raise DataError(
                "query_weight must be a mapping from query ids to weights here: the queries of a "
                f"Dask collection have no order, got a {type(query_weight).__name__}"
            )
        plan = Plan(
            learner=learner,
            callbacks=as_callbacks(callbacks),
            resume=os.fspath(resume) if isinstance(resume, os.PathLike) else resume,
            checkpoint=None if checkpoint is None else str(Path(checkpoint).absolute()),
            every=int(checkpoint_every),
            timeout=int(timeout),
        )
        rows = table(X, y, qid, sample_weight, "the training data")
        sets = tables_of_sets(valid, y, qid, sample_weight)
        job = Job(plan, rows, sets, query_weight, int(retries))
        self.model_, self.traffic_ = job.run(self._client())
        self.n_moved_ = job.n_moved
        return self

    def predict(self, X: Any, *, n_rounds: int | None = None) -> Any:
        """Scores of the rows, computed when they are asked for.

        Parameters
        ----------
        X : Dask data frame or array
            Of a frame the columns of the training data are taken by their names.
        n_rounds : int, optional
            Score with the first so many rounds alone.

        Returns
        -------
        Dask series or array
            In the order of the rows, and with their index.
        """
        return scores(self.to_local(), X, n_rounds)

    def to_local(self) -> Any:
        """The trained model, as rankinite's learner of the same name gives it."""
        if not hasattr(self, "model_"):
            raise NotFittedError(f"this {type(self).__name__} is not trained: call fit first")
        return self.model_

    def _client(self) -> Client:
        try:
            client = self.client if self.client is not None else get_client()
        except ValueError:
            raise ParameterError(
                "there is no Dask client: make one (distributed.Client(...)), or pass client="
            ) from None
        if client.asynchronous:
            raise ParameterError("the Dask client is asynchronous: pass one that is not")
        return client


class LambdaMART(DaskLearner):
    """`rankinite.LambdaMART` on a Dask cluster; with a `base_model` LambdaSMART."""

    kind = boosting.LambdaMART


class MART(DaskLearner):
    """`rankinite.MART` on a Dask cluster."""

    kind = boosting.MART


class McRank(DaskLearner):
    """`rankinite.McRank` on a Dask cluster."""

    kind = boosting.McRank
