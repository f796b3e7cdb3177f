"""Whose tree joins the model, where each worker can grow one on rows of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankinite.binning import Bins
from rankinite.boosting.objectives import Link
from rankinite.boosting.share_stage import Candidate, Share
from rankinite.boosting.tree_stage import Trees
from rankinite.data.overlap import has_share, with_overlap
from rankinite.distributed.exact_sums import each_rounded_once
from rankinite.measures.evaluation import Evaluator
from rankinite.order.seeds import derive_seed
from rankinite.trees import add_tree


class DrawnWorker:
    """The tree of a worker that is drawn (Svore and Burges 2012, section 1.4.3).

    Only that one grows a tree. A worker is drawn as often as its share of the rows says, so that
    all rows have the same say in the splits.

    Parameters
    ----------
    share : Share
    seed : int
    """

    def __init__(self, share: Share, seed: int) -> None:
        self._ends = np.cumsum(share.n_rows)
        self._seed = seed

    def growers(self, round_number: int) -> list[int]:
        """The worker that is drawn."""
        row = int(derive_seed(self._seed, round_number, "selection")) % int(self._ends[-1])
        return [int(np.searchsorted(self._ends, row, side="right"))]

    def chosen(self, candidates: Sequence[Candidate], scores: np.ndarray) -> Candidate:
        """The only one."""
        return candidates[0]


class BestForOthers:
    """The tree that is best for the measure on queries that its worker does not have.

    These are other queries for every candidate, and a measure is higher on some queries than on
    others whatever the tree. So what is compared is by how much a tree raises the mean of its
    queries. Of equal ones the first worker's is taken, and a tree without a split only if there is
    no other.

    Parameters
    ----------
    share : Share
    evaluator : Evaluator
        Of the measure that is learned, on this worker's own queries.
    link : Link
        From outputs to scores.
    binned : BinnedMatrix or BinnedRows
        The rows that this worker has, its own first.
    """

    def __init__(self, share: Share, evaluator: Evaluator, link: Link, binned: Bins) -> None:
        self._share, self._evaluator, self._link, self._binned = share, evaluator, link, binned
        communicator, overlap = share.communicator, share.overlap
        ranks = range(communicator.size)
        self._growers = np.flatnonzero(with_overlap(share.n_rows, overlap)).tolist()
        # The workers whose trees may be tried on the queries here.
        self._tried = [
            not has_share(rank, communicator.rank, overlap, communicator.size) for rank in ranks
        ]
        blank = evaluator.blank
        weight = np.ones(len(blank)) if evaluator.weight is None else evaluator.weight
        self._weight = np.where(blank, 0.0, weight)
        self._sign = -1.0 if evaluator.measure.lower_is_better else 1.0
        terms = [self._weight if tried else np.empty(0) for tried in self._tried]
        self._masses = each_rounded_once(terms, communicator)

    def growers(self, round_number: int) -> list[int]:
        """All workers that have rows."""
        return self._growers

    def chosen(self, candidates: Sequence[Candidate], scores: np.ndarray) -> Candidate:
        """Try each on the queries of those that do not know them."""
        candidates = [each for each in candidates if each.splits] or list(candidates[:1])
        present = self._values(scores, ())
        gains = []
        for each in candidates:
            terms = np.empty(0)
            if self._tried[each.rank]:
                terms = self._weight * (self._values(scores, each.trees) - present)
            gains.append(terms)
        raised = each_rounded_once(gains, self._share.communicator)
        means = [
            self._sign * gain / self._masses[each.rank] if self._masses[each.rank] > 0 else 0.0
            for gain, each in zip(raised, candidates, strict=True)
        ]
        return candidates[int(np.argmax(means))]

    def _values(self, scores: np.ndarray, trees: Trees) -> np.ndarray:
        """The measure of each of this worker's own queries with these trees more; blank ones 0."""
        outputs = scores
        if trees:
            outputs = scores.copy()
            for tree, output in zip(trees, outputs, strict=True):
                add_tree(tree, self._binned, output)
        own = self._link.scores(outputs[:, : self._share.n_own])
        return np.where(self._evaluator.blank, 0.0, self._evaluator.values(own))
