"""The measures under test, each beside its naive twin."""

from __future__ import annotations

from functools import partial

import pytest

from tests.naive import measures as naive

TWINS = {
    "ndcg": naive.ndcg,
    "ndcg@1": partial(naive.ndcg, k=1),
    "ndcg@3": partial(naive.ndcg, k=3),
    "ndcg@4:gain=label": partial(naive.ndcg, k=4, kind="label"),
    "dcg": naive.dcg,
    "dcg@3": partial(naive.dcg, k=3),
    "dcg@2:gain=label": partial(naive.dcg, k=2, kind="label"),
    "avendcg": naive.avendcg,
    "avendcg:depth=1": partial(naive.avendcg, depth=1),
    "avendcg:depth=3": partial(naive.avendcg, depth=3),
    "avendcg:depth=4,gain=label": partial(naive.avendcg, depth=4, kind="label"),
    "err": naive.err,
    "err@3": partial(naive.err, k=3),
    "err@2:max_label=4": partial(naive.err, k=2, max_label=4),
    "err:max_label=4": partial(naive.err, max_label=4),
    "map": naive.ap,
    "map@3": partial(naive.ap, k=3),
    "map:relevant=2": partial(naive.ap, relevant=2),
    "mrr": naive.rr,
    "mrr@2": partial(naive.rr, k=2),
    "mrr@4:relevant=3": partial(naive.rr, k=4, relevant=3),
    "p@1": partial(naive.precision, k=1),
    "p@3": partial(naive.precision, k=3),
    "p@20:relevant=2": partial(naive.precision, k=20, relevant=2),
    "pairs": naive.pairs,
}


def deeper_twin(spec: str, rank: int):
    """The twin of a measure whose cut-off, if it has one above `rank`, is moved there."""
    twin = TWINS[spec]
    cut = None if spec.startswith("p@") else getattr(twin, "keywords", {}).get("k")
    return twin if cut is None or cut >= rank else partial(twin, k=rank)


with_twin = pytest.mark.parametrize(("spec", "twin"), TWINS.items(), ids=list(TWINS))
