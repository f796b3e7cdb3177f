from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time

import pytest

import rankinite as rk

SPACE = """
sampler = "random"
trials = 4
folds = 3

[fixed]
n_estimators = 8
early_stopping = 3
min_samples_leaf = 5

[space]
learning_rate = { low = 0.02, high = 0.5, log = true }
max_leaf_nodes = { low = 2, high = 8, step = 2 }
normalize = [true, false]
"""


@pytest.fixture
def space(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text(SPACE)
    return path


def test_table_plot_and_model(run, files, space, tmp_path):
    model, plot = tmp_path / "best.rk", tmp_path / "sweep.png"
    words = ("sweep", files / "train.txt", "--space", space, "--model", model, "--plot", plot)
    result = run(*words)
    assert result.code == 0
    table, (command, line, last) = result.out.splitlines()[:6], result.out.splitlines()[7:]
    assert table[0].split()[:4] == ["trial", "learning_rate", "max_leaf_nodes", "normalize"]
    assert table[5] == "4 of 4 trials" and last == f"model: {model}"
    assert plot.read_bytes().startswith(b"\x89PNG")
    told = result.err.splitlines()
    assert told[0].endswith("train.txt: 480 rows, 40 queries; 4 trials of 3 folds")
    assert told[1].startswith("trial 0, 1 of 4: ndcg@10 0.") and len(told) == 5
    # The model is what the command and the line of Python would have trained.
    other = tmp_path / "other.rk"
    assert run(*shlex.split(command.strip())[1:], "--model", other).code == 0
    trained = eval(line.strip(), {"rk": rk}).fit(rk.read(files / "train.txt", max_bins=255))
    rows = rk.read(files / "test.txt")
    scores = rk.load(model).predict(rows).tolist()
    assert scores == rk.load(other).predict(rows).tolist() == trained.predict(rows).tolist()
    assert run(*words).err.startswith(f"error: {model} is there already: add --force")


def test_json_and_options(run, files, space):
    words = ("--space", space, "--json", "--quiet", "--measure", "err@10", "--seed", 3)
    more = ("--trials", 2, "--folds", 4, "--prune", "none", "--max-leaf-nodes", 4, "--threads", 1)
    result = run("sweep", files / "train.csv", *words, *more)
    found = json.loads(result.out)
    assert (result.code, result.err) == (0, "")
    assert found["measure"] == "err@10" and found["n_trials"] == 2
    ranker = rk.LambdaMART(
        *("err@10", 8, 4),
        early_stopping=3,
        min_samples_leaf=5,
        random_state=3,
    )
    expected = rk.sweep(
        ranker,
        {
            "learning_rate": {"low": 0.02, "high": 0.5, "log": True},
            "normalize": [True, False],
        },
        rk.read(files / "train.txt", max_bins=255),
        trials=2,
        sampler="random",
        n_folds=4,
        prune="none",
        random_state=3,
    )
    assert found["best"] == expected.best.number and found["best_params"] == expected.best_params
    assert [each["value"] for each in found["trials"]] == [each.value for each in expected.trials]
    assert list(found["best_params"]) == ["learning_rate", "normalize"], "an option is fixed"


def test_a_study_goes_on_with_more_jobs(run, files, space, tmp_path):
    study = tmp_path / "sweep.db"
    words = ("sweep", files / "train.txt", "--space", space, "--study", study)
    assert run(*words, "--trials", 2, "--quiet").code == 0
    result = run(*words, "--jobs", 2)
    assert result.code == 0 and "2 trials are there already" in result.err
    assert "4 of 4 trials" in result.out
    result = run(*words, "--early-stopping", 2)
    assert result.code == 2
    assert result.err.splitlines()[-1].startswith(
        f"error: {study} holds a sweep of other fixed parameters: go on with what it was started"
    )


def test_nets_by_a_preset(run, files):
    words = ("--preset", "lambdarank-000", "--n-epochs", 3, "--trials", 1, "--folds", 3)
    result = run("sweep", files / "train.txt", *words, "--quiet")
    assert result.code == 0
    command = result.out.splitlines()[-2]
    assert "--ranker lambdarank" in command and command.endswith("--valid FILE")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--preset none", "there is no preset 'none'; there are lambdamart, lambdamart-004"),
        ("--preset lambdamart --space {space}", "--space and --preset are two spaces"),
        ("--space {space}.none", "cannot read the space in"),
        ("--space {space} --folds 41", "has 40 queries, too few for --folds 41: use fewer folds"),
        ("--space {space} --folds 2", "--folds 2 leaves no queries to watch for --early-stopping"),
        ("--space {space} --sampler grid", "learning-rate is a range: a grid needs"),
        ("--space {space} --sampler x", "--sampler must be one of"),
        ("--space {space} --jobs 0", "--jobs must be a whole number at least 1"),
        ("--space {space} --trials 0", "--trials must be a whole number at least 1"),
        ("--space {space} --n-hidden 3", "--n-hidden is not an option of --ranker lambdamart"),
        ("--space {space} --measure best", "unknown measure 'best'"),
        ("--space {space} --study {files}", "it is a folder"),
        ("--space {space} --study {files}/train.txt", "is no study, but another file"),
        ("--space {space} --plot plot.pdf", "a plot goes to a .png or .svg file"),
        ("--space {space} --model {files}/no/m.rk", "cannot write the model"),
    ],
)
def test_mistakes(run, files, space, words, message):
    words = words.format(files=files, space=space).split()
    result = run("sweep", files / "train.txt", *words, "--quiet")
    assert result.code == 2
    assert result.err.startswith("error: ") and message in result.err
    assert result.err.count("\n") == 1


def test_a_mistake_in_the_file_is_told_with_its_line(run, files, space):
    space.write_text(SPACE.replace("max_leaf_nodes", "num_leaves"))
    result = run("sweep", files / "train.txt", "--space", space)
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        f"error: {space}, line 13: LambdaMART has no parameter 'num_leaves': here it is called "
        "max_leaf_nodes\n"
    )


@pytest.mark.parametrize(("number", "jobs"), [(signal.SIGINT, 1), (signal.SIGTERM, 2)])
def test_an_interrupt_ends_with_the_table_so_far(number, jobs, files, space, tmp_path):
    study = tmp_path / "sweep.db"
    words = ["sweep", files / "train.txt", "--space", space, "--study", study, "--jobs", jobs]
    code = "from rankinite.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words), "--trials", "2000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not process.stderr.readline().startswith("trial "):
            assert process.poll() is None
        time.sleep(0.1)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + number, err
    assert out.split()[0] == "trial" and " of 2000 trials" in out.splitlines()[-1]
    assert err.splitlines()[-1] == (
        f"interrupted: {study} holds what was tried; the same command goes on from there"
    )
    assert "Traceback" not in err
