"""The cost model of docs/scaling.md: calls and bytes of a tree, as the communicator counts them."""

from itertools import pairwise

import numpy as np
import pytest

import rankinite as rk
from tests.distributed.cases import ALL_ROWS, dealt
from tests.distributed.test_rows import on_workers

pytestmark = pytest.mark.filterwarnings("ignore:worker . is to have")
BLOCK_BYTES = 16 * 256 * 8
EXPONENTS, CLASSES, LIMBS = 2048 * 8, 2**14 * 8, 71 * 8
# How far scores explain the labels: two sums.
SQUARES = 2 * LIMBS


def by_rows(size, n_blocks, leaves, drawn=False, measures=0):
    """Calls and bytes of a tree for a worker."""
    searches = [1, *[2] * (leaves - 2)]
    calls, n_bytes = 2 * len(searches), len(searches) * n_blocks * BLOCK_BYTES
    n_bytes += sum(size * nodes * 5 * 8 for nodes in searches)
    # Squares; λ and w; leaves: rows, λ, w; whether a callback ends the run.
    calls, n_bytes = calls + 1 + 2 + 3 + 1, n_bytes + SQUARES + 2 * EXPONENTS + 3 * 8 * leaves + 8
    if drawn:
        # How many queries, twice, and rows; classes of importance; λ and w of what is drawn.
        calls, n_bytes = calls + 3 + 1 + 2, n_bytes + 3 * 8 + CLASSES + 2 * EXPONENTS
        # λ and w of the leaves again, of the queries that confirm the steps.
        n_bytes += 2 * 8 * leaves
    else:
        # Rows of the root.
        calls, n_bytes = calls + 1, n_bytes + 8
    return calls + 2 * measures, n_bytes + 2 * measures * LIMBS


def by_rows_symmetric(size, n_blocks, leaves, measures=0):
    """The same for a symmetric tree, whose levels are all split whole."""
    # Of every level the sibling of each node is counted, and the root.
    levels = leaves.bit_length() - 1
    n_histograms, n_nodes = leaves // 2, leaves - 1
    calls, n_bytes = n_histograms + 2 * levels, n_histograms * n_blocks * BLOCK_BYTES
    # The best split of each level, and what it does to every node.
    n_bytes += levels * size * 5 * 8 + n_nodes * 5 * 8
    calls, n_bytes = calls + 1 + 2 + 3 + 1, n_bytes + SQUARES + 2 * EXPONENTS + 3 * 8 * leaves + 8
    # Rows of the root; measures.
    return calls + 1 + 2 * measures, n_bytes + 8 + 2 * measures * LIMBS


def by_trees(size, leaves, full, grows, measures=0):
    """The same where one worker grows a tree, or each grows one."""
    n_trees = size if full else 1
    # The tree; λ and w; the leaves of all trees: rows, λ, w; whether a callback ends the run.
    calls, n_bytes = 1 + 2 + 1 + 1, 2 * EXPONENTS + 3 * 8 * leaves * n_trees + 8
    if grows:
        n_bytes += 4 + 22 * (leaves - 1)
    if full:
        # By how much each tree raises the measure.
        calls, n_bytes = calls + 1, n_bytes + n_trees * LIMBS
    return calls + 2 * measures, n_bytes + 2 * measures * LIMBS


def traffic_of_trees(size, leaves, n_docs, settings, **options):
    """Calls and bytes of the second tree and the third, on each worker."""
    train, valid = rk.artificial(n_queries=(30, 9), n_docs=n_docs, n_features=20)

    class Count:
        def __init__(self, communicator):
            self.communicator, self.seen = communicator, []

        def after_round(self, run):
            total = self.communicator.traffic.total
            self.seen.append((total.calls, total.bytes))

        def finish(self, run):
            pass

    def work(communicator):
        place = communicator.rank, communicator.size
        count = Count(communicator)
        learner = rk.LambdaMART(
            n_estimators=3, max_leaf_nodes=leaves, min_samples_leaf=1, **settings
        )
        learner.fit(
            dealt(train, *place),
            valid=dealt(valid, *place),
            callbacks=[count],
            communicator=communicator,
            **options,
        )
        assert (np.diff(learner.forest_.leaf_offsets) == leaves).all()
        return [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(count.seen)]

    return on_workers(size, work)


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("n_docs", [12, 60])
@pytest.mark.parametrize(("size", "leaves"), [(2, 4), (3, 7)])
def test_traffic_of_a_tree(size, leaves, n_docs, drawn):
    expected = by_rows(size, 2, leaves, drawn, measures=1)
    settings = {"growth": "best_first", **({} if drawn else ALL_ROWS)}
    for found in traffic_of_trees(size, leaves, n_docs, settings):
        assert found == [expected, expected]


@pytest.mark.parametrize(("size", "leaves"), [(2, 4), (3, 8)])
def test_traffic_of_a_symmetric_tree(size, leaves):
    expected = by_rows_symmetric(size, 2, leaves, measures=1)
    for found in traffic_of_trees(size, leaves, 60, {"growth": "symmetric", **ALL_ROWS}):
        assert found == [expected, expected]


@pytest.mark.parametrize("overlap", [0, 1])
@pytest.mark.parametrize("n_docs", [12, 60])
@pytest.mark.parametrize(("size", "leaves"), [(3, 4), (4, 7)])
def test_traffic_of_a_tree_of_one_worker(size, leaves, n_docs, overlap):
    options = {"distribute": "trees", "overlap": overlap}
    found = traffic_of_trees(size, leaves, n_docs, {}, select="full", **options)
    expected = by_trees(size, leaves, True, True, measures=1)
    assert found == [[expected, expected]] * size

    found = traffic_of_trees(size, leaves, n_docs, {}, select="sample", **options)
    grows, waits = (by_trees(size, leaves, False, each, measures=1) for each in (True, False))
    for tree in range(2):
        of_workers = [each[tree] for each in found]
        assert of_workers.count(grows) == 1 and of_workers.count(waits) == size - 1
