"""The λ-gradients as a loss of PyTorch: any measure, padded batches or flat vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch.autograd.function import once_differentiable

import torch
from rankinite.data.checks import checked_weight
from rankinite.data.grouping import group
from rankinite.errors import DataError, ParameterError
from rankinite.lambdas import LambdaGradients
from rankinite.measures import Measure, measure
from rankinite.models.parameters import OneOf, Real, Whole
from rankinite.order._canonical_kernels import value_hashes
from rankinite.order._row_key_kernels import content_keys
from rankinite.order.row_keys import bits


class PairCost(torch.autograd.Function):
    """Σ |ΔZ_ij| log(1 + e^{−σ(s_i − s_j)}) over all queries; its gradient is −λ.

    The λs are computed on the host, whatever the device of the scores.
    """

    @staticmethod
    def forward(
        ctx: Any, scores: torch.Tensor, gradients: LambdaGradients, round_number: int
    ) -> torch.Tensor:
        """The cost of flat scores, shape (n_rows,)."""
        values = _on_host(scores, np.float64)
        if np.isfinite(values).all():
            lam, _, costs = gradients.with_costs(values, round_number)
            cost = math.fsum(costs)
        else:
            # What PyTorch's own losses do, and what tools that watch for it expect.
            lam, cost = np.full(len(values), np.nan), math.nan
        ctx.save_for_backward(torch.from_numpy(lam).to(scores))
        return scores.new_tensor(cost)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        """−λ times the gradient of what comes after."""
        (lam,) = ctx.saved_tensors
        return -grad * lam, None, None


class LambdaLoss(torch.nn.Module):
    """A loss whose gradient with respect to the scores is −λ, for any measure.

    Its value is the cost C = Σ |ΔZ_ij| log(1 + e^{−σ(s_i − s_j)}) over the pairs i ▷ j of all
    queries, |ΔZ| taken at the present ranking: with |ΔZ| held, −λ is its gradient (Burges 2010,
    section 7). It is a sum over the queries; divide it by their number for a mean. It falls as the
    measure rises, but not in step with it: evaluate the measure itself to choose a model.

    Parameters
    ----------
    measure : str or Measure
        A measure that takes its scale from the data must have it fixed, because a loss sees one
        batch at a time: ``"err@10:max_label=4"``.
    sigma : float
    truncation : int, optional
        How deep the λs go; see `LambdaMART`.
    normalize : bool
        Divide |ΔZ| by the gap between the scores and compress each query's sum, as `LambdaMART`
        does by default; the papers do not.
    seed : int
        Of the shuffles that order documents with equal scores.

    Attributes
    ----------
    round : int
        Number of calls so far. Ties are shuffled anew in every round; set it to repeat one.

    Examples
    --------
    >>> loss = LambdaLoss("ndcg@10")
    >>> scores = torch.tensor([[0.2, 0.9, 0.1]], requires_grad=True)
    >>> cost = loss(scores, torch.tensor([[0, 1, 2]]), mask=torch.tensor([[True, True, False]]))
    >>> cost.backward()
    >>> scores.grad[0, 2].item()
    0.0
    """

    def __init__(
        self,
        measure: str | Measure = "ndcg@10",
        *,
        sigma: float = 1.0,
        truncation: int | None = None,
        normalize: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__()
        Real(0.0).check("sigma", sigma)
        Whole(1, optional=True).check("truncation", truncation)
        OneOf((True, False)).check("normalize", normalize)
        Whole(0, 2**63 - 1).check("seed", seed)
        self.measure = _fixed(measure)
        self.sigma = sigma
        self.truncation = truncation
        self.normalize = normalize
        self.seed = seed
        self.round = 0

    def forward(
        self,
        scores: torch.Tensor,
        labels: Any,
        mask: Any = None,
        *,
        offsets: Any = None,
        qid: Any = None,
        weight: Any = None,
        query_weight: Any = None,
        features: Any = None,
    ) -> torch.Tensor:
        """The cost of all queries.

        Parameters
        ----------
        scores : tensor, shape (n_queries, n_docs) or (n_rows,)
            A padded batch, or the documents of several queries in a row. A vector without
            `offsets` and `qid` is one query.
        labels : tensor or array, shaped like `scores`
        mask : tensor or array of bool, shaped like `scores`, optional
            True where there is a document. What else lies there is not looked at.
        offsets : tensor or array of int, shape (n_queries + 1,), optional
            Query q of a vector has the rows from ``offsets[q]`` to ``offsets[q + 1]``.
        qid : tensor or array, shape (n_rows,), optional
            Instead of `offsets`: the query of each row.
        weight : tensor or array, shaped like `scores`, optional
            Multiplies a document's λ. In the cost a pair has the mean of its two documents'.
        query_weight : tensor or array, shape (n_queries,), optional
            Multiplies the cost of a query; with `qid`, in order of first appearance.
        features : tensor or array, shape (\\*shape of scores, n_features), optional
            What the scores were computed from. Documents with equal scores are ranked at random;
            with the features the draw belongs to the document, so nothing depends on the order of
            the documents. Without, it belongs to a document's place in its query.
        """
        layout = _Layout.of(scores, mask, offsets, qid)
        y = layout.take(labels, "labels")
        if not np.isfinite(y).all():
            raise DataError(
                "labels has NaN or infinity where there is a document: give every document a "
                "finite label, or leave it out by the mask"
            )
        weights = None if weight is None else layout.take(weight, "weight")
        checked_weight(weights, len(y))
        per_query = None if query_weight is None else _on_host(query_weight, np.float64)
        checked_weight(per_query, layout.n_queries, "query_weight", "query")
        round_number, self.round = self.round, self.round + 1
        if layout.n_queries == 0 or len(y) == 0:
            return scores.reshape(-1)[:0].sum()
        gradients = LambdaGradients(
            self.measure,
            y,
            layout.offsets,
            _document_keys(layout, features, y, weights),
            weight=weights,
            query_weight=per_query,
            sigma=self.sigma,
            truncation=self.truncation,
            normalize=self.normalize,
            seed=self.seed,
        )
        flat = scores.reshape(-1)
        if layout.places is not None:
            flat = flat[torch.from_numpy(layout.places).to(flat.device)]
        return PairCost.apply(flat, gradients, round_number)

    def extra_repr(self) -> str:
        """The parameters, as PyTorch prints them."""
        return (
            f"{str(self.measure)!r}, sigma={self.sigma}, truncation={self.truncation}, "
            f"normalize={self.normalize}, seed={self.seed}"
        )


@dataclass(frozen=True, eq=False)
class _Layout:
    """Which of the scores are documents, and of which query.

    Attributes
    ----------
    shape : tuple of int
        Of the scores.
    places : ndarray of int64, shape (n_rows,), or None
        The documents among the flattened scores, query by query; None if they are all as given.
    offsets : ndarray of int64, shape (n_queries + 1,)
    """

    shape: tuple[int, ...]
    places: np.ndarray | None
    offsets: np.ndarray

    @classmethod
    def of(cls, scores: torch.Tensor, mask: Any, offsets: Any, qid: Any) -> _Layout:
        if offsets is not None and qid is not None:
            raise DataError("offsets and qid were both passed: one says which rows a query has")
        shape = tuple(scores.shape)
        one_column = len(shape) == 2 and shape[1] == 1
        if len(shape) == 1 or (one_column and (offsets is not None or qid is not None)):
            if mask is not None:
                raise DataError("mask goes with a padded batch, but the scores are one vector")
            return cls(shape, *_of_rows(shape[0], offsets, qid))
        if len(shape) != 2 or offsets is not None or qid is not None:
            raise DataError(
                f"the scores have shape {shape}: pass (n_queries, n_docs) with a mask, or "
                "(n_rows,) with offsets or qid"
            )
        if mask is None:
            if one_column:
                raise DataError(
                    f"the scores have shape {shape}, queries of one document each: if these are "
                    "the rows of one query pass scores.squeeze(-1), otherwise offsets or qid too"
                )
            return cls(shape, None, np.arange(shape[0] + 1, dtype=np.int64) * shape[1])
        there = _on_host(mask, np.bool_)
        if there.shape != shape:
            raise DataError(f"mask has shape {there.shape}, but the scores have {shape}")
        sizes = there.sum(axis=1, dtype=np.int64)
        return cls(shape, np.flatnonzero(there), np.concatenate([[0], np.cumsum(sizes)]))

    @property
    def n_queries(self) -> int:
        return len(self.offsets) - 1

    def take(self, values: Any, what: str, n_columns: int | None = None) -> np.ndarray:
        """The documents' values in order, float64 of shape (n_rows,) or (n_rows, n_columns)."""
        array = _on_host(values, np.float64)
        tail = () if n_columns is None else (n_columns,)
        allowed = {self.shape + tail}
        if self.shape[-1] == 1:
            allowed.add(self.shape[:-1] + tail)
        if array.shape not in allowed:
            raise DataError(
                f"{what} has shape {array.shape}, but the scores have {self.shape}: pass one for "
                "each document"
            )
        array = array.reshape(-1, *tail)
        return np.ascontiguousarray(array if self.places is None else array[self.places])


