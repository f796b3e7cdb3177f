"""Trees that single workers grow on queries of their own, one of which joins the model a round."""

import warnings

import numpy as np
import pytest

import rankinite as rk
from rankinite.boosting.selection import BestForOthers, DrawnWorker
from rankinite.boosting.share_stage import Share
from rankinite.distributed import Serial
from rankinite.trees import Grower
from tests.distributed.cases import ALL_ROWS, CASES, SOME, data, dealt, file_of, trained
from tests.distributed.test_rows import on_workers, refusal

pytestmark = pytest.mark.filterwarnings("ignore:worker . is to have")
WAYS = [("sample", 0), ("sample", 1), ("full", 0), ("full", 1)]
# A measure in Python takes long, and is tried by one way alone.
NAMES = [name for name in CASES if name != "own measure"]


def by_trees(communicator, share, learner=None, **options):
    learner = rk.LambdaMART(**SOME) if learner is None else learner
    return learner.fit(share, communicator=communicator, distribute="trees", **options)


@pytest.mark.parametrize("select", ["sample", "full"])
@pytest.mark.parametrize("name", NAMES)
def test_one_worker_is_no_different_from_none(name, select, tmp_path):
    expected = file_of(trained(name), tmp_path)
    assert file_of(trained(name, Serial(), "trees", select=select), tmp_path) == expected
    (model,) = on_workers(1, lambda c: trained(name, c, "trees", select=select))
    assert file_of(model, tmp_path) == expected


@pytest.mark.parametrize(
    ("name", "select", "overlap"),
    [*((name, *way) for name in NAMES for way in WAYS), ("own measure", "full", 0)],
)
def test_all_workers_get_the_same_model(name, select, overlap, tmp_path):
    """With five of them one has no rows."""
    for size in (3, 5) if name in NAMES else (3,):
        options = {"select": select, "overlap": overlap}
        models = on_workers(size, lambda c: trained(name, c, "trees", **options))  # noqa: B023
        files = {file_of(model, tmp_path) for model in models}
        assert len(files) == 1
        assert np.ptp(models[0].forest_.value) > 0
        _, valid = data(**CASES[name][1])
        watched = models[0].history_["valid"]
        found = rk.evaluate(models[0], valid, list(watched))
        if models[0].early_stopping is None:
            assert {key: values[-1] for key, values in watched.items()} == found.means


@pytest.mark.filterwarnings("ignore:the rows of . of . queries did not lie together")
@pytest.mark.parametrize(("select", "overlap"), WAYS)
def test_order_inside_a_share_and_threads_change_nothing(select, overlap, tmp_path):
    train, _ = data(weighted=True)

    def work(shuffled, n_threads):
        def fit(communicator):
            share = dealt(train, communicator.rank, communicator.size)
            if shuffled:
                order = np.random.default_rng(communicator.rank).permutation(share.n_rows)
                qid = np.repeat(share.qids, share.query_sizes)
                share = rk.Dataset(
                    share.X[order],
                    share.y[order],
                    qid=qid[order],
                    weight=share.weight[order],
                    query_weight=dict(zip(share.qids, share.query_weight, strict=True)),
                )
            learner = rk.LambdaMART(n_threads=n_threads, feature_fraction=0.5, **SOME)
            return by_trees(communicator, share, learner, select=select, overlap=overlap)

        return {file_of(model, tmp_path) for model in on_workers(3, fit)}

    assert len(work(False, 1) | work(True, 1) | work(True, 2)) == 1


class Twin:
    """What K workers do, in loops over all of them in one process, with floats and `evaluate`."""

    def __init__(self, rows, size, overlap, learner):
        queries = [np.flatnonzero(np.arange(rows.n_queries) % size == k) for k in range(size)]
        self.size, self.overlap, self.rate = size, overlap, learner.learning_rate
        self.own = [rows.select_queries(mine) for mine in queries]
        self.stages = []
        for k in range(size):
            has = np.concatenate([queries[(k + j) % size] for j in range(overlap + 1)])
            learner._seed = 0
            share = Share(_Rank(k), 0, np.zeros(1), overlap)
            stage = learner._prepare(
                part := rows.select_queries(has), np.zeros(part.n_rows), Serial()
            ).stage
            stage.seed = share.seed_of(0)
            self.stages.append(stage)

    def candidates(self, number):
        """Each worker's tree, with the steps that all rows ask for: Σλ / Σw, by floats."""
        pulls = [stage.objective.gradients(stage.scores, number)[0] for stage in self.stages]
        found = []
        for stage, pull in zip(self.stages, pulls, strict=True):
            lam, w = (_sizes(values) for values in pull)
            tree = stage.grow(lam, w, number, 0).tree
            sums = np.zeros((3, tree.n_leaves))
            for rows, (forces, bends), other in zip(self.own, pulls, self.stages, strict=True):
                leaf = _leaves(tree, other.grower.binned)[: rows.n_rows]
                for terms, place in zip((None, forces, bends), sums, strict=True):
                    terms = None if terms is None else terms[: rows.n_rows]
                    place += np.bincount(leaf, terms, minlength=tree.n_leaves)
            longest = stage.objective.longest_step
            steps = np.clip(sums[1] / np.maximum(sums[2], 1e-300), -longest, longest)
            found.append((tree.with_values(self.rate * steps), sums[0]))
        return found

    def gains(self, trees):
        """By how much each tree raises the mean NDCG of the queries that its worker has not."""
        found = []
        for k, tree in enumerate(trees):
            others = [j for j in range(self.size) if (j - k) % self.size > self.overlap]
            means = []
            for added in (None, tree):
                values = []
                for j in others:
                    scores = self.stages[j].scores[0].copy()
                    if added is not None:
                        scores += added.value[_leaves(added, self.stages[j].grower.binned)]
                    own = rk.evaluate(scores[: self.own[j].n_rows], self.own[j], "ndcg@10")
                    values.append(own.per_query["ndcg@10"])
                means.append(np.nanmean(np.concatenate(values)))
            found.append(means[1] - means[0])
        return np.array(found)

    def add(self, tree):
        for stage in self.stages:
            stage.add((tree,), stage.grower.binned, stage.scores)


