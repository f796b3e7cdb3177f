import io
import json
import math
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import rankinite as rk
from rankinite.training import Checkpoint, EarlyStopping, Log, Progress, Run, best_round
from tests.boosting.small import QUICK, StopAfter, train_and_valid, with_labels


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_best_round():
    def best(*values):
        return best_round({"valid": {"m": list(values)}}, "valid", "m")

    assert best(0.1, 0.3, 0.2) == 2
    assert best(0.3, 0.3, 0.1) == 1, "the fewest trees of equals"
    assert best(math.nan, 0.1, math.nan) == 2
    assert best(math.nan) == best() == 0
    assert best_round({}, "valid", "m") == 0


@pytest.mark.parametrize(
    ("values", "ends"),
    [([1.0], False), ([1.0, 0.5], False), ([1.0, 0.5, 0.7], True), ([0.1, 0.0, 0.2], False)],
)
def test_early_stopping_waits_so_many_rounds(values, ends):
    run = Run(10, n_done=len(values), history={"valid": {"m": values}})
    stopping = EarlyStopping(2, "valid", "m")
    assert stopping.after_round(run) is ends
    stopping.finish(run)


def test_callbacks_see_every_round_and_can_end_the_run():
    train, valid = train_and_valid()
    seen = []

    class Watch:
        def __init__(self, last):
            self.last = last

        def after_round(self, run):
            assert run.n_done == len(run.history["valid"]["ndcg@10"])
            seen.append((self.last, run.n_done))
            return run.n_done == self.last

        def finish(self, run):
            seen.append((self.last, "end"))

    model = rk.LambdaMART(**QUICK).fit(train, valid=valid, callbacks=[Watch(2), Watch(9)])
    assert model.forest_.n_trees == 2
    # The one that ends the run does not hide the round from those after it.
    assert seen == [(2, 1), (9, 1), (2, 2), (9, 2), (2, "end"), (9, "end")]


def test_early_stopping_as_a_callback():
    train, valid = train_and_valid()
    settings = {**QUICK, "n_estimators": 30, "learning_rate": 1.0}
    own = rk.LambdaMART(early_stopping=2, **settings).fit(train, valid=valid)
    passed = rk.LambdaMART(**settings)
    passed.fit(train, valid=valid, callbacks=[EarlyStopping(2, "valid", "ndcg@10")])
    assert passed.history_ == own.history_ and passed.best_iteration_ == own.best_iteration_
    assert passed.forest_.n_trees == own.forest_.n_trees + 2, "only early_stopping= drops trees"


def test_progress_prints_lines_where_there_is_no_terminal():
    train, valid = train_and_valid()
    stream = io.StringIO()
    rk.LambdaMART(**QUICK).fit(train, valid=valid, callbacks=[Progress(every=4, stream=stream)])
    lines = stream.getvalue().splitlines()
    assert [line.split()[:2] for line in lines] == [["tree", f"{k}/6"] for k in (1, 4, 6)]
    for line in lines:
        assert "valid ndcg@10 0." in line and ("s left at most" in line) == ("1/6" not in line)
    with pytest.raises(rk.ParameterError, match="every must be a whole number at least 1, got 0"):
        Progress(every=0)


def test_progress_prints_the_last_line_once():
    train, _ = train_and_valid()
    for every, expected in ((3, ["1/6", "3/6", "6/6"]), (50, ["1/6", "6/6"]), (6, ["1/6", "6/6"])):
        stream = io.StringIO()
        rk.LambdaMART(**QUICK).fit(train, callbacks=[Progress(every=every, stream=stream)])
        assert [line.split()[1] for line in stream.getvalue().splitlines()] == expected


def test_progress_shows_a_bar_on_a_terminal():
    train, valid = train_and_valid()
    stream = Terminal()
    progress = Progress(stream=stream)
    rk.LambdaMART(**QUICK).fit(train, valid=valid, callbacks=[progress])
    assert "tree 6/6" in stream.getvalue() and "valid ndcg@10" in stream.getvalue()
    with pytest.raises(KeyboardInterrupt):
        rk.LambdaMART(**QUICK).fit(train, callbacks=[progress, StopAfter(3)])
    assert "tree 3/6" in stream.getvalue()
    assert progress._bar is None, "the terminal is given back after an interrupt"


def test_time_left_counts_only_the_rounds_of_this_run():
    """And not the first of them, which may have compiled the kernels."""
    stream = io.StringIO()
    progress = Progress(every=1, stream=stream)
    progress.after_round(Run(100, n_done=91, seconds=20.0, n_taken_over=90))
    assert stream.getvalue().endswith("20.0 s\n")
    progress.after_round(Run(100, n_done=92, seconds=21.0, n_taken_over=90))
    assert stream.getvalue().endswith("21.0 s, 8 s left at most\n")


def test_verbose_shows_progress(capsys):
    train, _ = train_and_valid()
    rk.LambdaMART(verbose=1, **QUICK).fit(train)
    shown = capsys.readouterr()
    assert shown.out == "" and "tree 6/6" in shown.err
    rk.LambdaMART(**QUICK).fit(train)
    shown = capsys.readouterr()
    assert shown.out == shown.err == ""


