"""Training nets of one's own: steps, what is kept, weights, NaN, saving, refusals."""

import copy
import os
import signal
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import rankinite as rk  # noqa: E402
import rankinite.torch  # noqa: E402
from rankinite.lambdas import LambdaGradients  # noqa: E402
from rankinite.measures import measure  # noqa: E402
from rankinite.models.standardizing import Standardizer  # noqa: E402
from rankinite.order.canonical import canonical  # noqa: E402
from rankinite.order.seeds import derive_seed  # noqa: E402
from rankinite.torch import TorchRanker, threads  # noqa: E402
from tests.common_checks import CHECKS  # noqa: E402
from tests.subjects import Subject, same  # noqa: E402


def two_layers(n_features, n_hidden=6, dtype=torch.float64):
    """Starts at zero everywhere, as nothing can be said of rows before there is training."""
    net = torch.nn.Sequential(
        torch.nn.Linear(n_features, n_hidden, dtype=dtype),
        torch.nn.Tanh(),
        torch.nn.Linear(n_hidden, 1, dtype=dtype),
    )
    torch.nn.init.zeros_(net[2].weight)
    torch.nn.init.zeros_(net[2].bias)
    return net


def sgd(rate):
    return lambda parameters: torch.optim.SGD(parameters, lr=rate)


@pytest.fixture(scope="module")
def data():
    return rk.artificial(n_queries=(60, 20, 20), n_docs=12, n_features=8, random_state=1)


HASTY = {"n_epochs": 40, "learning_rate": 0.5}
SUBJECTS = [
    Subject(
        "TorchRanker",
        TorchRanker,
        {"module": two_layers, "n_epochs": 3, "random_state": 0},
        trees=False,
        hasty=HASTY,
    ),
    Subject(
        "TorchRanker err, steps of 4",
        TorchRanker,
        {"module": two_layers, "n_epochs": 2, "measure": "err@5", "queries_per_step": 4},
        trees=False,
        hasty=HASTY,
    ),
]
# They are about trees or bins, or read the file without the code of the net; see below.
NOT_FOR_NETS = {"saving_and_loading"}


@pytest.mark.parametrize(
    "check", [c for c in CHECKS if c.__name__ not in NOT_FOR_NETS], ids=lambda c: c.__name__
)
@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_common(subject, check, tmp_path):
    check(subject, tmp_path)


def test_it_learns_and_keeps_the_best_weights(data):
    train, valid, test = data
    model = TorchRanker(lambda n: two_layers(n, dtype=torch.float32), n_epochs=6)
    model.set_params(learning_rate=0.01).fit(train, valid=valid)
    values = model.history_["valid"]["ndcg@10"]
    assert len(values) == len(model.history_["train"]["cost"]) == 6
    assert model.history_["train"]["cost"][-1] < model.history_["train"]["cost"][0]
    assert model.best_iteration_ == model.n_rounds_ == np.argmax(values) + 1
    assert rk.evaluate(model, valid, "ndcg@10")["ndcg@10"] == max(values)
    before = rk.evaluate(np.zeros(test.n_rows), test, "ndcg@10")["ndcg@10"]
    assert rk.evaluate(model, test, "ndcg@10")["ndcg@10"] > before + 0.1


def plain_steps(train, weights, n_epochs, rate, **options):
    """The same training by hand: per query, tanh, λ, and the chain rule."""
    W, b, v, c = (w.copy() for w in weights)
    order = canonical(train, np.zeros(train.n_rows))
    X = Standardizer.learn(train.X, order.rows).transform(train.X[order.rows])
    lambdas = LambdaGradients(
        measure(options.get("measure", "ndcg@10")),
        order.labels,
        order.offsets,
        order.keys,
        weight=order.weight,
        query_weight=order.query_weight,
    )
    scores = np.zeros(order.n_rows)
    for epoch in range(n_epochs):
        places = np.flatnonzero(~lambdas.blank)
        for query in order.shuffled(places, derive_seed(0, epoch, "queries")):
            rows = slice(order.offsets[query], order.offsets[query + 1])
            hidden = np.tanh(X[rows] @ W.T + b)
            scores[rows] = hidden @ v + c
            lam = lambdas(scores, epoch)[0][rows]
            back = lam[:, None] * v * (1 - hidden**2)
            v += rate * hidden.T @ lam
            c += rate * lam.sum()
            W += rate * back.T @ X[rows]
            b += rate * back.sum(axis=0)
    return W, b, v, c


