"""Kernels of epochs: each query in turn is scored, its λs are taken, and the weights make a step.

On one thread, without Python between the queries. All of them take

order : ndarray of int64
    The queries of the epoch, one after the other.
rows : Rows
net : NetWeights
    Its weights are changed.
rate : float
    Learning rate.

and return whether all scores were numbers; an epoch ends at the first that is not.
"""

from typing import NamedTuple

import numpy as np

from rankinite._float_vectors import fill4, fma4, load4, mul4, spread4, store4, sum4
from rankinite._numba import kernel
from rankinite.lambdas._lambda_kernels import all_lambdas
from rankinite.lambdas._preference_gradient_kernels import pair_lambdas
from rankinite.lambdas._ranknet_kernels import pair_share, ranknet_lambdas
from rankinite.measures._pair_measure_kernels import query_cost
from rankinite.nets._net_kernels import add_gradient, add_start, score_documents, tanh_all

# The places of rows whose features lie in the order of the rows.
IN_ORDER = np.empty(0, np.int64)


class Rows(NamedTuple):
    """The rows of the training data.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n_queries + 1,)
    x : ndarray of float64, shape (n_rows · n_features,)
        Standardised features, in the order of the rows if `places` is empty.
    n_features : int
    start : ndarray of float64, shape (n_rows,)
        Scores of a base model.
    factor : ndarray of float64, shape (n_rows,)
        Multiplies the λ of each document.
    places : ndarray of int64, shape (n_rows,) or (0,)
        Where the features of each row are in `x`, in rows, if several have the same.
    """

    offsets: np.ndarray
    x: np.ndarray
    n_features: int
    start: np.ndarray
    factor: np.ndarray
    places: np.ndarray = IN_ORDER


class NetWeights(NamedTuple):
    """The weights of a net and the number of its hidden units (`rankinite.nets._net_kernels`)."""

    weights: np.ndarray
    width: int


@kernel()
def longest_query(order, offsets):
    """Documents of the largest of some queries."""
    longest = 0
    for query in order:
        longest = max(longest, offsets[query + 1] - offsets[query])
    return longest


@kernel()
def room_for_query(order, rows):
    """What `features_of` may write to."""
    n_copied = longest_query(order, rows.offsets) if rows.places.shape[0] > 0 else 0
    return np.empty(n_copied * rows.n_features)


@kernel()
def features_of(query, rows, room):
    """The features of a query's documents, next to each other: an array, and the first's row there.

    They are copied to `room` if they do not lie so.
    """
    first = rows.offsets[query]
    if rows.places.shape[0] == 0:
        return rows.x, first
    n_features = rows.n_features
    for d in range(rows.offsets[query + 1] - first):
        here, there = d * n_features, rows.places[first + d] * n_features
        for f in range(n_features):
            room[here + f] = rows.x[there + f]
    return room, np.int64(0)


@kernel()
def lambda_epoch(order, rows, net, rate, setup, at):
    """An epoch of LambdaRank.

    Parameters
    ----------
    setup : Setup
        Of the λs (`rankinite.lambdas._query_kernels`).
    at : Round
        For use inside.
    """
    offsets, n_features, start, factor = rows.offsets, rows.n_features, rows.start, rows.factor
    room = room_for_query(order, rows)
    weights, width = net
    settings, queries, kept = setup
    scores, lam = at.scores, at.lam
    size = longest_query(order, offsets) * width
    hidden, deltas = np.empty(size), np.empty(size)
    for query in order:
        first, last = offsets[query], offsets[query + 1]
        n = last - first
        own_scores, own_lam = scores[first:last], lam[first:last]
        x, place = features_of(query, rows, room)
        score_documents(x, n_features, place, n, weights, width, hidden, own_scores)
        if not add_start(start[first:last], own_scores):
            return False
        all_lambdas(query, query + 1, settings, queries, kept, at)
        for d in range(n):
            own_lam[d] *= factor[first + d]
        add_gradient(
            x, n_features, place, n, own_lam, weights, width, rate, hidden, deltas, weights
        )
    return True


@kernel()
def ranknet_epoch(order, rows, net, rate, lower, sigma, costs):
    """An epoch of RankNet by the λs of documents: one way forward and back for each of them.

    Parameters
    ----------
    lower : ndarray of int64, shape (n_rows,)
        Place in its query where the labels worse than a document's begin. Documents lie in the
        order of their labels, the best first.
    sigma : float
    costs : ndarray of float64, shape (n_queries,)
        Output: the cost of each query's pairs, before its step.
    """
    offsets, n_features, start, factor = rows.offsets, rows.n_features, rows.start, rows.factor
    room = room_for_query(order, rows)
    weights, width = net
    longest = longest_query(order, offsets)
    hidden, deltas = np.empty(longest * width), np.empty(longest * width)
    work = np.empty((3, longest + 4))
    scores, lam = np.empty(longest), np.empty(longest)
    for query in order:
        first, last = offsets[query], offsets[query + 1]
        n = last - first
        x, place = features_of(query, rows, room)
        score_documents(x, n_features, place, n, weights, width, hidden, scores)
        if not add_start(start[first:last], scores[:n]):
            return False
        costs[query] = ranknet_lambdas(scores[:n], lower[first:last], sigma, work, lam)
        for d in range(n):
            lam[d] *= factor[first + d]
        add_gradient(x, n_features, place, n, lam, weights, width, rate, hidden, deltas, weights)
    return True


