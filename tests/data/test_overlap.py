"""Shares that overlap: which worker has which, and that they arrive as they were."""

import numpy as np
import pytest

from rankinite.data.overlap import has_share, with_next_shares, with_overlap
from rankinite.data.shares import agreed_share
from tests.distributed.cases import data, dealt
from tests.distributed.test_rows import on_workers


def test_shares_follow_in_a_ring():
    having = [[k for k in range(4) if has_share(worker, k, 1, 4)] for worker in range(4)]
    assert having == [[0, 1], [1, 2], [2, 3], [0, 3]]
    n_rows = np.array([5, 0, 7, 100])
    for overlap in range(4):
        expected = [
            sum(n_rows[k] for k in range(4) if has_share(worker, k, overlap, 4))
            for worker in range(4)
        ]
        assert with_overlap(n_rows, overlap).tolist() == expected


@pytest.mark.parametrize("special", [{}, {"weighted": True}, {"pairs": True}])
@pytest.mark.parametrize(("size", "overlap"), [(2, 0), (2, 1), (3, 1), (3, 2), (5, 2)])
def test_a_worker_has_the_rows_of_the_next_ones(size, overlap, special):
    """With five workers one has none of its own."""
    train, _ = data(**special)
    train = train.that_count()
    scores = np.random.default_rng(0).normal(size=train.n_rows)
    first = dict(zip(train.qids.tolist(), train.offsets, strict=False))

    def scores_of(rows):
        return np.concatenate(
            [np.empty(0)]
            + [
                scores[first[qid] : first[qid] + n]
                for qid, n in zip(rows.qids.tolist(), rows.query_sizes, strict=True)
            ]
        )

    def work(communicator):
        parts = [dealt(train, (communicator.rank + k) % size, size) for k in range(overlap + 1)]
        rows = agreed_share(parts[0], communicator, "the data")
        binned = rows.binned(255, communicator)
        found = with_next_shares(rows, binned, scores_of(rows), overlap, communicator)
        return found, binned.mapper, [part for part in parts if part is not None]

    for (whole, binned, told), mapper, parts in on_workers(size, work):
        assert whole.n_rows == binned.n_rows == len(told) == sum(part.n_rows for part in parts)
        if not parts:
            continue
        assert np.array_equal(told, np.concatenate([scores_of(part) for part in parts]))
        for name in ("y", "weight", "query_weight", "query_sizes"):
            expected = [getattr(part, name) for part in parts]
            if expected[0] is None:
                assert getattr(whole, name) is None
            else:
                assert np.array_equal(getattr(whole, name), np.concatenate(expected)), name
        bins = [part.features.bins_by(mapper, "").blocks for part in parts]
        assert np.array_equal(binned.blocks, np.concatenate(bins, axis=1))
        if train.preferences is None:
            assert whole.preferences is None
            continue
        starts = np.cumsum([0, *(part.n_rows for part in parts)])
        for name in ("first", "other"):
            rows = [
                getattr(part.preferences, name) + start
                for part, start in zip(parts, starts, strict=False)
                if part.preferences is not None
            ]
            assert np.array_equal(getattr(whole.preferences, name), np.concatenate(rows))
