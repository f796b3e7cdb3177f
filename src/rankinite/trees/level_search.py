"""The search for one split that all nodes of a level share, in their histograms.

Its gain is the sum of what it gains in each of them. As for single nodes (`split_search`), every
worker looks at the features that are its own, and the best of all is told.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankinite.trees._histogram_kernels import N_BINS
from rankinite.trees._level_kernels import (
    NODES_A_GROUP,
    LevelNodes,
    best_common,
    common_gains,
    gains_of_nodes,
    gather_uncounted,
)
from rankinite.trees._split_kernels import Limits
from rankinite.trees.split_search import NO_SPLIT, Split, SplitSearch


class CommonSplit(NamedTuple):
    """One split for several nodes, and what it does to each of them.

    Attributes
    ----------
    split : Split
        Its gain is the sum over the nodes; 0 says that there is none.
    gains : ndarray of float64, shape (n_nodes,)
        0: the node must not be split so.
    left_is_lighter : ndarray of bool, shape (n_nodes,)
        Whether the left side has at most half of the node's mass.
    may_wait : ndarray of bool, shape (n_nodes,)
        Whether another split may suit a node, which has mass enough for two leaves.
    """

    split: Split
    gains: np.ndarray
    left_is_lighter: np.ndarray
    may_wait: np.ndarray


class LevelSearch:
    """Keeps the histograms of a level's nodes, and finds the splits that they share.

    Parameters
    ----------
    search : SplitSearch
        Counts, and knows which features are this worker's own.
    """

    def __init__(self, search: SplitSearch) -> None:
        self._search = search
        self.kept = np.empty((0, *search.own_shape), np.int64)
        self._free: list[int] = []
        n_own = len(search.n_bins)
        self._best = np.empty(n_own)
        self._bins = np.empty(n_own, np.uint8)
        self._missing_left = np.empty(n_own, np.bool_)
        self._gains = np.empty((0, n_own, 2, N_BINS))
        self._sums = np.empty((0, search.own_shape[1]), np.int64)
        self._scratch = np.empty((0, N_BINS), np.int64)

    def take_place(self) -> int:
        """A place for a histogram."""
        if not self._free:
            n = len(self.kept)
            more = np.empty((max(2, 2 * n), *self.kept.shape[1:]), np.int64)
            more[:n] = self.kept
            self.kept = more
            self._free.extend(range(len(more) - 1, n - 1, -1))
        return self._free.pop()

    def release(self, place: int) -> None:
        """Take back a place; −1 is none."""
        if place >= 0:
            self._free.append(place)

    def missing_in(self, place: int) -> np.ndarray:
        """Which of this worker's features have missing rows in a histogram."""
        cells = self.kept[place].reshape(-1, N_BINS)
        return cells[: len(self._best), -1] != 0

    def best(
        self,
        nodes: LevelNodes,
        words: np.ndarray,
        rows: np.ndarray,
        cells: np.ndarray,
        gathered: np.ndarray,
        has_missing: np.ndarray,
        allowed: np.ndarray,
        limits: Limits,
    ) -> CommonSplit:
        """The best split for these nodes together.

        Parameters
        ----------
        nodes : LevelNodes
        words, rows, cells, gathered
            As in `build_histogram`, for nodes without a histogram.
        has_missing : ndarray of bool
            What `missing_in` gave of the root.
        allowed : ndarray of bool, shape (n_features,)
        limits : Limits
        """
        n_nodes = len(nodes.places)
        split, search = NO_SPLIT, self._search
        if len(self._best):
            gather_uncounted(nodes, rows, cells, gathered)
            n_groups = -(-n_nodes // NODES_A_GROUP)
            n_units = n_groups * self.kept.shape[1]
            if len(self._gains) < n_groups:
                self._gains = np.empty((n_groups, *self._gains.shape[1:]))
                self._sums = np.empty((n_units, self._sums.shape[1]), np.int64)
                self._scratch = np.empty((n_units, N_BINS), np.int64)
            gains, allowed = self._gains[:n_groups], search.own_features(allowed)
            of_features = (search.n_bins, has_missing, allowed)
            scratch = (self._sums[:n_units], self._scratch[:n_units])
            common_gains(nodes, words, rows, gathered, *of_features, limits, *scratch, gains)
            best = (self._best, self._bins, self._missing_left)
            feature = best_common(gains, *of_features, *best)
            split = Split(
                float(self._best[feature]),
                search.first_feature + feature,
                int(self._bins[feature]),
                bool(self._missing_left[feature]),
                left_is_lighter=False,
            )
        (split,) = search.best_of_workers([split])
        found = np.zeros((5, n_nodes))
        if split.gain > 0.0:
            feature = split.feature - search.first_feature
            if 0 <= feature < len(self._best):
                place = (feature, split.bin, split.missing_left)
                blocks = words.view(np.uint8)
                gains_of_nodes(nodes, blocks, rows, gathered, *place, limits, found)
            # Only the worker whose feature it is has written anything.
            found = search.told_by_owner(found)
        gains, masses, left, missing, may_wait = found
        if missing.sum() == 0.0:
            # Without missing rows to tell, they follow the heavier side.
            split = split._replace(missing_left=bool(2.0 * left.sum() > masses.sum()))
        return CommonSplit(split, gains, 2.0 * left <= masses, may_wait > 0.0)
