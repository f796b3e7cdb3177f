"""Compiled kernels on disk: true to all their sources, and rebuilt when they are damaged."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rankinite
from rankinite._kernel_cache import kernel_sources

PACKAGE = Path(rankinite.__file__).parent
# Imported by those that compile, and never compiled themselves.
PLAIN = {PACKAGE / "errors.py"}


def imported(source: Path) -> set[Path]:
    """The files of this package that a file imports from."""
    found = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rankinite."):
            path = PACKAGE.joinpath(*node.module.split(".")[1:])
            names = [path / f"{alias.name}.py" for alias in node.names]
            found |= {file for file in (path.with_suffix(".py"), *names) if file.exists()}
    return found


def test_the_stamp_covers_all_that_kernels_import():
    covered = set(kernel_sources())
    seen, open_ones = set(), set(PACKAGE.glob("*/_*_kernels.py"))
    assert len(open_ones) > 30
    while open_ones:
        source = open_ones.pop()
        seen.add(source)
        open_ones |= imported(source) - seen
    assert seen - PLAIN <= covered
    assert PACKAGE / "measures" / "codes.py" in seen
    assert all(source.exists() for source in covered)


HASH = """
import numpy as np
from rankinite import _kernel_cache
compiled = []
_kernel_cache.before_compiling.append(compiled.append)
from rankinite._hash_kernels import keys_from_seed
from rankinite.measures._sorting_kernels import descending
print(keys_from_seed(np.uint64(1), 3).tolist(), len(compiled))
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the sources that may be edited, with its own compiled kernels."""
    shutil.copytree(
        PACKAGE, tmp_path / "rankinite", ignore=shutil.ignore_patterns("__pycache__", "torch")
    )
    return tmp_path / "rankinite"


def run(package: Path, cache: Path | None = None) -> tuple[str, int]:
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    environment.pop("NUMBA_CACHE_DIR", None)
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    done = subprocess.run(
        [sys.executable, "-P", "-c", HASH], env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    keys, _, n_compiled = done.stdout.strip().rpartition(" ")
    return keys, int(n_compiled)


@pytest.mark.slow
def test_an_edit_of_any_source_compiles_anew(package, tmp_path):
    """Also where the compiled kernels are kept elsewhere."""
    cache = tmp_path / "cache"
    keys, n_compiled = run(package, cache)
    assert n_compiled > 0
    assert run(package, cache) == (keys, 0)
    for name in ("measures/codes.py", "_float_vectors.py", "_numba.py"):
        with (package / name).open("a") as file:
            file.write("\nEDITED = True\n")
        assert run(package, cache)[1] > 0, name
    assert run(package, cache) == (keys, 0)


@pytest.mark.slow
def test_damaged_files_are_compiled_anew(package):
    keys, _ = run(package)
    folder = package / "__pycache__"
    for suffix, damage in (
        ("nbi", lambda content: b""),
        ("nbi", lambda content: b"\x80\x04" + bytes(100)),
        ("nbc", lambda content: content[: len(content) // 2]),
        ("nbc", lambda content: content[:-40] + bytes(b ^ 255 for b in content[-40:])),
    ):
        files = list(folder.glob(f"*.{suffix}"))
        assert files
        for file in files:
            file.write_bytes(damage(file.read_bytes()))
        found, n_compiled = run(package)
        assert found == keys and n_compiled > 0
    assert run(package) == (keys, 0)
