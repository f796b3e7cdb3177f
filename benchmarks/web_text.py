"""SVMlight text of `web_like` rows, written a few queries at a time, for rankinite and LightGBM.

LightGBM's reader takes neither ``qid:`` nor comments: its file is the same without them, and the
sizes of the queries lie beside it.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa

import rankinite as rk
import web_like

N_DOCS = 120
QUERIES_AT_ONCE = 500
COMMENT = b" # docid = GX000-00-0000000\n"


def write(folder: Path, n_queries: int) -> tuple[Path, Path]:
    """Write both files into `folder` if they are not there: (rankinite's, LightGBM's)."""
    folder.mkdir(parents=True, exist_ok=True)
    ours = folder / f"web-{n_queries}.txt"
    theirs = folder / f"web-{n_queries}-lightgbm.txt"
    done = folder / f"web-{n_queries}.done"
    if done.exists():
        return ours, theirs
    part = folder / "part.txt"
    with ours.open("wb") as our_file, theirs.open("wb") as their_file:
        for first in range(0, n_queries, QUERIES_AT_ONCE):
            n_new = min(QUERIES_AT_ONCE, n_queries - first)
            X = web_like.matrix(n_new, N_DOCS, seed=first)
            qid = np.repeat(np.arange(first, first + n_new), N_DOCS)
            rk.write_svmlight(_with_few_digits(X), part, y=web_like.labels(X, seed=first), qid=qid)
            text = part.read_bytes()
            our_file.write(text.replace(b"\n", COMMENT))
            their_file.write(re.sub(rb" qid:\d+", b"", text))
    part.unlink()
    Path(f"{theirs}.query").write_text(f"{N_DOCS}\n" * n_queries)
    done.touch()
    return ours, theirs


def _with_few_digits(X: np.ndarray) -> np.ndarray:
    """Numbers as short as in such files: the shortest that tell one float32 from the next."""
    texts = pa.array(X.reshape(-1)).cast(pa.string())
    return texts.cast(pa.float64()).to_numpy().reshape(X.shape)
