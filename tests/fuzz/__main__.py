"""Run cases of all targets, or of some, and tell what came out: ``python -m tests.fuzz 100000``."""

from __future__ import annotations

import argparse
import math
import sys

from tests.fuzz.engine import READ, REFUSED, all_targets, attempt, run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n_cases", type=int, nargs="?", default=100_000, help="of all targets")
    parser.add_argument("--target", action="append", help="only this one; may come several times")
    parser.add_argument("--first", type=int, default=0, help="number of each target's first case")
    parser.add_argument("--show", type=int, metavar="NUMBER", help="one case, in this process")
    options = parser.parse_args()
    names = options.target or list(all_targets())
    if options.show is not None:
        for name in names:
            chosen = all_targets()[name]
            print(chosen.case(options.show))
            print(attempt(chosen, options.show))
        return 0
    n_found = 0
    shares = sum(all_targets()[name].share for name in names)
    print(f"{'target':20}{'cases':>8}{READ:>8}{REFUSED:>9}{'found':>7}")
    for name in names:
        each = math.ceil(options.n_cases * all_targets()[name].share / shares)
        outcomes, findings = run(all_targets()[name], range(options.first, options.first + each))
        counts = f"{outcomes[READ]:8}{outcomes[REFUSED]:9}{outcomes['found']:7}"
        print(f"{name:20}{each:8}{counts}", flush=True)
        for finding in findings[:20]:
            last = finding.how.strip().splitlines()[-1]
            print(f"  --target {name} --show {finding.number}: {last[:200]}", flush=True)
        n_found += len(findings)
    return 1 if n_found else 0


if __name__ == "__main__":
    sys.exit(main())
