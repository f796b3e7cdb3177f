"""Nets that parameters describe: their steps, what they draw, their files, their threads."""

import doctest
import importlib
import os
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import rankinite as rk  # noqa: E402
from rankinite.models.file import read_model, write_model  # noqa: E402
from rankinite.models.storage import from_state, to_state  # noqa: E402
from rankinite.torch import Perceptron, TorchRanker  # noqa: E402
from rankinite.torch.declared_net import ACTIVATIONS, DeclaredNet, Dropout  # noqa: E402
from rankinite.torch.declared_scores import score_declared  # noqa: E402
from rankinite.torch.rounds import seed_of_weights  # noqa: E402
from tests.common_checks import CHECKS  # noqa: E402
from tests.subjects import Subject, same, saved  # noqa: E402

HASTY = {"n_epochs": 40, "learning_rate": 0.3}


def net(name, **params):
    own = {"n_epochs": 3, "learning_rate": 0.01, **params}
    return Subject(f"Perceptron {name}", Perceptron, own, trees=False, hasty=HASTY)


SUBJECTS = [
    net("two layers", hidden=(6, 4)),
    net("linear, steps of 4", hidden=(), queries_per_step=4),
    net("all, err", hidden=(6,), activation="tanh", dropout=0.2, layer_norm=True, measure="err@5"),
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_common(subject, check, tmp_path):
    check(subject, tmp_path)


@pytest.fixture(scope="module")
def data():
    return rk.artificial(n_queries=(60, 20, 20), n_docs=12, n_features=8, random_state=1)


def test_it_learns(data):
    train, valid, test = data
    model = Perceptron([16, 8], n_epochs=8, learning_rate=0.01, dropout=0.1, layer_norm=True)
    model.fit(train, valid=valid)
    blind = rk.evaluate(np.zeros(test.n_rows), test, "ndcg@10")["ndcg@10"]
    assert rk.evaluate(model, test, "ndcg@10")["ndcg@10"] > blind + 0.1


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_it_is_the_net_of_a_torch_ranker(data, activation):
    """The same layers as code of one's own are the same training."""
    train, _, test = data
    kind = ACTIVATIONS[activation]
    start = DeclaredNet(8, (6, 4), activation, 0.0, True).module(7)

    class Own(torch.nn.Module):
        def __init__(self):
            super().__init__()
            sizes = ((8, 6), (6, 4), (4, 1))
            self.lines = torch.nn.ModuleList(torch.nn.Linear(*size) for size in sizes)
            self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(size) for size in (6, 4))
            self.bend = kind()

        def forward(self, X):
            for line, norm in zip(self.lines[:2], self.norms, strict=True):
                X = self.bend(norm(line(X)))
            return self.lines[2](X)

    own = Own()
    with torch.no_grad():
        for number in (1, 2, 3):
            given = start.get_submodule(f"linear{number}")
            own.lines[number - 1].weight.copy_(given.weight)
            own.lines[number - 1].bias.copy_(given.bias)
    settings = {"n_epochs": 2, "learning_rate": 0.01}
    expected = TorchRanker(own, **settings).fit(train)
    assert same(TorchRanker(start, **settings).fit(train).predict(test), expected.predict(test))


# One unit has no variance to be normalised by, and is refused.
@pytest.mark.parametrize(
    ("hidden", "layer_norm"),
    [
        ((), False),
        ((), True),
        ((1,), False),
        *(((6, 5, 3), n) for n in (False, True)),
        ((33,), False),
        ((33,), True),
    ],
)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_scores_are_those_of_pytorch(hidden, activation, layer_norm):
    rng = np.random.default_rng(1)
    net = DeclaredNet(7, hidden, activation, 0.5, layer_norm).module(3).double().eval()
    with torch.no_grad():
        for weights in net.parameters():
            weights.copy_(torch.from_numpy(rng.normal(0, 0.5, weights.shape)))
    for n_rows in (0, 1, 9, 1025):
        X = rng.normal(0, 2, (n_rows, 7))
        with torch.no_grad():
            expected = net(torch.from_numpy(X))[:, 0].numpy()
        found = score_declared(net, X, np.ascontiguousarray)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_the_weights_are_those_that_its_net_learns_as_a_torch_ranker(data):
    train, _, test = data
    settings = {"n_epochs": 2, "learning_rate": 0.01, "random_state": 5}
    model = Perceptron([6, 4], **settings).fit(train)
    start = DeclaredNet(8, (6, 4), "relu", 0.0, False).module(seed_of_weights(5))
    other = TorchRanker(start, **settings).fit(train)
    for own, theirs in zip(model.module_.parameters(), other.module_.parameters(), strict=True):
        assert torch.equal(own, theirs)
    np.testing.assert_allclose(model.predict(test), other.predict(test), rtol=1e-4, atol=1e-6)


