"""Signals, closed streams and full disks: what was learned is kept, and told where."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import rankinite as rk
from rankinite.cli.reporting import EndingSignal, ending_signals

MANY = ("--n-estimators", 100_000, "--max-leaf-nodes", 3)
FEW = ("--n-estimators", 60, "--max-leaf-nodes", 3)


def start(*words, **options):
    code = "from rankinite.cli import main; main()"
    return subprocess.Popen([sys.executable, "-c", code, *map(str, words)], **options)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_keeps_what_was_learned(number, files, tmp_path):
    model, log = tmp_path / "model.rk", tmp_path / "log"
    words = ("train", files / "train.txt", *MANY, "--model", model, "--log", log, "--quiet")
    process = start(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 120
        while not log.exists() or log.read_text().count("\n") < 5:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + number, err
    assert f"interrupted: {model} holds what was learned" in err and f"model: {model}" in out
    assert rk.load(model).n_rounds_ >= 4
    assert '"interrupted": true' in log.read_text().splitlines()[-1]


def test_signals_are_given_back():
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]
    for number in (signal.SIGTERM, signal.SIGHUP):
        with pytest.raises(EndingSignal), ending_signals():
            try:
                os.kill(os.getpid(), number)
                time.sleep(5)
            except EndingSignal as interrupt:
                assert interrupt.number == number
                os.kill(os.getpid(), number)  # a second one does not cut off the saving
                raise
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)] == before
    # One that is ignored, as by nohup, stays ignored.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ending_signals():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before[1])


def test_other_threads_leave_signals_alone():
    seen = []

    def look():
        with ending_signals():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.SIG_DFL]


@pytest.mark.parametrize(
    "redirection",
    [
        "2>&1 | true",
        "| true",
        "2>&1 | head -1 >/dev/null",
        "2>&-",
        ">&- 2>&-",
        "2>/dev/full",
        "<&- >&- 2>&-",
    ],
)
def test_streams_that_are_closed(redirection, files, tmp_path):
    model = tmp_path / "model.rk"
    words = ["train", files / "train.txt", *FEW, "--model", model, "--log", tmp_path / "log"]
    command = f"{sys.executable} -c 'from rankinite.cli import main; main()' "
    command += " ".join(map(str, words))
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} {redirection}"], timeout=120, check=False
    )
    assert done.returncode == 0
    assert rk.load(model).n_rounds_ == 60
    assert len((tmp_path / "log").read_text().splitlines()) == 62


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is always full")
def test_a_log_on_a_full_disk(run, files, tmp_path):
    model = tmp_path / "m.rk"
    words = ("--log", "/dev/full", "--model", model, "--quiet", *FEW)
    result = run("train", files / "train.txt", *words)
    assert result.code == 0 and rk.load(model).n_rounds_ == 60
    assert result.err == (
        "warning: the log /dev/full ends here: No space left on device; the training goes on\n"
    )


def no_room(folder, monkeypatch):
    """Let every file in a folder be too large for its disk."""
    true_sync = os.fsync

    def sync(descriptor):
        if str(folder) in str(Path(f"/proc/self/fd/{descriptor}").readlink()):
            raise OSError(28, "No space left on device")
        true_sync(descriptor)

    monkeypatch.setattr(os, "fsync", sync)


def test_a_full_disk_at_the_end(run, files, tmp_path, monkeypatch):
    full, temporary = tmp_path / "full", tmp_path / "temporary"
    full.mkdir(), temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    no_room(full, monkeypatch)
    words = ("train", files / "train.txt", "--quiet", *FEW)
    result = run(*words, "--model", full / "m.rk")
    (other,) = temporary.glob("*/m.rk")
    assert result.code == 2 and result.err == (
        f"error: {full / 'm.rk'} cannot be written: No space left on device; what was learned is "
        f"in {other} instead: move it from there\n"
    )
    assert rk.load(other).n_rounds_ == 60 and not list(full.iterdir())


@pytest.mark.parametrize("verb", ["combine", "adapt"])
def test_a_full_disk_at_the_end_of_other_verbs(run, files, tmp_path, monkeypatch, verb):
    full, temporary = tmp_path / "full", tmp_path / "temporary"
    full.mkdir(), temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    no_room(full, monkeypatch)
    ranker = files / "ranker.rk"
    if verb == "combine":
        words = (files / "valid.txt", "--model", ranker, "--output", full / "m.rk")
    else:
        data = ("--train", files / "valid.txt", "--valid", files / "test.txt", "--quiet")
        few = ("--method", "lambdaboost", "--n-estimators", 2)
        words = ("--background", ranker, *data, *few, "--model", full / "m.rk")
    result = run(verb, *words)
    (other,) = temporary.glob("*/m.rk")
    assert result.code == 2 and result.err.splitlines()[-1] == (
        f"error: {full / 'm.rk'} cannot be written: No space left on device; what was learned is "
        f"in {other} instead: move it from there"
    )
    assert rk.load(other).n_features_in_ == 5 and not list(full.iterdir())


def test_adapting_to_labels_that_are_all_the_same_is_an_error(run, files, tmp_path):
    lines = (files / "train.txt").read_text().splitlines()
    (tmp_path / "same.txt").write_text("".join(f"0{line[1:]}\n" for line in lines))
    words = ("--train", tmp_path / "same.txt", "--valid", files / "test.txt", "--quiet")
    model = tmp_path / "m.rk"
    result = run("adapt", "--background", files / "ranker.rk", *words, "--model", model)
    assert result.code == 2 and not model.exists()
    assert result.err.startswith("error: the training data teaches nothing about ndcg@10: no query")


def test_a_full_disk_everywhere(run, files, tmp_path, monkeypatch):
    full = tmp_path / "full"
    full.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(full))
    no_room(full, monkeypatch)
    words = ("train", files / "train.txt", "--quiet", *FEW, "--model", full / "m.rk")
    result = run(*words)
    assert result.code == 2 and result.err.endswith("temporary files either\n")
    part = tmp_path / "part.rk"
    result = run(*words, "--checkpoint", part)
    assert f"the checkpoint {part} has 60 trees: make room, and --resume it" in result.err
    assert rk.load(part).n_rounds_ == 60
    assert not [path for path in full.rglob("*") if path.is_file()]


def test_checkpoints_on_a_full_disk(run, files, tmp_path):
    """A model larger than a file may be: SIGXFSZ is ignored by Python, and the write fails."""
    model, part = tmp_path / "model.rk", tmp_path / "part.rk"
    words = ("train", files / "train.txt", "--quiet", *FEW)
    run(*words, "--model", tmp_path / "other.rk")  # kernels are compiled without the limit

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    process = start(
        *words,
        *("--model", model, "--checkpoint", part, "--checkpoint-every", 10),
        preexec_fn=small_files,
        stderr=subprocess.PIPE,
        text=True,
    )
    err = process.communicate(timeout=120)[1]
    assert process.returncode == 2
    warning, error = err.splitlines()
    assert warning.startswith("warning: there is no checkpoint of tree 20: ")
    assert "File too large" in warning and warning.endswith("; the training goes on")
    assert error.startswith(f"error: {model} cannot be written: File too large; ")
    assert f"the checkpoint {part} has 10 trees: make room, and --resume it" in error
    assert rk.load(part).n_rounds_ == 10


def test_nothing_to_learn_is_an_error(run, files, tmp_path):
    data, model = tmp_path / "same.txt", tmp_path / "m.rk"
    lines = (files / "train.txt").read_text().splitlines()
    data.write_text("".join(f"0{line[1:]}\n" for line in lines))
    words = ("train", data, "--model", model, "--quiet", *FEW)
    result = run(*words)
    assert result.code == 2 and not model.exists()
    assert result.err == (
        "error: nothing was learned: no query has two documents with different labels; no model is "
        "saved: add --allow-nothing to save it all the same\n"
    )
    result = run(*words, "--allow-nothing")
    assert result.code == 0 and rk.load(model).n_rounds_ == 60
    assert result.err.startswith("warning: nothing was learned: no query has two documents")


def test_several_watched_measures(run, files, tmp_path):
    model = tmp_path / "m.rk"
    words = ("--valid", files / "valid.txt", "--model", model, "--quiet", *FEW)
    result = run("train", files / "train.txt", *words, "--valid-measure", "mrr,ndcg@3")
    assert result.code == 0 and "mrr " in result.out and "ndcg@3 " in result.out
    loaded = rk.load(model)
    assert loaded.valid_measure == ["mrr", "ndcg@3"]
    assert list(loaded.history_["valid"]) == ["mrr", "ndcg@3"]


def test_other_verbs_end_with_the_number_of_the_signal(run, files, monkeypatch):
    for number in (signal.SIGTERM, signal.SIGHUP):

        def read(*paths, number=number, **options):
            os.kill(os.getpid(), number)
            time.sleep(5)

        monkeypatch.setattr("rankinite.formats.read", read)
        result = run("evaluate", files / "test.txt", "--model", files / "ranker.rk")
        assert result.code == 128 + number and result.err.split() == ["interrupted"]
