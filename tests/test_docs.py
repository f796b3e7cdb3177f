"""What the documents show must work: Python blocks run, and commands have the options shown."""

from __future__ import annotations

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest
import sklearn
import typer

from rankinite.cli.app import app

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/guide.md")


def blocks(page: str, language: str) -> list[tuple[int, str]]:
    """The fenced blocks of a language with the number of their first line."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [(text[: match.start(1)].count("\n"), match[1]) for match in found]


@pytest.fixture
def routing_as_before():
    """The guide switches scikit-learn's metadata routing on, for good."""
    with sklearn.config_context():
        yield


@pytest.mark.usefixtures("routing_as_before")
@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    shown = blocks(page, "python")
    assert shown
    for line, code in shown:
        if "torch" in code and find_spec("torch") is None:
            continue
        # Empty lines before the code let a traceback name the line of the page.
        exec(compile("\n" * line + code, page, "exec"), namespace)


def commands() -> list[str]:
    lines = [
        line for page in PAGES for _, block in blocks(page, "sh") for line in block.splitlines()
    ]
    return [line for line in lines if line.startswith("rankinite ")]


@pytest.mark.parametrize("command", commands())
def test_commands_have_the_options_shown(command):
    _, verb, *words = shlex.split(command)
    options = {flag for p in typer.main.get_command(app).commands[verb].params for flag in p.opts}
    assert {word for word in words if word.startswith("--")} <= options


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert ((ROOT / page).parent / target).exists(), target
