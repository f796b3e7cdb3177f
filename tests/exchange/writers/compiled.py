"""Models in C, compiled and called."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from rankinite.exchange.writers import FORMATS

STRICT = ("-O2", "-Wall", "-Wextra", "-pedantic", "-Werror")
GCC, GXX = shutil.which("gcc"), shutil.which("g++")

needs_gcc = pytest.mark.skipif(GCC is None, reason="there is no gcc")
needs_gxx = pytest.mark.skipif(GXX is None, reason="there is no g++")


def written(plain, folder, stem="ranker", **options):
    """The C file of a plain model, beside its header."""
    form = FORMATS["c"]
    (folder / f"{stem}.h").write_bytes(form.beside(plain, stem=stem, **options)[".h"])
    path = folder / f"{stem}.c"
    path.write_bytes(form.write(plain, stem=stem, **options))
    return path


def built(path, *flags, compiler="gcc", output=None):
    """A library, or whatever the flags make of a C file; warnings are errors."""
    output = path.with_suffix(".so") if output is None else output
    command = [compiler, *STRICT, *flags, *([] if "-c" in flags else ["-shared", "-fPIC"])]
    done = subprocess.run(
        [*command, path, "-o", output, "-lm"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:3000]
    return output


class Compiled:
    """A library of a C file, and its two functions."""

    def __init__(self, path, *flags, name="ranker", compiler="gcc"):
        self._library = ctypes.CDLL(str(built(path, *flags, compiler=compiler)))
        self._score = getattr(self._library, f"{name}_score")
        self._score.restype = ctypes.c_double
        self._scores = getattr(self._library, f"{name}_scores")
        self._scores.restype = None
        self._names = (ctypes.c_char_p * 1000).in_dll(self._library, f"{name}_feature_names")

    def scores(self, X, stride=None):
        """Scores of rows, which may lie apart."""
        wide = np.full((len(X), stride or X.shape[1]), 7.5)
        wide[:, : X.shape[1]] = X
        # One more, which must not be touched.
        out = np.full(len(X) + 1, 1234.5)
        pointers = (ctypes.c_void_p(array.ctypes.data) for array in (wide, out))
        features, scores = pointers
        self._scores(features, ctypes.c_size_t(len(X)), ctypes.c_size_t(wide.shape[1]), scores)
        assert out[-1] == 1234.5
        return out[:-1]

    def score(self, row):
        """The score of one row."""
        row = np.ascontiguousarray(row, np.float64)
        return self._score(ctypes.c_void_p(row.ctypes.data))

    def names(self, n):
        """The first names of features; what comes after the last is None."""
        return [self._names[j] for j in range(n + 1)]


def compiled(plain, folder, *flags, stem="ranker", compiler="gcc", **options):
    """A model as C, compiled: as strict C99 unless there are flags."""
    flags = flags or ("-std=c99",)
    path = written(plain, folder, stem, **options)
    return Compiled(path, *flags, name=options.get("name") or stem, compiler=compiler)
