"""The plugin of pytest: findings of `tw.testing.check` as a section of a test's report."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import tilewright

pytestmark = pytest.mark.usefixtures("compiler")
PACKAGE = Path(tilewright.__file__).parents[1]
TESTS = """
import tilewright as tw
from tilewright.testing import check

@tw.jit
def copy(out, x, n, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i))

def run(**options):
    check(copy, {"out": "*fp32", "x": "*fp32", "n": "i32"}, {"BLOCK": 64},
          example={"out": "n", "x": "n", "n": 64}, devices=["cpu"], **options)

def test_all_sizes():
    run()

def test_the_whole_tile():
    run(cases=1)

def test_another_failure():
    assert 1 == 2
"""


def run_pytest(folder: Path, *words: str) -> str:
    """What pytest prints of the tests above; it fails for two of them."""
    (folder / "test_copy.py").write_text(TESTS)
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "TILEWRIGHT_CACHE": "0"}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", ".", *words]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    assert ran.returncode == 1 and "2 failed, 1 passed" in ran.stdout, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.parametrize("words", [(), ("-n", "1")])
def test_a_finding_is_a_section_and_no_traceback(words: tuple[str, ...], tmp_path: Path) -> None:
    if words:
        pytest.importorskip("xdist")
    printed = run_pytest(tmp_path, "-p", "tilewright.pytest_plugin", *words)
    assert "- tilewright check -" in printed and "1. access out of bounds at line 8" in printed
    assert printed.count("access out of bounds") == 1 and "raise CheckError" not in printed
    assert "test_copy.py:15: in test_all_sizes" in printed and "test_copy.py:11: in run" in printed
    assert "FAILED test_copy.py::test_all_sizes - AssertionError: copy: 1 finding in" in printed
    assert "E       assert 1 == 2" in printed, "other failures are as they were"


def test_without_the_plugin_a_finding_is_an_assertion(tmp_path: Path) -> None:
    printed = run_pytest(tmp_path, "-p", "no:tilewright")
    assert "tilewright check -" not in printed and "CheckError: copy: 1 finding" in printed


def test_the_package_imports_without_pytest() -> None:
    text = "import sys, tilewright, tilewright.testing; sys.exit(any(m.startswith(('pytest', '_pytest')) for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", text], env={**os.environ, "PYTHONPATH": str(PACKAGE)}).returncode == 0


def test_the_entry_point_names_the_plugin() -> None:
    project = (Path(__file__).parents[3] / "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\ntilewright = "tilewright.pytest_plugin"\n' in project
