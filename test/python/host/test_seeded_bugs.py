"""Bugs that are seeded behind passes of the compiler (test/seeded): `check` finds each, and names its pass."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import seeded_session
from driver_doubles import find_double

pytestmark = pytest.mark.usefixtures("compiler")
SESSION = Path(seeded_session.__file__)
KERNELS = SESSION.parents[2] / "kernels"
# By bug, the pass that it stands behind, and the kind of the finding that names it.
NAMED = {
    "mask-off-by-one": ("combine-ops", "bounds"),
    "swapped-difference": ("canonicalize", "difference"),
    "merged-loads": ("cse", "difference"),
    "hoisted-index": ("loop-invariant-code-motion", "difference"),
    "lost-step": ("raise-pointers", "difference"),
    "lost-sum": ("merge-products", "difference"),
    "lost-rest": ("split-loops-by-mask", "difference"),
    "mixed-buffers": ("share-nests", "difference"),
    "swapped-lowered": ("clean-lowered", "difference"),
    "wide-bound": ("merge-comparisons", "difference"),
    "lost-other": ("coalesce-accesses", "difference"),
    "other-slot": ("pipeline-loops", "failure"),
    "short-wait": ("pipeline-loops", "failure"),
    # No kernel compiles without it, but `reference` runs what it makes.
    "loose-box": ("expand-descriptors", "bounds"),
}


def run_seeded(bug: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the native module in which a bug is, or none."""
    package = Path(find_double("seeded/tilewright/__init__.py")).parents[1]
    environment = {**os.environ, "SEEDED_BUG": bug, "TILEWRIGHT_CACHE": "0", "PYTHONPATH": f"{package}:{KERNELS}"}
    # Passes that fail leave reproducers in the folder for temporary files.
    with tempfile.TemporaryDirectory() as folder:
        environment["TMPDIR"] = folder
        return subprocess.run([sys.executable, *words], capture_output=True, text=True, env=environment)


def findings_of(bug: str, seeded: str) -> list[dict[str, Any]]:
    """The findings of the session of a bug, in the module where `seeded` is."""
    ran = run_seeded(seeded, str(SESSION), bug)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)["findings"]


def test_every_bug_has_a_trial() -> None:
    assert seeded_session.TRIALS.keys() == {*NAMED, "missing-barrier", "swapped-vectors"}
    assert len({guilty for guilty, _ in NAMED.values()} - {"expand-descriptors"}) >= 12


@pytest.mark.parametrize("bug", NAMED)
def test_a_bug_is_found_and_its_pass_named(bug: str) -> None:
    guilty, kind = NAMED[bug]
    found = findings_of(bug, bug)
    devices = {one["device"] for one in found if one["kind"] == kind}
    assert devices == set(seeded_session.TRIALS[bug].devices), found
    assert all(one["pass"] == guilty for one in found), found
    assert f"pass {guilty!r} (" in found[0]["text"]


def test_a_missing_barrier_is_a_race_that_barriers_remove() -> None:
    found = findings_of("missing-barrier", "missing-barrier")
    in_shared = [one for one in found if "`reduction at line" in one["text"]]
    assert {one["kind"] for one in in_shared} == {"race", "uninitialized"}
    assert all(one["pass"] == "insert-barriers" for one in in_shared), found
    # The value that the kernel stores then has none, which only says so.
    assert all(one["pass"] in (None, "insert-barriers") for one in found)


def test_a_pass_that_lowers_the_kernel_is_among_the_candidates() -> None:
    (found,) = findings_of("swapped-vectors", "swapped-vectors")
    assert (found["kind"], found["pass"]) == ("difference", "")
    assert found["candidates"][0] == "lower-simd" and "combine-ops" not in found["candidates"]
    assert "in one of lower-simd, " in found["text"]


@pytest.mark.parametrize("bug", ["mask-off-by-one", "lost-rest", "missing-barrier", "lost-sum"])
def test_nothing_is_found_without_the_bug(bug: str) -> None:
    assert findings_of(bug, "") == []


def test_the_command_names_the_pass_and_writes_what_shows_it(tmp_path: Path) -> None:
    words = ["-m", "tilewright", "check", f"{SESSION}:subtract", "--signature", "*fp32, *fp32, *fp32, i32"]
    words += ["--constexpr", "BLOCK=64", "--example", "out=n, x=n, y=n, n=200", "--grid", "cdiv(n, BLOCK)"]
    words += ["--devices", "cpu", "--cases", "3", "--reproducer", str(tmp_path / "found")]
    ran = run_seeded("merged-loads", *words)
    assert ran.returncode == 1 and "pass 'cse' (3 of " in ran.stdout, ran.stderr
    assert "check: difference on cpu: looking for the pass\ncheck: with 0 of " in ran.stderr
    script = tmp_path / "found" / "reproduce.py"
    assert "# pass 'cse' (3 of " in script.read_text().replace("#   pass", "# pass")
    assert "pass 'cse' (3 of " in (tmp_path / "found" / "report.txt").read_text()
    again = run_seeded("merged-loads", str(script))
    assert again.returncode == 1 and "pass 'cse'" in again.stdout, again.stderr
    assert run_seeded("", str(script)).returncode == 0, "it is mended"