class _Rank:
    def __init__(self, rank):
        self.rank = rank


def _sizes(values):
    from rankinite.trees import gradients

    return gradients(values, Serial())


def _leaves(tree, binned):
    """Every row goes down the tree by itself."""
    found = []
    for row in range(binned.n_rows):
        node = 0 if len(tree.feature) else -1
        while node >= 0:
            split = binned.column(tree.feature[node])[row]
            left = tree.missing_left[node] if split == 255 else split <= tree.bin[node]
            node = (tree.left if left else tree.right)[node]
        found.append(~node)
    return np.array(found)


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize(("select", "overlap"), WAYS)
def test_the_tree_that_joins_is_that_of_the_twin(select, overlap, drawn, tmp_path):
    train, _ = data()
    train.save(tmp_path / "train.bin")
    train = rk.read(tmp_path / "train.bin")
    size, n_trees = 4, 6
    settings = SOME | {"n_estimators": n_trees} | ({} if drawn else ALL_ROWS)

    def work(communicator):
        mine = np.flatnonzero(np.arange(train.n_queries) % size == communicator.rank)
        learner = rk.LambdaMART(**settings)
        share = train.select_queries(mine)
        return by_trees(communicator, share, learner, select=select, overlap=overlap)

    model = on_workers(size, work)[0]
    joined = model.forest_.trees(np.zeros(len(model.forest_.feature), np.uint8))
    twin = Twin(train, size, overlap, rk.LambdaMART(**settings))
    sampled = DrawnWorker(Share(None, 0, np.array([rows.n_rows for rows in twin.own]), 0), 0)
    chosen = []
    for number, tree in enumerate(joined):
        found = twin.candidates(number)
        if select == "full":
            gains = twin.gains([each for each, _ in found])
            assert np.sort(gains)[-1] > np.sort(gains)[-2] + 1e-9  # no tie that floats would break
            chosen.append(int(np.argmax(gains)))
        else:
            chosen += sampled.growers(number)
        best, counts = found[chosen[-1]]
        assert np.array_equal(best.feature, tree.feature)
        assert np.array_equal(best.threshold, tree.threshold)
        assert np.array_equal(counts, tree.count) and counts.sum() == train.n_rows
        np.testing.assert_allclose(best.value, tree.value, rtol=1e-9)
        twin.add(best.with_values(tree.value))
    assert len(set(chosen)) > 1


def test_only_the_drawn_worker_grows_a_tree(monkeypatch):
    train, _ = data()
    grown = []
    original = Grower.grow

    def counted(self, *arguments):
        grown.append(self.n_rows)
        return original(self, *arguments)

    monkeypatch.setattr(Grower, "grow", counted)

    def work(communicator):
        share = dealt(train, communicator.rank, communicator.size)
        by_trees(communicator, share)
        return share.n_rows

    n_rows = on_workers(3, work)
    sampled = DrawnWorker(Share(None, 0, np.array(n_rows), 0), 0)
    assert grown == [n_rows[sampled.growers(number)[0]] for number in range(5)]


def test_workers_are_drawn_by_their_rows():
    share = Share(None, 0, np.array([300, 0, 100, 600]), 0)
    drawn = np.array([DrawnWorker(share, 7).growers(number)[0] for number in range(4000)])
    shares = np.bincount(drawn, minlength=4) / 4000
    assert shares[1] == 0 and np.abs(shares - [0.3, 0, 0.1, 0.6]).max() < 0.03
    others = np.array([DrawnWorker(share, 8).growers(number)[0] for number in range(4000)])
    assert (drawn != others).any()


