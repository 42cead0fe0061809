"""Long runs against CPython: python test/python/fuzz/expressions/run_python.py --count 10000 --seed 0
[--device reference].

Every expression or function whose value in a kernel differs from Python's, and every one that ends
in an error without a code, is printed.
"""

from __future__ import annotations

import argparse
import collections
import sys

from python_cases import run

BLOCK = 400  # seeds at a time


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--refusals", action="store_true", help="print refused cases too")
    options = parser.parse_args()
    num_cases, num_failures = 0, 0
    refused: collections.Counter[str] = collections.Counter()
    for first in range(options.seed, options.seed + options.count, BLOCK):
        count = min(BLOCK, options.seed + options.count - first)
        outcome = run(first, count, options.device, options.refusals)
        num_cases += outcome.numCases
        num_failures += len(outcome.failures)
        refused.update(outcome.refused)
        for failure in outcome.failures:
            print(failure, flush=True)
    print(f"{num_cases} cases, {num_failures} failures, refused: {dict(refused)}", file=sys.stderr)
    return bool(num_failures)


if __name__ == "__main__":
    sys.exit(main())