@pytest.mark.parametrize("spec", ["ndcg@10", "err", "map"])
def test_steps_are_those_of_a_plain_twin(data, spec):
    rows = data[0]
    rng = np.random.default_rng(0)
    train = rk.Dataset(
        rows.X,
        rows.y,
        qid=np.repeat(rows.qids, rows.query_sizes),
        weight=rng.uniform(0.5, 2, rows.n_rows),
        query_weight=rng.uniform(0.5, 2, rows.n_queries),
    )
    torch.manual_seed(3)
    net = torch.nn.Sequential(torch.nn.Linear(8, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1))
    net = net.double()
    start = [p.detach().numpy().copy() for p in net.parameters()]
    model = TorchRanker(net, measure=spec, n_epochs=2, optimizer=sgd(0.02)).fit(train)
    given = (start[0], start[1], start[2][0], start[3][0])
    W, b, v, c = plain_steps(train, given, 2, 0.02, measure=spec)
    found = [p.detach().numpy() for p in model.module_.parameters()]
    for own, expected in zip(found, (W, b, v[None], [c]), strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-9, atol=1e-11)
    # The module that was given is not touched.
    for before, p in zip(start, net.parameters(), strict=True):
        np.testing.assert_array_equal(p.detach().numpy(), before)


def test_a_step_of_several_queries_goes_along_the_mean_gradient(data):
    train = data[0].select_queries(np.arange(4))
    torch.manual_seed(1)
    net = torch.nn.Linear(8, 1).double()
    model = TorchRanker(net, n_epochs=1, queries_per_step=4, optimizer=sgd(1.0)).fit(train)
    order = canonical(train, np.zeros(train.n_rows))
    X = Standardizer.learn(train.X, order.rows).transform(train.X[order.rows])
    weights, bias = (p.detach().numpy() for p in net.parameters())
    lambdas = LambdaGradients(measure("ndcg@10"), order.labels, order.offsets, order.keys)
    lam, _ = lambdas(X @ weights[0] + bias, 0)
    n_learned = int((~lambdas.blank).sum())
    expected = weights[0] + X.T @ lam / n_learned
    np.testing.assert_allclose(model.module_.weight.detach().numpy()[0], expected, rtol=1e-10)


def test_seeds_and_functions_that_make_nets(data):
    train, _, test = data

    def scores(seed, net=lambda n: torch.nn.Linear(n, 1)):
        return TorchRanker(net, n_epochs=1, random_state=seed).fit(train).predict(test)

    state = torch.get_rng_state()
    assert same(scores(1), scores(1)) and not same(scores(1), scores(2))
    assert torch.equal(torch.get_rng_state(), state)

    def with_dropout(n):
        return torch.nn.Sequential(torch.nn.Linear(n, 9), torch.nn.Dropout(), torch.nn.Linear(9, 1))

    assert same(scores(4, with_dropout), scores(4, with_dropout))
    lazy = torch.nn.Sequential(torch.nn.LazyLinear(4), torch.nn.ReLU(), torch.nn.LazyLinear(1))
    assert np.isfinite(scores(0, lazy)).all()


def test_early_stopping(data):
    train, valid, _ = data
    settings = {"module": two_layers, "learning_rate": 0.3, "n_epochs": 30}
    model = TorchRanker(early_stopping=2, **settings).fit(train, valid={"a": train, "b": valid})
    values = model.history_["b"]["ndcg@10"]
    best = int(np.argmax(values)) + 1
    assert len(values) == best + 2 < 30 and model.best_iteration_ == best
    shorter = TorchRanker(**{**settings, "n_epochs": best}).fit(train)
    assert same(model.predict(valid), shorter.predict(valid))
    with pytest.raises(rk.ParameterError, match="needs data to watch"):
        TorchRanker(early_stopping=2, **settings).fit(train)


def test_nan_stops_with_the_last_good_weights(data):
    train, valid, _ = data

    class Breaks(torch.nn.Linear):
        """NaN from the given call in training mode on."""

        def __init__(self, n_good):
            super().__init__(8, 1)
            torch.nn.init.zeros_(self.weight)
            torch.nn.init.zeros_(self.bias)
            self.n_good = n_good

        def forward(self, X):
            self.n_good -= self.training
            return super().forward(X) * (1.0 if self.n_good >= 0 else torch.nan)

    model = TorchRanker(Breaks(60 + 7), n_epochs=4)
    with pytest.warns(rk.RankiniteWarning, match=r"in epoch 2: .*smaller learning rate"):
        model.fit(train)
    assert len(model.history_["train"]["cost"]) == model.best_iteration_ == 1
    sound = TorchRanker(Breaks(10**6), n_epochs=1).fit(train)
    np.testing.assert_array_equal(
        sound.module_.weight.detach().numpy(), model.module_.weight.detach().numpy()
    )
    with pytest.warns(rk.RankiniteWarning, match="in epoch 1"):
        at_once = TorchRanker(Breaks(0), n_epochs=4).fit(train, valid=valid)
    assert at_once.best_iteration_ == 0 and (at_once.module_.weight == 0).all()
    with pytest.warns(rk.RankiniteWarning, match="NaN or infinite"):
        TorchRanker(two_layers, n_epochs=5, optimizer=sgd(1e200)).fit(train)


