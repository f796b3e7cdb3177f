"""Several files wherever one is taken: they are one dataset."""

from __future__ import annotations

import os
import threading

import pytest

import rankinite as rk

SMALL = ["--n-estimators", "3", "--max-leaf-nodes", "4", "--quiet"]


@pytest.fixture(scope="module")
def halves(files, tmp_path_factory):
    """The files of `files` as one and cut into two, between queries, by name and suffix."""
    folder = tmp_path_factory.mktemp("halves")
    cut = {}
    for name in ("train", "valid", "test"):
        for suffix in ("txt", "csv"):
            head, *lines = (files / f"{name}.{suffix}").read_text().splitlines(keepends=True)
            if suffix == "txt":
                head, lines = "", [head, *lines]
            middle = 12 * (len(lines) // 24)  # queries have 12 documents
            paths = []
            for number, part in enumerate((lines[:middle], lines[middle:])):
                path = folder / f"{name}{number}.{suffix}"
                path.write_text(head + "".join(part))
                paths.append(path)
            cut[name, suffix] = paths
    return cut


@pytest.mark.parametrize("suffix", ["txt", "csv"])
def test_training_on_halves_gives_the_model_of_the_whole(run, files, halves, tmp_path, suffix):
    whole, parts = tmp_path / "whole.rk", tmp_path / "parts.rk"
    both = [word for path in halves["valid", suffix] for word in ("--valid", path)]
    one = ["--valid", files / f"valid.{suffix}"]
    assert run("train", files / f"train.{suffix}", *one, "--model", whole, *SMALL).code == 0
    done = run("train", *halves["train", suffix], *both, "--model", parts, *SMALL)
    assert done.code == 0, done.err
    assert parts.read_bytes() == whole.read_bytes()
    first, second = halves["valid", suffix]
    assert f"on {first}, {second}:" in done.out


@pytest.mark.parametrize("suffix", ["txt", "csv"])
@pytest.mark.parametrize(
    "words",
    [
        ("score", "--model", "ranker.rk"),
        ("evaluate", "--model", "ranker.rk"),
        ("compare", "--model", "a=ranker.rk", "--model", "b=ranker.rk"),
    ],
)
def test_verbs_say_of_halves_what_they_say_of_the_whole(
    run, files, halves, monkeypatch, suffix, words
):
    monkeypatch.chdir(files)
    verb, *options = words
    whole = run(verb, f"test.{suffix}", *options)
    parts = run(verb, *halves["test", suffix], *options)
    assert parts.code == 0 and parts.out == whole.out and whole.out


def test_combining_and_looking_for_optima(run, files, halves, tmp_path):
    net = tmp_path / "net.rk"
    rk.LambdaRank(n_hidden=3, n_epochs=2).fit(rk.read(files / "train.txt")).save(net)
    outs = []
    for data in ([files / "test.csv"], halves["test", "csv"]):
        model = tmp_path / f"{len(data)}.rk"
        members = ("--model", net, "--model", files / "ranker.rk")
        done = run("combine", *data, *members, "--output", model)
        assert done.code == 0, done.err
        outs.append(run("optimality", *data, "--model", net, "--directions", "5").out)
    assert (tmp_path / "1.rk").read_bytes() == (tmp_path / "2.rk").read_bytes()
    assert outs[0] == outs[1] and outs[0]


def test_adapting_from_data_in_halves(run, files, halves, tmp_path):
    few = ["--n-estimators", "3", "--early-stopping", "2", "--quiet", "--method", "interpolation"]

    def words(lists):
        return [word for flag, paths in lists for path in paths for word in (flag, path)]

    for name, lists in {
        "whole": [("--background", [files / "train.csv"]), ("--train", [files / "valid.csv"])],
        "parts": [("--background", halves["train", "csv"]), ("--train", halves["valid", "csv"])],
    }.items():
        rest = ["--valid", files / "test.csv", "--model", tmp_path / f"{name}.rk"]
        done = run("adapt", *words(lists), *rest, *few)
        assert done.code == 0, done.err
    assert (tmp_path / "whole.rk").read_bytes() == (tmp_path / "parts.rk").read_bytes()
    mixed = [*halves["train", "csv"], files / "ranker.rk"]
    refused = run("adapt", *words([("--background", mixed), lists[1]]), *rest, "--force")
    assert refused.code == 2 and "ranker.rk is a model: give it alone" in refused.err


def test_a_query_in_two_files(run, files, tmp_path):
    again = tmp_path / "again.txt"
    again.write_bytes((files / "test.txt").read_bytes())
    data = [files / "test.txt", again]
    model = ["--model", files / "ranker.rk"]
    refused = run("evaluate", *data, *model)
    assert refused.code == 2 and "--same-id" in refused.err and "same_id" not in refused.err
    apart = run("evaluate", *data, *model, "--same-id", "apart")
    assert apart.code == 0 and "  30  " in apart.out
    joined = run("evaluate", *data, *model, "--same-id", "join")
    assert joined.code == 0 and "  15  " in joined.out
    odd = run("evaluate", *data, *model, "--same-id", "glue")
    assert odd.code == 2 and "--same-id" in odd.err


@pytest.mark.parametrize("suffix", ["txt", "csv"])
def test_a_wrong_label_is_found_in_its_file(run, files, halves, tmp_path, suffix):
    first, second = halves["test", suffix]
    lines = second.read_text().splitlines(keepends=True)
    _, space, rest = lines[3].partition(" " if suffix == "txt" else ",")
    lines[3] = f"77{space}{rest}"
    broken = tmp_path / f"broken.{suffix}"
    broken.write_text("".join(lines))
    done = run("evaluate", first, broken, "--model", files / "ranker.rk")
    assert done.code == 2 and f"{broken}, line 4: a document of query" in done.err


def test_a_model_through_a_pipe(run, files, tmp_path):
    pipe = tmp_path / "ranker"
    os.mkfifo(pipe)
    content = (files / "ranker.rk").read_bytes()
    threading.Thread(target=pipe.write_bytes, args=(content,)).start()
    piped = run("score", files / "test.txt", "--model", pipe)
    assert piped.code == 0, piped.err
    assert piped.out == run("score", files / "test.txt", "--model", files / "ranker.rk").out
