"""The built-in measures against pytrec_eval and ir_measures, on runs without ties."""

import shutil

import ir_measures
import numpy as np
import pytest
import pytrec_eval

from rankinite import Dataset
from rankinite.measures import evaluate


@pytest.fixture(scope="module")
def dataset_and_scores():
    rng = np.random.default_rng(21)
    sizes = rng.integers(1, 60, 80)
    qid = np.repeat(np.arange(100, 180), sizes)
    y = rng.choice(5, size=len(qid), p=[0.5, 0.2, 0.15, 0.1, 0.05])
    y[np.concatenate([[0], np.cumsum(sizes)[:-1]])] = 1  # no query is blank
    # No two scores share a float32, which is what pytrec_eval keeps of them.
    scores = rng.permutation(len(qid)).astype(np.float64)
    return Dataset(rng.normal(size=(len(qid), 2)), y, qid=qid), scores


def as_trec(dataset, values, kind):
    """Values by query and document, as both libraries take them."""
    out = {}
    for q, qid in enumerate(dataset.qids):
        rows = range(dataset.offsets[q], dataset.offsets[q + 1])
        out[str(qid)] = {f"d{row}": kind(values[row]) for row in rows}
    return out


@pytest.mark.parametrize(
    ("ours", "theirs", "key", "grade"),
    [
        ("ndcg:gain=label", "ndcg", "ndcg", int),
        ("ndcg@10:gain=label", "ndcg_cut.10", "ndcg_cut_10", int),
        # pytrec_eval's gain is the judgement itself, so it is given 2^label - 1.
        ("ndcg", "ndcg", "ndcg", lambda label: 2 ** int(label) - 1),
        ("ndcg@5", "ndcg_cut.5", "ndcg_cut_5", lambda label: 2 ** int(label) - 1),
        ("map", "map", "map", int),
        ("map:relevant=2", "map", "map", lambda label: int(label >= 2)),
        ("map@10", "map_cut.10", "map_cut_10", int),
        ("mrr", "recip_rank", "recip_rank", int),
        ("mrr:relevant=3", "recip_rank", "recip_rank", lambda label: int(label >= 3)),
        ("p@5", "P.5", "P_5", int),
        ("p@30", "P.30", "P_30", int),
    ],
)
def test_equal_to_pytrec_eval(dataset_and_scores, ours, theirs, key, grade):
    dataset, scores = dataset_and_scores
    oracle = pytrec_eval.RelevanceEvaluator(as_trec(dataset, dataset.y, grade), {theirs})
    expected = oracle.evaluate(as_trec(dataset, scores, float))
    values = evaluate(scores, dataset, ours, blank="zero").per_query[ours]
    for qid, value in zip(dataset.qids, values, strict=True):
        assert value == pytest.approx(expected[str(qid)][key], abs=1e-9), qid


@pytest.mark.skipif(shutil.which("perl") is None, reason="the ERR of ir_measures needs perl")
@pytest.mark.parametrize(("ours", "k"), [("err@10:max_label=4", 10), ("err@3:max_label=4", 3)])
def test_err_equal_to_ir_measures(dataset_and_scores, ours, k):
    dataset, scores = dataset_and_scores
    qrels = as_trec(dataset, dataset.y, int)
    run = as_trec(dataset, scores, float)
    # gdeval's ERR has the top of the scale at 4: R = (2^label - 1)/2^4, five digits.
    expected = {
        m.query_id: m.value for m in ir_measures.iter_calc([ir_measures.ERR @ k], qrels, run)
    }
    values = evaluate(scores, dataset, ours).per_query[ours]
    for qid, value in zip(dataset.qids, values, strict=True):
        assert value == pytest.approx(expected[str(qid)], abs=1.01e-5), qid
