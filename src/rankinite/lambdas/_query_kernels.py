"""Kernels that see one query for its λs and their cost: what they are told, ranks, swap terms.

Documents are numbered inside their query; "in grade order" means from the best grade down.
"""

from typing import NamedTuple

import numpy as np

from rankinite._numba import BORROWS, kernel
from rankinite.lambdas._ranking_kernels import rank_documents
from rankinite.measures._swap_kernels import swap_terms, weight_terms
from rankinite.measures.codes import PAIRS

# With `normalize`, |ΔZ| of a pair is divided by this plus the gap between its scores, in units of
# 1/σ: a pair close in score counts up to a hundredfold. The constant and the idea are LightGBM's.
CLOSE = 0.01


class LambdaSettings(NamedTuple):
    """What holds for all queries: the measure, and which pairs count how much.

    Attributes
    ----------
    general : None or True
        None if the measure trades weights alone (its code is LINEAR or LAYERED). It is a type of
        its own: kernels that take it as an argument have nothing else compiled for such measures.
    code : int
    discounts : ndarray of float64, shape (≥ size of the largest query,)
        Of the measure (`rankinite.measures.Judged`).
    depth : int
        The measure sees the order of the first `depth` ranks, and of the rest only what is there.
    top : int
        Only pairs whose upper document is among the first `top` count.
    sigma : float
    normalize : bool
        Divide |ΔZ| by the gap between the scores, and compress each query's sum.
    noise : float
        Scale of the noise that is added to the scores, in units of 1/σ; 0: none.
    n_draws : int
        Draws of the noise, over which the λs are averaged.
    """

    general: bool | None
    code: int
    discounts: np.ndarray
    depth: int
    top: int
    sigma: float
    normalize: bool
    noise: float
    n_draws: int


class GradedQueries(NamedTuple):
    """The queries and their labels, as the measure sees them (`rankinite.measures.Judged`).

    Attributes
    ----------
    offsets : ndarray of int64, shape (n_queries + 1,)
    blank : ndarray of bool, shape (n_queries,)
    norms : ndarray of float64, shape (n_queries, width)
    grades, keys : ndarray of float64 and of uint64, shape (n_rows,)
        Grades, and the documents' own random numbers. In grade order.
    by_grade : ndarray of int32, shape (n_rows,)
        The documents in grade order.
    lower, own : ndarray of int32, shape (n_rows,)
        For each place in grade order, where the lower grades begin and where its own does.
    """

    offsets: np.ndarray
    blank: np.ndarray
    norms: np.ndarray
    grades: np.ndarray
    keys: np.ndarray
    by_grade: np.ndarray
    lower: np.ndarray
    own: np.ndarray

    def select(self, queries, offsets, rows):
        """Some of the queries, which have these rows and then these offsets."""
        _, blank, norms, *of_rows = self
        return GradedQueries(
            offsets, blank[queries], norms[queries], *(own[rows] for own in of_rows)
        )


class Kept(NamedTuple):
    """What is kept from round to round, for speed alone.

    Attributes
    ----------
    orders : ndarray of int32, shape (n_rows,)
        The latest ranking of each query, by place in grade order; any to begin with.
    units : ndarray of int64, shape (n_queries,)
        Exponents of the units in which forces are counted.
    """

    orders: np.ndarray
    units: np.ndarray

    def select(self, queries, rows):
        """A copy of that of some queries, which have these rows."""
        return Kept(self.orders[rows], self.units[queries])


class Setup(NamedTuple):
    """All that stays from round to round: the first arguments of kernels."""

    settings: LambdaSettings
    queries: GradedQueries
    kept: Kept

    def select(self, queries, offsets, rows):
        """That of some queries alone, which have these rows and then these offsets."""
        own = self.queries.select(queries, offsets, rows)
        return Setup(self.settings, own, self.kept.select(queries, rows))


class Round(NamedTuple):
    """What is new in a round, and its λs.

    Attributes
    ----------
    scores : ndarray of float64, shape (n_rows,)
    seed : uint64
        With the documents' keys it orders equal scores, and makes the noise.
    lam, curvature : ndarray of float64, shape (n_rows,)
        Output: λ and w, without weights.
    """

    scores: np.ndarray
    seed: np.uint64
    lam: np.ndarray
    curvature: np.ndarray


@kernel(inline="always")
def longest_of(first_query, last_query, offsets):
    """Documents of the largest of the queries from `first_query` to `last_query`."""
    longest = 0
    for query in range(first_query, last_query):
        longest = max(longest, offsets[query + 1] - offsets[query])
    return longest


@kernel()
def rank_queries(first_query, last_query, queries, depth, orders, scores, seed):
    """Rank the queries from `first_query` to `last_query`.

    Parameters
    ----------
    first_query, last_query : int
    queries : GradedQueries
    depth : int
        The first `depth` ranks are to be right.
    orders : ndarray of int32, shape (n_rows,)
        Output: the ranking of each query, by place in grade order. It starts from what is there.
    scores : ndarray of float64, shape (n_rows,)
    seed : uint64
    """
    offsets, by_grade, keys = queries.offsets, queries.by_grade, queries.keys
    longest = longest_of(first_query, last_query, offsets)
    by_place, spare = np.empty(longest), np.empty((3, longest), np.int64)
    for query in range(first_query, last_query):
        first, last = offsets[query], offsets[query + 1]
        documents, own = by_grade[first:last], scores[first:last]
        in_order = by_place[: last - first]
        for k in range(last - first):
            in_order[k] = own[documents[k]]
        rank_documents(in_order, keys[first:last], seed, depth, orders[first:last], spare)


@kernel(**BORROWS)
def ranked_terms(general, settings, norms, grades, own, order, ranked, terms):
    """Write G, S, U, V of a query's documents in rank order; returns the largest difference of G.

    For the pairs, which count 1 each whatever the difference, G is the number of documents that
    are better, turned round.

    Parameters
    ----------
    general : None or True
        None: S is 1 and V is U; they are not written.
        It is that of the settings, as an argument.
    settings : LambdaSettings
    norms : ndarray of float64, shape (width,)
    grades, own : ndarray of float64 and of int32, shape (n,)
        Of the query, in grade order.
    order : ndarray of int32, shape (n,)
        The query's ranking, by place in grade order.
    ranked : ndarray of float64, shape (n,)
        Output: the grades in rank order.
    terms : ndarray of float64, shape (4, ≥ n)
        Output.
    """
    code, discounts = settings.code, settings.discounts
    n = order.shape[0]
    for p in range(n):
        ranked[p] = grades[order[p]]
    if general is None:
        weight_terms(code, ranked, discounts, norms, terms[0], terms[2])
        return np.inf
    if code == PAIRS:
        for p in range(n):
            terms[0, p] = -own[order[p]]
            terms[1, p] = 1.0
            terms[2, p] = 1.0
            terms[3, p] = 0.0
        return 1.0
    swap_terms(code, ranked, discounts, norms, terms[0], terms[1], terms[2], terms[3])
    return np.inf
