"""The loss beside the λ path itself: gradients, values, layouts, and what it refuses."""

from itertools import pairwise

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from rankinite.errors import DataError, ParameterError, RankiniteWarning  # noqa: E402
from rankinite.lambdas import LambdaGradients  # noqa: E402
from rankinite.measures import measure  # noqa: E402
from rankinite.torch import LambdaLoss  # noqa: E402
from rankinite.torch.loss import _document_keys, _Layout  # noqa: E402
from tests.lambdas.cases import assert_close, some_queries, twin_lambdas  # noqa: E402
from tests.lambdas.test_against_twin import SlowNDCG  # noqa: E402
from tests.measures.cases import TWINS  # noqa: E402
from tests.naive import lambdas as naive  # noqa: E402

SPECS = ["ndcg", "ndcg@3", "err:max_label=4", "map", "mrr", "pairs", SlowNDCG()]
every_measure = pytest.mark.parametrize("spec", SPECS, ids=str)


def queries(seed=0):
    labels, scores = some_queries(seed=seed)
    offsets = np.concatenate([[0], np.cumsum([len(own) for own in labels])])
    return np.concatenate(labels), np.concatenate(scores), offsets


def gradient(loss, scores, *args, dtype=torch.float64, **options):
    """The cost, and −1 times its gradient."""
    loss.round = 0
    scores = torch.as_tensor(scores, dtype=dtype).clone().requires_grad_()
    cost = loss(scores, *args, **options)
    cost.backward()
    return cost.item(), -scores.grad.numpy()


def padded(values, offsets, filler):
    sizes = np.diff(offsets)
    batch = np.full((len(sizes), sizes.max() + 2), filler)
    for query, (first, last) in enumerate(pairwise(offsets)):
        batch[query, : last - first] = values[first:last]
    return batch


@every_measure
@pytest.mark.parametrize(
    "options", [{}, {"sigma": 0.5, "truncation": 2}, {"normalize": True}], ids=str
)
def test_the_gradient_is_minus_lambda(spec, options):
    labels, scores, offsets = queries()
    scores = scores.round(0)  # ties
    layout = _Layout.of(torch.zeros(len(labels)), None, offsets, None)
    keys = _document_keys(layout, None, labels, None)
    own = measure(spec) if isinstance(spec, str) else spec
    expected = LambdaGradients(own, labels, offsets, keys, seed=5, **options)
    for round_number in (0, 1):
        lam, _ = expected(scores, round_number)
        loss = LambdaLoss(spec, seed=5, **options)
        for dtype in (torch.float32, torch.float64):
            loss.round = round_number
            tensor = torch.tensor(scores, dtype=dtype, requires_grad=True)
            cost = loss(tensor, torch.tensor(labels), offsets=offsets)
            (3 * cost).backward()
            assert tensor.grad.dtype == cost.dtype == dtype
            expected_grad = (-3 * torch.from_numpy(lam).to(dtype)).numpy()
            np.testing.assert_array_equal(tensor.grad.numpy(), expected_grad)
            assert cost.item() == pytest.approx(
                expected.costs(scores, round_number).sum(), rel=1e-6
            )


@pytest.mark.parametrize("spec", ["ndcg", "err:max_label=4", "map", "mrr", "pairs"])
def test_the_gradient_is_that_of_the_twin(spec):
    labels, scores = some_queries(seed=1)
    # No ties, so that it does not matter how they are broken.
    scores = [own + 0.001 * np.arange(len(own)) for own in scores]
    lam, w = twin_lambdas(TWINS[spec], labels, scores)
    offsets = np.concatenate([[0], np.cumsum([len(own) for own in labels])])
    _, found = gradient(
        LambdaLoss(spec), np.concatenate(scores), np.concatenate(labels), offsets=offsets
    )
    assert_close((found, w), (lam, w))


@every_measure
def test_padded_flat_and_single_queries_agree(spec):
    labels, scores, offsets = queries(seed=2)
    loss = LambdaLoss(spec, normalize=True)
    cost, flat = gradient(loss, scores, labels, offsets=offsets)
    ids = np.repeat(np.arange(len(offsets) - 1) * 3 % 11, np.diff(offsets))
    assert gradient(loss, scores, labels, qid=torch.from_numpy(ids))[0] == cost
    mask = torch.from_numpy(padded(np.ones(len(labels)), offsets, 0.0)) > 0
    padded_labels = padded(labels, offsets, -7.0)
    for filler in (0.0, np.nan, -np.inf):
        batch_cost, batch = gradient(loss, padded(scores, offsets, filler), padded_labels, mask)
        assert batch_cost == pytest.approx(cost, rel=1e-12)
        np.testing.assert_array_equal(batch[mask.numpy()], flat)
        np.testing.assert_array_equal(batch[~mask.numpy()], 0.0)
    total = 0.0
    for first, last in pairwise(offsets):
        own_cost, own = gradient(loss, scores[first:last], labels[first:last])
        np.testing.assert_array_equal(own, flat[first:last])
        total += own_cost
    assert total == pytest.approx(cost, rel=1e-12)


