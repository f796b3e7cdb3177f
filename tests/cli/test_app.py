from __future__ import annotations

import os
import subprocess
import sys
import warnings

import pytest
import typer

import rankinite
from rankinite.cli.app import app
from rankinite.cli.reporting import one_line_errors
from rankinite.errors import DataError, ParameterError, RankiniteWarning

VERBS = (
    "demo",
    "train",
    "score",
    "evaluate",
    "compare",
    "sweep",
    "combine",
    "distil",
    "adapt",
    "ensemble",
    "optimality",
    "explain",
    "export",
    "import",
    "info",
    "compile",
)


def test_version(run):
    result = run("--version")
    assert (result.code, result.out) == (0, f"rankinite {rankinite.__version__}\n")


def test_help_names_every_verb(run):
    text = run("--help").out
    assert all(verb in text for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_of_at_most_80_columns(run, verb, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    result = run(verb, "--help")
    assert result.code == 0
    assert "Usage: rankinite" in result.out
    assert max(map(len, result.out.splitlines())) <= 80


def test_help_and_version_do_not_load_the_library():
    program = (
        "import sys\n"
        "from rankinite.cli import main\n"
        "for option in ('--help', '--version'):\n"
        "    try:\n"
        "        main([option])\n"
        "    except SystemExit:\n"
        "        pass\n"
        "heavy = {'numpy', 'numba', 'pyarrow', 'scipy'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("train", "x.txt", "--max-leaves", 3), "No such option"),
        (("train", "x.txt", "--n-epochs", "abc"), "--n-epochs"),
        (("score",), "Missing argument 'DATA...'"),
        (("score", "x.txt"), "Missing option '--model'"),
        (("sing",), "No such command 'sing'"),
    ],
)
def test_a_wrong_word_is_one_line(run, words, message):
    result = run(*words)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: ") and result.err.count("\n") == 1
    assert message in result.err and "--help shows what there is" in result.err


def test_no_word_at_all_shows_the_help(run):
    result = run()
    assert "Usage: rankinite" in result.out + result.err and "error" not in result.err


def test_an_error_of_the_library_is_one_line(capsys):
    with pytest.raises(SystemExit) as exited, one_line_errors():
        raise DataError("the label is wrong:\n  mend it")
    assert exited.value.code == 2
    assert capsys.readouterr().err == "error: the label is wrong: mend it\n"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (FileNotFoundError(2, "No such file", "a.txt"), "a.txt: No such file"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (OSError("odd"), "odd"),
    ],
)
def test_an_error_of_the_system_is_one_line(capsys, error, message):
    with pytest.raises(SystemExit) as exited, one_line_errors():
        raise error
    assert exited.value.code == 2
    assert capsys.readouterr().err == f"error: {message}\n"


def test_a_bug_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError), one_line_errors():
        _ = 1 / 0


def test_warnings_are_one_line_and_those_of_others_are_left_alone(capsys):
    shown = warnings.showwarning
    with one_line_errors():
        warnings.warn("mended\nfor you", RankiniteWarning, stacklevel=1)
        warnings.showwarning("other", UserWarning, "file.py", 7)
    assert warnings.showwarning is shown
    first, second = capsys.readouterr().err.splitlines()[:2]
    assert first == "warning: mended for you"
    assert second == "file.py:7: UserWarning: other"


def test_verbs_are_commands_of_the_app():
    assert tuple(typer.main.get_command(app).commands) == VERBS


def command(*words, **environment):
    return subprocess.run(
        [sys.executable, "-c", "from rankinite.cli import main; main()", *map(str, words)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


@pytest.mark.parametrize("verb", ["train", "adapt", "optimality"])
def test_help_on_a_terminal_that_knows_ascii_only(verb):
    done = command(verb, "--help", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii() and "Usage: rankinite" in done.stdout


@pytest.mark.parametrize("threads", ["0", "-3", "junk", "1.5"])
def test_a_wrong_number_of_threads_in_the_environment_is_a_sentence(monkeypatch, threads):
    done = command("score", "x.txt", "--model", "x.rk", NUMBA_NUM_THREADS=threads)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: the environment variable NUMBA_NUM_THREADS must be a whole number at least 1, and "
        f"it is {threads!r}: set it to the number of threads, or unset it\n"
    )
    monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
    with pytest.raises(ParameterError, match="NUMBA_NUM_THREADS must be"):
        rankinite.__getattr__("LambdaMART")


@pytest.mark.parametrize("module", ["typer", "rankinite.cli.train", "numba"])
def test_ctrl_c_while_importing_is_no_traceback(tmp_path, module):
    code = f"""
import sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from rankinite.cli import main
main(["score", "x.txt", "--model", "x.rk"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_the_end_of_a_file_inside_a_verb_is_no_interrupt():
    with pytest.raises(EOFError), one_line_errors():
        raise typer.Abort from EOFError("a bug")
