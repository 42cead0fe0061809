"""Bugs that are seeded behind passes of the compiler (test/seeded): `check` finds each, and names its pass."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import seeded_session
from driver_doubles import find_double

pytestmark = pytest.mark.usefixtures("compiler")
SESSION = Path(seeded_session.__file__)
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


def findings_of(bug: str, seeded: str) -> list[dict[str, Any]]:
    """The findings of the session of a bug, in the module where `seeded` is."""
    package = Path(find_double("seeded/tilewright/__init__.py")).parents[1]
    environment = {**os.environ, "SEEDED_BUG": seeded, "TILEWRIGHT_CACHE": "0", "PYTHONPATH": str(package)}
    ran = subprocess.run([sys.executable, str(SESSION), bug], capture_output=True, text=True, env=environment)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)["findings"]


def test_every_bug_has_a_trial() -> None:
    assert seeded_session.TRIALS.keys() == {*NAMED, "missing-barrier"}
    assert len({guilty for guilty, _ in NAMED.values()} - {"expand-descriptors"}) >= 12


@pytest.mark.parametrize("bug", NAMED)
def test_a_bug_is_found_and_its_pass_named(bug: str) -> None:
    guilty, kind = NAMED[bug]
    found = findings_of(bug, bug)
    devices = {one["device"] for one in found if one["kind"] == kind}
    assert devices == set(seeded_session.TRIALS[bug].devices), found
    assert all(one["pass"] == guilty for one in found), found
    assert f"pass {guilty!r} (" in found[0]["text"]


def test_a_missing_barrier_is_a_race_of_the_passes_behind_the_first_buffer() -> None:
    found = findings_of("missing-barrier", "missing-barrier")
    races = [one for one in found if one["kind"] == "race"]
    assert races and all("reduction at line" in one["text"] for one in races)
    for race in races:
        assert race["pass"] == "", race
        assert race["candidates"][:3] == ["stage-through-shared", "allocate-shared", "insert-barriers"], race


@pytest.mark.parametrize("bug", ["mask-off-by-one", "lost-rest", "missing-barrier", "lost-sum"])
def test_nothing_is_found_without_the_bug(bug: str) -> None:
    assert findings_of(bug, "") == []