def test_a_mask_with_holes_and_queries_without_documents():
    loss = LambdaLoss("ndcg")
    scores = np.array([[1.0, 9.0, 0.5, 2.0], [0.0, 1.0, 2.0, 3.0]])
    labels = np.array([[0.0, -1.0, 2.0, 1.0], [-1.0] * 4])
    mask = torch.tensor([[1, 0, 1, 1], [0, 0, 0, 0]])
    cost, lam = gradient(loss, scores, labels, mask)
    own_cost, own = gradient(loss, [1.0, 0.5, 2.0], [0.0, 2.0, 1.0])
    assert cost == pytest.approx(own_cost, rel=1e-12)
    np.testing.assert_array_equal(lam[0, [0, 2, 3]], own)
    assert (lam[1] == 0).all() and lam[0, 1] == 0
    nothing, zeros = gradient(loss, scores, labels, torch.zeros(2, 4))
    assert nothing == 0.0 and (zeros == 0).all()


def test_rows_of_queries_in_any_order():
    labels, scores, offsets = queries(seed=3)
    scores = scores + 0.001 * np.arange(len(scores))
    ids = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    loss = LambdaLoss("ndcg@5")
    cost, lam = gradient(loss, scores, labels, qid=ids)
    order = np.random.default_rng(0).permutation(len(ids))
    with pytest.warns(RankiniteWarning, match="did not lie together"):
        other_cost, other = gradient(loss, scores[order], labels[order], qid=ids[order])
    np.testing.assert_array_equal(other, lam[order])
    assert other_cost == pytest.approx(cost, rel=1e-12)


def test_with_features_the_order_of_tied_documents_does_not_matter():
    rng = np.random.default_rng(4)
    features, labels = rng.normal(size=(2, 12, 3)), rng.integers(0, 3, (2, 12)).astype(float)
    loss, scores = LambdaLoss("ndcg@4"), np.zeros((2, 12))
    _, lam = gradient(loss, scores, labels, features=torch.from_numpy(features))
    order = rng.permutation(12)
    _, other = gradient(loss, scores, labels[:, order], features=features[:, order])
    np.testing.assert_array_equal(other, lam[:, order])
    _, by_place = gradient(loss, scores, labels)
    _, moved = gradient(loss, scores, labels[:, order])
    assert not np.array_equal(moved, by_place[:, order])


def test_ties_are_shuffled_anew_in_every_round():
    loss, labels = LambdaLoss("ndcg@2", seed=1), np.array([2.0, 1.0, 0.0, 0.0, 1.0])
    found = []
    for _ in range(20):
        scores = torch.zeros(5, requires_grad=True)
        loss(scores, labels).backward()
        found.append(tuple(scores.grad.tolist()))
    assert loss.round == 20 and len(set(found)) > 5


@pytest.mark.parametrize("spec", ["ndcg", "ndcg@3", "err:max_label=4", "map", "mrr", "pairs"])
def test_finite_differences_of_the_value(spec):
    """With |ΔZ| as it is at the scores; the ranking does not change within the step."""
    labels = np.array([4.0, 0.0, 2.0, 1.0, 0.0, 3.0])
    scores = np.array([0.3, 1.1, -0.4, 0.7, -1.2, 0.1])
    loss = LambdaLoss(spec, sigma=1.5)
    cost, lam = gradient(loss, scores, labels)
    order = np.argsort(-scores)
    weight = naive.pair_weights(TWINS[spec], labels, order)
    assert cost == pytest.approx(naive.pair_cost(weight, labels, scores, order, 1.5), rel=1e-9)
    step = 1e-5
    for document in range(6):
        below, above = (
            gradient(loss, scores + shift * np.eye(6)[document], labels)[0]
            for shift in (-step, step)
        )
        assert lam[document] == pytest.approx((below - above) / (2 * step), abs=1e-5)


def test_the_cost_falls_on_the_way_along_the_gradient():
    labels, scores, offsets = queries(seed=6)
    loss = LambdaLoss("ndcg")
    costs = []
    for _ in range(30):
        cost, lam = gradient(loss, scores, labels, offsets=offsets)
        costs.append(cost)
        scores = scores + lam
    assert costs[-1] < 0.5 * costs[0]


