"""Kernels that rank a query for its λs: by score, and equal scores by a seeded shuffle."""

import numpy as np

from rankinite._hash_kernels import mix
from rankinite._numba import BORROWS, kernel
from rankinite.measures._sorting_kernels import descending, sort_by_key

# Down to this rank, the best documents are found by insertion instead of a whole sort.
SMALL_TOP = 64
# So many times the bound of their scores is brought nearer, or until there are so few more.
BISECTIONS, FEW = 8, 6


@kernel(**BORROWS)
def rank_documents(scores, row_keys, seed, depth, order, spare):
    """Sort `order` by descending score, ties by a shuffle; at least its first `depth` places.

    It starts from the order it had: scores move little from one tree to the next. `spare` is of
    int64 and of shape (3, ≥ n).
    """
    if depth <= min(SMALL_TOP, order.shape[0] // 2):
        n_near = _bring_up(scores, depth, order, spare[0].view(np.int32))
        _rank_top(scores, row_keys, seed, depth, order[:n_near])
    else:
        _rank_all(scores, row_keys, seed, order, spare)


@kernel(**BORROWS)
def _reaching(scores, bound):
    """How many scores are at least `bound`."""
    count = 0
    for k in range(scores.shape[0]):
        count += scores[k] >= bound
    return count


@kernel(**BORROWS)
def _bound_of_top(scores, depth, order):
    """A score that at least `depth` documents reach, and not many more if few are tied.

    Minus infinity if those that were the best have hardly changed.
    """
    bound, above = scores[order[0]], scores[order[0]]
    for p in range(1, depth):
        bound = min(bound, scores[order[p]])
        above = max(above, scores[order[p]])
    if _reaching(scores, bound) <= depth + FEW:
        return -np.inf
    for _ in range(BISECTIONS):
        middle = 0.5 * bound + 0.5 * above
        count = _reaching(scores, middle)
        if count < depth:
            above = middle
        else:
            bound = middle
            if count <= depth + FEW:
                break
    return bound


@kernel(**BORROWS)
def _bring_up(scores, depth, order, rest):
    """Bring documents to the front of which `depth` are the best; returns their number."""
    bound = _bound_of_top(scores, depth, order)
    if bound == -np.inf:
        return order.shape[0]
    n_near, n_far = 0, 0
    for p in range(order.shape[0]):
        document = order[p]
        near = scores[document] >= bound
        order[n_near] = document
        rest[n_far] = document
        n_near += near
        n_far += not near
    for p in range(n_far):
        order[n_near + p] = rest[p]
    return n_near


@kernel(**BORROWS)
def _rank_top(scores, row_keys, seed, depth, order):
    """Insert each document that belongs among the first `depth`; what it pushes out goes on."""
    lowest = -np.inf
    for i in range(order.shape[0]):
        document = order[i]
        score = scores[document]
        if score < lowest:
            continue
        key = mix(row_keys[document] ^ seed)
        j = min(i, depth)
        while j > 0:
            other = order[j - 1]
            higher = scores[other]
            if higher > score or (higher == score and mix(row_keys[other] ^ seed) <= key):
                break
            if j < depth:
                order[j] = other
            else:
                order[i] = other
            j -= 1
        if j < depth:
            order[j] = document
        if i + 1 >= depth:
            lowest = scores[order[depth - 1]]


@kernel(**BORROWS)
def _rank_all(scores, row_keys, seed, order, spare):
    n = order.shape[0]
    keys, spare_keys, spare_order = spare[0], spare[1], spare[2].view(np.int32)
    for i in range(n):
        keys[i] = descending(scores[order[i]])
    sort_by_key(keys[:n], order, spare_keys, spare_order)
    start = 0
    while start < n:
        end = start + 1
        while end < n and keys[end] == keys[start]:
            end += 1
        if end > start + 1:
            for i in range(start, end):
                # The highest bit turned round, signed integers sort as the unsigned ones did.
                keys[i] = np.int64(mix(row_keys[order[i]] ^ seed) ^ np.uint64(2**63))
            sort_by_key(keys[start:end], order[start:end], spare_keys, spare_order)
        start = end
