"""Jobs of MPI: scripts that are started by mpiexec, each with a time limit."""

import os
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import pytest

MPIEXEC = shutil.which("mpiexec", path=sysconfig.get_path("scripts")) or shutil.which("mpiexec")
ROOT = Path(__file__).parents[2]
SECONDS = 300

needs_mpi = [
    pytest.mark.mpi,
    pytest.mark.skipif(
        MPIEXEC is None or find_spec("mpi4py") is None,
        reason="there is no MPI: make test-distributed installs it",
    ),
]


def of_a_process():
    """The environment of a process that has one thread, and finds the tests."""
    folders = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, folders)),
        "NUMBA_NUM_THREADS": "1",
    }


def start(size, *command, **options):
    """Start so many processes; they stay on this machine, and have one thread each."""
    environment = {
        **of_a_process(),
        # Open MPI refuses to be root and to have more processes than cores, unless told so.
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        **options.pop("env", {}),
    }
    return subprocess.Popen(
        [MPIEXEC, "-n", str(size), *map(str, command)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def finish(job, seconds=SECONDS):
    """Wait for a job; its exit code, and what it has said."""
    try:
        out, err = job.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        job.kill()
        job.communicate()
        raise
    return job.returncode, out, err


def run(size, *command, **options):
    return finish(start(size, *command, **options))


def run_script(size, text, folder, *arguments, **options):
    """Run a script of Python on so many processes."""
    path = Path(folder, f"job{len(list(Path(folder).glob('job*.py')))}.py")
    path.write_text(text, encoding="utf-8")
    return run(size, sys.executable, path, *arguments, **options)
