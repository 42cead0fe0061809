"""Programs that run in their own processes on a double of a GPU's driver, and their reports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
Report = list[str]  # class, code, message, hint


def find_double(name: str) -> str:
    """The path of a double that the build has; skips the test where it has none."""
    from tilewright import _native  # pyright: ignore

    # BUILD/python/tilewright/_native.so and BUILD/test/libcuda_double.so
    path = Path(_native.__file__).resolve().parents[2] / "test" / name
    if not path.is_file():
        pytest.skip(f"{name} is not built beside the native module")
    return str(path)


def run_with_driver(
    arguments: list[str], cache: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs Python with this package, the tests' modules, a cache and what the environment adds."""
    import tilewright

    package = Path(tilewright.__file__).parents[1]
    paths = [package, TESTS, TESTS / "support", TESTS.parent / "kernels"]
    everything = {
        **os.environ,
        "TILEWRIGHT_CACHE_DIR": str(cache),
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        **environment,
    }
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=everything, capture_output=True, text=True)


def expect(report: Report | None, cls: str, code: str, part: str) -> None:
    """That a report is of a class and code, says something and has a hint."""
    assert report is not None
    assert report[:2] == [cls, code] and part in report[2] and report[3], report
