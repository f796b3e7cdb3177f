from __future__ import annotations

import pytest

from rankinite.cli.inputs import split_measures


@pytest.mark.parametrize(
    ("text", "measures"),
    [
        ("map", ["map"]),
        ("ndcg@10,map", ["ndcg@10", "map"]),
        ("avendcg:depth=5,gain=label,map", ["avendcg:depth=5,gain=label", "map"]),
        ("err@10:max_label=4,ndcg@5:gain=label", ["err@10:max_label=4", "ndcg@5:gain=label"]),
    ],
)
def test_measures_may_hold_commas(text, measures):
    assert split_measures(text) == measures
