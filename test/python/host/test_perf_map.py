"""Compiled kernels have names and lines for Linux's perf where Python's functions do, and only there."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Iterator
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


LOAD, LINES = 0, 2  # the kinds of records in a dump of code, of which perf's jitdump page tells
HEADER = 64  # perf makes an ELF file of each function; addresses of lines count its header, too


def records(dump: bytes) -> Iterator[tuple[int, bytes]]:
    """The kind and the content of each record."""
    magic, version, at = struct.unpack_from("<4sII", dump)
    assert magic == b"DTiJ" and version == 1
    while at < len(dump):
        kind, size = struct.unpack_from("<II", dump, at)
        yield kind, dump[at + 16 : at + size]
        at += size


def lines_of(content: bytes) -> Iterator[tuple[int, int, str]]:
    """Address, line and file of each entry of a record of lines."""
    _, count = struct.unpack_from("<QQ", content)
    at = 16
    for _ in range(count):
        address, line, _ = struct.unpack_from("<Qii", content, at)
        address -= HEADER
        end = content.index(0, at + 16)
        yield address, line, content[at + 16 : end].decode()
        at = end + 1


@pytest.mark.parametrize("options", [("-X", "perf_jit"), ()])
def test_a_dump_of_code_has_the_lines_of_the_program(
    compiler: None, tmp_path: Path, options: tuple[str, ...]
) -> None:
    switch = {} if options else {"PYTHON_PERF_JIT_SUPPORT": "1"}
    for origin in ("compiled", "disk"):
        folder = tmp_path / f"dump {origin}"
        folder.mkdir()
        *_, (_, address, size) = run(tmp_path, *options, JITDUMPDIR=str(folder), **switch)
        [dump] = [path for path in folder.rglob("jit-*.dump")]
        found = [*records(dump.read_bytes())]
        loads = {struct.unpack_from("<Q", content, 16)[0] for kind, content in found if kind == LOAD}
        assert len(loads) == 2 and address in loads
        entries = [e for kind, content in found if kind == LINES for e in lines_of(content)]
        own = {(line, file) for at, line, file in entries if address <= at < address + size}
        store = PROGRAM.splitlines().index("    tw.store(x + at, tw.load(x + at) * factor)") + 1
        assert (store, "program.py") in own and {file for _, file in own} == {"program.py"}
        assert {line for line, _ in own} <= {0, *range(store - 3, store + 1)}


def test_code_is_dumped_only_where_asked(compiler: None, tmp_path: Path) -> None:
    run(tmp_path, JITDUMPDIR=str(tmp_path / "dump"), PYTHONPERFSUPPORT="1")
    assert not (tmp_path / "dump").exists()