def _of_rows(n_rows: int, offsets: Any, qid: Any) -> tuple[np.ndarray | None, np.ndarray]:
    """Places and offsets of the queries of a vector."""
    if qid is not None:
        ids = _on_host(qid, None)
        if ids.shape != (n_rows,):
            raise DataError(f"qid has shape {ids.shape}, but there are {n_rows} scores")
        if n_rows == 0:
            return None, np.zeros(1, np.int64)
        borders, _, order = group(ids)
        return order, borders
    borders = np.array([0, n_rows]) if offsets is None else _on_host(offsets, np.int64)
    right = borders.ndim == 1 and len(borders) > 0 and borders[0] == 0 and borders[-1] == n_rows
    if not right or (np.diff(borders) < 0).any():
        raise DataError(
            f"offsets must rise from 0 to the number of scores, {n_rows}, with the first row of "
            "each query between them"
        )
    return None, borders


def _document_keys(
    layout: _Layout, features: Any, labels: np.ndarray, weight: np.ndarray | None
) -> np.ndarray:
    """The documents' random numbers, from their features, or from their places in the queries."""
    n_rows = len(labels)
    own = np.empty(n_rows, np.uint64)
    if features is None:
        starts = np.repeat(layout.offsets[:-1], np.diff(layout.offsets))
        own[:] = np.arange(n_rows) - starts
    else:
        n_columns = np.shape(features)[-1]
        value_hashes(layout.take(features, "features", n_columns), own)
    weight = np.ones(n_rows) if weight is None else weight
    words = np.concatenate([own[np.newaxis], bits(labels, weight)])
    nothing, keys = np.empty((0, n_rows, 2), np.uint64), np.empty(n_rows, np.uint64)
    content_keys(0, layout.n_queries, nothing, words, layout.offsets, keys)
    return keys


def _on_host(values: Any, dtype: Any) -> np.ndarray:
    """A tensor or an array as a contiguous array, which shares its memory where it can."""
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu()
        # numpy has no bfloat16.
        values = (values.double() if values.is_floating_point() else values).numpy()
    return np.ascontiguousarray(values, dtype=dtype)


def _fixed(spec: str | Measure) -> Measure:
    """The measure, if it does not depend on data that are not there yet."""
    chosen = measure(spec)
    if chosen.resolve(np.array([0.0, 1.0])) != chosen:
        raise ParameterError(
            f"measure is wrong: {chosen} takes its scale from the labels, and a loss sees one "
            "batch at a time: fix it, for instance err@10:max_label=4"
        )
    return chosen