def test_full_does_not_fall_for_a_worker_with_hard_queries():
    """Its trees are tried on easy queries only, whose mean is high, and rises the least.

    By the mean itself the worker whose labels are noise was chosen in 25 of the 30 rounds.
    """
    train = rk.artificial(n_queries=60, n_docs=16, n_features=20)
    chosen = []

    class Noted(BestForOthers):
        def chosen(self, candidates, scores):
            found = super().chosen(candidates, scores)
            if self._share.communicator.rank == 0:
                chosen.append(found.rank)
            return found

    def work(communicator):
        share = train.select_queries(np.arange(communicator.rank, 60, 3))
        if communicator.rank == 1:
            y = np.random.default_rng(0).permutation(share.y)
            share = rk.Dataset(share.X, y, qid=np.repeat(share.qids, share.query_sizes))
        by_trees(communicator, share, rk.LambdaMART(n_estimators=30, squares=0), select="full")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankinite.boosting.boosted_trees.BestForOthers", Noted)
        on_workers(3, work)
    assert len(chosen) == 30 and chosen.count(1) <= 15 and chosen[:6].count(1) <= 1


@pytest.mark.parametrize("select", ["sample", "full"])
def test_a_worker_that_has_nothing_to_tell(select, tmp_path):
    """Labels that are all the same here, a single document there, and nothing elsewhere."""
    train, _ = data()

    def work(communicator):
        rank = communicator.rank
        if rank == 3:
            return by_trees(communicator, None, select=select)
        share = train.select_queries(np.arange(rank, train.n_queries, 3))
        qid = np.repeat(share.qids, share.query_sizes)
        keep = slice(None) if rank < 2 else slice(1)
        y = np.ones(share.n_rows) if rank == 1 else share.y
        return by_trees(
            communicator, rk.Dataset(share.X[keep], y[keep], qid=qid[keep]), select=select
        )

    models = on_workers(4, work)
    assert len({file_of(model, tmp_path) for model in models}) == 1
    n_leaves = np.diff(models[0].forest_.leaf_offsets)
    assert (n_leaves > 1).any() and (select == "sample" or (n_leaves > 1).all())


def test_nothing_to_learn_is_told_by_one_worker():
    train, _ = data()

    def work(communicator):
        share = dealt(train, communicator.rank, communicator.size)
        learner = rk.LambdaMART(n_estimators=2, min_samples_leaf=100)
        by_trees(communicator, share, learner, select="full")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        on_workers(4, work)
    told = [str(each.message) for each in caught if each.category is rk.NothingLearnedWarning]
    assert len(told) == 1
    assert "min_samples_leaf=100 leaves no split of" in told[0]


def options_refused(size, **options):
    train, _ = data()
    learner = options.pop("learner", rk.LambdaMART(**SOME))

    def work(communicator):
        share = dealt(train, communicator.rank, communicator.size)
        learner.fit(share, communicator=communicator, **{"distribute": "trees"} | options)

    return refusal(size, work)


def test_options_that_cannot_be_are_refused():
    assert "select must be one of 'sample', 'full'" in options_refused(2, select="best")
    assert "overlap must be a whole number at least 0" in options_refused(2, overlap=0.5)
    assert "and the number of all is 2" in options_refused(2, overlap=2)
    assert "gives each of 3 workers all queries" in options_refused(3, overlap=2, select="full")
    found = options_refused(2, distribute="rows", select="full")
    assert "select='full' is about trees that workers grow by themselves" in found
    assert "overlap=1 is about trees" in options_refused(2, distribute="features", overlap=1)
    found = options_refused(2, learner=rk.RankNet())
    assert "a RankNet cannot be trained by several workers" in found
    found = options_refused(2, learner=rk.LambdaMART(step="line_search"))
    assert "step='line_search' searches all" in found
    with pytest.raises(rk.ParameterError, match="and the number of all is 1"):
        rk.LambdaMART(**SOME).fit(data()[0], distribute="trees", overlap=1)

    def differ(communicator):
        share = dealt(data()[0], communicator.rank, communicator.size)
        by_trees(communicator, share, select=("sample", "full")[communicator.rank])

    assert "select='sample' and worker 1 with select='full'" in refusal(2, differ)


def test_an_error_of_one_worker_ends_all():
    train, _ = data()

    def wrong_label(communicator):
        share = dealt(train, communicator.rank, communicator.size)
        if communicator.rank == 1:
            share.y[3] = -1.0
        by_trees(communicator, share, overlap=1)

    message = refusal(3, wrong_label)
    assert "has the label -1" in message and f"query {dealt(train, 1, 3).qids[0]}" in message


def test_what_all_would_meet_ends_the_job_if_one_meets_it(monkeypatch):
    """Growing is a worker's own business: an error there is not raised by the others."""
    train, _ = data()
    monkeypatch.setattr("rankinite.trees.fixed_point.MAX_ROWS", 150)

    def work(communicator):
        rows = np.arange(20) if communicator.rank == 0 else np.arange(20, 25)
        by_trees(communicator, train.select_queries(rows), select="full")

    assert "320 rows are more than the 150" in refusal(2, work)
