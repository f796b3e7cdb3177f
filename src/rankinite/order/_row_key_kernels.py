"""Kernels that give every document a random number drawn from its content."""

import numpy as np

from rankinite._hash_kernels import mix
from rankinite._numba import kernel


@kernel()
def content_keys(first_query, last_query, words, extras, offsets, keys):
    """Key of each row of some queries from its bins, label and weight, and its query's content.

    Parameters
    ----------
    words : ndarray of uint64, shape (n_blocks, n_rows, 2)
        The bins, eight in a word.
    extras : ndarray of uint64, shape (n_extras, n_rows)
        The bits of what else belongs to a document.
    offsets : ndarray of int64, shape (n_queries + 1,)
    keys : ndarray of uint64, shape (n_rows,)
        Output.
    """
    golden = np.uint64(0x9E3779B97F4A7C15)
    for query in range(first_query, last_query):
        first, last = offsets[query], offsets[query + 1]
        together = np.uint64(0)
        for row in range(first, last):
            key = golden
            for block in range(words.shape[0]):
                key = mix(key ^ words[block, row, 0]) + golden
                key = mix(key ^ words[block, row, 1]) + golden
            for extra in range(extras.shape[0]):
                key = mix(key ^ extras[extra, row]) + golden
            keys[row] = key
            together += key
        for row in range(first, last):
            keys[row] = mix(keys[row] ^ mix(together))


@kernel()
def add_pairs(first, other, terms, keys):
    """Add to the keys of documents what they are compared with, in any order of the pairs.

    Parameters
    ----------
    first, other : ndarray of int64, shape (n_pairs,)
        Rows.
    terms : ndarray of uint64, shape (n_terms, n_pairs)
        The bits of what else belongs to a pair.
    keys : ndarray of uint64, shape (n_rows,)
        Changed in place.
    """
    golden = np.uint64(0x9E3779B97F4A7C15)
    sums = np.zeros(keys.shape[0], np.uint64)
    for pair in range(first.shape[0]):
        i, j = first[pair], other[pair]
        won, lost = mix(keys[j] + golden), mix(mix(keys[i]) + golden)
        for term in range(terms.shape[0]):
            won = mix(won ^ terms[term, pair]) + golden
            lost = mix(lost ^ terms[term, pair]) + golden
        sums[i] += won
        sums[j] += lost
    for row in range(keys.shape[0]):
        keys[row] = mix(keys[row] ^ mix(sums[row]))
