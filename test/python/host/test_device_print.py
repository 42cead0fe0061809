"""device_print and print write the same lines on every device, in Triton's form."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import numpy as np
import tilewright as tw

@tw.jit
def prints(x, n, N: tw.constexpr):
    tw.device_print("start")
    tw.device_print(" t")
    tw.device_print("tile", tw.arange(0, 8).reshape(2, 4))
    tw.device_print("i=", tw.arange(0, 12) if N == 12 else tw.arange(0, 16)[:4] + 9)
    tw.device_print("hex:", n, hex=True)
    tw.device_print("bits: ", n.to(tw.int8), n.to(tw.float16), n > 0, n.to(tw.int64), hex=True)
    tw.device_print("two", n, tw.load(x))
    tw.device_print("", n > 0)
    tw.device_print("u", n.to(tw.uint8))
    if n < 3:
        print("n =", n, "x", tw.load(x))
    print("N is", N, 2.5)

with tw.device(DEVICE):
    prints[(1,)](np.array([0.1], np.float32), -10, N=16)
"""

EXPECTED = """\
pid (0, 0, 0) start
pid (0, 0, 0) t
pid (0, 0, 0) idx (0, 0) tile: 0
pid (0, 0, 0) idx (0, 1) tile: 1
pid (0, 0, 0) idx (0, 2) tile: 2
pid (0, 0, 0) idx (0, 3) tile: 3
pid (0, 0, 0) idx (1, 0) tile: 4
pid (0, 0, 0) idx (1, 1) tile: 5
pid (0, 0, 0) idx (1, 2) tile: 6
pid (0, 0, 0) idx (1, 3) tile: 7
pid (0, 0, 0) idx (0) i=: 9
pid (0, 0, 0) idx (1) i=: 10
pid (0, 0, 0) idx (2) i=: 11
pid (0, 0, 0) idx (3) i=: 12
pid (0, 0, 0) idx () hex: 0xfffffff6
pid (0, 0, 0) idx () bits: (operand 0) 0xf6
pid (0, 0, 0) idx () bits: (operand 1) 0xc900
pid (0, 0, 0) idx () bits: (operand 2) 0x0
pid (0, 0, 0) idx () bits: (operand 3) 0xfffffffffffffff6
pid (0, 0, 0) idx () two: (operand 0) -10
pid (0, 0, 0) idx () two: (operand 1) 0.100000
pid (0, 0, 0) idx (): 0
pid (0, 0, 0) idx () u: 246
pid (0, 0, 0) idx () n =: -10
pid (0, 0, 0) idx () x: 0.100000
pid (0, 0, 0) N is 16 2.5
"""


def lines_of(program: str, device: str, tmp_path: Path) -> str:
    script = tmp_path / "prints.py"
    script.write_text(program.replace("DEVICE", repr(device)))
    run = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True, timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TILEWRIGHT_CACHE": "0"},
    )  # fmt: skip
    return run.stdout


@pytest.mark.parametrize("device", ["cpu", "reference", "sim:sm_80"])
def test_printed_lines(device: str, compiler: None, tmp_path: Path) -> None:
    assert lines_of(PROGRAM, device, tmp_path) == EXPECTED


WIDE = """
import numpy as np
import tilewright as tw

@tw.jit
def prints(x):
    tw.device_print("x", tw.arange(0, 128))
    print("from a program")

with tw.device(DEVICE):
    prints[(2,)](np.zeros(1, np.float32))
"""


@pytest.mark.parametrize("device", ["cpu", "reference", "sim:sm_80"])
def test_indices_are_padded_and_every_program_prints(
    device: str, compiler: None, tmp_path: Path
) -> None:
    lines = lines_of(WIDE, device, tmp_path).splitlines()
    expected = [f"pid ({p}, 0, 0) idx ({i:3}) x: {i}" for p in range(2) for i in range(128)]
    expected += [f"pid ({p}, 0, 0) from a program" for p in range(2)]
    assert sorted(lines) == sorted(expected)
