"""λs at noisy scores: the noise itself, and the mean over its draws."""

import numpy as np
import pytest

from rankinite.lambdas._noise_kernels import GUMBEL, perturb
from rankinite.order.seeds import derive_seed
from tests.lambdas.cases import assert_close, gradients, random_keys, some_queries, twin_lambdas
from tests.measures.cases import TWINS
from tests.naive.lambdas import mix

MASK = 2**64 - 1


def noise_by_hand(keys, seed, draw):
    """The noise of each key: a word for four draws, of which a draw takes the top 12 of 16 bits."""
    word_seed = mix((int(seed) + (1 + draw // 4) * 0x9E3779B97F4A7C15) & MASK)
    places = [(mix(int(key) ^ word_seed) >> (16 * (draw % 4) + 4)) & 4095 for key in keys]
    return np.array([float(GUMBEL[place]) for place in places])


def noise_of(keys, seed, draw):
    noisy = np.empty(len(keys))
    perturb(np.zeros(len(keys)), keys, seed, draw, 1.0, noisy)
    return noisy


@pytest.mark.parametrize("draw", [0, 1, 3, 4, 9])
def test_equals_the_noise_by_hand(draw):
    keys, seed = random_keys(50), derive_seed(3, 7, "ties")
    assert noise_of(keys, seed, draw).tobytes() == noise_by_hand(keys, seed, draw).tobytes()


def test_it_is_gumbel_noise():
    """Mean γ = 0.5772, variance π²/6, and draws know nothing of each other."""
    keys = random_keys(200_000)
    draws = np.stack([noise_of(keys, derive_seed(0, 0, "ties"), draw) for draw in range(6)])
    assert draws.mean(axis=1) == pytest.approx(np.full(6, 0.5772), abs=0.01)
    assert draws.var(axis=1) == pytest.approx(np.full(6, np.pi**2 / 6), rel=0.02)
    correlations = np.corrcoef(draws) - np.eye(6)
    assert np.abs(correlations).max() < 0.01
    other = noise_of(keys, derive_seed(0, 1, "ties"), 0)
    assert abs(np.corrcoef(draws[0], other)[0, 1]) < 0.01


@pytest.mark.parametrize("spec", ["ndcg@3", "err", "map", "mrr", "pairs", "p@3", "avendcg"])
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("n_draws", [1, 5])
def test_the_mean_of_the_twin_over_the_draws(spec, normalize, n_draws):
    labels, scores = some_queries(seed=2)
    sigma, noise = 0.7, 1.3
    keys, seed = random_keys(sum(map(len, labels))), derive_seed(0, 5, "ties")
    found = gradients(spec, labels, sigma=sigma, normalize=normalize, noise=noise, n_draws=n_draws)(
        np.concatenate(scores), 5
    )
    sums = np.zeros((2, len(keys)))
    cuts = np.cumsum([len(each) for each in labels])[:-1]
    for draw in range(n_draws):
        noisy = np.concatenate(scores) + noise / sigma * noise_by_hand(keys, seed, draw)
        options = {"sigma": sigma, "normalize": normalize, "round_number": 5}
        sums += twin_lambdas(TWINS[spec], labels, np.split(noisy, cuts), keys, **options)
    assert_close(found, tuple(sums / n_draws))


def test_a_measure_in_python_has_the_same_noise():
    from rankinite.measures import NDCG, Measure

    class Own(Measure):
        name = "own"

        def value(self, labels):
            return NDCG(3).value(labels)

    labels, scores = some_queries(seed=4)
    options = {"noise": 1.0, "n_draws": 3, "sigma": 2.0}
    built_in = gradients("ndcg@3", labels, **options)(np.concatenate(scores), 2)
    assert_close(gradients(Own(), labels, **options)(np.concatenate(scores), 2), built_in)


def test_without_noise_the_number_of_draws_does_not_matter():
    labels, scores = some_queries()
    one, many = (gradients("ndcg", labels, n_draws=n)(np.concatenate(scores), 0) for n in (1, 8))
    assert [a.tobytes() for a in one] == [a.tobytes() for a in many]


def test_costs_are_those_of_the_scores_as_they_are():
    labels, scores = some_queries()
    joined = np.concatenate(scores)
    plain, noisy = gradients("ndcg", labels), gradients("ndcg", labels, noise=1.0)
    expected = plain.costs(joined, 0)
    assert noisy.costs(joined, 0).tobytes() == expected.tobytes()
    assert noisy.with_costs(joined, 0)[2].tobytes() == expected.tobytes()
