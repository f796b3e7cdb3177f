"""``mpiexec -n 2 rankinite ensemble``: the model and the folder of one process, and one speaks."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

import rankinite as rk
from tests.distributed.jobs import finish, needs_mpi, run, run_script, start
from tests.distributed.test_mpi_command import errors
from tests.ensemble.test_assembling import files_of

pytestmark = needs_mpi
RANKINITE = str(Path(sys.executable).with_name("rankinite"))
TEXT = """\
[data]
folds = 3
train = "train.txt"
test = "test.txt"

[defaults.LambdaMART]
n_estimators = 4
max_leaf_nodes = 5
min_samples_leaf = 3

[member.bag]
ranker = "LambdaMART"
bag = true
augment = { fraction = 0.5, times = 2 }

[member.net]
ranker = "LambdaRank"
parameters = { n_epochs = 2, n_hidden = 3 }

[member.top]
ranker = "LambdaMART"
extra = ["net"]

[combine]
methods = ["average", "linear"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    train, test = rk.artificial(n_queries=(30, 9), n_docs=10, n_features=6)
    rk.write_svmlight(train, folder / "train.txt")
    rk.write_svmlight(test, folder / "test.txt")
    (folder / "e.toml").write_text(TEXT)
    (folder / "bad.toml").write_text(TEXT.replace("n_epochs = 2", "n_epochs = 0"))
    return folder


@pytest.fixture(scope="module")
def alone(folder):
    """What one process prints, and the bytes that it writes."""
    done = alone_in(folder, "e.toml", "--model", "one.rk", "--quiet")
    return done.stdout, (folder / "one.rk").read_bytes(), files_of(folder / "one.rk.run")


def alone_in(folder, *arguments):
    command = [RANKINITE, "ensemble", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300)
    assert done.returncode == 0, done.stderr
    return done


def test_model_folder_and_report_are_those_of_one_process(folder, alone):
    told, model, files = alone
    code, out, err = run(2, RANKINITE, "ensemble", "e.toml", "--model", "two.rk", cwd=folder)
    assert code == 0, err
    assert out == told.replace("one.rk", "two.rk")
    assert (folder / "two.rk").read_bytes() == model
    assert files_of(folder / "two.rk.run") == files
    lines = err.splitlines()
    assert sum("train.txt: 300 rows, 30 queries" in line for line in lines) == 1
    assert "16 of 16 steps" in lines[-1]


def test_killed_it_goes_on_with_workers_and_without(folder, alone):
    _, model, files = alone
    words = ("ensemble", "e.toml", "--model", "killed.rk")
    job = start(2, RANKINITE, *words, cwd=folder)
    deadline = time.monotonic() + 200
    while job.poll() is None and len(list((folder / "killed.rk.run").rglob("*.done.json"))) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    job.kill()
    job.communicate()
    # Its processes end with it, and let the folder go.
    for _ in range(100):
        code, _, err = run(2, RANKINITE, *words, "--force", cwd=folder)
        if "another run is at work" not in err:
            break
        time.sleep(0.1)
    assert code == 0, err
    assert (folder / "killed.rk").read_bytes() == model
    for record in sorted((folder / "killed.rk.run").rglob("*.done.json"))[::2]:
        record.unlink()
    alone_in(folder, *words[1:], "--force")
    assert files_of(folder / "killed.rk.run") == files


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("bad.toml",), "bad.toml, line 18: n_epochs must be a whole number"),
        (("e.toml", "--jobs", 2), "--jobs 2 is for one process"),
        (("e.toml", "--run", "nowhere/x"), "there is no folder nowhere"),
        (("e.toml", "--train", "none.txt"), "none.txt does not exist"),
    ],
    ids=lambda value: "",
)
def test_an_error_is_told_once(arguments, sentence, folder):
    job = start(2, RANKINITE, "ensemble", *arguments, "--model", "x.rk", cwd=folder)
    code, _, err = finish(job)
    assert code == 2, err
    assert len(errors(err)) == 1 and sentence in errors(err)[0], err
    assert "Traceback" not in err and not (folder / "x.rk").exists()


IN_PYTHON = """
import sys
import rankinite as rk
data = [rk.read(f"{sys.argv[1]}/{name}.txt") for name in ("train", "test")]
workers = rk.mpi()
run = f"{sys.argv[1]}/python.run" if sys.argv[2] == "run" else None
declared = f"{sys.argv[1]}/{sys.argv[3]}"
found = rk.assemble(declared, data[0], test=data[1], run=run, communicator=workers)
found.save(f"{sys.argv[1]}/python{workers.rank}.rk")
"""


def test_in_python_all_workers_get_the_model(folder, alone, tmp_path):
    code, _, err = run_script(3, IN_PYTHON, tmp_path, folder, "run", "e.toml")
    assert code == 0, err
    assert files_of(folder / "python.run") == alone[2]
    for rank in range(3):
        assert (folder / f"python{rank}.rk").read_bytes() == alone[1]


def test_an_error_of_one_training_says_whose(folder, tmp_path):
    failing = '[member.bad]\nranker = "MART"\nparameters = { loss = "logistic" }\n\n[combine]'
    (folder / "failing.toml").write_text(TEXT.replace("[combine]", failing))
    code, _, err = run_script(2, IN_PYTHON, tmp_path, folder, "none", "failing.toml")
    assert code != 0
    assert any("bad, all failed: " in line and "loss=" in line for line in err.splitlines()), err
