"""The cost whose gradient the λs are, and the λs of some of the queries."""

import numpy as np
import pytest

from rankinite._numba import threads
from rankinite.order.seeds import derive_seed
from tests.lambdas.cases import gradients, random_keys, some_queries
from tests.lambdas.test_against_twin import SlowNDCG
from tests.measures.cases import TWINS, with_twin
from tests.naive import lambdas as naive
from tests.naive import measures as naive_measures


def twin_costs(twin, labels, scores, weights=None, round_number=0, **options):
    keys = random_keys(sum(map(len, labels)))
    found, first = [], 0
    for own_labels, own_scores in zip(labels, scores, strict=True):
        last = first + len(own_labels)
        order = naive.ranking(own_scores, keys[first:last], derive_seed(0, round_number, "ties"))
        own = None if weights is None else weights[first:last]
        found.append(naive.cost(twin, own_labels, own_scores, order, weights=own, **options))
        first = last
    return found


def costs(spec, labels, scores, **options):
    found = gradients(spec, labels, **options)
    flat = np.concatenate(scores)
    return found.costs(flat, 0)


@with_twin
@pytest.mark.parametrize("normalize", [False, True])
def test_every_measure_equals_its_twin(spec, twin, normalize):
    labels, scores = some_queries()
    for sigma in (0.1, 3.0):
        found = costs(spec, labels, scores, sigma=sigma, normalize=normalize)
        expected = twin_costs(twin, labels, scores, sigma=sigma, normalize=normalize)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("spec", ["ndcg", "ndcg@3", "err", "map@3", "mrr", "pairs", "avendcg"])
@pytest.mark.parametrize("normalize", [False, True])
def test_scores_far_apart(spec, normalize):
    """Some leads are longer than a float's exponential reaches, others in the same query not."""
    labels = [np.array([0.0, 4.0, 2.0, 1.0, 3.0, 0.0])]
    scores = [np.array([1e4, 9e3, 9e3 + 1, 0.0, 2.0, -1e300 if normalize else -2e4])]
    found = costs(spec, labels, scores, normalize=normalize)
    expected = twin_costs(TWINS[spec], labels, scores, normalize=normalize)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("spec", ["ndcg", "err", "map", "pairs"])
@pytest.mark.parametrize("options", [{"truncation": 2}, {"truncation": 3, "normalize": True}])
def test_truncation(spec, options):
    labels, scores = some_queries(seed=1)
    top = {"top": options["truncation"], "normalize": options.get("normalize", False)}
    expected = twin_costs(TWINS[spec], labels, scores, **top)
    np.testing.assert_allclose(costs(spec, labels, scores, **options), expected, rtol=1e-9)


@pytest.mark.parametrize("spec", ["ndcg", "err", SlowNDCG()])
def test_a_pair_has_the_mean_of_the_weights_of_its_documents(spec):
    labels, scores = some_queries(seed=2)
    n_rows = sum(map(len, labels))
    weight = np.random.default_rng(3).uniform(0, 2, n_rows)
    query_weight = np.arange(1.0, len(labels) + 1)
    twin = TWINS[spec] if isinstance(spec, str) else naive_measures.ndcg
    found = costs(spec, labels, scores, weight=weight, query_weight=query_weight)
    expected = query_weight * twin_costs(twin, labels, scores, weights=weight)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"truncation": 2}, {"normalize": True, "sigma": 2.0}])
def test_a_measure_written_in_python_costs_what_the_built_in_does(options):
    labels, scores = some_queries(seed=4)
    own, built_in = (costs(spec, labels, scores, **options) for spec in (SlowNDCG(), "ndcg"))
    np.testing.assert_allclose(own, built_in, rtol=1e-9)