def test_weights():
    labels, scores, offsets = queries(seed=7)
    rng = np.random.default_rng(0)
    weight, query_weight = rng.uniform(0, 2, len(labels)), rng.uniform(0, 2, len(offsets) - 1)
    loss = LambdaLoss("err:max_label=4")
    scores = scores + 0.001 * np.arange(len(scores))
    cost, lam = gradient(loss, scores, labels, offsets=offsets)
    spread = np.repeat(query_weight, np.diff(offsets))
    _, found = gradient(
        loss, scores, labels, offsets=offsets, weight=weight, query_weight=query_weight
    )
    np.testing.assert_allclose(found, lam * weight * spread, rtol=1e-13)
    doubled, _ = gradient(
        loss, scores, labels, offsets=offsets, query_weight=np.full(len(query_weight), 2.0)
    )
    assert doubled == pytest.approx(2 * cost, rel=1e-12)


def test_half_precision_and_views():
    labels = torch.tensor([[0, 1, 2], [1, 0, 0]])
    scores = torch.tensor([[0.5, 0.25, -1.0], [0.0, 1.0, 2.0]])
    loss = LambdaLoss("ndcg")
    _, lam = gradient(loss, scores, labels)
    for dtype in (torch.bfloat16, torch.float16):
        loss.round = 0
        low = scores.to(dtype).requires_grad_()
        loss(low, labels).backward()
        assert low.grad.dtype == dtype
        np.testing.assert_allclose(-low.grad.float().numpy(), lam, rtol=0.01)
    loss.round = 0
    wide = torch.zeros(3, 4, dtype=torch.float64)
    wide[:, ::2] = scores.T.double()
    wide.requires_grad_()
    loss(wide[:, ::2].T, labels).backward()
    np.testing.assert_array_equal(-wide.grad[:, ::2].T.numpy(), lam)


def test_scores_that_are_not_finite_give_nan_as_in_pytorch():
    for bad in (np.nan, np.inf):
        cost, lam = gradient(LambdaLoss("ndcg"), [1.0, bad, 0.0], [1, 0, 2])
        assert np.isnan(cost) and np.isnan(lam).all()


def test_what_is_refused():
    loss, five = LambdaLoss(), torch.zeros(5)
    wrong = [
        ((five, np.zeros(4)), {}, r"labels has shape \(4,\), but the scores have \(5,\)"),
        ((five, [0, 1, np.nan, 0, 0]), {}, "labels has NaN or infinity"),
        ((five, np.zeros(5)), {"offsets": [0, 4]}, "offsets must rise from 0 to .* 5"),
        ((five, np.zeros(5)), {"offsets": [0, 4, 3, 5]}, "offsets must rise"),
        ((five, np.zeros(5)), {"qid": [1, 1]}, r"qid has shape \(2,\)"),
        ((five, np.zeros(5)), {"qid": [1] * 5, "offsets": [0, 5]}, "both"),
        ((five, np.zeros(5), np.ones(5)), {}, "mask goes with a padded batch"),
        ((torch.zeros(2, 5), np.zeros((2, 5))), {"qid": [1, 2]}, r"the scores have shape \(2, 5\)"),
        ((torch.zeros(2, 5), np.zeros((2, 5)), np.ones((5, 2))), {}, "mask has shape"),
        ((torch.zeros(5, 1), np.zeros((5, 1))), {}, r"pass scores.squeeze\(-1\)"),
        ((torch.zeros(1, 2, 3), np.zeros((1, 2, 3))), {}, "the scores have shape"),
        ((five, np.zeros(5)), {"weight": [1, 1, 1, 1, -1]}, "weight is -1.0 in row 4"),
        ((five, np.zeros(5)), {"query_weight": [1, 1]}, "query_weight has 2 values"),
        ((five, np.zeros(5)), {"features": np.zeros((4, 2))}, "features has shape"),
        ((five, [0, -1, 0, 0, 0]), {}, "needs labels of 0 or more"),
    ]
    for args, options, message in wrong:
        with pytest.raises(DataError, match=message):
            loss(*args, **options)
    for options in ({"sigma": 0}, {"truncation": 0}, {"normalize": 1}, {"seed": -1}):
        with pytest.raises(ParameterError, match=next(iter(options))):
            LambdaLoss(**options)
    with pytest.raises(ParameterError, match=r"err@10 takes its scale .*err@10:max_label=4"):
        LambdaLoss("err@10")
    with pytest.raises(ParameterError, match="ndgc"):
        LambdaLoss("ndgc@10")


def test_one_column_of_scores_is_a_vector():
    labels, scores, offsets = queries(seed=8)
    loss = LambdaLoss("map")
    expected = gradient(loss, scores, labels, offsets=offsets)
    found = gradient(loss, scores[:, None], labels, offsets=offsets)
    assert found[0] == expected[0]
    np.testing.assert_array_equal(found[1][:, 0], expected[1])


def test_it_prints_its_parameters():
    assert repr(LambdaLoss("map", sigma=2.0)) == (
        "LambdaLoss('map', sigma=2.0, truncation=None, normalize=False, seed=0)"
    )