def test_first_weights_and_shapes():
    net = DeclaredNet(5, (40, 3), "relu", 0.5, True)
    weights = net.module(1).state_dict()
    assert {name: tuple(w.shape) for name, w in weights.items()} == net.shapes()
    first = weights["linear1.weight"].numpy()
    assert np.abs(first).max() <= 5**-0.5 and abs(first.mean()) < 0.05 < first.std()
    assert not weights["linear3.weight"].any() and not weights["linear3.bias"].any()
    again, other = net.module(1).state_dict(), net.module(2).state_dict()
    assert all(torch.equal(weights[name], again[name]) for name in weights)
    assert not torch.equal(weights["linear1.weight"], other["linear1.weight"])


def test_dropout():
    layer = Dropout(0.25, seed=3)
    ones = torch.ones(200, 50)
    kept = layer(ones)
    assert set(kept.unique().tolist()) == {0.0, np.float32(1 / 0.75)}
    assert abs((kept == 0).float().mean().item() - 0.25) < 0.02
    assert not torch.equal(layer(ones), kept)  # others in the next step
    torch.manual_seed(0)
    state = torch.get_rng_state()
    assert torch.equal(Dropout(0.25, seed=3)(ones), kept)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(layer.eval()(ones), ones)


def test_threads_of_pytorch_do_not_matter(tmp_path):
    """Also for a net whose steps are large enough for several."""
    before, found = torch.get_num_threads(), []
    wide = rk.artificial(n_queries=4, n_docs=300, n_features=40)
    try:
        for n_threads in (1, 2, 3):
            torch.set_num_threads(n_threads)
            model = Perceptron([300, 300], n_epochs=1, queries_per_step=2).fit(wide)
            found.append((saved(model, tmp_path), model.predict(wide).tobytes()))
            assert torch.get_num_threads() == n_threads
    finally:
        torch.set_num_threads(before)
    assert len(set(found)) == 1


def test_rows_score_alike_wherever_they_stand(data):
    train, _, test = data
    model = Perceptron([33, 17], activation="silu", n_epochs=1).fit(train)
    whole = model.predict(test.X)
    many = np.tile(test.X, (12, 1))
    assert len(many) > 2048
    assert same(model.predict(many), np.tile(whole, 12))
    for row in (0, 5, 100):
        assert same(model.predict(test.X[row : row + 1]), whole[row : row + 1])


def test_inside_others_and_in_files(data, tmp_path):
    train, valid, test = data
    net = Perceptron([6], n_epochs=2, early_stopping=1, dropout=0.2)
    bag = rk.Bagging(net, n_folds=3).fit(train)
    trees = rk.LambdaMART(n_estimators=3, max_leaf_nodes=4, base_model=bag.models_[0]).fit(train)
    both = rk.Combination({"bag": bag, "trees": trees}).fit(valid)
    both.save(tmp_path / "both.rk")
    loaded = rk.load(tmp_path / "both.rk")
    assert same(loaded.predict(test), both.predict(test))
    inside = loaded.rankers_["bag"].models_[0] if hasattr(loaded, "rankers_") else None
    assert inside is None or type(inside) is Perceptron
    on_top = Perceptron([4], n_epochs=1, base_model=trees).fit(train)
    on_top.save(tmp_path / "top.rk")
    assert same(rk.load(tmp_path / "top.rk").predict(test), on_top.predict(test))
    with pytest.raises(rk.ModelFileError, match="holds a Perceptron, not a TorchRanker: use rank"):
        rk.torch.load(tmp_path / "top.rk", lambda n: torch.nn.Linear(n, 1))


def test_what_is_refused(data):
    train = data[0]
    with pytest.raises(rk.ParameterError, match=r"hidden must be a list of at most 16 sizes .* 32"):
        Perceptron([64, 0]).fit(train)
    with pytest.raises(rk.ParameterError, match="layer_norm makes the single unit"):
        Perceptron([4, 1], layer_norm=True).fit(train)
    with pytest.raises(rk.ParameterError, match=r"work for a Perceptron.*: train it anew"):
        Perceptron([4]).fit(train, resume="x.rk")
    with pytest.raises(rk.ParameterError, match="Perceptron cannot be trained by several workers"):
        Perceptron([4]).check_distributes()


