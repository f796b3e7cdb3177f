"""Rounds whose tree one worker grows, on rows of its own (Svore and Burges 2012, algorithm 3).

Each worker has a share of the rows and the scores of the model for them. In a round one or all of
them grow a tree on their own share, without a word to the others; the splits are told, and the tree
of one joins the model. Which one is said by `Selection`.

The paper's worker also finds the steps of the leaves by its own rows. Here all workers add up λ and
w of their rows in the leaves that they were told of, in integers: a few hundred bytes. So the steps
are mostly those of rows that had no say in the splits, and a split that only fits its worker's
queries comes to hardly any step. That is also why no further queries are asked to confirm them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from rankinite.binning import Bins
from rankinite.boosting.newton_steps import bounded
from rankinite.boosting.objectives import Pull
from rankinite.boosting.tree_stage import Trees, TreeStage
from rankinite.data.overlap import with_overlap
from rankinite.distributed import Communicator, alone, told_by_all
from rankinite.order.seeds import derive_seed
from rankinite.training.resuming import OF_SHARES
from rankinite.trees import (
    Gradients,
    Grower,
    Tree,
    from_bytes,
    gradients,
    leaves_of,
    local_sums_over_leaves,
    rows_in_leaves,
    to_bytes,
)


@dataclass(frozen=True)
class Share:
    """What a worker has of the rows.

    Attributes
    ----------
    communicator : Communicator
    n_own : int
        Rows that no other worker calls its own. They come first; those of an overlap follow.
    n_rows : ndarray of int64, shape (n_workers,)
        How many rows each worker calls its own.
    overlap : int
        The shares of so many of the next workers follow.
    """

    communicator: Communicator
    n_own: int
    n_rows: np.ndarray
    overlap: int

    @classmethod
    def of(cls, n_own: int, overlap: int, communicator: Communicator) -> Share:
        """The share of a worker with so many rows of its own."""
        told = communicator.gather(np.array([n_own], np.int64))
        return cls(communicator, n_own, np.concatenate(told), overlap)

    @property
    def mean_rows(self) -> int:
        """How many rows a worker has on average, its own and those of its overlap."""
        return max(1, int(with_overlap(self.n_rows, self.overlap).mean()))

    def seed_of(self, seed: int) -> int:
        """The seed of what this worker draws for its trees: not what others draw for theirs."""
        return int(derive_seed(seed, self.communicator.rank, "worker"))

    def fingerprint(self, own: str, select: str) -> str:
        """A short text that tells this data, dealt out in this way, from any other."""
        parts = [select, self.overlap, *told_by_all(own, self.communicator)]
        return OF_SHARES + hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


@dataclass
class Candidate:
    """Trees that may join the model.

    Attributes
    ----------
    rank : int
        Of the worker that has grown them.
    trees : tuple of Tree
        One for each output.
    """

    rank: int
    trees: Trees

    @property
    def splits(self) -> bool:
        """Whether one of the trees has more than one leaf."""
        return any(tree.n_leaves > 1 for tree in self.trees)


class Selection(Protocol):
    """Whose tree joins the model in a round."""

    def growers(self, round_number: int) -> Sequence[int]:
        """The ranks of the workers that grow trees."""

    def chosen(self, candidates: Sequence[Candidate], scores: np.ndarray) -> Candidate:
        """Of trees with the steps that they would take, those that join the model.

        Parameters
        ----------
        scores : ndarray of float64, shape (n_outputs, n_rows)
            Of this worker's rows, without any of the candidates.
        """


class ShareStage:
    """Learns the trees of a round on the rows of one worker, and their steps on those of all.

    Parameters
    ----------
    local : TreeStage
        Grows trees on what this worker has: its own rows, then those of its overlap.
    share : Share
    selection : Selection
    """

    def __init__(self, local: TreeStage, share: Share, selection: Selection) -> None:
        self._local = local
        self._share = share
        self._selection = selection
        self._n_rows = int(share.n_rows.sum())

    @property
    def grower(self) -> Grower:
        """That of this worker."""
        return self._local.grower

    def learn(self, round_number: int) -> Trees:
        """Let workers grow trees at the present scores, choose, and add what was chosen."""
        pulls = list(self._local.objective.gradients(self._local.scores, round_number))
        # Before anything is grown: a gradient that is no number is then met by all workers.
        terms = [self._of_own_rows(pull) for pull in pulls]
        candidates = self._with_steps(self._candidates(pulls, round_number), terms)
        trees = self._selection.chosen(candidates, self._local.scores).trees
        self.repeat(trees)
        return trees

    def _of_own_rows(self, pull: Pull) -> tuple[Gradients, Gradients]:
        """λ and w of this worker's own rows, and how large those of all workers are."""
        n_own, communicator = self._share.n_own, self._share.communicator
        lam, w = (gradients(values[:n_own], communicator) for values in pull)
        return lam, w

    def _candidates(self, pulls: Sequence[Pull], round_number: int) -> list[Candidate]:
        """What the growers of a round have grown, on every worker; without steps."""
        communicator, growers = self._share.communicator, self._selection.growers(round_number)
        told = np.empty(0, np.uint8)
        if communicator.rank in growers:
            with alone():
                told = to_bytes(self._grown(pulls, round_number))
        if len(growers) == 1:
            mine = communicator.rank == growers[0]
            found = {growers[0]: communicator.broadcast(told if mine else None, growers[0])}
        else:
            found = dict(enumerate(communicator.gather(told)))
        mapper = self.grower.binned.mapper
        return [Candidate(rank, from_bytes(found[rank], len(pulls), mapper)) for rank in growers]

    def _grown(self, pulls: Sequence[Pull], round_number: int) -> list[Tree]:
        """A tree for each output, grown on all that this worker has."""
        trees = []
        for output, pull in enumerate(pulls):
            lam, w = (gradients(values, self.grower.communicator) for values in pull)
            trees.append(self._local.grow(lam, w, round_number, output).tree)
        return trees

    def _with_steps(
        self, candidates: Sequence[Candidate], terms: Sequence[tuple[Gradients, Gradients]]
    ) -> list[Candidate]:
        """The candidates with the Newton steps that the rows of all workers ask for."""
        local = [
            self._leaf_sums(tree, own)
            for each in candidates
            for tree, own in zip(each.trees, terms, strict=True)
        ]
        # The rows, λ and w of every leaf of all of them at once.
        told = self._share.communicator.sum(np.concatenate([sums for sums, _ in local], axis=1))
        of_trees = np.split(told, np.cumsum([sums.shape[1] for sums, _ in local])[:-1], axis=1)
        found = zip(of_trees, (scales for _, scales in local), strict=True)
        return [
            Candidate(each.rank, tuple(self._stepped(tree, *next(found)) for tree in each.trees))
            for each in candidates
        ]

    def _leaf_sums(
        self, tree: Tree, terms: tuple[Gradients, Gradients]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Number, Σλ and Σw of this worker's own rows in each leaf, and the scales of the sums."""
        leaf_of = leaves_of(tree, self.grower.binned)[: self._share.n_own]
        counts = rows_in_leaves(leaf_of, tree.n_leaves)
        place = (leaf_of, tree.n_leaves, self._n_rows)
        (forces, lam_scale), (masses, w_scale) = (
            local_sums_over_leaves(each, *place) for each in terms
        )
        return np.stack([counts, forces, masses]), np.array([lam_scale, w_scale])

    def _stepped(self, tree: Tree, sums: np.ndarray, scales: np.ndarray) -> Tree:
        forces, masses = sums[1:] / scales[:, np.newaxis]
        masses = masses + self.grower.parameters.l2_of_steps
        steps = bounded(forces, masses, self._local.objective.longest_step)
        return replace(tree, value=self._local.learning_rate * steps, count=sums[0].copy())

    def repeat(self, member: Trees) -> None:
        """Add the trees of a round to the scores of this worker's rows."""
        self._local.repeat(member)

    def add(self, member: Trees, rows: Bins, scores: np.ndarray) -> None:
        """Add the trees of a round to the scores of rows, shape (n_outputs, n_rows)."""
        self._local.add(member, rows, scores)

    def separates(self, member: Trees) -> bool:
        """Whether a tree has leaves of different values."""
        return self._local.separates(member)
