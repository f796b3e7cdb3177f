"""Libraries in processes of their own: whatever becomes of one is a sentence here, in time."""

from __future__ import annotations

import json
import os
import pickle
import signal
import threading
import time
import warnings

import numpy as np
import pytest

import rankinite as rk
from rankinite.models import save
from rankinite.models.file import write_model
from rankinite.models.foreign import apart
from rankinite.models.foreign.apart import Apart
from tests.fuzz.originals import wholes

# A library by which anything can be done to the process: the content is the name of it.
STAND_IN = """
import ctypes, os, time
import numpy as np

def get(what):
    if what == b"ends":
        os._exit(3)
    if what == b"falls":
        ctypes.string_at(0)
    if what == b"hangs":
        time.sleep(1000)
    if what == b"takes 8 GB":
        np.zeros(1 << 33, np.uint8)
    if what == b"takes 1 TB":
        np.ones(1 << 40, np.uint8)
    if what == b"says much":
        raise ValueError("first line " + "x" * 5000 + "\\nsecond line")
"""


@pytest.fixture
def library(tmp_path, monkeypatch):
    """LightGBM replaced by what reads such a content, in the process apart."""
    (tmp_path / "stand_in.py").write_text(STAND_IN)
    (tmp_path / "lightgbm.py").write_text(
        "import stand_in\n"
        "import numpy as np\n"
        "class Booster:\n"
        "    def __init__(self, model_str):\n"
        "        reading, _, self.scoring = model_str.encode().partition(b', then ')\n"
        "        stand_in.get(reading)\n"
        "    def num_feature(self): return 2\n"
        "    def feature_name(self): return ['a', 'b']\n"
        "    def model_to_string(self, **options): return ''\n"
        "    def current_iteration(self): return 1\n"
        "    def predict(self, X, **options):\n"
        "        stand_in.get(self.scoring)\n"
        "        return X[:, 0]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(apart, "READING", 8.0)
    monkeypatch.setattr(apart, "SCORING", 8.0)


CAUSES = [
    ("ends", "the process ended"),
    ("falls", "the process ended"),
    ("takes 1 TB", "allocate"),
    ("says much", "first line"),
]


@pytest.mark.parametrize(("content", "cause"), [*CAUSES, ("takes 8 GB", "allocate")])
def test_a_library_that_fails_to_read(content, cause, library):
    with pytest.raises(rk.ModelFileError, match=cause) as caught:
        Apart("LightGBM", content.encode(), "model.txt")
    told = str(caught.value)
    assert "LightGBM cannot read its model in model.txt" in told
    assert "\n" not in told and len(told) < 600


@pytest.mark.parametrize(("content", "cause"), CAUSES)
def test_a_library_that_fails_to_score(content, cause, library):
    model = Apart("LightGBM", b"fine, then " + content.encode(), "model.txt")
    for _ in range(2):  # a process that has ended is started again
        with pytest.raises(rk.DataError, match=cause) as caught:
            model.raw_scores(np.ones((3, 2)), 1)
        told = str(caught.value)
        assert "LightGBM cannot score with its model in model.txt" in told
        assert "\n" not in told and len(told) < 600


def test_a_library_that_hangs(library, monkeypatch):
    monkeypatch.setattr(apart, "SCORING", 0.5)
    model = Apart("LightGBM", b"fine, then hangs", "model.txt")
    start = time.monotonic()
    with pytest.raises(rk.DataError, match=r"it takes over 0\.5 seconds"):
        model.raw_scores(np.ones((3, 2)), 1)
    assert time.monotonic() - start < 5
    monkeypatch.setattr(apart, "READING", 0.5)
    with pytest.raises(rk.ModelFileError, match=r"it takes over 0\.5 seconds"):
        Apart("LightGBM", b"hangs", "model.txt")


def test_a_process_that_is_killed_is_started_again(library):
    model = Apart("LightGBM", b"fine", "model.txt")
    os.kill(model._child._process.pid, signal.SIGKILL)
    with pytest.raises(rk.DataError, match="the process ended"):
        model.raw_scores(np.ones((3, 2)), 1)
    assert model.raw_scores(np.ones((3, 2)), 1).tolist() == [1.0, 1.0, 1.0]


def test_an_interrupted_request_leaves_no_answer_behind(library, monkeypatch):
    """Else the next rows would get the scores of those before."""
    model = Apart("LightGBM", b"fine", "model.txt")
    receive = apart.libraries.receive

    def interrupted(pipe):
        raise KeyboardInterrupt

    monkeypatch.setattr(apart.libraries, "receive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.raw_scores(np.full((3, 2), 1.0), 1)
    monkeypatch.setattr(apart.libraries, "receive", receive)
    assert model.raw_scores(np.full((3, 2), 2.0), 1).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_does_not_wait_for_a_lock_of_another_thread(library):
    model = Apart("LightGBM", b"fine", "model.txt")
    held, done = threading.Event(), threading.Event()

    def hold():
        with model._lock:
            held.set()
            done.wait(timeout=60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(timeout=60)
    child = os.fork()
    if child == 0:
        try:
            os._exit(int(model.raw_scores(np.ones((1, 2)), 1)[0] != 1.0))
        finally:
            os._exit(2)
    done.set()
    thread.join()
    assert ends_with(child) == 0


def ends_with(child, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "it waits for ever"


def test_models_apart_are_pickled_without_their_process(library):
    model = pickle.loads(pickle.dumps(Apart("LightGBM", b"fine", "model.txt")))
    assert model.raw_scores(np.ones((2, 2)), 1).tolist() == [1.0, 1.0]


def test_what_a_model_file_holds_inside(tmp_path, library):
    """A base model that its library cannot read, in a file whose checksum is right."""
    for content, cause in CAUSES:
        state = {"kind": "LibraryScorer", "library": "LightGBM", "origin": "Booster"}
        arrays = {"content": np.frombuffer(content.encode(), np.uint8)}
        write_model(tmp_path / "model.rk", state, arrays)
        with pytest.raises(rk.ModelFileError, match=cause) as caught:
            rk.load(tmp_path / "model.rk")
        assert "\n" not in str(caught.value)


# The library reads these by itself, as ours does not: categories, and several scores a row.
BY_LIBRARY = ["categories.lightgbm.txt", "classes.catboost.cbm"]


@pytest.mark.parametrize("name", BY_LIBRARY)
def test_damaged_bytes_of_what_only_a_library_reads(name, tmp_path):
    pytest.importorskip(name.split(".")[1])
    (whole,) = wholes(name)
    path = tmp_path / "model"
    for at in (len(whole) // 4, len(whole) // 2):
        path.write_bytes(whole[:at] + b"\xff\xff" + whole[at + 2 :])
        try:
            save(rk.load(path), tmp_path / "model.rk")
        except rk.ModelFileError as error:
            assert "\n" not in str(error) and str(path) in str(error)


def test_a_leaf_beyond_single_precision(tmp_path):
    """Scores of the library and ours are compared without a warning of numpy."""
    catboost = pytest.importorskip("catboost")
    (whole,) = wholes("rank.catboost.json")
    model = json.loads(whole)
    model["oblivious_trees"][0]["leaf_values"][0] = 1e300
    (tmp_path / "model.json").write_text(json.dumps(model))
    booster = catboost.CatBoost().load_model(str(tmp_path / "model.json"), format="json")
    booster.save_model(str(tmp_path / "model.cbm"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = rk.load(tmp_path / "model.cbm")
    assert isinstance(loaded, rk.Imported)
    assert loaded.predict(np.full((1, 3), -1.0))[0] == 1e300