@kernel()
def preference_epoch(order, rows, net, rate, pairs, sigma, costs):
    """An epoch of RankNet on preference pairs, by the λs of documents.

    Parameters
    ----------
    pairs : PairArrays
    sigma : float
    costs : ndarray of float64, shape (n_queries,)
        Output: the cost of each query's pairs, before its step.
    """
    offsets, n_features, start, factor = rows.offsets, rows.n_features, rows.start, rows.factor
    room = room_for_query(order, rows)
    weights, width = net
    better, worse, probability, pair_weight, pair_offsets = pairs
    longest = longest_query(order, offsets)
    hidden, deltas = np.empty(longest * width), np.empty(longest * width)
    scores, lam, curvature = np.empty(longest), np.empty(longest), np.empty(longest)
    for query in order:
        first, last = offsets[query], offsets[query + 1]
        n = last - first
        x, place = features_of(query, rows, room)
        score_documents(x, n_features, place, n, weights, width, hidden, scores)
        own = scores[:n]
        if not add_start(start[first:last], own):
            return False
        a, b = pair_offsets[query], pair_offsets[query + 1]
        i, j, p, w = better[a:b], worse[a:b], probability[a:b], pair_weight[a:b]
        costs[query] = query_cost(first, i, j, p, w, own, sigma)
        pair_lambdas(query, pairs, first, own, sigma, lam[:n], curvature[:n])
        for d in range(n):
            lam[d] *= factor[first + d]
        add_gradient(x, n_features, place, n, lam, weights, width, rate, hidden, deltas, weights)
    return True


@kernel()
def _score_two(x, n_features, at, weights, width, hidden, scores):
    """Scores of the two documents whose features begin at the places `at`."""
    if width == 0:
        for k in range(2):
            score_documents(x[at[k] :], n_features, 0, 1, weights, 0, hidden, scores[k:])
        return
    top = (n_features + 1) * width
    x0, x1 = at[0], at[1]
    for h in range(0, width, 4):
        a0 = a1 = load4(weights, n_features * width + h)
        for f in range(n_features):
            w = load4(weights, f * width + h)
            a0 = fma4(spread4(x, x0 + f), w, a0)
            a1 = fma4(spread4(x, x1 + f), w, a1)
        store4(hidden, h, a0)
        store4(hidden, width + h, a1)
    tanh_all(hidden, 2 * width)
    for k in range(2):
        total = fill4(0.0)
        for h in range(0, width, 4):
            total = fma4(load4(hidden, k * width + h), load4(weights, top + h), total)
        scores[k] = sum4(total)


@kernel()
def _add_gradient_of_two(x, n_features, at, forces, weights, width, hidden, out):
    """Add Σ_k force_k ∂s_k/∂weights of two documents to `out`."""
    x0, x1 = at[0], at[1]
    if width == 0:
        for f in range(n_features):
            out[f] += forces[0] * x[x0 + f] + forces[1] * x[x1 + f]
        return
    bias, top = n_features * width, (n_features + 1) * width
    one, minus, first_force, second_force = (
        fill4(1.0),
        fill4(-1.0),
        fill4(forces[0]),
        fill4(forces[1]),
    )
    for h in range(0, width, 4):
        v = load4(weights, top + h)
        t0, t1 = load4(hidden, h), load4(hidden, width + h)
        to_top = fma4(second_force, t1, load4(out, top + h))
        store4(out, top + h, fma4(first_force, t0, to_top))
        d0 = mul4(mul4(first_force, v), fma4(mul4(minus, t0), t0, one))
        d1 = mul4(mul4(second_force, v), fma4(mul4(minus, t1), t1, one))
        store4(out, bias + h, fma4(one, d0, fma4(one, d1, load4(out, bias + h))))
        for f in range(n_features):
            both = fma4(spread4(x, x1 + f), d1, load4(out, f * width + h))
            store4(out, f * width + h, fma4(spread4(x, x0 + f), d0, both))


@kernel()
def pairwise_epoch(order, rows, net, rate, lower, sigma, costs):
    """An epoch of RankNet pair by pair: two ways forward and back for each pair of documents.

    The gradients of a query's pairs are added up, and the weights make one step after the query: so
    the step is that of `ranknet_epoch`, but for rounding. Parameters are those of `ranknet_epoch`.
    """
    offsets, n_features, start, factor = rows.offsets, rows.n_features, rows.start, rows.factor
    room = room_for_query(order, rows)
    weights, width = net
    hidden = np.empty(2 * width)
    scores, forces, at = np.empty(2), np.empty(2), np.empty(2, np.int64)
    gradient = np.empty(weights.shape[0])
    for query in order:
        first, last = offsets[query], offsets[query + 1]
        x, place = features_of(query, rows, room)
        # From a row to where its features are.
        shift = place - first
        gradient[:] = 0.0
        costs[query] = 0.0
        for i in range(first, last):
            for j in range(first + lower[i], last):
                at[0], at[1] = (i + shift) * n_features, (j + shift) * n_features
                _score_two(x, n_features, at, weights, width, hidden, scores)
                lead = (scores[0] + start[i]) - (scores[1] + start[j])
                if not abs(lead) < np.inf:
                    return False
                share, cost = pair_share(sigma * lead)
                costs[query] += cost
                forces[0], forces[1] = sigma * share * factor[i], -sigma * share * factor[j]
                _add_gradient_of_two(x, n_features, at, forces, weights, width, hidden, gradient)
        for k in range(weights.shape[0]):
            weights[k] += rate * gradient[k]
    return True
