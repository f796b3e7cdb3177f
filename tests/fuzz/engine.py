"""Files that are nearly right, always the same ones, and what becomes of who reads them.

A target is a function from bytes to None, registered by name with the files that it is known to
take. Each of its cases, numbered from 0, is one of these files with a few changes. Reading it must
either succeed or raise a RankiniteError. Anything else is a finding: another exception, a warning
that is none of ours, a message of several lines, more seconds than `LIMIT`, a process that dies.
So cases are read in a process of their own.
"""

from __future__ import annotations

import importlib
import multiprocessing
import resource
import tempfile
import traceback
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rankinite.errors import RankiniteError, RankiniteWarning

# The modules that register targets when they are imported.
HOMES = ("tests.fuzz.readers", "tests.fuzz.models", "tests.fuzz.foreign")
LIMIT = 20.0  # seconds for a case
FIRST_LIMIT = 600.0  # and for compiling kernels before the first one
MEMORY = 6 << 30  # bytes of addresses that a reading process may have beyond what it starts with
READ, REFUSED = "read", "refused"

Load = Callable[[bytes], None]
Mutate = Callable[[bytes, np.random.Generator], bytes]


class Target(NamedTuple):
    """A reader, with what is known of its files.

    `wholes` makes files that are right; `mutate` changes one of them a little. A reader that takes
    seconds has a smaller `share` of the cases than others, and may have more seconds for one.
    """

    name: str
    load: Load
    wholes: Callable[[], list[bytes]]
    mutate: Mutate
    share: float = 1.0
    limit: float = LIMIT

    def case(self, number: int) -> bytes:
        """The bytes of a case."""
        rng = np.random.default_rng([zlib.crc32(self.name.encode()), number])
        wholes = self.wholes()
        return self.mutate(wholes[rng.integers(len(wholes))], rng)


class Finding(NamedTuple):
    """A case that neither was read nor refused; `how` is a traceback, or what happened."""

    target: str
    number: int
    how: str


TARGETS: dict[str, Target] = {}


def target(
    name: str,
    wholes: Callable[[], list[bytes]],
    mutate: Mutate,
    share: float = 1.0,
    limit: float = LIMIT,
) -> Callable[[Load], Load]:
    """Register the function below as a target."""

    def register(load: Load) -> Load:
        TARGETS[name] = Target(name, load, wholes, mutate, share, limit)
        return load

    return register


def all_targets() -> dict[str, Target]:
    """Every target by its name."""
    for home in HOMES:
        importlib.import_module(home)
    return {name: chosen for name, chosen in TARGETS.items() if chosen.load.__module__ in HOMES}


def in_file(content: bytes, suffix: str = "") -> Path:
    """The bytes as a file, always the same one, so that nothing is left but a folder."""
    path = Path(tempfile.gettempdir()) / f"case{suffix}"
    path.write_bytes(content)
    return path


def attempt(chosen: Target, number: int) -> str:
    """What becomes of a case: READ, REFUSED, or a traceback."""
    content = chosen.case(number)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", RankiniteWarning)
            chosen.load(content)
    except RankiniteError as error:
        if "\n" in str(error) or not str(error):
            return f"a message that is not one line: {error}"
        return REFUSED
    except (Exception, RecursionError, MemoryError):
        return traceback.format_exc()
    return READ


def run(
    chosen: Target, numbers: range, limit: float | None = None
) -> tuple[Counter[str], list[Finding]]:
    """Go through cases of a target; how many were read, refused and found, and the findings.

    `limit` is for tests of this function: by default it is that of the target.
    """
    limit = chosen.limit if limit is None else limit
    outcomes: Counter[str] = Counter()
    findings = []
    for number, outcome in _outcomes(chosen, numbers, limit):
        if outcome not in (READ, REFUSED):
            findings.append(Finding(chosen.name, number, outcome))
            outcome = "found"
        outcomes[outcome] += 1
    return outcomes, findings


def _outcomes(chosen: Target, numbers: range, limit: float) -> Iterator[tuple[int, str]]:
    """The outcome of each case; a process that hangs or dies is replaced for those that follow."""
    context = multiprocessing.get_context("spawn")
    while numbers:
        with tempfile.TemporaryDirectory() as folder:
            here, there = context.Pipe(duplex=False)
            which = (chosen.load.__module__, chosen.name)
            process = context.Process(target=_read_cases, args=(*which, numbers, folder, there))
            process.start()
            there.close()
            try:
                _next_outcome(here, FIRST_LIMIT)
                for number in numbers:
                    outcome = _next_outcome(here, limit)
                    yield number, outcome or f"the process ended, or took over {limit:g} seconds"
                    if outcome is None:
                        break
                numbers = range(number + 1, numbers.stop)
            finally:
                process.kill()
                process.join()


def _next_outcome(pipe: Connection, limit: float) -> str | None:
    with suppress(EOFError):
        if pipe.poll(limit):
            return pipe.recv()
    return None


def _read_cases(home: str, name: str, numbers: range, folder: str, pipe: Connection) -> None:
    """What the reading process does."""
    tempfile.tempdir = folder
    importlib.import_module(home)
    chosen = TARGETS[name]
    with suppress(Exception):  # kernels are compiled: now time and memory are what a case takes
        chosen.load(chosen.wholes()[0])
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
    pipe.send("ready")
    for number in numbers:
        pipe.send(attempt(chosen, number))
