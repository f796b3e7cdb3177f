"""Rankers in C score as the rankers do, bit for bit where they are trees."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

import rankinite as rk
from rankinite.errors import ExportError
from rankinite.exchange import PlainClasses, PlainForest, PlainLinear, PlainNet, c_code
from rankinite.exchange.writers import FORMATS, c_trees
from rankinite.exchange.writers.bounds import same_order_bound
from rankinite.trees import Forest
from tests.exchange.writers.cases import NASTY, awkward, rows_around, trained
from tests.exchange.writers.compiled import (
    GCC,
    built,
    compiled,
    needs_gcc,
    needs_gxx,
    written,
)

FORMS = ("tables", "branches")
ODD = np.array([True, False, True, False])
SETTINGS = {
    "plain": {},
    "start": {"start": 0.3},
    "mean": {"divisor": 7, "start": -0.1},
    "scale and bias": {"scale": 0.1, "bias": 1 / 3, "start": 0.7},
    "all": {"scale": -1.7, "bias": 1e-3, "divisor": 3, "start": 2.0},
    "single features": {"single_features": True},
    "single sums": {"single_sums": True, "start": 0.1, "scale": 0.3, "bias": 0.7},
    "single": {"single_sums": True, "single_features": True},
    "zeros": {"zero_is_missing": ODD},
}
# What contracts a product and a sum to one step, where the machine can.
CONTRACTED = ("-std=gnu99", "-O3", "-march=native", "-ffp-contract=fast")


def back(plain, **options):
    form = FORMATS["c"]
    return form.read(form.write(plain, **options), "ranker.c")


def same(found, expected):
    return np.array_equal(found.view(np.int64), expected.view(np.int64))


@needs_gcc
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("settings", SETTINGS)
def test_forests(settings, form, tmp_path):
    plain = awkward(1, **SETTINGS[settings])
    code = compiled(plain, tmp_path, *CONTRACTED, form=form)
    read = back(plain, form=form)
    for dtype in (np.float32, np.float64):
        rows = rows_around(plain, 2000, dtype=dtype)
        expected = plain.scores(rows)
        assert same(code.scores(rows), expected)
        assert same(read.scores(rows), expected)
    assert np.isnan(rows).any() and np.isinf(rows).any()


@needs_gcc
@pytest.mark.parametrize("form", FORMS)
def test_any_number_of_rows_at_any_distance(form, tmp_path):
    plain = awkward(2)
    code = compiled(plain, tmp_path, form=form)
    rows = rows_around(plain, 150)
    expected = plain.scores(rows)
    for n in (0, 1, 2, 7, 8, 9, 15, 16, 17, 24, 63, 64, 65, 150):
        assert same(code.scores(rows[:n]), expected[:n])
        assert same(code.scores(rows[:n], stride=9), expected[:n])
    assert [code.score(row) for row in rows[:40]] == expected[:40].tolist()


@needs_gcc
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("sizes", "shape"),
    [((1, 1, 1), "any"), ((40, 3), "left"), ((40, 3), "right"), ((2,) * 33, "any")],
)
def test_forests_of_odd_shapes(sizes, shape, form, tmp_path):
    plain = awkward(3, sizes=sizes, shape=shape, start=0.25)
    rows = rows_around(plain, 500, dtype=np.float64)
    assert same(compiled(plain, tmp_path, form=form).scores(rows), plain.scores(rows))
    assert same(back(plain, form=form).scores(rows), plain.scores(rows))


@needs_gcc
@pytest.mark.parametrize("form", FORMS)
def test_no_trees_at_all(form, tmp_path):
    plain = PlainForest(Forest.from_trees([]), 3, start=0.5, scale=3.0, bias=1.0)
    assert compiled(plain, tmp_path, form=form).scores(np.zeros((20, 3))).tolist() == [2.5] * 20


@needs_gcc
def test_more_features_than_lie_on_the_stack_together(tmp_path):
    n = c_trees.MOST_SLOTS_TOGETHER + 500
    plain = awkward(4, np.random.default_rng(0).normal(size=50), (200,) * 40, n)
    assert len(np.unique(plain.forest.feature)) > c_trees.MOST_SLOTS_TOGETHER
    rows = rows_around(plain, 60)
    assert same(compiled(plain, tmp_path).scores(rows), plain.scores(rows))
    assert same(back(plain).scores(rows), plain.scores(rows))
    feature = np.arange(2**16 + 1, dtype=np.int32)
    one = awkward(4, [0.5], (2**16 + 2,), 1).forest
    with pytest.raises(ExportError, match="form='branches'"):
        written(PlainForest(replace(one, feature=feature), 2**17), tmp_path)


@needs_gcc
@pytest.mark.slow
def test_large_forests(tmp_path):
    plain = awkward(3, np.random.default_rng(0).normal(size=2000), (255,) * 500, 20)
    rows = rows_around(plain, 10_000, dtype=np.float64)
    expected = plain.scores(rows)
    assert same(compiled(plain, tmp_path).scores(rows), expected)
    for form in FORMS:
        assert same(back(plain, form=form).scores(rows), expected)


def several():
    """Rankers that are exported, and the rows they were trained on."""
    _, X = trained()
    whole = rk.Dataset(X, np.arange(len(X)) % 3, qid=np.repeat(np.arange(30), 20))
    few = {"n_estimators": 4, "max_leaf_nodes": 7}
    mart = rk.MART(**few).fit(whole)
    ours = rk.LambdaMART(**few).fit(whole)
    return X, {
        "mart": mart,
        "logistic": rk.MART("graded", **few).fit(whole),
        "smart": rk.LambdaMART(base_model=mart, **few).fit(whole),
        "sum": rk.Combination({"a": ours, "b": mart}, weights=[2.0, 0.5]).fit(whole),
        "bag": rk.Bagging(rk.MART(**few), n_folds=3).fit(whole),
        "multinomial": rk.McRank(**few).fit(whole),
        "ordinal": rk.McRank("ordinal", **few).fit(whole),
        "linear": rk.LambdaBoost(n_estimators=5).fit(whole),
        "net": rk.LambdaRank(n_hidden=4, n_epochs=2).fit(whole),
        "net without a layer": rk.RankNet(n_hidden=0, n_epochs=2).fit(whole),
    }


@needs_gcc
@pytest.mark.parametrize("form", [None, "branches"])
def test_rankers(form, tmp_path):
    X, rankers = several()
    rows = np.concatenate([X, np.where(np.isnan(X), np.inf, X), -1e30 * X]).astype(np.float64)
    for kind, ranker in rankers.items():
        plain = ranker.plain()
        has_trees = isinstance(plain, PlainForest | PlainClasses)
        if form is not None and not has_trees:
            continue
        stem = kind.replace(" ", "_")
        told = ranker.export(tmp_path / f"{stem}.c", form=form)
        code = compiled(plain, tmp_path, stem=stem, form=form)
        assert (tmp_path / f"{stem}.h").exists()
        found, expected = code.scores(rows), plain.scores(rows)
        if isinstance(plain, PlainForest):
            assert same(found, expected)
            if kind not in ("sum", "bag", "smart"):
                assert same(found, ranker.predict(rows)) and told.largest_difference == 0.0
        else:
            assert (np.abs(found - expected) <= same_order_bound(plain, rows)).all(), kind
            assert "last places" in told.in_words()
            assert np.ptp(expected) > 0.0


def test_trained_on_binary_labels_only_is_no_special_case():
    X = np.random.default_rng(0).normal(size=(40, 2))
    data = rk.Dataset(X, (X[:, 0] > 0).astype(int), qid=np.repeat([0, 1], 20))
    plain = rk.McRank(n_estimators=2).fit(data).plain()
    assert np.array_equal(back(plain).scores(X), plain.scores(X))


@needs_gcc
def test_linear_models_and_nets_by_hand(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 6))
    rows[rng.random(rows.shape) < 0.2] = np.nan
    rows[rng.random(rows.shape) < 0.05] = np.inf
    rows[rng.random(rows.shape) < 0.05] = -np.inf
    rows[rng.random(rows.shape) < 0.05] = 1e300
    own = rng.normal(size=(4, 6))
    layer = (rng.normal(size=(6, 3)), rng.normal(size=3), rng.normal(size=3))
    models = {
        "linear": PlainLinear(own[0], 0.5),
        "single": PlainLinear(own[0], 0.5, single_features=True),
        "wide": PlainNet(*own, *layer, 2.0),
        "flat": PlainNet(*own, None, None, rng.normal(size=6), -1.0),
    }
    for stem, plain in models.items():
        found, expected = compiled(plain, tmp_path, stem=stem).scores(rows), plain.scores(rows)
        # Infinite values have weights in a linear model, and in a net they have stand-ins.
        finite = np.isfinite(expected)
        assert np.array_equal(found[~finite], expected[~finite], equal_nan=True)
        assert finite.all() if isinstance(plain, PlainNet) else 100 < finite.sum() < len(rows)
        apart = np.abs(found[finite] - expected[finite])
        assert (apart <= same_order_bound(plain, rows)[finite]).all()
        bits = back(plain, stem=stem)
        for name in ("weights", "mean", "scale", "low", "high", "hidden", "hidden_bias", "output"):
            if getattr(plain, name, None) is not None:
                assert np.array_equal(getattr(bits, name), getattr(plain, name))


@needs_gcc
@pytest.mark.parametrize("form", FORMS)
def test_models_of_other_libraries(form, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    X[:, 1] = np.round(X[:, 1])
    y = np.clip(np.rint(X[:, 0] + X[:, 1]), 0, 4)
    X[rng.random(X.shape) < 0.1] = np.nan
    rows = np.where(rng.random(X.shape) < 0.2, np.round(X), X)
    seen = 0
    for stem, model in _imported(X, y, tmp_path):
        plain = model.plain()
        code = compiled(plain, tmp_path, *CONTRACTED, stem=stem, form=form)
        assert same(code.scores(rows), model.predict(rows)), stem
        model.export(tmp_path / f"{stem}.c", form=form)
        seen += 1
    if seen == 0:
        pytest.skip("none of the libraries is here")


def _imported(X, y, folder):
    """Models of the libraries that are at hand."""
    try:
        import lightgbm
    except ImportError:
        pass
    else:
        random_forest = {"boosting": "rf", "bagging_fraction": 0.6, "bagging_freq": 1}
        for stem, more in (("zeros", {"zero_as_missing": True}), ("mean", random_forest)):
            params = {"verbose": -1, "num_threads": 1, "objective": "regression", **more}
            lightgbm.train(params, lightgbm.Dataset(X, y), 10).save_model(folder / "model.txt")
            yield stem, rk.load(folder / "model.txt")
    try:
        import xgboost
    except ImportError:
        pass
    else:
        rows = xgboost.DMatrix(X, y)
        xgboost.train({"nthread": 1}, rows, 10).save_model(folder / "model.json")
        yield "xgb", rk.load(folder / "model.json")
    try:
        import catboost
    except ImportError:
        pass
    else:
        params = {"iterations": 10, "thread_count": 1, "logging_level": "Silent"}
        booster = catboost.CatBoost(params | {"allow_writing_files": False}).fit(X, y)
        booster.set_scale_and_bias(0.3, 0.7)
        booster.save_model(str(folder / "cat.json"), format="json")
        yield "cat", rk.load(folder / "cat.json")
    from sklearn.ensemble import HistGradientBoostingRegressor

    yield "hist", rk.Imported.of(HistGradientBoostingRegressor(max_iter=10).fit(X, y))


@needs_gxx
def test_every_kind_is_clean_c_plus_plus(tmp_path):
    _, rankers = several()
    for kind, ranker in rankers.items():
        path = written(ranker.plain(), tmp_path, kind.replace(" ", "_"))
        built(path, "-std=c++11", "-x", "c++", "-c", compiler="g++", output=tmp_path / "x.o")
    plain = awkward(1, zero_is_missing=ODD, scale=0.1, bias=0.5)
    path = written(plain, tmp_path, form="branches")
    for flags in (("-std=c++20", "-x", "c++"), ("-x", "c++")):
        built(path, *flags, "-c", compiler="g++", output=tmp_path / "x.o")
    code = compiled(plain, tmp_path, "-x", "c++", compiler="g++")
    rows = rows_around(plain)
    assert same(code.scores(rows), plain.scores(rows))


MAIN = """
#include "ranker.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    size_t n_rows = (size_t)atol(argv[1]), n = n_rows * RANKER_N_FEATURES;
    double *features = (double *)malloc(n * sizeof(double));
    double *scores = (double *)malloc(n_rows * sizeof(double));
    if (argc != 2 || fread(features, sizeof(double), n, stdin) != n)
        return 2;
    ranker_scores(features, n_rows, RANKER_N_FEATURES, scores);
    fwrite(scores, sizeof(double), n_rows, stdout);
    free(features);
    free(scores);
    return 0;
}
"""


def sanitized(plain, rows, folder, **options):
    """Scores of a program that ends when it reads beyond an array, or does what C does not say."""
    path = written(plain, folder, **options)
    (folder / "main.c").write_text(MAIN)
    checks = "-fsanitize=address,undefined,float-cast-overflow"
    command = [GCC, "-std=c99", "-O1", "-g", checks, "-fno-sanitize-recover=all"]
    program = folder / "program"
    done = subprocess.run(
        [*command, path, folder / "main.c", "-o", program, "-lm"], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("gcc has no sanitizers here")
    given = rows.astype(np.float64).tobytes()
    ran = subprocess.run([program, str(len(rows))], input=given, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr.decode()[:2000]
    return np.frombuffer(ran.stdout)


@needs_gcc
def test_nothing_is_read_beyond_its_end(tmp_path):
    plain = awkward(5, zero_is_missing=ODD)
    rows = rows_around(plain, 203)
    for form in FORMS:
        assert same(sanitized(plain, rows, tmp_path, form=form), plain.scores(rows))
    _, rankers = several()
    for kind in ("ordinal", "multinomial", "net", "linear"):
        plain = rankers[kind].plain()
        rows = np.random.default_rng(0).normal(size=(70, plain.n_features))
        found = sanitized(plain, rows, tmp_path)
        assert np.allclose(found, plain.scores(rows), rtol=1e-12, atol=1e-12)


HOSTILE = [
    'say "hi"', "back\\slash", "new\nline", "*/ int x; /*", "what??/", "tab\there", "grün", "名前",
    "", "a;b", "{}", "at@sign", "\\", "0123\\", "%s%n", "nul\0", "//", "??=", "\x7f", "\udcff",
    "f1",
]  # fmt: skip


@needs_gcc
@pytest.mark.parametrize("flags", [("-std=c99",), ("-std=gnu99", "-trigraphs")])
def test_names_of_features_are_nothing_but_names(flags, tmp_path):
    plain = replace(awkward(6, n_features=len(HOSTILE)), feature_names=HOSTILE)
    code = compiled(plain, tmp_path, *flags)
    rows = rows_around(plain)
    assert same(code.scores(rows), plain.scores(rows))
    told = [name.encode("utf-8", "surrogatepass").split(b"\0")[0] for name in HOSTILE]
    assert code.names(len(HOSTILE)) == [*told, None]
    assert back(plain).feature_names == HOSTILE
    if GCC and shutil.which("g++"):
        path = written(plain, tmp_path)
        built(path, "-x", "c++", "-c", compiler="g++", output=tmp_path / "x.o")


def test_a_name_that_is_too_long_for_a_text(tmp_path):
    plain = replace(awkward(), feature_names=["a", "b" * 4096, "c", "d"])
    with pytest.raises(ExportError, match="feature 2 has 4,096 bytes"):
        written(plain, tmp_path)


@needs_gcc
def test_what_would_change_scores_does_not_compile(tmp_path):
    path = written(awkward(), tmp_path)
    object_file = tmp_path / "x.o"
    for flag in ("-ffast-math", "-ffinite-math-only", "-Ofast"):
        done = subprocess.run(
            [GCC, flag, "-c", path, "-o", object_file], capture_output=True, text=True, check=False
        )
        assert done.returncode != 0 and "compile without -ffast-math" in done.stderr
    header = tmp_path / "ranker.h"
    header.write_text(header.read_text().replace("N_FEATURES 4", "N_FEATURES 5"))
    done = subprocess.run(
        [GCC, "-c", path, "-o", object_file], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0 and "ranker.h belongs to another model" in done.stderr


@pytest.mark.parametrize(
    "name",
    ["", "9lives", "a-b", "a b", "a__b", "_a", "a_", "int main(){}", "ä", "a\n", "x" * 64, 5],
)
def test_names_that_c_has_not(name, tmp_path):
    model, _ = trained()
    with pytest.raises(ExportError, match="name") as caught:
        model.export(tmp_path / "ranker.c", name=name)
    assert "\n" not in str(caught.value) and not list(tmp_path.iterdir())


@needs_gcc
def test_names_of_files_and_of_functions(tmp_path):
    model, X = trained()
    with pytest.raises(ExportError, match="named after the file: 'my-ranker'"):
        model.export(tmp_path / "my-ranker.c")
    with pytest.raises(ExportError, match="another name for the file"):
        model.export(tmp_path / 'a"b.c', name="ranker")
    with pytest.raises(rk.ParameterError, match=r"call that ranker\.c"):
        model.export(tmp_path / "ranker.h", "c")
    assert not list(tmp_path.iterdir())
    told = model.export(tmp_path / "my-ranker.c", name="Best_2")
    sizes = [(tmp_path / f"my-ranker.{suffix}").stat().st_size for suffix in "ch"]
    assert told.n_bytes == sum(sizes) and "bit for bit" in told.in_words()
    code = compiled(model.plain(), tmp_path, stem="my-ranker", name="Best_2")
    assert same(code.scores(X), model.predict(X))


@pytest.mark.parametrize(
    ("options", "make", "told"),
    [
        ({"form": "planes"}, lambda: awkward(), "form must be"),
        ({"form": "tables"}, lambda: PlainLinear(np.ones(2)), "how trees are written"),
        ({}, lambda: PlainLinear(np.array([1.0, np.nan])), "weight that is not finite"),
        ({}, lambda: awkward(start=np.inf), "not finite"),
        ({}, lambda: awkward(single_features=True, zero_is_missing=ODD), "zeros"),
        ({"form": "branches"}, lambda: awkward(sizes=(300,), shape="left"), "form='tables'"),
    ],
)
def test_what_cannot_be_said_in_c(options, make, told):
    with pytest.raises(ExportError, match=told) as caught:
        FORMATS["c"].write(make(), **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("form", FORMS)
def test_a_file_with_other_trees_is_not_written(form, tmp_path, monkeypatch):
    model, _ = trained()
    exact = c_trees.numbers
    monkeypatch.setattr(c_trees, "numbers", lambda values: exact(np.round(values, 6)))
    with pytest.raises(ExportError, match="is not written"):
        model.export(tmp_path / "ranker.c", form=form)
    assert not list(tmp_path.iterdir())


def every_kind():
    outputs = [awkward(1, sizes=(2,)), awkward(2, sizes=(2,))]
    net = PlainNet(*np.ones((4, 2)), np.ones((2, 3)), np.ones(3), np.ones(3), 0.5)
    return {
        "tables": FORMATS["c"].write(awkward(1, sizes=(3, 1), scale=0.3, bias=0.5)),
        "branches": FORMATS["c"].write(
            awkward(1, sizes=(3, 1), zero_is_missing=ODD), form="branches"
        ),
        "classes": FORMATS["c"].write(PlainClasses(outputs, "ordinal", np.arange(3.0))),
        "linear": FORMATS["c"].write(PlainLinear(np.array([0.5, -1.5]), 2.0)),
        "net": FORMATS["c"].write(net),
    }


@pytest.mark.parametrize("kind", every_kind())
def test_files_that_were_changed_are_no_models(kind):
    """Whatever is changed, the file is refused, or the change is one of a number or a comment."""
    content = every_kind()[kind]
    rng = np.random.default_rng(0)
    n_refused = 0
    for place in rng.permutation(len(content))[:400].tolist():
        changed = content[:place] + b"~" + content[place + 1 :]
        try:
            FORMATS["c"].read(changed, "ranker.c")
        except rk.ModelFileError as error:
            n_refused += 1
            assert "\n" not in str(error) and "ranker.c" in str(error)
        else:
            line = content[content.rfind(b"\n", 0, place) + 1 : content.find(b"\n", place)]
            assert line.lstrip()[:1] in (b'"', b"/") or b"#include" in line, line
    assert n_refused > 300


def test_a_guard_that_is_gone():
    content = every_kind()["tables"].decode()
    assert c_code.NO_CONTRACTION in content
    with pytest.raises(rk.ModelFileError, match="products and sums"):
        FORMATS["c"].read(content.replace(c_code.NO_CONTRACTION, "").encode(), "ranker.c")


def test_other_files_are_refused_in_a_sentence(tmp_path):
    for content in (b"", b"int main(void) { return 0; }\n", b"\xff\xfe", b"/* a: a ranking model"):
        with pytest.raises(rk.ModelFileError, match=r"ranker\.c") as caught:
            FORMATS["c"].read(content, "ranker.c")
        assert "\n" not in str(caught.value)


def test_numbers_keep_their_bits():
    from rankinite.exchange.writers.c_text import number, number_of

    some = np.random.default_rng(0).integers(0, 2**64, 5000, dtype=np.uint64).view(np.float64)
    for x in [*NASTY.tolist(), *some[~np.isnan(some)].tolist()]:
        assert np.float64(number_of(number(x))).tobytes() == np.float64(x).tobytes()