@pytest.mark.parametrize("spec", ["ndcg", "ndcg@5", "err@10:max_label=4", "map", SlowNDCG()])
def test_selected_queries_have_the_gradients_that_they_have_among_all(spec):
    rng = np.random.default_rng(5)
    labels = [rng.integers(0, 4, n).astype(float) for n in (3, 7, 1, 12, 5, 4, 9)]
    scores = [rng.normal(size=len(own)).round(1) for own in labels]
    weights = {"weight": rng.uniform(0, 2, 41), "query_weight": rng.uniform(0, 2, 7)}
    flat = np.concatenate(scores)
    whole = gradients(spec, labels, truncation=4, **weights)
    lam, w = whole(flat, 3)
    of_queries = whole.costs(flat, 3)
    borders = whole.offsets[1:-1]
    for chosen in ([4], [5, 0, 2], [2], [1, 1, 6]):
        part = whole.select(np.array(chosen))
        some = np.concatenate([scores[query] for query in chosen])
        found = part(some, 3)
        for a, b in zip(found, (lam, w), strict=True):
            expected = np.concatenate([np.split(b, borders)[query] for query in chosen])
            np.testing.assert_array_equal(a, expected)
        np.testing.assert_allclose(part.costs(some, 3), of_queries[chosen], rtol=1e-12)


@pytest.mark.parametrize("spec", ["ndcg", "ndcg@3", "err", "map", "pairs", SlowNDCG()], ids=str)
@pytest.mark.parametrize("options", [{}, {"truncation": 3}, {"normalize": True}], ids=str)
def test_costs_are_those_of_the_scores_whatever_was_computed_before(spec, options):
    twin = TWINS[spec] if isinstance(spec, str) else naive_measures.ndcg
    labels, scores = some_queries(seed=7, largest=20)
    flat, others = np.concatenate(scores), -np.concatenate(scores)
    in_twin = {"top": options.get("truncation"), "normalize": options.get("normalize", False)}
    found = gradients(spec, labels, **options)
    for round_number in (0, 1):
        expected = twin_costs(twin, labels, scores, round_number=round_number, **in_twin)
        # Before any λs in the first round, after those at other scores in the second.
        np.testing.assert_allclose(found.costs(flat, round_number), expected, rtol=1e-9)
        found(others, round_number)
        np.testing.assert_allclose(found.costs(flat, round_number), expected, rtol=1e-9)
        found(others, 1 - round_number)


@pytest.mark.parametrize("spec", ["ndcg", "ndcg@3", "err", "map", "pairs", SlowNDCG()], ids=str)
def test_lambdas_with_their_costs_are_both(spec):
    labels, scores = some_queries(seed=8, largest=20)
    flat = np.concatenate(scores)
    weights = {"weight": np.random.default_rng(9).uniform(0, 2, len(flat))}
    lam, w, found = gradients(spec, labels, **weights).with_costs(flat, 2)
    np.testing.assert_array_equal((lam, w), gradients(spec, labels, **weights)(flat, 2))
    np.testing.assert_array_equal(found, gradients(spec, labels, **weights).costs(flat, 2))


@pytest.mark.parametrize("spec", ["ndcg@3", "map", SlowNDCG()], ids=str)
def test_lambdas_of_one_query_are_those_among_all(spec):
    labels, scores = some_queries(seed=10)
    flat = np.concatenate(scores)
    whole = gradients(spec, labels)
    lam, w = whole(flat, 1)
    at = whole.round(flat, 1, *np.full((2, len(flat)), np.nan))
    for query in range(len(labels)):
        whole.write_query(query, at)
    np.testing.assert_array_equal((at.lam, at.curvature), (lam, w))


def test_costs_do_not_depend_on_threads():
    rng = np.random.default_rng(6)
    labels = [rng.integers(0, 5, 700).astype(float) for _ in range(9)]
    scores = [rng.normal(size=700) for _ in range(9)]
    found = []
    for n_threads in (1, 2):
        with threads(n_threads):
            found.append(costs("ndcg@10", labels, scores))
    np.testing.assert_array_equal(*found)