def strict(line):
    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    return json.loads(line, parse_constant=refuse)


def test_log_writes_json_lines(tmp_path):
    train, valid = train_and_valid()
    path = tmp_path / "log.jsonl"
    log = Log(path)
    model = rk.LambdaMART(**QUICK).fit(train, valid=valid, callbacks=[log])
    entries = [strict(line) for line in path.read_text().splitlines()]
    assert [entry["event"] for entry in entries] == ["round"] * 6 + ["end"]
    assert [entry["trees"] for entry in entries] == [1, 2, 3, 4, 5, 6, 6]
    logged = [entry["valid ndcg@10"] for entry in entries[:6]]
    assert logged == model.history_["valid"]["ndcg@10"]
    assert all(a["seconds"] <= b["seconds"] for a, b in pairwise(entries))
    # The same log goes on with the next run, also after an interrupt.
    with pytest.raises(KeyboardInterrupt):
        rk.LambdaMART(**QUICK).fit(train, callbacks=[log, StopAfter(2)])
    entries = [strict(line) for line in path.read_text().splitlines()]
    assert [entry["trees"] for entry in entries[7:]] == [1, 2, 2]
    with pytest.raises(rk.DataError, match=r"cannot write the log to .*: No such file"):
        Log(tmp_path / "no folder" / "log")


def test_log_of_a_measure_without_a_value_is_json(tmp_path):
    train, valid = train_and_valid()
    blank = with_labels(valid, np.zeros(valid.n_rows))
    model = rk.LambdaMART(**QUICK)
    model.fit(train, valid=blank, callbacks=[Log(tmp_path / "log")])
    entries = [strict(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert entries[0]["valid ndcg@10"] is None
    assert np.isnan(model.history_["valid"]["ndcg@10"]).all()
    assert model.best_iteration_ == model.forest_.n_trees == 6
    model.save(tmp_path / "model.rk")
    assert np.isnan(rk.load(tmp_path / "model.rk").history_["valid"]["ndcg@10"]).all()


class Broken(io.StringIO):
    """A stream whose reader has gone."""

    def __init__(self, failure, tty=False):
        super().__init__()
        self.failure, self.tty, self.n_tried = failure, tty, 0

    def isatty(self):
        return self.tty

    def write(self, text):
        self.n_tried += 1
        raise self.failure


@pytest.mark.parametrize("tty", [False, True])
@pytest.mark.parametrize(
    "failure", [BrokenPipeError(32, "Broken pipe"), OSError(28, "No space"), ValueError("closed")]
)
def test_progress_that_cannot_be_shown_ends_no_training(failure, tty):
    train, _ = train_and_valid()
    stream = Broken(failure, tty)
    with pytest.warns(rk.RankiniteWarning, match="no longer shown.*; the training goes on") as got:
        model = rk.LambdaMART(**QUICK).fit(train, callbacks=[Progress(every=1, stream=stream)])
    assert len(got) == 1 and model.n_rounds_ == 6
    closed = io.StringIO()
    closed.close()
    with pytest.warns(rk.RankiniteWarning, match="no longer shown"):
        rk.LambdaMART(**QUICK).fit(train, callbacks=[Progress(stream=closed)])


def test_progress_without_standard_error(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    train, _ = train_and_valid()
    assert rk.LambdaMART(verbose=1, **QUICK).fit(train).n_rounds_ == 6


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is always full")
def test_a_log_on_a_full_disk_ends_no_training():
    train, _ = train_and_valid()
    log = Log("/dev/full")
    with pytest.warns(rk.RankiniteWarning, match="the log /dev/full ends here: No space") as got:
        model = rk.LambdaMART(**QUICK).fit(train, callbacks=[log])
    assert len(got) == 1 and model.n_rounds_ == 6
    assert rk.LambdaMART(**QUICK).fit(train, callbacks=[log]).n_rounds_ == 6


def test_a_checkpoint_that_cannot_be_written_ends_no_training(tmp_path):
    train, _ = train_and_valid()
    folder = tmp_path / "gone"
    folder.mkdir()
    checkpoint = Checkpoint(folder / "part.rk", every=2)

    class Meddle:
        def after_round(self, run):
            if run.n_done == 3:
                assert checkpoint.n_saved == 2
                shutil.rmtree(folder)
            return False

        def finish(self, run):
            pass

    with pytest.warns(rk.RankiniteWarning, match=r"no checkpoint of tree 4: .*part.rk") as got:
        model = rk.LambdaMART(**QUICK).fit(train, callbacks=[checkpoint, Meddle()])
    assert len(got) == 1 and model.n_rounds_ == 6 and checkpoint.n_saved == 2
    for wrong in (folder / "part.rk", tmp_path):
        with pytest.raises(rk.DataError, match="cannot write checkpoints to"):
            Checkpoint(wrong)
