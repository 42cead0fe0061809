"""Compiled kernels have names for Linux's perf where Python's functions do, and only there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, sys
import numpy as np
import tilewright as tw

@tw.jit
def scale(x, factor, BLOCK: tw.constexpr):
    at = tw.arange(0, BLOCK)
    tw.store(x + at, tw.load(x + at) * factor)

with tw.device("cpu"):
    for factor in (2.0, 3.0):
        compiled = scale[(1,)](np.ones(64, np.float32), factor, BLOCK=64)
    scale[(1,)](np.ones(64, np.float32), 2.0, BLOCK=32)
    if child := os.fork():
        os.waitpid(child, 0)
        path = f"/tmp/perf-{os.getpid()}.map"
        lines = open(path).read().splitlines() if os.path.exists(path) else []
        in_child = f"/tmp/perf-{child}.map"
        copied = open(in_child).read().splitlines() if os.path.exists(in_child) else []
        [(name, address, size)] = compiled.native.code_ranges
        executable = [row.split()[0] for row in open("/proc/self/maps") if "x" in row.split()[1]]
        print([*map(lambda row: row.split("-"), executable)], lines, copied, (name, address, size), sep="\\n")
        for written in (path, in_child):
            if os.path.exists(written):
                os.unlink(written)
"""


def run(folder: Path, *options: str, name: str = "program.py", **environment: str) -> list[str]:
    file = folder / name
    file.write_text(PROGRAM)
    settings = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(folder / "cache"), **environment}
    command = [sys.executable, *options, str(file)]
    done = subprocess.run(command, env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [eval(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("options", [("-X", "perf"), ()])
def test_kernels_are_named_for_perf_with_their_addresses(
    compiler: None, tmp_path: Path, options: tuple[str, ...]
) -> None:
    switch = {} if options else {"PYTHONPERFSUPPORT": "1"}
    executable, lines, copied, (name, address, size) = run(tmp_path, *options, **switch)
    kernels = [line for line in lines if " tw::" in line]
    # One for each BLOCK; Python's own lines are beside them from 3.12 on.
    assert len(kernels) == 2 and set(kernels) <= set(copied)
    expected = f"{address:x} {size:x} tw::scale.kernel:{tmp_path}/program.py:6"
    assert name == "scale.kernel" and size > 0 and expected in kernels
    inside = [int(low, 16) <= address < address + size <= int(high, 16) for low, high in executable]
    assert sum(inside) == 1


def test_nothing_is_written_where_nobody_asked(compiler: None, tmp_path: Path) -> None:
    _, lines, copied, _ = run(tmp_path)
    assert not lines and not copied


def test_names_of_files_do_not_break_lines(compiler: None, tmp_path: Path) -> None:
    name = "a\nffff 10 tw::fake.py"
    _, lines, *_ = run(tmp_path, name=name, PYTHONPERFSUPPORT="1")
    kernels = [line for line in lines if "tw::" in line]
    assert len(kernels) == 2 and all("tw::scale.kernel:" in line for line in kernels)
