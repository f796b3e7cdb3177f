"""A student of a teacher: what it learns, what is said of it, and what is refused."""

from functools import cache

import numpy as np
import pytest

import rankinite as rk
from rankinite.ensemble import distillation
from rankinite.ensemble.cost import Cost
from tests.subjects import quiet, same, saved

FEW = {"n_estimators": 15, "max_leaf_nodes": 8, "min_samples_leaf": 5}
STUDENTS = {"mart": rk.MART(**FEW), "lambdamart": rk.LambdaMART(**FEW)}


@cache
def parts():
    return rk.artificial((30, 60, 20, 20), 12, 5, n_terms=10, label_noise=0.3, random_state=4)


@cache
def teacher():
    train, *_ = parts()
    members = [rk.LambdaMART(**FEW, random_state=k, feature_fraction=0.6) for k in range(3)]
    return rk.Combination([member.fit(train) for member in members]).fit(train)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Times are measured by two calls."""
    monkeypatch.setattr("rankinite.ensemble.cost.CALLS", 2)


def without_labels(data):
    return rk.Dataset(data.X, qid=np.repeat(data.qids, data.query_sizes))


@pytest.mark.parametrize("targets", ["quantiles", "scores", "ranks"])
@pytest.mark.parametrize("student", STUDENTS.values(), ids=STUDENTS)
def test_a_student_ranks_as_its_teacher(student, targets):
    _, more, _, test = parts()
    found = rk.distil(teacher(), more, student, targets=targets)
    # The teacher's own order is what it is measured by.
    scores = teacher().predict(test)
    qid = np.repeat(test.qids, test.query_sizes)
    taught = rk.Dataset(test.X, scores, qid=qid)
    agreement = rk.evaluate(found.model, taught, "pairs")["pairs"]
    chance = rk.evaluate(np.zeros(test.n_rows), taught, "pairs")["pairs"]
    assert chance == pytest.approx(0.5) and agreement > 0.75
    assert not hasattr(student, "n_features_in_")
    assert (found.n_documents, found.n_queries) == (more.n_rows, more.n_queries)


@pytest.mark.parametrize("student", STUDENTS.values(), ids=STUDENTS)
@pytest.mark.parametrize("documents", ["given", "augmented"])
def test_neither_labels_nor_order_nor_threads_matter(student, documents, tmp_path):
    _, more, _, _ = parts()
    made = [rk.distil(teacher(), more, student, documents=documents, n_threads=1)]
    order = np.random.default_rng(0).permutation(more.n_rows)
    qid = np.repeat(more.qids, more.query_sizes)[order]
    made.append(rk.distil(teacher(), quiet(more.X[order], qid=qid), student, documents=documents))
    first, second = (saved(each.model, tmp_path) for each in made)
    assert first == second
    if documents == "augmented":
        assert made[0].n_queries == 11 * more.n_queries


def test_the_student_watches_labels_or_the_teacher():
    _, more, valid, _ = parts()
    student = rk.LambdaMART(**FEW, early_stopping=5)
    by_labels = rk.distil(teacher(), more, student, valid=valid).model
    assert list(by_labels.history_["valid"]) == ["ndcg@10"]
    by_teacher = rk.distil(teacher(), more, student, valid=without_labels(valid)).model
    assert list(by_teacher.history_["valid"]) == ["pairs"]
    assert by_teacher.history_["valid"]["pairs"][-1] > 0.7


def test_the_table(tmp_path):
    train, more, _, test = parts()
    found = rk.distil(teacher(), more, STUDENTS["mart"], labelled=train, test=test)
    again = rk.MART(**FEW).fit(train)
    assert same(found.single.predict(test), again.predict(test))
    lines = str(found).splitlines()
    assert lines[0].split() == ["ndcg@10", "mean", "kept", "change", "(95", "%)", "p"]
    assert [line.split("  ")[0] for line in lines[1:4]] == ["teacher", "student", "on labels"]
    mean = rk.evaluate(found.model, test)["ndcg@10"]
    of_teacher = rk.evaluate(teacher(), test)["ndcg@10"]
    assert lines[2].split()[1:3] == [f"{mean:.4f}", f"{100 * mean / of_teacher:.1f}"]
    row = found.comparison.rows[0]
    assert (row.scorer, row.baseline, row.mean) == ("student", "teacher", mean)
    found.save(tmp_path / "small.rk")
    assert same(rk.load(tmp_path / "small.rk").predict(test), found.model.predict(test))
    assert found.costs["student"].n_bytes == (tmp_path / "small.rk").stat().st_size
    assert found.costs["teacher"].n_bytes > found.costs["student"].n_bytes
    assert all(cost.batch > 0 and cost.query > 0 for cost in found.costs.values())
    assert found.speedup == found.costs["teacher"].batch / found.costs["student"].batch
    assert f"the student is {found.speedup:.1f} times as fast" in lines[-1]


def test_without_test_data_there_are_only_costs():
    _, more, _, _ = parts()
    found = rk.distil(teacher(), more, STUDENTS["mart"])
    assert found.comparison is None and found.single is None
    assert list(found.costs) == ["teacher", "student"]
    assert len(str(found).splitlines()) == 4


def test_any_teacher_will_do():
    _, more, _, _ = parts()
    weights = rk.distil(np.arange(5.0), more, STUDENTS["mart"])
    assert weights.costs["teacher"].n_bytes is not None
    function = rk.distil(lambda X: X[:, 0] - X[:, 1], more, STUDENTS["mart"])
    assert function.costs["teacher"].n_bytes is None
    assert "–" in str(function)
    by_query = rk.Combination([teacher()], normalize="query").fit(more)
    assert rk.distil(by_query, more, STUDENTS["mart"]).n_documents == more.n_rows


def test_a_teacher_of_bins(tmp_path):
    train, _, _, _ = parts()
    train.save(tmp_path / "bins")
    bins = rk.read(tmp_path / "bins")
    found = rk.distil(teacher(), bins, STUDENTS["mart"])
    assert same(
        found.model.predict(train),
        rk.distil(teacher(), train, STUDENTS["mart"]).model.predict(train),
    )


def test_costs_of_few_documents():
    _, _, _, test = parts()
    cost = Cost.of(teacher(), test.select_queries([0]))
    assert cost.batch > 0 and cost.in_cells()[2].endswith(" MB")


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ({"student": rk.RankNet()}, rk.ParameterError, "must be a LambdaMART or a MART"),
        ({"student": rk.MART}, rk.ParameterError, "student is the class MART"),
        ({"student": rk.MART(loss="graded")}, rk.ParameterError, "loss='graded', which asks for"),
        ({"student": rk.MART(max_leaf_nodes=1)}, rk.ParameterError, "max_leaf_nodes must be"),
        ({"targets": "labels"}, rk.ParameterError, "targets must be one of 'scores'"),
        ({"documents": "all"}, rk.ParameterError, "documents must be one of 'given'"),
        ({"random_state": -1}, rk.ParameterError, "random_state must be a whole number"),
        ({"n_threads": 0}, rk.ParameterError, "n_threads must be a whole number"),
        ({"measures": "ndgc"}, rk.ParameterError, "unknown measure 'ndgc'"),
        ({"data": [[1.0]]}, rk.DataError, "data must be a Dataset, got a list"),
        ({"valid": 3}, rk.DataError, "valid must be a Dataset, got a int"),
        ({"teacher": rk.LambdaMART()}, rk.RankiniteError, "'teacher': this LambdaMART is not tr"),
        ({"teacher": np.ones(3)}, rk.DataError, "'teacher' has 3 features, but the data has 5"),
        ({"teacher": rk.MART}, rk.ParameterError, "the ranker 'teacher' is the class MART"),
        ({"teacher": np.zeros(5)}, rk.DataError, "gives all documents the same score"),
    ],
)
def test_mistakes(words, error, message):
    _, more, _, _ = parts()
    arguments = {"teacher": teacher(), "data": more, "student": STUDENTS["mart"], **words}
    with pytest.raises(error, match=message):
        rk.distil(**arguments)


@pytest.mark.parametrize("name", ["test", "labelled"])
def test_labels_are_needed_to_compare(name):
    _, more, _, test = parts()
    with pytest.raises(rk.DataError, match=f"the {name} data has no labels"):
        rk.distil(teacher(), more, STUDENTS["mart"], **{name: without_labels(test)})


def test_verbose_says_what_is_done(capsys):
    train, more, _, _ = parts()
    rk.distil(teacher(), more, STUDENTS["mart"], labelled=train, verbose=1)
    said = capsys.readouterr().err
    assert said.startswith("the teacher scores 720 documents\na MART learns them\n")
    assert distillation.STUDENT not in said
