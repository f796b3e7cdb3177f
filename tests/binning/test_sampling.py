"""The sample of queries: whole, of the size asked for, and the same however the data comes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankinite.binning import sampling


def drawn_one_by_one(sizes):
    """The twin: take the queries in the order of their keys until there are rows enough."""
    keys = sampling.query_keys(len(sizes)).tolist()
    chosen, n_rows = [], 0
    for query in sorted(range(len(sizes)), key=keys.__getitem__):
        if n_rows >= sampling.SAMPLE_ROWS:
            break
        chosen.append(query)
        n_rows += sizes[query]
    return sorted(chosen)


@settings(deadline=None, max_examples=50, derandomize=True)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=40), st.integers(1, 120))
def test_against_the_twin(sizes, wanted):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "SAMPLE_ROWS", wanted)
        found = sampling.sampled_queries(np.array(sizes))
        assert found.tolist() == drawn_one_by_one(sizes)
        limits = [
            int(sampling.largest_key(sampling.query_keys(n), np.array(sizes[:n])))
            for n in range(1, len(sizes) + 1)
        ]
        assert limits == sorted(limits, reverse=True)


def test_the_sample_has_about_the_number_of_rows_asked_for(monkeypatch):
    sizes = np.full(100, 10)
    for wanted, expected in ((2000, 100), (1000, 100), (999, 100), (500, 50), (10, 1), (3, 1)):
        monkeypatch.setattr(sampling, "SAMPLE_ROWS", wanted)
        assert len(sampling.sampled_queries(sizes)) == expected


def test_the_sample_is_spread_over_the_data(monkeypatch):
    monkeypatch.setattr(sampling, "SAMPLE_ROWS", 10_000)
    found = sampling.sampled_queries(np.full(10_000, 10))
    assert len(found) == 1000
    counts = np.histogram(found, bins=10, range=(0, 10_000))[0]
    assert counts.min() > 60
    assert counts.max() < 140