def test_an_interrupt_keeps_what_was_learned(data):
    train, valid, _ = data

    class Interrupt:
        def after_round(self, run):
            if run.n_done == 2:
                raise KeyboardInterrupt
            return False

        def finish(self, run):
            self.finished = True

    model, interrupt = TorchRanker(two_layers, n_epochs=9), Interrupt()
    with pytest.raises(KeyboardInterrupt):
        model.fit(train, callbacks=[interrupt])
    assert interrupt.finished and model.best_iteration_ == 2
    expected = TorchRanker(two_layers, n_epochs=2).fit(train)
    assert same(model.predict(valid), expected.predict(valid))


def test_saving_and_loading(data, tmp_path):
    train, valid, test = data

    def net(n):
        return torch.nn.Sequential(
            torch.nn.Linear(n, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(), torch.nn.Linear(4, 1)
        )

    model = TorchRanker(net, n_epochs=2, base_model=np.arange(8.0), optimizer=sgd(0.1))
    model.fit(train, valid=valid).save(tmp_path / "own.rk")
    loaded = rk.torch.load(tmp_path / "own.rk", net)
    assert same(loaded.predict(test), model.predict(test))
    assert loaded.history_ == model.history_ and loaded.module is net
    assert loaded.n_epochs == 2 and loaded.best_iteration_ == model.best_iteration_
    loaded.save(tmp_path / "again.rk")
    assert (tmp_path / "again.rk").read_bytes() == (tmp_path / "own.rk").read_bytes()
    assert same(rk.torch.load(tmp_path / "own.rk", net(8)).predict(test), model.predict(test))

    with pytest.raises(rk.ModelFileError, match=r"load it by rankinite.torch.load\(path, module\)"):
        rk.load(tmp_path / "own.rk")
    with pytest.raises(rk.ModelFileError, match=r"only .* weights .*: pass a module of the class"):
        rk.torch.load(tmp_path / "own.rk", torch.nn.Linear(8, 1))
    with pytest.raises(rk.ModelFileError, match=r"'0.weight' have shape \(4, 8\) in the model"):
        wide = torch.nn.Sequential(
            torch.nn.Linear(8, 5), torch.nn.BatchNorm1d(5), torch.nn.ReLU(), torch.nn.Linear(5, 1)
        )
        rk.torch.load(tmp_path / "own.rk", wide)
    with pytest.raises(rk.ParameterError, match=r"module must be a torch\.nn\.Module"):
        rk.torch.load(tmp_path / "own.rk", None)
    trees = rk.LambdaMART(n_estimators=2, max_leaf_nodes=4).fit(train)
    trees.save(tmp_path / "trees.rk")
    with pytest.raises(rk.ModelFileError, match="holds a LambdaMART, not a TorchRanker"):
        rk.torch.load(tmp_path / "trees.rk", net)


def test_as_a_base_model_and_with_one(data, tmp_path):
    train, valid, test = data
    net = TorchRanker(two_layers, n_epochs=2).fit(train)
    trees = rk.LambdaMART(n_estimators=3, max_leaf_nodes=4, base_model=net).fit(train, valid=valid)
    alone = trees.predict(test) - net.predict(test)
    assert np.isfinite(alone).all() and np.ptp(alone) > 0
    with pytest.raises(rk.ModelFileError, match="a TorchRanker cannot be kept in a model file"):
        trees.save(tmp_path / "x.rk")
    on_top = TorchRanker(two_layers, n_epochs=2, base_model=trees.forest_ and net).fit(train)
    assert not same(on_top.predict(test), net.predict(test))
    frozen = TorchRanker(two_layers, n_epochs=1, learning_rate=1e-300, base_model=net).fit(train)
    np.testing.assert_allclose(frozen.predict(test), net.predict(test), atol=1e-12)


def test_missing_values_and_standardize(data):
    train, _, test = data
    X = train.X.astype(np.float64)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    X[:, 3], X[5, 2] = 7.0, np.inf
    holes = rk.Dataset(X, train.y, qid=np.repeat(train.qids, train.query_sizes))
    model = TorchRanker(two_layers, n_epochs=1).fit(holes)
    assert np.isfinite(model.predict(holes)).all()
    with pytest.raises(rk.DataError, match=r"feature \d has NaN or infinity"):
        TorchRanker(two_layers, standardize=False).fit(holes)
    raw = TorchRanker(two_layers, n_epochs=1, standardize=False).fit(train)
    with torch.no_grad():
        expected = raw.module_(torch.from_numpy(test.X.astype(np.float64)))[:, 0].numpy()
    np.testing.assert_allclose(raw.predict(test), expected, rtol=1e-12, atol=1e-15)


def test_datasets_of_bins_are_refused(data, tmp_path):
    train = data[0]
    train.save(tmp_path / "train.bins")
    binned = rk.read(tmp_path / "train.bins")
    for fit in (
        lambda: TorchRanker(two_layers).fit(binned),
        lambda: TorchRanker(two_layers, n_epochs=1).fit(train, valid=binned),
        lambda: TorchRanker(two_layers, n_epochs=1).fit(train).predict(binned),
    ):
        with pytest.raises(rk.DataError, match="holds only bins"):
            fit()


def test_nothing_to_learn(data):
    train = data[0]
    qid = np.repeat(train.qids, train.query_sizes)
    for y, own in ((np.zeros(train.n_rows), qid), (train.y, np.arange(train.n_rows))):
        model = TorchRanker(two_layers, n_epochs=2).fit(train.X, y, qid=own)
        assert np.ptp(model.predict(train.X)) == 0 and model.history_["train"]["cost"] == [0, 0]


def test_what_is_refused(data):
    train = data[0]
    wrong = {
        "module": (None, 3, "net"),
        "n_epochs": (0, 1.5),
        "queries_per_step": (0, None),
        "optimizer": ("adam", 3),
        "learning_rate": (0, -1, "1"),
        "standardize": (1, None),
        "sigma": (0,),
        "truncation": (0, 1.5),
        "normalize": (None,),
        "measure": ("ndgc", None),
        "early_stopping": (0,),
        "random_state": (-1,),
        "n_threads": (0,),
        "verbose": (-1,),
    }
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(rk.ParameterError, match=f"^{name} "):
                TorchRanker(**{"module": two_layers, name: value}).fit(train)
    others = [
        ({"module": lambda n: n}, "made a int"),
        ({"module": torch.nn.Linear(8, 2)}, r"for 2 rows it gave the shape \(2, 2\)"),
        ({"module": torch.nn.Linear(7, 1)}, "module cannot score 8 features: "),
        ({"module": torch.nn.Identity()}, "module must give one score a row"),
        ({"module": two_layers, "optimizer": lambda p: p}, "but it made a list"),
        ({"module": torch.nn.Linear(8, 1).requires_grad_(False)}, "no parameters to learn"),
    ]
    for params, message in others:
        with pytest.raises(rk.ParameterError, match=message):
            TorchRanker(**params).fit(train)
    with pytest.raises(rk.ParameterError, match="resume does not work for a TorchRanker"):
        TorchRanker(two_layers).fit(train, resume="x.rk")
    model = TorchRanker(two_layers, n_epochs=1).fit(train)
    with pytest.raises(rk.ParameterError, match="n_rounds=3 asks for the first rounds"):
        model.predict(train, n_rounds=3)
    bound = torch.optim.SGD(torch.nn.Linear(8, 1).parameters(), lr=0.1)
    with pytest.raises(rk.ParameterError, match=r"^optimizer must be a function"):
        TorchRanker(two_layers, optimizer=bound).fit(train)


def test_threads_of_pytorch_are_restored_and_do_not_matter(data):
    train, _, test = data
    before = torch.get_num_threads()
    found = []
    try:
        for n_threads in (1, 2):
            torch.set_num_threads(n_threads)
            found.append(TorchRanker(two_layers, n_epochs=2).fit(train).predict(test))
            assert torch.get_num_threads() == n_threads
            with pytest.raises(rk.ParameterError):
                TorchRanker(torch.nn.Linear(3, 1)).fit(train)
            assert torch.get_num_threads() == n_threads
        with threads.threads_for(1):
            with threads.threads_for(1):
                assert torch.get_num_threads() == 1
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
        with threads.threads_for(10**9):
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert same(*found)


def test_large_products_in_a_fork_beside_the_kernels(data):
    """OpenMP's threads of PyTorch and ours live in one process, before and after a fork."""
    if not hasattr(os, "fork"):
        pytest.skip("this platform cannot fork")
    train = data[0]
    trees = rk.LambdaMART(n_estimators=2, max_leaf_nodes=4).fit(train)
    large = torch.rand(600, 600)
    expected = (large @ large).sum()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        signal.alarm(60)  # a child that hangs fails
        try:
            right = same(trees.predict(train.X), trees.predict(train))
            right = right and torch.isclose((large @ large).sum(), expected)
            TorchRanker(two_layers, n_epochs=1).fit(train)
            os._exit(0 if right else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_copied_model_scores_alike(data):
    train, _, test = data
    model = TorchRanker(two_layers, n_epochs=1).fit(train)
    assert same(copy.deepcopy(model).predict(test), model.predict(test))
