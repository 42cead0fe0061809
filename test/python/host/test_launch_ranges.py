"""Launches as ranges of torch's profiler, NVTX and ROCTX, and between hooks: when they are warm, and when they fail."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tilewright as tw
from tilewright import profiler
from tilewright.launch import hooks

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("compiler")


@tw.jit
def doubled(out, x, n, B: tw.constexpr):
    i = tw.program_id(0) * B + tw.arange(0, B)
    tw.store(out + i, tw.load(x + i, mask=i < n) * 2, mask=i < n)


@pytest.fixture
def arrays() -> Iterator[tuple[Any, Any]]:
    """Arrays that the kernel was launched with twice, so that the next launch is warm."""
    out, x = torch.zeros(100), torch.rand(100)
    for _ in range(2):
        doubled[(2,)](out, x, 100, B=64)
    out.zero_()
    yield out, x
    assert torch.equal(out, 2 * x)


def names_of(profile: Any, tmp_path: Path) -> list[str]:
    path = tmp_path / "trace.json"
    profile.export_chrome_trace(str(path))
    events = json.loads(path.read_text())["traceEvents"]
    return [event["name"] for event in events if event.get("cat") == "user_annotation"]


def test_torchs_profiler_sees_warm_launches(arrays: Any, tmp_path: Path) -> None:
    with torch.profiler.profile() as profile:
        doubled[(2,)](*arrays, 100, B=64)
        doubled[(2, 1, 3)](*arrays, 100, B=64)
    assert names_of(profile, tmp_path) == ["doubled[2, 1, 1]", "doubled[2, 1, 3]"]
    doubled[(2,)](*arrays, 100, B=64)
    with torch.profiler.profile() as profile:
        torch.ones(2)
    assert not names_of(profile, tmp_path), "the launch was outside of it"


def test_torchs_profiler_sees_launches_of_graphs_and_compiled_kernels(arrays: Any, tmp_path: Path) -> None:
    compiled = doubled[(2,)](*arrays, 100, B=64)
    function = torch.compile(lambda out, x: doubled[(2,)](out, x, 100, B=64), fullgraph=True, backend="aot_eager")
    function(*arrays)
    with torch.profiler.profile() as profile:
        compiled[(2,)](*arrays, 100)
        function(*arrays)
    assert names_of(profile, tmp_path).count("doubled[2, 1, 1]") == 2


def test_a_launch_that_fails_ends_its_range(arrays: Any, tmp_path: Path) -> None:
    leaf = torch.zeros(100, requires_grad=True)
    with torch.profiler.profile() as profile:
        with pytest.raises(tw.LaunchError, match="leaf"):
            doubled[(2,)](leaf, arrays[1], 100, B=64)
        with torch.profiler.record_function("later"):
            doubled[(2,)](*arrays, 100, B=64)
    assert names_of(profile, tmp_path) == ["doubled[2, 1, 1]", "later", "doubled[2, 1, 1]"]


SOURCE = """
#include <string.h>
static char record[4096];
static int depth;
int {prefix}RangePushA(const char *name) {{
  strcat(strcat(record, name), ";");
  return depth++;
}}
int {prefix}RangePop(void) {{
  strcat(record, "end;");
  return --depth;
}}
const char *recorded(void) {{ return record; }}
"""


def fake_library(prefix: str, folder: Path) -> Path:
    """A library with the two functions of NVTX or ROCTX, which keep what they were told."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    source, library = folder / "fake.c", folder / f"lib{prefix}.so"
    source.write_text(SOURCE.format(prefix=prefix))
    subprocess.run([compiler, "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    return library


@pytest.mark.parametrize("kind", ["nvtx", "roctx"])
def test_launches_are_ranges_of_a_vendors_tools(kind: str, arrays: Any, tmp_path: Path) -> None:
    library = fake_library(kind, tmp_path)
    with profiler.named_ranges(kind, str(library)):
        doubled[(2,)](*arrays, 100, B=64)
        with pytest.raises(tw.LaunchError):
            doubled[(2,)](torch.zeros(100, requires_grad=True), arrays[1], 100, B=64)
    doubled[(2,)](*arrays, 100, B=64)
    recorded = ctypes.CDLL(str(library)).recorded
    recorded.restype = ctypes.c_char_p
    assert recorded() == b"doubled[2, 1, 1];end;doubled[2, 1, 1];end;"


def test_a_library_that_is_missing_is_named(arrays: Any, tmp_path: Path) -> None:
    with pytest.raises(tw.UnsupportedError, match="no library of ROCTX is found: .*nowhere") as caught:
        with profiler.named_ranges("roctx", str(tmp_path / "nowhere.so")):
            pass
    assert caught.value.code == "TW0432" and caught.value.hint
    with pytest.raises(ValueError, match="nvtx or roctx"), profiler.named_ranges("itt"):
        pass
    doubled[(2,)](*arrays, 100, B=64)


def test_hooks_and_ranges_of_one_launch_are_nested(arrays: Any, tmp_path: Path) -> None:
    seen: list[str] = []

    def enter(metadata: Any) -> None:
        seen.append(f"enter {metadata.get()['name']}")

    def leave(metadata: Any) -> None:
        seen.append(f"exit {metadata.get()['name']}")

    hooks.launch_enter.add(enter)
    hooks.launch_exit.add(leave)
    try:
        with torch.profiler.profile() as profile:
            doubled[(2,)](*arrays, 100, B=64)
    finally:
        hooks.launch_enter.remove(enter)
        hooks.launch_exit.remove(leave)
    assert seen == ["enter doubled", "exit doubled"] and len(names_of(profile, tmp_path)) == 1