def changed(state, **params):
    return {**state, "params": {**state["params"], **params}}


def test_damaged_files_are_refused(data, tmp_path):
    model = Perceptron([6, 4], n_epochs=1, layer_norm=True).fit(data[0])
    state, arrays = to_state(model)
    first = "net/linear1.weight"
    # Sizes that nobody has the memory for are refused by the weights, before there is a net.
    wrong = [
        (changed(state, hidden=[8192] * 16), arrays, "other weights than those of a net of 8"),
        (changed(state, hidden=[6]), arrays, "other weights than those"),
        (changed(state, layer_norm=False), arrays, "other weights than those"),
        (changed(state, hidden=[6, 4.0]), arrays, "damaged"),
        (changed(state, hidden=[6, 10**400]), arrays, "damaged"),
        (changed(state, hidden="64"), arrays, "damaged"),
        (changed(state, activation="__import__('os')"), arrays, "damaged"),
        (changed(state, dropout=1.5), arrays, "damaged"),
        ({**state, "standardized": True, "n_features": 2**31 - 1}, arrays, "standardisation"),
        ({**state, "standardized": False, "n_features": 2**31 - 1}, arrays, "other weights"),
        (state, {**arrays, first: arrays[first].astype(np.float64)}, "no number of 32 bits"),
        (state, {**arrays, first: arrays[first] * np.float32(np.nan)}, "no number of 32 bits"),
        (state, {**arrays, first: arrays[first].T}, "other weights than those"),
        (state, {**arrays, "net/linear9.weight": arrays[first]}, "other weights than those"),
        (state, {n: a for n, a in arrays.items() if n != first}, "other weights than those"),
    ]
    for bad_state, bad_arrays, message in wrong:
        with pytest.raises(rk.ModelFileError, match=message):
            from_state(bad_state, bad_arrays)
    model.save(tmp_path / "net.rk")
    kept, values = read_model(tmp_path / "net.rk")
    write_model(tmp_path / "again.rk", kept, values)
    assert same(rk.load(tmp_path / "again.rk").predict(data[2]), model.predict(data[2]))


def test_a_file_is_loaded_by_what_it_says_alone(data, tmp_path):
    """By a process that has seen no code of a net."""
    model = Perceptron((5,), dropout=0.3, n_epochs=1).fit(data[0])
    model.save(tmp_path / "net.rk")
    np.save(tmp_path / "x.npy", data[2].X)
    code = (
        "import sys, numpy as np, rankinite as rk; m = rk.load(sys.argv[1]);"
        "np.save(sys.argv[3], m.predict(np.load(sys.argv[2])))"
    )
    paths = [str(tmp_path / name) for name in ("net.rk", "x.npy", "scores.npy")]
    subprocess.run([sys.executable, "-c", code, *paths], check=True)
    assert same(np.load(tmp_path / "scores.npy"), model.predict(data[2].X))


IN_FORKS = """
import signal
import sys

signal.alarm(120)  # what hangs fails
import torch
torch.set_num_threads(4)
large = torch.rand(900, 900, requires_grad=True)
(large @ large).sum().backward()  # OpenMP's threads and autograd have been used here
import rankinite as rk
train, test = rk.artificial(n_queries=(24, 6), n_docs=8, n_features=4)
if sys.argv[2] == "used":
    from rankinite.torch import Perceptron
    Perceptron([200, 200], n_epochs=1).fit(train)
net = {"ranker": "Perceptron", "parameters": {"hidden": [200, 100], "n_epochs": 1}}
declared = {"data": {"folds": 3}, "member": {"net": net}, "combine": {"methods": ["average"]}}
found = rk.assemble(declared, train, jobs=int(sys.argv[1]))
found.save(sys.argv[3])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_forks_of_a_process_that_has_used_pytorch(tmp_path):
    files = set()
    for jobs, state in ((1, "fresh"), (2, "fresh"), (2, "used")):
        path = tmp_path / f"{jobs}-{state}.rk"
        command = [sys.executable, "-c", IN_FORKS, str(jobs), state, str(path)]
        subprocess.run(command, check=True, timeout=180)
        files.add(path.read_bytes())
    assert len(files) == 1


def test_the_example_runs():
    outcome = doctest.testmod(importlib.import_module("rankinite.torch.perceptron"))
    assert outcome.attempted and not outcome.failed
