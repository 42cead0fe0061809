"""Profilers find the Python line of an instruction: by PTX's text, and by tables of CUBIN and HSACO."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import tilewright as tw


@tw.jit
def doubled(v):
    return tw.exp(v) * 2  # HELPER


@tw.jit
def rows(out, x, n, BLOCK: tw.constexpr):
    at = tw.arange(0, BLOCK)
    v = tw.load(x + tw.program_id(0) * n + at, mask=at < n, other=0.0)  # LOAD
    v = doubled(v - tw.max(v, axis=0))  # MAX
    tw.store(out + at, v, mask=at < n)  # STORE


SIGNATURE = {"out": "*fp32:16", "x": "*fp32:16", "n": "i32"}
LINES = Path(__file__).read_text().splitlines()
MARKED = {
    mark: number
    for number, line in enumerate(LINES, 1)
    for mark in re.findall(r"# (HELPER|LOAD|MAX|STORE)$", line)
}


def compiled(device: str) -> Any:
    return rows.compile(SIGNATURE, {"BLOCK": 256}, device)


def table_of(binary: bytes, folder: Path) -> tuple[set[str], list[tuple[int, int]]]:
    """The files that a binary's line table names, and its rows: address and line."""
    dump = shutil.which("llvm-dwarfdump-22") or shutil.which("llvm-dwarfdump")
    if dump is None:
        pytest.skip("llvm-dwarfdump is not here")
    file = folder / "binary"
    file.write_bytes(binary)
    command = [dump, "--debug-line", str(file)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^0x([0-9a-f]+) +(\d+) ", text, re.M)
    return {*re.findall(r'name: "(.*)"', text)}, [(int(a, 16), int(line)) for a, line in rows]


def check_table(binary: bytes, folder: Path) -> None:
    files, table = table_of(binary, folder)
    # The name alone: code must not depend on where a project lies.
    assert files == {Path(__file__).name}
    assert set(MARKED.values()) <= {line for _, line in table}
    kernel = set(range(MARKED["LOAD"] - 3, MARKED["STORE"] + 1))
    assert {line for _, line in table} - {0, MARKED["HELPER"], MARKED["HELPER"] - 1} <= kernel
    addresses = [address for address, _ in table]
    assert len({*addresses}) > 5 and addresses == sorted(addresses)


def test_text_for_nvidia_names_lines(compiler: None) -> None:
    text = compiled("nvidia:sm_90a").asm["ptx"]
    [(number, file)] = re.findall(r'\.file\s+(\d+) "([^"]*)"', text)
    assert file == Path(__file__).name
    near: dict[str, set[int]] = {}
    line = 0
    for row in text.splitlines():
        if at := re.match(rf"\s*\.loc\s+{number} (\d+) ", row):
            line = int(at[1]) or line  # 0: no line of the source
        elif instruction := re.match(r"\s*(?:@\S+ )?([a-z]\w*(?:\.\w+)?)", row):
            near.setdefault(instruction[1], set()).add(line)
    assert near["ld.global"] == {MARKED["LOAD"]}
    assert near["st.global"] == {MARKED["STORE"]}
    assert MARKED["HELPER"] in near["ex2.approx"]


def test_machine_code_for_nvidia_has_a_line_table(compiler: None, tmp_path: Path) -> None:
    kernel = compiled("nvidia:sm_90a")
    if not kernel.assembler:
        pytest.skip("no assembler of PTX is here")
    check_table(kernel.asm["cubin"], tmp_path)


@pytest.mark.parametrize("arch", ["gfx942", "gfx1201", "gfx1250"])
def test_machine_code_for_amd_has_a_line_table(compiler: None, tmp_path: Path, arch: str) -> None:
    check_table(compiled(f"amd:{arch}").asm["hsaco"], tmp_path)
