"""``rankinite compile``: what the first run would do, done beforehand."""

from __future__ import annotations

from rankinite.cli.outputs import print_result
from rankinite.errors import RankiniteError


def compile() -> None:
    """Compile all kernels now, so that no later run has to: for images and installers.

    Compiled kernels are kept beside the package or, where it cannot be written
    to, in the folder NUMBA_CACHE_DIR or in the user's cache. The image must run
    on the same kind of processor.
    """
    from rankinite.cli.compiling import GROUPS, compile_all, tell

    tell("compiling the kernels, a minute or two")
    failed = compile_all(GROUPS, tell)
    if failed:
        raise RankiniteError(
            f"could not compile {', '.join(failed)}: see whether the memory suffices, and whether "
            "NUMBA_CACHE_DIR, if it is set, can be written to"
        )
    print_result("all kernels are compiled")
