import doctest
import importlib

import numpy as np
import pytest

import rankinite as rk
from rankinite.errors import ParameterError

artificial_module = importlib.import_module("rankinite.data.artificial")
SMALL = {"n_docs": 10, "n_features": 12}


def same(a, b):
    return a.X.tobytes() == b.X.tobytes() and a.y.tobytes() == b.y.tobytes()


def test_shapes_and_types():
    train, test = rk.artificial(n_queries=(30, 20), **SMALL)
    assert (train.n_rows, train.n_queries, train.n_features) == (300, 30, 12)
    assert (test.n_rows, test.n_queries) == (200, 20)
    assert train.X.dtype == np.float32
    assert train.X.min() >= -1 and train.X.max() <= 1
    assert abs(train.X.mean()) < 0.05
    assert (train.query_sizes == 10).all()
    one = rk.artificial(n_queries=30, **SMALL)
    assert same(one, train)
    assert isinstance(rk.artificial(n_queries=[5], **SMALL), tuple)


def test_labels_have_the_declared_shares():
    data = rk.artificial(n_queries=4000, **SMALL)
    shares = np.bincount(data.y.astype(int), minlength=5) / data.n_rows
    # Three standard errors of both the data and the reference sample stay below 0.015.
    np.testing.assert_allclose(shares, artificial_module.LABEL_SHARES, atol=0.015)


def test_the_polynomial_against_its_formula():
    polynomial = artificial_module._Polynomial.draw(6, 40, random_state=3, market=0, shared=1.0)
    X = np.random.default_rng(0).uniform(-1, 1, size=(9000, 6)).astype(np.float32)
    values = polynomial(X)
    degrees = set()
    for row in (0, 5000, 8999):
        expected = 0.0
        for factors, coefficient in zip(polynomial.factors, polynomial.coefficients, strict=True):
            chosen = [float(X[row, feature]) for feature in factors if feature < 6]
            degrees.add(len(chosen))
            expected += coefficient * np.prod(chosen)
        assert values[row] == pytest.approx(expected, abs=1e-12)
    assert degrees == {1, 2, 3}
    assert len(polynomial.coefficients) == 40
    assert np.abs(polynomial.coefficients).max() <= 1


def test_the_same_arguments_give_the_same_bytes():
    first = rk.artificial(n_queries=(20, 10), random_state=1, label_noise=0.1, **SMALL)
    second = rk.artificial(n_queries=(20, 10), random_state=1, label_noise=0.1, **SMALL)
    other = rk.artificial(n_queries=(20, 10), random_state=2, label_noise=0.1, **SMALL)
    assert all(map(same, first, second))
    assert not any(map(same, first, other))


def test_parts_are_independent_and_do_not_depend_on_each_other():
    train, test = rk.artificial(n_queries=(20, 20), **SMALL)
    assert not np.array_equal(train.X, test.X)
    assert same(rk.artificial(n_queries=(500, 20), **SMALL)[1], test)


def test_noise_moves_labels_by_one_step():
    clean = rk.artificial(n_queries=1000, **SMALL)
    noisy = rk.artificial(n_queries=1000, label_noise=0.3, **SMALL)
    assert np.array_equal(clean.X, noisy.X)
    steps = noisy.y - clean.y
    assert set(steps) == {-1, 0, 1}
    assert set(noisy.y) == {0, 1, 2, 3, 4}
    inner = (clean.y > 0) & (clean.y < 4)  # where no step is clipped
    assert (steps[inner] != 0).mean() == pytest.approx(0.3, abs=0.03)
    assert (steps[inner] > 0).mean() == pytest.approx(0.15, abs=0.03)


def draw(market, shared):
    return artificial_module._Polynomial.draw(12, 100, random_state=0, market=market, shared=shared)


def test_markets_share_monomials():
    for shared, n_shared in ((1.0, 100), (0.7, 70), (0.0, 0)):
        a, b = draw(1, shared), draw(2, shared)
        equal = (a.factors == b.factors).all(axis=1) & (a.coefficients == b.coefficients)
        assert equal.sum() == n_shared
    assert np.array_equal(draw(1, 0.7).coefficients[:70], draw(2, 1.0).coefficients[:70])


def test_markets_have_documents_of_their_own():
    a = rk.artificial(n_queries=50, market=0, **SMALL)
    b = rk.artificial(n_queries=50, market=1, **SMALL)
    assert not np.array_equal(a.X, b.X)
    same_cuts = draw(0, 1.0).cut_points(0, 1.0), draw(1, 1.0).cut_points(0, 1.0)
    assert np.array_equal(*same_cuts)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_queries": 0}, "n_queries must be an integer of at least 1, got 0"),
        ({"n_queries": (5, 2.5)}, "n_queries must be an integer of at least 1, got 2.5"),
        ({"n_docs": 0}, "n_docs must be an integer of at least 1"),
        ({"n_features": 0}, "n_features must be an integer of at least 1"),
        ({"n_terms": 0}, "n_terms must be an integer of at least 1"),
        ({"label_noise": 1.5}, "label_noise must lie between 0 and 1, got 1.5"),
        ({"shared": -0.1}, "shared must lie between 0 and 1, got -0.1"),
        ({"random_state": -1}, "random_state must be an integer of at least 0, got -1"),
        ({"market": -1}, "market must be an integer of at least 0, got -1"),
    ],
)
def test_parameters(arguments, message):
    with pytest.raises(ParameterError, match=message):
        rk.artificial(**{"n_queries": 2, **arguments})


def test_examples_of_the_documentation():
    assert doctest.testmod(artificial_module).failed == 0


def test_wider_documents_give_higher_degrees_more_weight():
    """At √3 every monomial has variance 1, so a linear fit explains less."""

    def explained(width):
        data = rk.artificial(n_queries=200, n_docs=50, n_features=20, width=width)
        assert np.abs(data.X).max() <= np.float32(width)
        assert data.X.std() == pytest.approx(width / np.sqrt(3), rel=0.01)
        design = np.column_stack([data.X, np.ones(data.n_rows)])
        fit = design @ np.linalg.lstsq(design, data.y, rcond=None)[0]
        return np.var(fit) / np.var(data.y)

    assert explained(3**0.5) < 0.7 * explained(1.0)
    for width in (0, -1, np.nan, np.inf):
        with pytest.raises(ParameterError, match="width must be a number above 0"):
            rk.artificial(n_queries=2, width=width)
