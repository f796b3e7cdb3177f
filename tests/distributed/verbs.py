"""What the verbs of a communicator must give, whatever carries them: a script for each process."""

import json
from pathlib import Path

import numpy as np

_SCRIPT = """
import json, sys
import numpy as np
import rankinite as rk
from rankinite.distributed import told_by, told_by_all

comm = {maker}
rank, size = comm.rank, comm.size
apart = np.arange(24).reshape(4, 6)[::2, ::3] + rank
flags = np.array([rank == 0, False, True])
found = {{
    "sum": comm.sum(np.arange(3) + rank).tolist(),
    "large": comm.sum(np.array([2**61 // size, 2**63 - 1], np.uint64)).tolist(),
    "max": comm.max(np.array([float(rank), -float(rank)])).tolist(),
    "root": comm.broadcast(np.full((2, 2), 7.5) if rank == size - 1 else None, size - 1).tolist(),
    "all": [part.tolist() for part in comm.gather(np.arange(rank))],
    "one": [part.tolist() for part in comm.gather(np.arange(rank, dtype=np.uint8), size - 1)],
}}
blocks = np.arange(5 * 4).reshape(5, 4) * (rank + 1)
first, last = rank * 5 // size, (rank + 1) * 5 // size
own = comm.reduce_scatter(blocks, np.empty((last - first, 4), np.int64))
found["own"] = own.tolist()
found["calls"] = {{verb: count.calls for verb, count in comm.traffic.by_verb.items()}}
found["bytes"] = comm.traffic.by_verb["sum"].bytes
found["kinds"] = [
    [part.tolist() for part in parts]
    for kind in ("i1", "u2", "i8", "f4", "f8", "?")
    for parts in [comm.gather(np.arange(rank + 3).astype(kind))]
    if all(part.dtype == kind for part in parts)
]
found["nothing"] = [len(part) for part in comm.gather(np.empty(0))]
told = {{"rank": rank, "ä": [None, 1.5]}}
found["told"] = [told_by_all(told, comm), told_by(rank, comm, size - 1)]
{more}
with open(f"{{sys.argv[1]}}/{{rank}}.json", "w") as file:
    json.dump(found, file)
"""
# What not every MPI takes: arrays that do not lie together, and sums of truth values.
ANY_ARRAYS = """
found["apart"] = comm.sum(apart).tolist()
found["flags"] = [comm.sum(flags.copy()).tolist(), comm.max(flags.copy()).tolist()]
comm.close()
"""


def script(maker, more=""):
    return _SCRIPT.format(maker=maker, more=more)


def check(size, folder):
    """Look at what every process has found."""
    found = [json.loads(Path(folder, f"{rank}.json").read_text()) for rank in range(size)]
    ranks = sum(range(size))
    everything = [row for each in found for row in each["own"]]
    assert everything == (np.arange(20).reshape(5, 4) * (ranks + size)).tolist()
    for rank, each in enumerate(found):
        assert each["sum"] == [size * k + ranks for k in range(3)]
        # Unsigned sums wrap around, as those of hashes must.
        assert each["large"] == [2**61 // size * size, (2**63 - 1) * size % 2**64]
        assert each["max"] == [size - 1, 0]
        assert each["root"] == [[7.5, 7.5], [7.5, 7.5]]
        assert each["all"] == [list(range(k)) for k in range(size)]
        assert each["one"] == ([list(range(k)) for k in range(size)] if rank == size - 1 else [])
        verbs = {"sum": 2, "max": 1, "broadcast": 1, "gather": 2, "reduce_scatter": 1}
        assert each["calls"] == verbs and each["bytes"] == 40
        numbers = [list(range(k + 3)) for k in range(size)]
        truths = [[k > 0 for k in part] for part in numbers]
        assert each["kinds"] == [numbers] * 5 + [truths]
        assert each["nothing"] == [0] * size
        assert each["told"] == [[{"rank": k, "ä": [None, 1.5]} for k in range(size)], size - 1]
        if "apart" in each:
            rows = np.arange(24).reshape(4, 6)[::2, ::3]
            assert each["apart"] == (rows * size + ranks).tolist()
            assert each["flags"] == [[True, False, True]] * 2
