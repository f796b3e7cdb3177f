"""The lleaves side of scoring.py, run by the Python of lleaves' own environment.

    python lleaves_process.py FOLDER

The folder holds LightGBM's forest, rows and their scores. The first line written is the time to
compile, in seconds; then every line read, a number of documents and the first row of each call, is
answered by the milliseconds of each call, on one thread.
"""

import sys
import time
from pathlib import Path

import lleaves
import numpy as np

folder = Path(sys.argv[1])
# It scores in float64; other types it would first convert.
X = np.load(folder / "X.npy").astype(np.float64)
started = time.perf_counter()
model = lleaves.Model(folder / "forest.txt")
model.compile()
seconds = time.perf_counter() - started
np.testing.assert_allclose(model.predict(X, n_jobs=1), np.load(folder / "scores.npy"), rtol=1e-12)
print(seconds, flush=True)
for line in sys.stdin:
    n_docs, *starts = map(int, line.split())
    times = []
    for start in starts:
        rows = X[start : start + n_docs]
        started = time.perf_counter()
        model.predict(rows, n_jobs=1)
        times.append(1e3 * (time.perf_counter() - started))
    print(*times, flush=True)
