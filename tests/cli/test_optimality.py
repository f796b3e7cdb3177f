from __future__ import annotations

import json

import numpy as np
import pytest

import rankinite as rk
from rankinite.models import LinearScorer, save


@pytest.fixture(scope="module")
def boosted(files, tmp_path_factory):
    path = tmp_path_factory.mktemp("boosted") / "boosted.rk"
    rk.LambdaBoost(n_estimators=15).fit(rk.read(files / "train.txt")).save(path)
    return path


def test_table(run, files, boosted):
    result = run("optimality", files / "train.txt", "--model", boosted)
    expected = rk.local_optimality(rk.load(boosted), rk.read(files / "train.txt"))
    assert (result.code, result.err) == (0, "")
    assert result.out == f"{expected}\n"


def test_json_and_options(run, files, boosted, tmp_path):
    words = ("--measure", "map", "--directions", 30, "--radius", 0.05, "--radius", 0.5)
    more = ("--confidence", 0.9, "--fraction", 0.2, "--curves", 2, "--seed", 3, "--threads", 1)
    plot = tmp_path / "plot.svg"
    data = files / "train.csv"
    result = run("optimality", data, "--model", boosted, *words, *more, "--json", "--plot", plot)
    found = json.loads(result.out)
    train = rk.read(files / "train.txt")
    expected = rk.local_optimality(
        rk.load(boosted),
        train,
        "map",
        confidence=0.9,
        fraction=0.2,
        n_directions=30,
        radius=(0.05, 0.5),
        curves=2,
        random_state=3,
    )
    assert found["measure"] == "map" and found["value"] == expected.value
    assert (found["weights"], found["directions"]) == (5, 30)
    assert [each["radius"] for each in found["radii"]] == [0.05, 0.5]
    for each, moves in zip(found["radii"], expected.moves, strict=True):
        assert (each["rises"], each["falls"]) == (moves.n_rising, moves.n_falling)
        assert each["rising_at_most"] == moves.share and each["confidence"] == moves.confidence
    assert [curve["name"] for curve in found["curves"]] == [c.name for c in expected.curves]
    assert found["curves"][0]["values"] == expected.curves[0].values.tolist()
    assert "<svg" in plot.read_text(encoding="utf-8")


def test_weights_in_a_file(run, files, tmp_path):
    save(LinearScorer(np.arange(1.0, 6.0)), tmp_path / "linear.rk")
    words = ("--model", tmp_path / "linear.rk", "--directions", 5, "--json")
    result = run("optimality", files / "train.txt", *words)
    assert json.loads(result.out)["weights"] == 5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--model {files}/ranker.rk", "a LambdaMART has no vector of weights"),
        ("--model {files}/none.rk", "cannot read the model file"),
        ("--model {boosted} --plot plot.pdf", "a plot goes to a .png or .svg file"),
        ("--model {boosted} --plot {files}/none/plot.png", "cannot write the plot"),
        ("--model {boosted} --measure quality", "unknown measure 'quality'"),
        ("--model {boosted} --radius 0", "radius must be a number above 0"),
        ("--model {boosted} --directions 0", "--directions must be a whole number at least 1"),
        ("--model {boosted} --fraction 2", "fraction must be a number above 0 and below 1"),
    ],
)
def test_mistakes(run, files, boosted, words, message):
    words = words.format(files=files, boosted=boosted).split()
    result = run("optimality", files / "train.txt", *words)
    assert result.code == 2
    assert result.err.startswith("error: ")
    assert message in result.err
