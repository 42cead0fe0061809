"""Runs every test runner of the project, for `make test`, and closes with one line for each."""

from __future__ import annotations

import argparse
import pathlib
import re
import subprocess
import sys
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
# How GoogleTest, lit, ctest and pytest say how many tests there were.
COUNTS = re.compile(
    r"\[ +(PASSED|FAILED) +\] \d|^\d+: +(Passed|Failed|Unsupported) *: *\d"
    r"|\d+% tests passed|\b\d+ (passed|failed|error)"
)


class Runner(NamedTuple):
    """A command; the output of a wordy one is cut to its counts unless it fails."""

    name: str
    command: list[str]
    is_wordy: bool = False


def runners(build: str) -> list[Runner]:
    """All of them, cheapest first."""
    python = sys.executable
    ctest = ["ctest", "--test-dir", build, "--verbose", "--no-tests=error"]
    pytest = [python, "-m", "pytest", "-q", "-n", "2", "test/python", "test/lint"]
    return [
        *(
            Runner(f"lint {lint}", [python, f"test/lint/{lint}.py"])
            for lint in ("layering", "machines", "pages", "prose", "sizes", "words")
        ),
        Runner("ctest", ctest, is_wordy=True),
        Runner("pytest", pytest),
    ]


def run(runner: Runner) -> tuple[int, str]:
    """Runs a command, passing its output on; returns its exit code and its last line with counts,
    or its last line where no line has any."""
    lines: list[str] = []
    with subprocess.Popen(
        runner.command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip())
            if not runner.is_wordy or COUNTS.search(line):
                print(line, end="", flush=True)
    if runner.is_wordy and process.returncode != 0:
        print("\n".join(lines))
    counted = [line for line in lines if COUNTS.search(line)] or [line for line in lines if line]
    return process.returncode, counted[-1].strip() if counted else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build", help="the CMake build directory")
    build = parser.parse_args().build
    closing: list[str] = []
    failed = 0
    for runner in runners(build):
        print(f"== {runner.name}", flush=True)
        start = time.monotonic()
        code, last = run(runner)
        failed += code != 0
        verdict = "ok    " if code == 0 else "FAILED"
        closing.append(f"{verdict} {runner.name:14} {time.monotonic() - start:6.1f} s  {last}")
    print("== summary")
    print("\n".join(closing))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
