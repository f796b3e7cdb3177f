from __future__ import annotations

import numpy as np
import pytest

import rankinite as rk


@pytest.fixture
def words(files):
    data = ("--train", files / "valid.txt", "--valid", files / "test.txt")
    return ("adapt", *data, "--n-estimators", "8", "--max-leaf-nodes", "5")


def test_from_a_model(run, files, words, tmp_path):
    out = tmp_path / "adapted.rk"
    result = run(
        *words,
        *("--background", files / "ranker.rk", "--model", out, "--test", files / "train.txt"),
        *("--choose", "best"),
    )
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0].split() == ["validation", "ndcg@1", "ndcg@3", "ndcg@10", "avendcg"]
    assert any(line.startswith("test ") for line in lines)
    assert lines[-1] == f"model: {out}" and "is the best by ndcg@10 on validation" in lines[-2]
    assert "lambdasmart, tuned on all validation data" in result.err
    expected = rk.adapt(
        rk.load(files / "ranker.rk"),
        rk.read(files / "valid.txt"),
        rk.read(files / "test.txt"),
        choose="best",
        ranker=rk.LambdaMART(n_estimators=8, max_leaf_nodes=5, early_stopping=50),
        smart=rk.LambdaMART(n_estimators=8, max_leaf_nodes=5, early_stopping=50),
        boost=rk.LambdaBoost(n_estimators=8, early_stopping=50),
    )
    assert lines[-2].split()[0] == expected.method
    train = rk.read(files / "train.txt")
    assert np.array_equal(rk.load(out).predict(train), expected.model.predict(train))


def test_from_data_by_one_method(run, files, words, tmp_path):
    out = tmp_path / "adapted.rk"
    more = ("--method", "expanded", "--max-distance", "0.2", "--quiet", "--model", out)
    result = run(*words, "--background", files / "train.txt", *more)
    assert (result.code, result.err) == (0, "")
    assert "expanded is the one asked for" in result.out
    assert isinstance(rk.load(out), rk.LambdaMART)


def test_from_a_lightgbm_text(run, files, words, tmp_path):
    import lightgbm

    train = rk.read(files / "train.txt")
    booster = lightgbm.LGBMRanker(n_estimators=5, min_child_samples=5, verbose=-1)
    booster.fit(train.X, train.y, group=train.query_sizes)
    booster.booster_.save_model(tmp_path / "other.txt")
    out = tmp_path / "adapted.rk"
    more = ("--method", "lambdasmart", "--quiet", "--model", out)
    result = run(*words, "--background", tmp_path / "other.txt", *more)
    assert (result.code, result.err) == (0, "")
    assert rk.load(out).predict(train).shape == (480,)


def test_more_backgrounds(run, files, words, tmp_path):
    out = tmp_path / "adapted.rk"
    rk.LambdaBoost(n_estimators=5).fit(rk.read(files / "train.txt")).save(tmp_path / "line.rk")
    others = ("--other", tmp_path / "line.rk", "--other", f"mine={files / 'ranker.rk'}")
    more = ("--method", "interpolation_all", "--quiet", "--model", out)
    result = run(*words, "--background", files / "ranker.rk", *others, *more)
    assert (result.code, result.err) == (0, "")
    assert {"background", "line", "mine"} <= {
        line.split(" ")[0] for line in result.out.splitlines()
    }
    assert list(rk.load(out).rankers) == ["background", "line", "mine", "in_domain"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--background", "absent.rk"), "absent.rk"),
        (("--method", "magic"), "method must be one of"),
        (("--method", "interpolation3"), "background is a model"),
        (("--measure", "magic"), "magic"),
        (("--threads", "0"), "threads must be"),
        (("--seed", "-1"), "seed must be"),
        (("--other", "a=x.rk", "--other", "a=y.rk"), "two backgrounds have the same name"),
        (("--model", "absent/adapted.rk"), "there is no folder"),
        (("--max-leaf-nodes", "1"), "--max-leaf-nodes"),
    ],
)
def test_mistakes_are_one_sentence(run, files, words, tmp_path, monkeypatch, more, message):
    monkeypatch.chdir(tmp_path)
    result = run(*words, "--background", files / "ranker.rk", *more)
    assert result.code == 2
    last = result.err.splitlines()[-1]
    assert last.startswith("error: ") and message in last
    assert not list(tmp_path.iterdir())


def test_other_data_has_the_features_of_the_background(run, tmp_path):
    options = {"n_docs": 10, "n_features": 3}
    names = {"large": (20, 0), "train": (10, 1), "valid": (10, 2), "other": (20, 3)}
    for name, (n_queries, market) in names.items():
        rows = rk.artificial(n_queries, market=market, **options)
        qids = np.repeat(rows.qids, rows.query_sizes)
        lines = ["qid,label,a,b,c"]
        if name == "other":
            lines = ["c,b,a,label,qid"]
        for x, y, q in zip(rows.X.tolist(), rows.labels.tolist(), qids.tolist(), strict=True):
            cells = [q, int(y), *x]
            lines.append(",".join(map(str, cells[::-1] if name == "other" else cells)))
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    at = {name: tmp_path / f"{name}.csv" for name in names}
    out = tmp_path / "adapted.rk"
    words = ("adapt", "--train", at["train"], "--valid", at["valid"], "--background", at["large"])
    more = ("--other", at["other"], "--method", "interpolation_all", "--max-distance", "0.2")
    result = run(*words, *more, "--n-estimators", "3", "--quiet", "--model", out)
    assert (result.code, result.err) == (0, "")
    assert rk.load(out).rankers["other"].feature_names_in_.tolist() == ["a", "b", "c"]


def test_noise_is_no_reason_to_leave_the_background(run, files, words, tmp_path):
    """The few validation queries of these files cannot tell one good ranker from another."""
    background, out = tmp_path / "background.rk", tmp_path / "adapted.rk"
    train = rk.read(files / "train.txt")
    rk.LambdaMART(n_estimators=20, max_leaf_nodes=5).fit(train).save(background)
    more = ("--background", background, "--model", out, "--quiet")
    result = run(*words, *more)
    assert result.code == 0
    reason = result.out.splitlines()[-2]
    assert reason.startswith("background is kept: ") and "may be noise" in reason
    assert np.array_equal(rk.load(out).predict(train), rk.load(background).predict(train))
    wrong = run(*words, *more, "--force", "--choose", "worst")
    assert "--choose must be one of 'significant', 'best', got 'worst'" in wrong.err
